// Kernels: ways of running an operation on a device. See op.hpp for operations and their reference kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "context.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// Versions of an operation: since(8) are opset8 and all later ones, since(1).until(8) those before opset8.
struct Versions {
  int first, end = 0;
  Versions until(int version) const { return {first, version}; }
};
inline Versions since(int version) { return {version}; }

// One way of running an operation on a device, for an operation defined here or elsewhere:
//
//   Kernel("CPU", "elu_avx512").of("Elu", "opset1").accept(only_f32).run(elu_prepare, elu_run)
//
// A device tries the kernels of an operation in order and takes the first that accepts the node; the reference kernel
// is the last resort. The name is shown by `graft explain`, together with the reasons of those that declined.
class Kernel {
 public:
  Kernel(std::string_view device, std::string_view name) {
    k_.size = sizeof k_;
    k_.device = str(device), k_.name = str(name);
  }
  // The operation, for kernels of operations that are defined elsewhere; OpOf::kernel sets it itself.
  Kernel& of(std::string_view op, std::string_view opset) {
    opset_ = std::make_shared<std::string>(opset);
    return k_.op = str(op), *this;
  }
  // The same for several versions: .of("Gather", since(1)). A kernel without an end runs versions that do not exist
  // yet, so it must decline attributes and inputs that it does not know.
  Kernel& of(std::string_view op, Versions v) {
    k_.until = v.end > 0 ? v.end : INT64_MAX;
    return of(op, "opset" + std::to_string(v.first));
  }
  // The function that computes the outputs. The attribute struct is read once per compiled node.
  template <class A>
  Kernel& run(void (*f)(Run&, const A&)) {
    functions_->run = reinterpret_cast<void*>(f);
    k_.prepare = [](graft_node* n, void*, void** state) {
      return guarded([&] { *state = new A(NodeView(n).attributes<A>()); });
    };
    k_.run = [](const graft_call* c) {
      return guarded([&] {
        Run ctx(c);
        reinterpret_cast<void (*)(Run&, const A&)>(static_cast<Functions*>(c->user)->run)(ctx,
                                                                                          *static_cast<A*>(c->state));
      });
    };
    k_.release = [](void* state, void*) { delete static_cast<A*>(state); };
    return *this;
  }
  // The same with state: `prepare` creates it once per compiled node, and all calls share it, also concurrently. It is
  // destroyed with the compiled model.
  template <class A, class S>
  Kernel& run(S (*prepare)(Prepare&, const A&), void (*f)(Run&, const A&, const S&)) {
    using State = std::pair<A, S>;
    functions_->prepare = reinterpret_cast<void*>(prepare);
    functions_->run = reinterpret_cast<void*>(f);
    k_.prepare = [](graft_node* n, void* user, void** state) {
      return guarded([&] {
        Prepare ctx(n);
        A a = ctx.attributes<A>();
        S s = reinterpret_cast<S (*)(Prepare&, const A&)>(static_cast<Functions*>(user)->prepare)(ctx, a);
        *state = new State(std::move(a), std::move(s));
      });
    };
    k_.run = [](const graft_call* c) {
      return guarded([&] {
        Run ctx(c);
        auto& s = *static_cast<State*>(c->state);
        reinterpret_cast<void (*)(Run&, const A&, const S&)>(static_cast<Functions*>(c->user)->run)(ctx, s.first,
                                                                                                    s.second);
      });
    };
    k_.release = [](void* state, void*) { delete static_cast<State*>(state); };
    return *this;
  }
  // For kernels of operations defined elsewhere, without their attribute struct: `prepare` reads attributes by name:
  //
  //   float elu_prepare(Prepare& ctx) { return ctx.attr<float>("alpha"); }
  //   void elu_run(Run& ctx, const float& alpha) { ... }
  template <class S>
  Kernel& run(S (*prepare)(Prepare&), void (*f)(Run&, const S&)) {
    functions_->prepare = reinterpret_cast<void*>(prepare);
    functions_->run = reinterpret_cast<void*>(f);
    k_.prepare = [](graft_node* n, void* user, void** state) {
      return guarded([&] {
        Prepare ctx(n);
        *state = new S(reinterpret_cast<S (*)(Prepare&)>(static_cast<Functions*>(user)->prepare)(ctx));
      });
    };
    k_.run = [](const graft_call* c) {
      return guarded([&] {
        Run ctx(c);
        reinterpret_cast<void (*)(Run&, const S&)>(static_cast<Functions*>(c->user)->run)(ctx,
                                                                                          *static_cast<S*>(c->state));
      });
    };
    k_.release = [](void* state, void*) { delete static_cast<S*>(state); };
    return *this;
  }
  // Of an element-wise operation: the same for kernels of other operations, which apply it to rows of their results in
  // place (Prepare::element_rows). For y[r * step + i], r < rows and i < length; `numbers` are the inputs but the
  // first. It shares the `prepare` of `run`.
  //
  //   void elu_rows(const float& alpha, const float* numbers, float* y, int64_t rows, int64_t step, int64_t length);
  //   Kernel("CPU", "fast").of("Elu", since(1)).run(elu_prepare, elu_run).rows(elu_rows)
  template <class S>
  Kernel& rows(void (*f)(const S&, const float* numbers, float* y, int64_t rows, int64_t step, int64_t length)) {
    functions_->rows = reinterpret_cast<void*>(f);
    k_.rows = [](const void* state, void* user, const float* numbers, float* y, int64_t rows, int64_t step,
                 int64_t length) {
      return guarded([&] {
        reinterpret_cast<void (*)(const S&, const float*, float*, int64_t, int64_t, int64_t)>(
            static_cast<Functions*>(user)->rows)(*static_cast<const S*>(state), numbers, y, rows, step, length);
      });
    };
    return *this;
  }
  // For a kernel whose `run` gets the attribute struct.
  template <class A, class S>
  Kernel& rows(void (*f)(const A&, const S&, const float* numbers, float* y, int64_t rows, int64_t step,
                         int64_t length)) {
    functions_->rows = reinterpret_cast<void*>(f);
    k_.rows = [](const void* state, void* user, const float* numbers, float* y, int64_t rows, int64_t step,
                 int64_t length) {
      return guarded([&] {
        auto& s = *static_cast<const std::pair<A, S>*>(state);
        reinterpret_cast<void (*)(const A&, const S&, const float*, float*, int64_t, int64_t, int64_t)>(
            static_cast<Functions*>(user)->rows)(s.first, s.second, numbers, y, rows, step, length);
      });
    };
    return *this;
  }
  // What depends on attributes and constant inputs alone is computed once per compiled model, whatever the shapes, and
  // shared by everything that runs it. `prepare` gets it with ctx.packed<P>(), which is when `f` is called:
  //
  //   Weights pack(Pack& ctx) { return packed_weights(ctx.take(1)); }
  //   State prepare(Prepare& ctx) { return {&ctx.packed<Weights>(), ...}; }
  //   Kernel("CPU", "fast").of("MatMul", "opset1").pack(pack).run(prepare, run)
  template <class P>
  Kernel& pack(P (*f)(Pack&)) {
    functions_->pack = reinterpret_cast<void*>(f);
    k_.pack = [](graft_node* n, void* user, void** packed) {
      return guarded([&] {
        Pack ctx(n);
        *packed = new P(reinterpret_cast<P (*)(Pack&)>(static_cast<Functions*>(user)->pack)(ctx));
      });
    };
    k_.release_packed = [](void* packed, void*) { delete static_cast<P*>(packed); };
    return *this;
  }
  // Decides whether the kernel can run a node: returns to accept, declines by throwing:
  //
  //   void only_f32(Accept& ctx) {
  //     if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  //   }
  //
  // Without it, the kernel accepts every node. `prepare` may decline as well.
  Kernel& accept(void (*f)(Accept&)) {
    functions_->accept = f;
    k_.accept = [](graft_node* n, void* user) {
      return guarded([&] {
        Accept ctx(n);
        static_cast<Functions*>(user)->accept(ctx);
      });
    };
    return *this;
  }

  // The layouts that the kernel works with, as combinations of those of its inputs and outputs, best first. The last
  // entry of a list holds for all further ports; an empty list means plain. Without a word, all tensors are plain.
  //
  //   .layouts({{{Layout::channels_last, Layout::plain}, {Layout::channels_last}}})
  //
  // The host chooses so that as little as possible is reordered; Prepare::input_layout tells what it chose. Ports
  // marked `any` share one layout: their tensors are passed as plain ones with the dimensions in the order of the
  // memory, so such a kernel must not depend on that order. Kernels of element-wise operations are of that kind without
  // saying so.
  struct Ports {
    std::vector<Layout> inputs, outputs;
  };
  Kernel& layouts(std::vector<Ports> forms) {
    functions_->forms = std::move(forms);
    functions_->records.clear();
    for (const Ports& f : functions_->forms)
      functions_->records.push_back({reinterpret_cast<const int32_t*>(f.inputs.data()), f.inputs.size(),
                                     reinterpret_cast<const int32_t*>(f.outputs.data()), f.outputs.size()});
    k_.layouts = functions_->records.data(), k_.layout_count = functions_->records.size();
    return *this;
  }

  // Whether one kernel replaces the other.
  bool same_slot(const Kernel& o) const {
    return view(k_.device) == view(o.k_.device) && view(k_.name) == view(o.k_.name);
  }
  // The C record, which refers to this object: valid until it is moved or destroyed.
  const graft_kernel* seal() {
    if (opset_) k_.opset = str(*opset_);
    k_.user = functions_.get();
    return &k_;
  }

 private:
  struct Functions {
    void* pack = nullptr;
    void* prepare = nullptr;
    void* run = nullptr;
    void* rows = nullptr;
    void (*accept)(Accept&) = nullptr;
    std::vector<Ports> forms;
    std::vector<graft_layouts> records;
  };
  graft_kernel k_{};
  std::shared_ptr<std::string> opset_;
  std::shared_ptr<Functions> functions_ = std::make_shared<Functions>();
};

}  // namespace graft

// What the functions of an operation receive: Infer (types and shapes), Accept and Prepare (once per compiled node),
// Run (every call).
//
//   void infer(Infer& ctx, const Elu&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
//
//   void run(Run& ctx, const Elu& a) {
//     std::vector<double> x = ctx.input(0).to<double>();
//     for (double& v : x) v = v > 0 ? v : a.alpha * std::expm1(v);
//     ctx.output(0).assign(x);
//   }
//
// These objects are short-lived views: use them only during the call that received them, on the thread of that call
// (inside Run::parallel_for, on all its threads). Functions report errors by throwing: `fail` for an invalid node,
// `unsupported` to decline one (types.hpp). Other exceptions are reported as internal errors.
#pragma once

#include <atomic>
#include <exception>
#include <stdexcept>

#include "attr.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// How one of the node's bodies (the sub-graphs of Loop, If, ...) is connected; see graft_body in abi.h.
//
//   for (const graft_port_map& m : ctx.body(0).inputs())
//     parameters[m.internal] = ctx.input(m.external);
class BodyView {
 public:
  explicit BodyView(const graft_body* b) : b_(b) {}
  size_t parameters() const { return b_->parameter_count; }
  size_t results() const { return b_->result_count; }
  // Which inputs of the node feed which parameters, and which results become which outputs.
  std::span<const graft_port_map> inputs() const { return {b_->inputs, b_->input_count}; }
  std::span<const graft_port_map> outputs() const { return {b_->outputs, b_->output_count}; }
  // Which results become which parameters of the next iteration.
  std::span<const graft_back_edge> back_edges() const { return {b_->back_edges, b_->back_edge_count}; }
  // Type and shape of a parameter, as far as they are known.
  Info parameter(size_t i) const {
    if (i >= b_->parameter_count) fail("the body has ", b_->parameter_count, " parameters, got index ", i);
    return Info::from(b_->parameters[i]);
  }

 private:
  const graft_body* b_;
};

// A node during inference and compilation: its inputs, attributes and bodies.
class NodeView {
 public:
  explicit NodeView(graft_node* n) : n_(n) {}

  // The name of the layer, for messages, and the type of the operation.
  std::string_view name() const { return view(host->node_name(n_)); }
  std::string_view op_type() const { return view(host->node_type(n_)); }
  // The number of inputs and outputs, including optional ones that are absent in between.
  size_t inputs() const { return host->input_count(n_); }
  size_t outputs() const { return host->output_count(n_); }

  // Whether an optional input is present.
  bool has_input(size_t i) const {
    graft_info info;
    return i < inputs() && host->input(n_, i, &info);
  }
  // Type and shape of an input, as far as they are known; fails if the input is absent. `type` and `shape` are
  // shorthands.
  Info input(size_t i) const {
    graft_info info;
    if (i >= inputs() || !host->input(n_, i, &info)) fail("expected input ", i, ", but it is absent");
    return Info::from(info);
  }
  DType type(size_t i) const { return input(i).type; }
  Shape shape(size_t i) const { return input(i).shape; }

  // The value of an input if it is known at this stage, otherwise an empty view. Constants are folded on demand, so
  // this includes computed ones.
  TensorView constant(size_t i) const { return TensorView(i < inputs() ? host->constant(n_, i) : nullptr); }
  // Whether `constant` gives a value. To be preferred for weights that are not read here.
  bool is_constant(size_t i) const {
    if (host->size < offsetof(graft_host, is_constant) + sizeof(void*)) return static_cast<bool>(constant(i));
    return i < inputs() && host->is_constant(n_, i);
  }
  // The same, converted to numbers:
  //
  //   if (auto axes = ctx.values<int64_t>(1)) out = reduced(ctx.shape(0), *axes);
  //   else out = Shape::unknown();
  template <class T>
  std::optional<std::vector<T>> values(size_t i) const {
    if (TensorView t = constant(i)) return t.to<T>();
    return std::nullopt;
  }
  // The values of a small integer input (a shape, axes) as dimensions, some of which may be unknown: [1,3,?] for the
  // shape of a tensor with a dynamic last axis. None if nothing is known. Unlike `values`, it works for partially known
  // values.
  std::optional<Shape> known(size_t i) const {
    graft_shape s;
    if (i < inputs() && host->known_values(n_, i, &s)) return Shape(s);
    return std::nullopt;
  }

  // An attribute by name, for code that does not have the attribute struct, such as a kernel of an operation defined
  // elsewhere. Fails if it is absent, unless T is an optional.
  template <class T>
  T attr(std::string_view name) const {
    T out{};
    const graft_value* v = host->attribute(n_, str(name));
    if (!v) {
      if constexpr (is_optional<T>::value) return out;
      fail("the attribute '", name, "' does not exist");
    }
    read_value(*v, out);
    return out;
  }
  // All attributes, in the order of the schema, then of the file; those that the schema does not list included.
  std::span<const graft_named_value> all_attributes() const {
    const graft_named_value* list = nullptr;
    size_t count = host->node_attributes(n_, &list);
    return {list, count};
  }
  // The whole attribute struct.
  template <class A>
  A attributes() const {
    return read_attributes<A>([&](std::string_view name) { return host->attribute(n_, str(name)); });
  }

  // The bodies of the node, in the order of their declaration.
  size_t bodies() const { return host->body_count(n_); }
  BodyView body(size_t i) const { return BodyView(host->body(n_, i)); }
  // Types and shapes of a body's results, given those of its parameters, in `infer` and
  // `prepare`. A parameter without type and rank is as its declaration says.
  std::vector<Info> infer_body(size_t i, const std::vector<Info>& parameters) {
    std::vector<graft_info> raw;
    for (const Info& p : parameters) raw.push_back(p.raw());
    const graft_info* results = nullptr;
    check(host->infer_body(n_, i, raw.data(), &results));
    std::vector<Info> out;
    for (size_t r = 0; r < body(i).results(); ++r) out.push_back(Info::from(results[r]));
    return out;
  }

 protected:
  graft_node* n_;
};

// Shape inference: sets type and shape of every output from what is known about the inputs.
//
//   void matrix_infer(Infer& ctx, const NoAttributes&) {
//     Shape in = ctx.shape(0);
//     if (!in.ranked()) return ctx.output(0, ctx.type(0), Shape::unknown());
//     if (in.rank() != 2) fail("expected a matrix, got shape ", in);
//     ctx.output(0, ctx.type(0), Shape{in[1], in[0]});
//   }
//
// Shapes may be unknown, partially or completely. Never require a known dimension or rank: compute with Dim, and reject
// only what cannot be valid. If the output shape is data-dependent, leave it unknown within the tightest bounds.
class Infer : public NodeView {
 public:
  using NodeView::NodeView;
  // Must be called for every output.
  void output(size_t i, DType type, const Shape& shape) {
    graft_info info = Info{type, shape}.raw();
    info.shape = shape.raw();
    check(host->set_output(n_, i, &info));
  }
  void output(size_t i, const Info& info) { output(i, info.type, info.shape); }
  // Type and shape of an output as the file declares them; none if it does not, or if the model was reshaped since. For
  // operations whose shape function is elsewhere, such as in the program that wrote the IR.
  std::optional<Info> declared(size_t i) const {
    graft_info info;
    if (host->size < offsetof(graft_host, declared_output) + sizeof(void*)) return std::nullopt;
    if (!host->declared_output(n_, i, &info)) return std::nullopt;
    return Info::from(info);
  }
  // Sets the values of a small integer output as far as they are known, so that shape computations stay precise:
  // ShapeOf, Gather, Concat and the like do it. Values may be negative.
  void known_output(size_t i, const Shape& values) {
    graft_shape s = values.raw();
    check(host->set_known_values(n_, i, &s));
  }
};

// Decides whether a kernel can run a node, and says why if it cannot:
//
//   void only_f32(Accept& ctx) {
//     if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
//     if (!ctx.shape(0).is_static()) unsupported("requires static shapes");
//   }
//
// Types are final here. Shapes may still have unknown dimensions if they are data-dependent.
class Accept : public NodeView {
 public:
  using NodeView::NodeView;
  // Type and shape of an output; fails if the output is absent.
  Info output(size_t i) const {
    graft_info info;
    if (i >= outputs() || !host->output(n_, i, &info)) fail("expected output ", i, ", but it is absent");
    return Info::from(info);
  }
};

// Runs at most once per node of a compiled model, when `Prepare::packed` asks for it: precompute here what depends on
// attributes and constant inputs alone, such as packed weights. Other inputs have a type, but no shape.
class Pack : public NodeView {
 public:
  using NodeView::NodeView;
  // The same as `constant`, for weights that the kernel reads only here: `run` uses what is packed, and the memory of
  // the weights can be freed. In `run` the input then has no data. A kernel that takes an input makes all its checks in
  // `accept`.
  TensorView take(size_t i) {
    if (is_constant(i) && host->size >= offsetof(graft_host, take_constant) + sizeof(void*))
      check(host->take_constant(n_, i));
    return constant(i);
  }
};

// An element-wise operation, to be applied to rows of floats where they lie; empty: nothing to apply. Kernels get it
// from Prepare::element_rows.
class ElementRows {
 public:
  ElementRows() = default;
  ElementRows(const graft_rows& rows, std::vector<float> numbers) : rows_(rows), numbers_(std::move(numbers)) {}
  explicit operator bool() const { return rows_.apply != nullptr; }
  // y[r * step + i] for r < rows and i < length.
  void operator()(float* y, int64_t rows, int64_t step, int64_t length) const {
    check(rows_.apply(rows_.state, rows_.user, numbers_.data(), y, rows, step, length));
  }

 private:
  graft_rows rows_{};
  std::vector<float> numbers_;
};

// Runs once per node and set of input shapes: precompute here what all calls with these shapes share. Constant inputs
// can be read with `constant`.
class Prepare : public Accept {
 public:
  using Accept::Accept;
  // What the kernel's `pack` returned. It outlives the state that `prepare` returns, which may point to it.
  template <class P>
  const P& packed() {
    if (host->size < offsetof(graft_host, packed) + sizeof(void*)) unsupported("this host does not pack constants");
    const void* p = nullptr;
    check(host->packed(n_, &p));
    return *static_cast<const P*>(p);
  }
  // The layouts that were chosen, for a kernel that declares several (Kernel::layouts).
  Layout input_layout(size_t i) const {
    return knows_layouts() ? static_cast<Layout>(host->input_layout(n_, i)) : Layout::plain;
  }
  Layout output_layout(size_t i) const {
    return knows_layouts() ? static_cast<Layout>(host->output_layout(n_, i)) : Layout::plain;
  }
  // An element-wise operation of any definition as a function of rows, for results that a kernel has in the cache:
  //
  //   ElementRows elu = ctx.element_rows("Elu", "opset1", {{str("alpha"), value}});
  //
  // It is that of the first kernel of the operation for the CPU which has one; every formula has. `numbers` are the
  // inputs but the first. Declines if there is none.
  ElementRows element_rows(std::string_view op, std::string_view opset, std::span<const graft_named_value> attributes,
                           std::vector<float> numbers = {}) {
    if (host->size < offsetof(graft_host, element_rows) + sizeof(void*))
      unsupported("this host does not give operations to kernels of others");
    graft_rows rows{};
    check(host->element_rows(n_, str(op), str(opset), attributes.data(), attributes.size(), numbers.data(),
                             numbers.size(), &rows));
    return {rows, std::move(numbers)};
  }
  // Requests temporary memory for each call, 64-byte aligned. It shares memory with the activations.
  void scratch(size_t bytes) { check(host->request_scratch(n_, bytes)); }
  // The number of threads that parallel_for may use in a call, the same as Run::threads: for memory that each thread
  // has a part of.
  //
  //   ctx.scratch(static_cast<size_t>(ctx.threads()) * size * sizeof(float));
  int threads() const {
    if (host->size >= offsetof(graft_host, call_threads) + sizeof(void*)) return host->call_threads(n_);
    if (host->size >= offsetof(graft_host, thread_count) + sizeof(void*)) return host->thread_count(nullptr);
    return 1;
  }

 private:
  static bool knows_layouts() { return host->size >= offsetof(graft_host, output_layout) + sizeof(void*); }
};

// One call of a kernel. Input and output tensors are dense, and row-major unless the kernel declares other layouts; the
// memory of the outputs is allocated, unless their shape is data-dependent (see `allocate`). Several calls with the
// same state may run concurrently, so `run` must not modify the state. The hot path of a kernel neither allocates nor
// throws: check everything in `accept` and `prepare`.
class Run {
 public:
  explicit Run(const graft_call* c) : c_(c) {}

  size_t inputs() const { return c_->input_count; }
  size_t outputs() const { return c_->output_count; }
  // Whether an optional input is present; `input` fails otherwise.
  bool has_input(size_t i) const { return i < c_->input_count && c_->inputs[i]; }
  TensorView input(size_t i) const {
    if (!has_input(i)) [[unlikely]]
      fail("input ", i, " is absent: the node has ", c_->input_count, " inputs");
    return TensorView(c_->inputs[i]);
  }
  // Whether output i is used. An unused output may be skipped to save time; writing it is harmless.
  bool output_used(size_t i) const { return i < c_->output_count && c_->used[i]; }
  OutputView output(size_t i) const {
    if (i >= c_->output_count || !c_->outputs[i]) [[unlikely]]
      fail("output ", i, " is absent: the node has ", c_->output_count, " outputs");
    return OutputView(c_->outputs[i]);
  }
  // Allocates an output with a data-dependent shape and returns it. To be called once, before `output`:
  //
  //   OutputView y = ctx.allocate(0, {rank, count});   // NonZero
  OutputView allocate(size_t i, std::span<const int64_t> dims) const {
    check(host->allocate(c_->runner, i, static_cast<int32_t>(dims.size()), dims.data()));
    return output(i);
  }
  OutputView allocate(size_t i, std::initializer_list<int64_t> dims) const {
    return allocate(i, std::span(dims.begin(), dims.size()));
  }

  // The memory requested by Prepare::scratch; uninitialized, and exclusive to this call.
  void* scratch() const { return c_->scratch; }

  // Calls body(begin, end) for consecutive ranges of 0..count, of about `grain` elements each, on the threads that all
  // kernels share. Returns when all are done; the first exception is rethrown.
  //
  //   ctx.parallel_for(y.size(), 4096, [&](int64_t begin, int64_t end) {
  //     for (int64_t i = begin; i < end; ++i) out[i] = in[i] * 2;
  //   });
  //
  // Choose `grain` so that a range takes at least some microseconds; a count below it runs on the calling thread. A
  // body with a third parameter also gets the number of its thread, less than threads(), for memory of its own:
  //
  //   ctx.parallel_for(rows, 8, [&](int64_t begin, int64_t end, int thread) {
  //     float* mine = static_cast<float*>(ctx.scratch()) + thread * size;   // Prepare::threads() parts in all
  //     ...
  template <class F>
  void parallel_for(int64_t count, int64_t grain, F&& body) const {
    struct Job {
      F* body;
      graft_runner* runner;
      std::atomic_flag failed = ATOMIC_FLAG_INIT;
      std::exception_ptr reason;
    } job{&body, c_->runner, {}, {}};
    check(host->parallel_for(
        c_->runner, count, grain,
        [](void* arg, int64_t begin, int64_t end) {
          Job& job = *static_cast<Job*>(arg);
          try {
            if constexpr (std::is_invocable_v<F&, int64_t, int64_t, int>)
              (*job.body)(begin, end, thread_number(job.runner));
            else (*job.body)(begin, end);
          } catch (...) {
            if (!job.failed.test_and_set()) job.reason = std::current_exception();
          }
        },
        &job));
    if (job.reason) std::rethrow_exception(job.reason);
  }

  // The number of threads that parallel_for may use; 1 on a host that does not number them.
  int threads() const { return numbers_threads() ? host->thread_count(c_->runner) : 1; }

  // Runs a body once. The results belong to the host and live until this call ends, or until `release`.
  std::vector<TensorView> run_body(size_t i, std::span<const TensorView> parameters, size_t results) const {
    std::vector<const graft_tensor*> in, out(results);
    for (TensorView p : parameters) in.push_back(p.raw());
    check(host->run_body(c_->runner, i, in.data(), out.data()));
    std::vector<TensorView> views;
    for (const graft_tensor* t : out) views.emplace_back(t);
    return views;
  }
  void release(TensorView t) const { host->release_tensor(c_->runner, t.raw()); }

  // Sets an element of a string output; the string is copied.
  void store(OutputView strings, int64_t index, std::string_view s) const {
    check(host->store_text(c_->runner, strings.raw(), index, str(s)));
  }
  // Whether the user has cancelled the request. Long loops should check it now and then and fail.
  bool cancelled() const { return host->cancelled(c_->runner) != 0; }

  // State that survives the call (ReadValue, Assign): the value of a variable, empty if it was never set.
  TensorView variable(std::string_view id) const { return TensorView(host->variable(c_->runner, str(id))); }
  void set_variable(std::string_view id, TensorView value) const {
    check(host->set_variable(c_->runner, str(id), value.raw()));
  }

  // The C form, for what this class does not cover.
  const graft_call* raw() const { return c_; }

 private:
  static bool numbers_threads() { return host->size >= offsetof(graft_host, thread_count) + sizeof(void*); }
  static int thread_number(graft_runner* r) {
    if (!numbers_threads()) unsupported("this host does not number threads");
    return host->thread_number(r);
  }
  const graft_call* c_;
};

// Calls `body` and converts exceptions into a status for the host: the boundary that no exception crosses. Used by
// every callback that the SDK registers.
template <class F>
graft_status guarded(F&& body) noexcept {
  try {
    body();
    return GRAFT_OK;
  } catch (const Failure& f) {
    if (!f.message.empty()) host->fail(f.kind, str(f.message), str(f.hint));
    return f.kind;
  } catch (const std::bad_alloc&) {
    host->fail(GRAFT_USER, str("not enough memory"), {});
    return GRAFT_USER;
  } catch (const std::length_error&) {  // a container for more elements than any memory holds
    host->fail(GRAFT_USER, str("not enough memory"), {});
    return GRAFT_USER;
  } catch (const std::exception& e) {
    host->fail(GRAFT_INTERNAL, str(e.what()), {});
    return GRAFT_INTERNAL;
  } catch (...) {
    host->fail(GRAFT_INTERNAL, str("an exception of unknown type"), {});
    return GRAFT_INTERNAL;
  }
}

}  // namespace graft

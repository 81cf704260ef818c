// What an operation's functions are handed: Infer (shapes and types), Accept and Prepare (once per compiled node), Run
// (every call).
#pragma once

#include <atomic>
#include <exception>

#include "attr.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// How one of the node's bodies is connected. See graft_body.
class BodyView {
 public:
  explicit BodyView(const graft_body* b) : b_(b) {}
  size_t parameters() const { return b_->parameter_count; }
  size_t results() const { return b_->result_count; }
  std::span<const graft_port_map> inputs() const { return {b_->inputs, b_->input_count}; }
  std::span<const graft_port_map> outputs() const { return {b_->outputs, b_->output_count}; }
  std::span<const graft_back_edge> back_edges() const { return {b_->back_edges, b_->back_edge_count}; }
  Info parameter(size_t i) const {
    if (i >= b_->parameter_count) fail("the body has ", b_->parameter_count, " parameters, got index ", i);
    return Info::from(b_->parameters[i]);
  }

 private:
  const graft_body* b_;
};

class NodeView {
 public:
  explicit NodeView(graft_node* n) : n_(n) {}

  std::string_view name() const { return view(host->node_name(n_)); }
  std::string_view op_type() const { return view(host->node_type(n_)); }
  size_t inputs() const { return host->input_count(n_); }
  size_t outputs() const { return host->output_count(n_); }

  bool has_input(size_t i) const {
    graft_info info;
    return i < inputs() && host->input(n_, i, &info);
  }
  Info input(size_t i) const {
    graft_info info;
    if (i >= inputs() || !host->input(n_, i, &info)) fail("input ", i, " is absent");
    return Info::from(info);
  }
  DType type(size_t i) const { return input(i).type; }
  Shape shape(size_t i) const { return input(i).shape; }

  // The value of an input where it is known at this stage, else an empty view.
  TensorView constant(size_t i) const { return TensorView(i < inputs() ? host->constant(n_, i) : nullptr); }
  template <class T>
  std::optional<std::vector<T>> values(size_t i) const {
    if (TensorView t = constant(i)) return t.to<T>();
    return std::nullopt;
  }
  // The values of a small integer input as dimensions, some of which may be unknown. Negative values make it absent.
  std::optional<Shape> known(size_t i) const {
    graft_shape s;
    if (i < inputs() && host->known_values(n_, i, &s)) return Shape(s);
    return std::nullopt;
  }

  // An attribute by name; for code that does not have the attribute struct at hand.
  template <class T>
  T attr(std::string_view name) const {
    T out{};
    const graft_value* v = host->attribute(n_, str(name));
    if (!v) {
      if constexpr (is_optional<T>::value) return out;
      fail("there is no attribute '", name, "'");
    }
    read_value(*v, out);
    return out;
  }
  template <class A>
  A attributes() const {
    return read_attributes<A>([&](std::string_view name) { return host->attribute(n_, str(name)); });
  }

  size_t bodies() const { return host->body_count(n_); }
  BodyView body(size_t i) const { return BodyView(host->body(n_, i)); }

 protected:
  graft_node* n_;
};

class Infer : public NodeView {
 public:
  using NodeView::NodeView;
  void output(size_t i, DType type, const Shape& shape) {
    graft_info info = Info{type, shape}.raw();
    info.shape = shape.raw();
    check(host->set_output(n_, i, &info));
  }
  void output(size_t i, const Info& info) { output(i, info.type, info.shape); }
  // Tells the values of a small integer output as far as they are known.
  void known_output(size_t i, const Shape& values) {
    graft_shape s = values.raw();
    check(host->set_known_values(n_, i, &s));
  }
  // Types and shapes of a body's results, given those of its parameters.
  std::vector<Info> infer_body(size_t i, const std::vector<Info>& parameters) {
    std::vector<graft_info> raw;
    for (const Info& p : parameters) raw.push_back(p.raw());
    const graft_info* results = nullptr;
    check(host->infer_body(n_, i, raw.data(), &results));
    std::vector<Info> out;
    for (size_t r = 0; r < body(i).results(); ++r) out.push_back(Info::from(results[r]));
    return out;
  }
};

// Decides whether a kernel takes this node; declines with unsupported("...").
class Accept : public NodeView {
 public:
  using NodeView::NodeView;
  Info output(size_t i) const {
    graft_info info;
    if (i >= outputs() || !host->output(n_, i, &info)) fail("output ", i, " is absent");
    return Info::from(info);
  }
};

class Prepare : public Accept {
 public:
  using Accept::Accept;
  void scratch(size_t bytes) { check(host->request_scratch(n_, bytes)); }
};

class Run {
 public:
  explicit Run(const graft_call* c) : c_(c) {}

  size_t inputs() const { return c_->input_count; }
  size_t outputs() const { return c_->output_count; }
  bool has_input(size_t i) const { return i < c_->input_count && c_->inputs[i]; }
  TensorView input(size_t i) const {
    if (!has_input(i)) [[unlikely]]
      fail("input ", i, " is absent: the node has ", c_->input_count, " inputs");
    return TensorView(c_->inputs[i]);
  }
  // Whether anybody reads output i. One that nobody reads may be written, or left out to save the work.
  bool wants(size_t i) const { return i < c_->output_count && c_->wanted[i]; }
  TensorView output(size_t i) const {
    if (i >= c_->output_count) [[unlikely]]
      fail("output ", i, " is absent: the node has ", c_->output_count, " outputs");
    return TensorView(c_->outputs[i]);
  }
  // For an output whose shape only the data tells.
  TensorView allocate(size_t i, std::span<const int64_t> dims) const {
    check(host->allocate(c_->runner, i, static_cast<int32_t>(dims.size()), dims.data()));
    return output(i);
  }
  TensorView allocate(size_t i, std::initializer_list<int64_t> dims) const {
    return allocate(i, std::span(dims.begin(), dims.size()));
  }

  void* scratch() const { return c_->scratch; }

  // Calls body(begin, end) over 0..count in pieces of about `grain`, on the threads that all kernels share.
  template <class F>
  void parallel_for(int64_t count, int64_t grain, F&& body) const {
    struct Job {
      F* body;
      std::atomic_flag failed = ATOMIC_FLAG_INIT;
      std::exception_ptr reason;
    } job{&body, {}, {}};
    check(host->parallel_for(
        c_->runner, count, grain,
        [](void* arg, int64_t begin, int64_t end) {
          Job& job = *static_cast<Job*>(arg);
          try {
            (*job.body)(begin, end);
          } catch (...) {
            if (!job.failed.test_and_set()) job.reason = std::current_exception();
          }
        },
        &job));
    if (job.reason) std::rethrow_exception(job.reason);
  }

  // Runs a body once; the results live until the call ends, or until `release`.
  std::vector<TensorView> run_body(size_t i, std::span<const TensorView> parameters, size_t results) const {
    std::vector<const graft_tensor*> in, out(results);
    for (TensorView p : parameters) in.push_back(p.raw());
    check(host->run_body(c_->runner, i, in.data(), out.data()));
    std::vector<TensorView> views;
    for (const graft_tensor* t : out) views.emplace_back(t);
    return views;
  }
  void release(TensorView t) const { host->release_tensor(c_->runner, t.raw()); }

  void store(TensorView strings, int64_t index, std::string_view s) const {
    check(host->store_text(c_->runner, strings.raw(), index, str(s)));
  }
  bool cancelled() const { return host->cancelled(c_->runner) != 0; }

  TensorView variable(std::string_view id) const { return TensorView(host->variable(c_->runner, str(id))); }
  void set_variable(std::string_view id, TensorView value) const {
    check(host->set_variable(c_->runner, str(id), value.raw()));
  }

  const graft_call* raw() const { return c_; }

 private:
  const graft_call* c_;
};

// Runs `body`, turning what it throws into a status the host understands.
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
  } catch (const std::exception& e) {
    host->fail(GRAFT_INTERNAL, str(e.what()), {});
    return GRAFT_INTERNAL;
  } catch (...) {
    host->fail(GRAFT_INTERNAL, str("an exception of unknown type"), {});
    return GRAFT_INTERNAL;
  }
}

}  // namespace graft

#include "check/check_kernel.hpp"

#include <atomic>
#include <barrier>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/text.hpp"
#include "check/check_traits.hpp"
#include "check/interleave.hpp"
#include "check/leaks.hpp"
#include "infer/decompose.hpp"
#include "infer/evaluate.hpp"

namespace graft::testing {
namespace {

std::optional<Fault> compare_runs(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const char* kind,
                                  const char* what) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] && b[i] && !same_content(a[i], b[i]))
      return Fault{kind, text("output ", i, " ", what, ": ", print(b[i], 8), ", first ", print(a[i], 8))};
  return std::nullopt;
}

std::optional<Fault> unwritten(const GuardedCall& first, const std::vector<std::vector<bool>>& before) {
  for (size_t o = 0; o < before.size(); ++o) {
    if (before[o].size() != first.untouched[o].size() || !first.results[o]) continue;
    for (size_t i = 0; i < before[o].size(); ++i)
      if (before[o][i] && first.untouched[o][i]) {
        DType type = first.results[o].type();
        size_t element = type == DType::string ? i : i * 8 / static_cast<size_t>(bits_of(type));
        return Fault{"element not written", text("element ", element, " of output ", o, " is not written")};
      }
  }
  return std::nullopt;
}

// Whether the shape function says something that can be true of `actual`.
bool agrees(const Info& said, DType type, const Shape& actual) {
  if (said.type != DType::undefined && said.type != type) return false;
  if (!said.shape.ranked()) return true;
  if (said.shape.rank() != actual.rank()) return false;
  for (size_t i = 0; i < actual.rank(); ++i)
    if (!said.shape[i].can_be(actual[i].value())) return false;
  return true;
}

// With unknown dimensions or ranks, the shape function must leave what is true possible.
std::optional<Fault> check_unknown(const KernelCheck& how, const Sample& s, const std::vector<Tensor>& outputs) {
  for (bool ranked : {true, false}) {
    std::vector<std::optional<Info>> infos;
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      infos.push_back(s.inputs[i] ? std::optional(s.inputs[i].info()) : std::nullopt);
      if (s.inputs[i] && !s.constant[i])
        infos[i]->shape = ranked ? Shape::of_rank(s.inputs[i].dims().size()) : Shape::unknown();
    }
    Node node = s.node();
    NodeContext context(node, infos);
    context.declared_outputs = s.outputs;
    context.constants = [&](size_t i) { return s.inputs[i] && s.constant[i] ? &s.inputs[i] : nullptr; };
    const char* unknown = ranked ? "with unknown dimensions" : "with unknown ranks";
    try {
      infer_outputs(how.registry, how.op, context);
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::unsupported) continue;
      return Fault{"shape function", text(unknown, " it refuses what it accepts with known ones: ", e.message())};
    }
    for (size_t o = 0; o < outputs.size() && o < context.outputs.size(); ++o)
      if (outputs[o] && context.outputs[o] && !agrees(*context.outputs[o], outputs[o].type(), outputs[o].info().shape))
        return Fault{"shape function", text(unknown, " it declares output ", o, " as ", *context.outputs[o],
                                            ", which is ", outputs[o].info())};
  }
  return std::nullopt;
}

// What the kernel gives for other values; none: there are none, or it refuses them.
std::vector<Tensor> varied_outputs(const std::shared_ptr<const PreparedSample>& prepared) {
  GuardedCall call(prepared);
  if (!call.vary_inputs()) return {};
  try {
    call.run({});
    // A shape that depends on the values is declared for the first ones.
    return call.problems.empty() ? call.results : std::vector<Tensor>();
  } catch (...) {
    return {};
  }
}

// Eight calls at once, a few times, each in its own memory, every other one with other values. On a busy machine a
// round may take long and overlap little, so that a few are made at any rate.
std::optional<Fault> run_concurrently(const std::shared_ptr<const PreparedSample>& prepared,
                                      const std::vector<Tensor>& outputs) {
  constexpr int calls = 8, least = 8, rounds = 60;
  constexpr auto time = std::chrono::milliseconds(20);
  std::vector<Tensor> varied = varied_outputs(prepared);
  std::mutex mutex;
  std::optional<Fault> found;
  std::atomic<bool> over = false;
  int started = 0;
  auto begin = std::chrono::steady_clock::now();
  // All calls see the same end: the last one to arrive decides it.
  auto decide = [&]() noexcept {
    over = over || found || (++started >= least && std::chrono::steady_clock::now() - begin > time);
  };
  std::barrier start(calls, decide);
  std::vector<std::thread> threads;
  for (int i = 0; i < calls; ++i)
    threads.emplace_back([&, other = i % 2 && !varied.empty()] {
      GuardedCall call(prepared);
      if (other) call.vary_inputs();
      const std::vector<Tensor>& expected = other ? varied : outputs;
      for (int round = 0; round < rounds && !over; ++round) {
        bool waited = false;
        std::optional<Fault> mine;
        try {
          call.run({.expected = &expected, .ready = [&] { start.arrive_and_wait(), waited = true; }});
          if (!call.problems.empty()) mine = call.problems[0];
          else mine = compare_runs(expected, call.results, "race", "differs when eight calls run at once");
        } catch (...) {
          mine = Fault{"race", text("fails when eight calls run at once: ", current_error().message())};
        }
        std::lock_guard lock(mutex);
        if (mine && !found) found = mine;
        if (!waited) break;
      }
      start.arrive_and_drop();
    });
  for (std::thread& t : threads) t.join();
  return found;
}

// An element-wise reference that computes in double rounds once: its half-precision results are those for the same
// values as f64, rounded to the nearest.
std::optional<Fault> check_rounding(const KernelCheck& how, const Sample& s, const std::vector<Tensor>& outputs) {
  if (!how.op.has(GRAFT_OP_ELEMENTWISE) || s.inputs.empty() || !s.inputs[0]) return std::nullopt;
  DType type = s.inputs[0].type();
  if ((type != DType::f16 && type != DType::bf16) || outputs.size() != 1 || outputs[0].type() != type)
    return std::nullopt;
  Sample wide = s;
  for (Tensor& t : wide.inputs)
    if (t && t.type() == type) t = t.to(DType::f64);
  try {
    std::vector<Tensor> exact = evaluate_node(Evaluation{how.registry}, wide.node(), how.op, wide.inputs, 1);
    if (exact[0].type() != DType::f64) return std::nullopt;
    return difference_from_reference(how.op, exact[0].to(type), outputs[0], 0);
  } catch (const Error&) {
    return std::nullopt;  // f64 is not supported
  }
}

bool can_run_in_place(const OpDef& op, const Sample& s, const std::vector<Tensor>& outputs) {
  return op.has(GRAFT_OP_IN_PLACE) && !s.inputs.empty() && s.inputs[0] && !outputs.empty() && outputs[0] &&
         s.inputs[0].type() == outputs[0].type() && s.inputs[0].dims() == outputs[0].dims() &&
         outputs[0].type() != DType::string;
}

// The runs of a kernel, one after another; the first problem ends them.
class KernelRuns {
 public:
  KernelRuns(const KernelCheck& how, const Sample& sample, const Reference& reference,
             std::shared_ptr<const PreparedSample> prepared)
      : how_(how), sample_(sample), reference_(reference), prepared_(std::move(prepared)), call_(prepared_) {
    const PreparedKernel& k = prepared_->kernel;
    if (k.source->origin == Source::library && k.source->path.ends_with(".so"))
      static_data_ = static_data_of(reinterpret_cast<const void*>(k.kernel->run));
  }

  // Without elements there is nothing to compute, and the kernel may refuse; it may neither hang nor touch anything.
  std::optional<Fault> check_empty() {
    for (Placement p : {Placement::at_the_end, Placement::at_the_start}) {
      try {
        call_.run({.placement = p});
      } catch (const Error&) {
        continue;
      }
      for (const Fault& f : call_.problems)
        if (f.kind.starts_with("write ") || f.kind.starts_with("read ")) return f;
    }
    return std::nullopt;
  }

  std::optional<Fault> check(Thorough thorough) {
    bool pure = how_.op.has(GRAFT_OP_PURE);
    bool is_reference = view(prepared_->kernel.kernel->device) == reference_device;
    if (auto p = run({})) return p;
    first_ = call_.results;
    std::vector<std::vector<bool>> untouched = call_.untouched;
    if (auto p = run({.pattern = Poison::second})) return p;
    if (auto p = unwritten(call_, untouched)) return p;
    if (!pure) return at_edges(false);
    if (auto p = repeated()) return p;
    if (auto p = at_edges(true)) return p;
    if (call_.looped)
      if (auto p = divided()) return p;
    if (can_run_in_place(how_.op, sample_, first_))
      if (auto p = again({.in_place = true}, "in-place", "differs when it is computed in the memory of input 0"))
        return p;
    if (!is_reference)
      if (auto p = allocations()) return p;
    if (auto p = interrupted()) return p;
    if (thorough.concurrent)
      if (auto p = run_concurrently(prepared_, first_)) return p;
    if (thorough.leaks && how_.live)
      if (int64_t n = blocks_left(how_.live, [&] { call_.run({}); }))
        return Fault{"leak", text("each call leaves ", n, n == 1 ? " block" : " blocks", " of memory allocated")};
    for (size_t i = 0; i < first_.size() && i < reference_.outputs.size() && !is_reference; ++i)
      if (first_[i] && reference_.outputs[i])
        if (auto p = difference_from_reference(how_.op, reference_.outputs[i], first_[i], i)) return p;
    return std::nullopt;
  }

 private:
  std::optional<Fault> run(const CallSettings& settings) {
    call_.run(settings);
    return call_.problems.empty() ? std::nullopt : std::optional(call_.problems[0]);
  }
  std::optional<Fault> again(const CallSettings& settings, const char* kind, const char* what) {
    if (auto p = run(settings)) return p;
    return compare_runs(first_, call_.results, kind, what);
  }
  // Next to inaccessible pages, and aligned to the element type only.
  std::optional<Fault> at_edges(bool compare) {
    for (Placement at : {Placement::at_the_end, Placement::at_the_start}) {
      if (auto p = run({.placement = at})) return p;
      if (!compare) continue;
      if (auto p = compare_runs(first_, call_.results, "not repeatable", "differs in other memory")) return p;
    }
    return std::nullopt;
  }
  std::optional<Fault> divided() {
    if (auto p = again({.split = Split::pieces}, "race", "depends on how the work is divided")) return p;
    CallSettings at_once{.split = Split::at_once, .placement = Placement::at_the_start};
    at_once.allocations = how_.allocations, at_once.static_data = &static_data_;
    // The loops compare what they do; pieces run several times, so that the outputs may be others.
    if (auto p = run(at_once)) return p;
    return again({.split = Split::threads}, "race", "differs with several threads");
  }
  // By another call, wherever this one writes static data.
  std::optional<Fault> interrupted() {
    GuardedCall other(prepared_);
    if (static_data_.empty() || !can_interleave() || !other.vary_inputs()) return std::nullopt;
    Meeting meeting{WriteWatch::Moment::never, 0};
    Interleaving how;
    auto second = [&] {
      try {
        other.run({});
      } catch (...) {  // it may refuse these values
      }
    };
    auto around = [&](const std::function<void()>& call) {
      how = run_interleaved(static_data_, call, second, meeting);
    };
    if (auto p = run({.around = around})) return p;
    int blocked = 0;
    for (Meeting m : meetings(how.writes)) {
      meeting = m;
      if (auto p =
              again({.around = around}, "race", "differs when another call runs meanwhile; both write static data"))
        return p;
      if ((blocked += how.blocked) > 2) break;
    }
    return std::nullopt;
  }
  // The last run was the second, with the other pattern around and in the memory.
  std::optional<Fault> repeated() {
    std::vector<Tensor> second = call_.results;
    bool equal = !compare_runs(first_, second, "", "");
    if (auto p = run({.pattern = Poison::second})) return p;
    if (auto p = compare_runs(second, call_.results, "not repeatable", "differs in a second call")) return p;
    if (equal) return std::nullopt;
    // The first call may have been special because it was the first.
    if (auto p = run({})) return p;
    if (!compare_runs(second, call_.results, "", ""))
      return compare_runs(first_, second, "not repeatable", "differs in a second call");
    return compare_runs(first_, second, "depends on other memory",
                        "depends on what was in the output, in scratch memory or beyond the inputs");
  }
  std::optional<Fault> allocations() {
    if (!how_.allocations) return std::nullopt;
    for (const std::optional<Info>& o : prepared_->outputs)
      if (!o || !o->shape.is_static() || o->type == DType::string) return std::nullopt;
    for (const Tensor& t : sample_.inputs)
      if (t && t.type() == DType::string) return std::nullopt;
    if (auto p = run({.allocations = how_.allocations})) return p;
    uint64_t count = call_.allocated;
    if (!count) return std::nullopt;
    return Fault{"allocation", text("a call allocates memory ", count, count == 1 ? " time" : " times",
                                    "; `prepare` can request scratch memory")};
  }

  const KernelCheck& how_;
  const Sample& sample_;
  const Reference& reference_;
  std::shared_ptr<const PreparedSample> prepared_;
  GuardedCall call_;
  std::vector<Tensor> first_;
  std::vector<Pages> static_data_;  // of the kernel's library
};

// What stays allocated when a kernel is prepared and released again, or the shape function runs.
std::optional<Fault> leaks_before_run(const KernelCheck& how, const Sample& s, const Reference& reference,
                                      const KernelDef& kernel) {
  auto leak = [](const char* what, int64_t n) {
    return Fault{"leak",
                 text("each call of ", what, " leaves ", n, n == 1 ? " block" : " blocks", " of memory allocated")};
  };
  if (int64_t n = blocks_left(how.live, [&] { infer_sample(how.registry, how.op, s); }))
    return leak("the shape function", n);
  if (int64_t n = blocks_left(how.live, [&] { prepare_sample(how.registry, how.op, s, reference.inferred, kernel); }))
    return leak("`accept`, `pack` and `prepare`", n);
  return std::nullopt;
}

}  // namespace

Reference reference_of(const KernelCheck& how, const Sample& sample) {
  Reference out;
  try {
    out.inferred = infer_sample(how.registry, how.op, sample);
    Evaluation e{how.registry};
    e.max_bytes = size_t{64} << 20;
    out.outputs = evaluate_node(e, sample.node(), how.op, sample.inputs, out.inferred.size());
  } catch (...) {
    Error e = current_error();
    out.refusal = e.message();
    // The kernel has more or fewer values than the shape function declares (OutputView::assign).
    bool count =
        out.refusal.find(" values to fill the tensor, got ") != std::string::npos ||
        (out.refusal.starts_with("expected a tensor of ") && out.refusal.find(" elements, got ") != std::string::npos);
    if (!out.inferred.empty() && out.inferred[0] && count)
      out.problem =
          Fault{"wrong shape", text("the shape function declares ", *out.inferred[0], ", the kernel: ", out.refusal)};
    auto says = [&](const char* words) { return out.refusal.find(words) != std::string::npos; };
    if (says(" was never allocated")) out.problem = Fault{"output not allocated", out.refusal};
    if (says("the kernel allocates output ") && says(" a second time"))
      out.problem = Fault{"allocated twice", out.refusal};
    if (says(", as the shape function declares it, got ")) out.problem = Fault{"wrong shape", out.refusal};
    if (e.kind() == ErrorKind::internal) out.problem = Fault{"internal error", out.refusal};
    return out;
  }
  for (size_t i = 0; i < out.outputs.size() && i < out.inferred.size(); ++i)
    if (out.outputs[i] && out.inferred[i] &&
        !agrees(*out.inferred[i], out.outputs[i].type(), out.outputs[i].info().shape))
      out.problem = Fault{"wrong shape", text("the shape function declares output ", i, " as ", *out.inferred[i],
                                              ", the kernel gives ", out.outputs[i].info())};
  if (!out.problem) out.problem = check_unknown(how, sample, out.outputs);
  if (!out.problem) out.problem = check_rounding(how, sample, out.outputs);
  if (!out.problem) out.problem = check_traits(how, sample, out.outputs);
  return out;
}

KernelVerdict check_kernel(const KernelCheck& how, const Sample& sample, const Reference& reference,
                           const KernelDef& kernel, Thorough thorough, Fault& problem) {
  TrapHandlers handlers;
  std::shared_ptr<const PreparedSample> prepared;
  try {
    prepared = prepare_sample(how.registry, how.op, sample, reference.inferred, kernel);
  } catch (const Error& e) {
    problem = {"fails", text("the reference computes a result; `prepare` fails: ", e.message())};
    if (e.kind() != ErrorKind::unsupported) return KernelVerdict::failed;
    problem = {"declined", e.message()};
    return KernelVerdict::declined;
  }
  // What Python keeps is its own affair.
  if (kernel.source->path.ends_with(".py")) thorough.leaks = false;
  try {
    KernelRuns runs(how, sample, reference, prepared);
    std::optional<Fault> found = prepared->empty ? runs.check_empty() : runs.check(thorough);
    if (!found && thorough.leaks && how.live) found = leaks_before_run(how, sample, reference, kernel);
    if (!found) return KernelVerdict::passed;
    problem = *found;
  } catch (const Error& e) {
    problem = {"fails", text("the reference computes a result; the kernel fails: ", e.message())};
  }
  return KernelVerdict::failed;
}

}  // namespace graft::testing

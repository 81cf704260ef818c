#include <chrono>
#include <ctime>
#include <functional>
#include <graft/app/check.hpp>
#include <set>

#include "base/text.hpp"
#include "check/case.hpp"
#include "check/check_kernel.hpp"
#include "check/check_source.hpp"
#include "check/explore.hpp"
#include "check/generate.hpp"
#include "devices/cpu/cpu.hpp"
#include "schema/lint.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/state.hpp"

namespace graft::testing {
namespace {

constexpr size_t most_samples = 60;
constexpr const char* reference_name = "REFERENCE:reference";
constexpr int most_attempts = 200;  // to find a smaller case

std::string full_name(const OpDef& op) {
  int number = opset_number(op.opset());
  return text(op.name(), "@", number < 0 ? std::string(op.opset()) : text(number));
}

// An extension may consist of several libraries.
std::vector<std::shared_ptr<const Records>> records_of(const Core& core, ExtensionId id) {
  for (const Core::State::Added& a : core.state()->added())
    if (a.info.id == id) return a.records;
  throw Error(ErrorKind::request, text("no extension with id ", static_cast<uint64_t>(id), " is added to this Core"));
}

std::set<const Source*> sources_of(const Core& core, std::optional<ExtensionId> id) {
  std::set<const Source*> out;
  if (id)
    for (const auto& records : records_of(core, *id)) out.insert(&records->source);
  return out;
}

const OpDef& named_operation(const Registry& registry, const std::string& name) {
  std::vector<std::string> names;
  for (const OpDef* op : registry.ops()) {
    if (full_name(*op) == name || op->name() == name) return *op;
    names.push_back(full_name(*op));
  }
  auto close = nearest(name, names);
  throw Error(ErrorKind::request, text("there is no operation '", name, "'"),
              close ? text("did you mean ", *close, "?") : "graft ops lists them");
}

std::vector<Case> example_cases(const OpDef& op) {
  std::vector<Case> out;
  for (size_t i = 0; i < op.record->case_count; ++i)
    out.push_back(
        {text("the example of ", full_name(op)), text("example ", i + 1), 1, std::string(view(op.record->cases[i]))});
  return out;
}

void add_samples(std::vector<Sample>& samples, const std::vector<Case>& cases, const Registry& registry,
                 const OpDef& op) {
  for (const Case& c : cases) {
    if (samples.size() >= most_samples) return;
    // Reading a model takes time; one without the name cannot contain the operation.
    if (c.body.find(op.name()) == std::string::npos) continue;
    try {
      Test t = read_test(c, registry);
      if (!t.refusal.empty() || !t.error.empty()) continue;
      auto chosen = [&](const Node& n) { return n.type == op.name() && n.opset == op.opset(); };
      for (NodeSample& s : samples_in(t.graph, ordered_inputs(t, t.graph), registry, chosen))
        samples.push_back(std::move(s.sample));
    } catch (...) {
      continue;  // run_test_file and check_definitions report cases that fail
    }
  }
}

std::vector<Sample> valid_samples(const Registry& registry, const OpDef& op, const CheckOptions& o) {
  std::vector<Sample> samples;
  add_samples(samples, example_cases(op), registry, op);
  for (const std::string& path : o.tests) add_samples(samples, read_cases(path), registry, op);
  Generator check(registry, op, {}, 0);
  std::erase_if(samples, [&](Sample& s) { return !check.valid(s); });
  return samples;
}

// Of the processor: a limit means as many cases on a busy machine. By the clock it is at most a few times longer.
class Elapsed {
 public:
  double seconds() const {
    double used = static_cast<double>(std::clock() - used_) / CLOCKS_PER_SEC;
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    constexpr double longest = 3;
    return std::max(used, passed.count() / longest);
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::clock_t used_ = std::clock();
};

class OperationCheck {
 public:
  OperationCheck(const Core& core, const Registry& registry, const OpDef& op, const CheckOptions& o)
      : options_(o),
        registry_(registry),
        op_(op),
        how_{registry, op, o.allocations, o.live},
        generator_(registry, op, samples(o), o.seed) {
    out_.operation = full_name(op);
    std::set<const Source*> only = sources_of(core, o.extension);  // none: all
    for (const std::string& device : cpu_kernel_devices())
      for (const KernelDef& k : registry.kernels(op, device))
        if (only.empty() || only.count(op.source) || only.count(k.source)) {
          kernels_.push_back([this, k](const Sample& s, const Reference& r, Thorough thorough, Fault& problem) {
            return check_kernel(how_, s, r, k, thorough, problem);
          });
          called_empty_.push_back(o.empty && !k.source->built_in());
          out_.kernels.push_back({text(device, ":", k.record->name), 0});
        }
    for (const std::shared_ptr<const Device>& d : core.state()->devices) add_source_kernels(d, only);
    declined_.resize(kernels_.size());
    threaded_.resize(kernels_.size());
  }

  CheckedOperation run() {
    int last = options_.first + options_.cases;
    for (int i = options_.first; i < last; ++i) {
      // One case at any rate: without any, the operation counts as not checked.
      if (out_.cases && elapsed_.seconds() > options_.seconds) break;
      if (options_.before_case) options_.before_case(i);
      if (std::optional<Sample> s = generator_.make(i)) run(*s, i);
      else ++out_.refused, refusal_ = generator_.refusal;
    }
    if (!out_.cases) out_.refusal = refusal_;
    for (size_t k = 0; k < kernels_.size(); ++k)
      if (!out_.kernels[k].cases) out_.kernels[k].declined = declined_[k];
    return std::move(out_);
  }

  std::string text_of(int number) {
    std::optional<Sample> s = generator_.make(number);
    return s ? to_text(*s, op_) : "";
  }

 private:
  using Check = std::function<KernelVerdict(const Sample&, const Reference&, Thorough, Fault& problem)>;

  // Valid ones of the user; else those that trying gives, if most of what the schema suggests is refused.
  std::vector<Sample> samples(const CheckOptions& o) const {
    std::vector<Sample> valid = valid_samples(registry_, op_, o);
    Elapsed elapsed;
    auto go_on = [&] {
      if (o.before_kernel) o.before_kernel(reference_name, false);
      return elapsed.seconds() < o.seconds / 4;
    };
    return valid.empty() && go_on() ? explored_samples(registry_, op_, how_, o.seed, go_on) : valid;
  }

  // A program is compiled for each case, which takes long: at most half of the time is for them.
  void add_source_kernels(const std::shared_ptr<const Device>& device, const std::set<const Source*>& only) {
    constexpr int most = 20;
    std::vector<SourceKernelDef> all = registry_.source_kernels(op_, device->name());
    if (all.empty() || device->unavailable()) return;
    for (const SourceKernelDef& k : all) {
      if (!only.empty() && !only.count(op_.source) && !only.count(k.source)) continue;
      size_t at = kernels_.size();
      kernels_.push_back([this, at, device, name = std::string(view(k.record->name))](
                             const Sample& s, const Reference& r, Thorough, Fault& problem) {
        if (out_.kernels[at].cases >= most || compiling_ > options_.seconds / 2) return KernelVerdict::declined;
        Elapsed elapsed;
        KernelVerdict v = check_source_kernel(how_, s, r, *device, name, problem);
        compiling_ += elapsed.seconds();
        return v;
      });
      called_empty_.push_back(false);
      out_.kernels.push_back({text(device->name(), ":", k.record->name), 0, true});
    }
  }

  void run(const Sample& s, int number) {
    if (options_.before_kernel) options_.before_kernel(reference_name, false);
    Reference reference = reference_of(how_, s);
    if (reference.problem) report(s, number, kernels_.size(), *reference.problem);
    if (!reference.refusal.empty()) {
      ++out_.refused, refusal_ = reference.refusal;
      return;
    }
    bool computed = false;
    for (const Tensor& t : reference.outputs) computed |= t && t.size() > 0;
    if (!computed) return run_empty(s, reference, number);
    ++out_.cases;
    for (size_t k = 0; k < kernels_.size(); ++k) {
      int n = out_.kernels[k].cases;
      bool large = elements_of(s) > 4000 && threaded_[k] < 3;
      Thorough thorough{.concurrent = n % 64 == 1 || large, .leaks = n % 64 == 2};
      KernelVerdict v = check(s, reference, number, k, thorough);
      if (v == KernelVerdict::declined) continue;
      ++out_.kernels[k].cases;
      threaded_[k] += thorough.concurrent;
    }
  }

  // Nothing is computed, and requests do not call the kernel; the shapes have been checked.
  void run_empty(const Sample& s, const Reference& reference, int number) {
    constexpr int64_t longest = 1 << 14;  // dimensions beside the one of 0
    constexpr int most = 6;
    for (const Tensor& t : s.inputs)
      for (int64_t d : t ? t.dims() : std::vector<int64_t>())
        if (d > longest) return;
    if (++empty_cases_ > most) return;
    for (size_t k = 0; k < kernels_.size(); ++k)
      if (called_empty_[k]) check(s, reference, number, k, {}, true);
  }

  KernelVerdict check(const Sample& s, const Reference& reference, int number, size_t k, Thorough thorough,
                      bool empty = false) {
    Fault p;
    if (options_.before_kernel) options_.before_kernel(out_.kernels[k].name, empty);
    KernelVerdict v = kernels_[k](s, reference, thorough, p);
    if (v == KernelVerdict::declined && !empty) declined_[k] = p.detail;
    if (v == KernelVerdict::failed) report(s, number, k, p);
    return v;
  }

  // The same kind of problem of the same kernel; `kernel` is past the end for the shape function.
  std::optional<Fault> repeats(const Sample& s, size_t kernel, const Fault& fault) {
    const std::string& kind = fault.kind;
    Reference reference = reference_of(how_, s);
    if (kernel == kernels_.size())
      return reference.problem && reference.problem->kind == kind ? reference.problem : std::nullopt;
    if (!reference.refusal.empty()) return std::nullopt;
    Fault p;
    if (options_.before_kernel) options_.before_kernel(out_.kernels[kernel].name, false);
    Thorough thorough{.concurrent = fault.detail.find("eight calls") != std::string::npos, .leaks = kind == "leak"};
    bool failed = kernels_[kernel](s, reference, thorough, p) == KernelVerdict::failed;
    return failed && p.kind == kind ? std::optional(p) : std::nullopt;
  }

  void report(Sample s, int number, size_t kernel, Fault p) {
    std::string name = kernel < kernels_.size() ? out_.kernels[kernel].name : "";
    if (!reported_.insert({name, p.kind}).second) return;
    int attempts = options_.smallest ? most_attempts : 0;
    // Some of them at any rate: what is found at the end should be small, too.
    auto over = [&] {
      return attempts <= 0 || (attempts < most_attempts - 30 && elapsed_.seconds() > options_.seconds);
    };
    for (bool smaller = true; smaller && !over();) {
      smaller = false;
      for (Sample& candidate : generator_.simpler(s)) {
        --attempts;
        if (over()) break;
        if (!generator_.valid(candidate)) continue;
        std::optional<Fault> again = repeats(candidate, kernel, p);
        if (!again) continue;
        s = std::move(candidate), p = *again, smaller = true;
        break;
      }
    }
    out_.findings.push_back({out_.operation, name, p.kind, p.detail, to_text(s, op_), number});
  }

  const CheckOptions& options_;
  const Registry& registry_;
  const OpDef& op_;
  KernelCheck how_;
  Generator generator_;
  std::vector<Check> kernels_;
  Elapsed elapsed_;
  std::vector<bool> called_empty_;     // per kernel: also with tensors without elements
  std::vector<std::string> declined_;  // the last reason
  std::vector<int> threaded_;          // how often with eight calls at once
  int empty_cases_ = 0;
  double compiling_ = 0;  // seconds that kernels as source text took
  std::set<std::pair<std::string, std::string>> reported_;
  std::string refusal_;
  CheckedOperation out_;
};

}  // namespace
}  // namespace graft::testing

namespace graft {

std::string CheckFinding::to_text() const {
  std::string out = text(operation, kernel.empty() ? "" : text(operation.empty() ? "" : ", kernel ", kernel),
                         operation.empty() && kernel.empty() ? "" : ": ", kind, "\n");
  for (std::string_view line : split(detail, '\n')) out += text("     ", line, "\n");
  if (test.empty()) return out;
  constexpr size_t longest = 400;  // values of a large tensor; `test` has all of them
  out += "     smallest case found:\n";
  for (std::string_view line : split(test, '\n'))
    if (line.size() > longest) out += text("       ", line.substr(0, longest), "... (", line.size(), " characters)\n");
    else if (!line.empty()) out += text("       ", line, "\n");
  return out;
}

std::vector<std::string> operations_to_check(const Core& core, std::optional<ExtensionId> extension) {
  return as_errors([&] {
    std::shared_ptr<const Registry> registry = core.state()->registry();
    std::set<const Source*> of = testing::sources_of(core, extension);
    std::vector<std::string> out;
    for (const OpDef* op : registry->ops()) {
      if (!testing::can_be_sampled(*op)) continue;
      bool mine = extension ? of.count(op->source) != 0 : op->source->built_in();
      if (extension && !mine)
        for (const std::string& device : cpu_kernel_devices())
          for (const KernelDef& k : registry->kernels(*op, device)) mine |= of.count(k.source) != 0;
      if (mine) out.push_back(testing::full_name(*op));
    }
    return out;
  });
}

CheckedOperation check_operation(const Core& core, const std::string& operation, const CheckOptions& options) {
  return as_errors([&] {
    std::shared_ptr<const Registry> registry = core.state()->registry();
    return testing::OperationCheck(core, *registry, testing::named_operation(*registry, operation), options).run();
  });
}

std::string generated_case(const Core& core, const std::string& operation, int number, const CheckOptions& options) {
  return as_errors([&] {
    std::shared_ptr<const Registry> registry = core.state()->registry();
    return testing::OperationCheck(core, *registry, testing::named_operation(*registry, operation), options)
        .text_of(number);
  });
}

std::vector<UngeneratedOperation> operations_without_cases(const Core& core, ExtensionId extension) {
  return as_errors([&] {
    std::vector<UngeneratedOperation> out;
    std::shared_ptr<const Registry> registry = core.state()->registry();
    std::set<const Source*> of = testing::sources_of(core, extension);
    for (const OpDef* op : registry->ops())
      if (of.count(op->source) && !testing::can_be_sampled(*op))
        out.push_back({testing::full_name(*op), op->bodies().empty() ? "it has side effects" : "it has bodies"});
    return out;
  });
}

std::vector<CheckFinding> check_definitions(const Core& core, ExtensionId extension) {
  return as_errors([&] {
    std::vector<CheckFinding> out;
    std::shared_ptr<const Registry> registry = core.state()->registry();
    for (const auto& records : testing::records_of(core, extension))
      for (const std::string& slip : lint(*records, *registry, core.get_available_devices(), built_in_passes()))
        out.push_back({"", "", "definition", slip, "", -1});
    return out;
  });
}

namespace testing {
namespace {
// The operations that a case computes, bodies included.
void add_operations(const Graph& g, const Registry& registry, std::vector<std::string>& out) {
  for (NodeId id : g.topological_order()) {
    if (const OpDef* op = registry.find(g[id].type, g[id].opset)) out.push_back(full_name(*op));
    for (const Body& b : g[id].bodies) add_operations(*b.graph, registry, out);
  }
}

void run_cases(const std::vector<Case>& cases, const Registry& registry, const TestWatch& watch,
               std::vector<TestOutcome>& out, const std::string& example_of = "") {
  for (const Case& c : cases) {
    TestOutcome t{c.file, c.name, c.line, "", {}, example_of, c.body};
    if (watch.before && !watch.before(t)) continue;
    t.failure = run_case(c, registry);
    if (t.failure.empty()) {
      Test test = read_test(c, registry);
      if (test.error.empty()) add_operations(test.graph, registry, t.operations);
    }
    if (watch.after) watch.after(t);
    out.push_back(std::move(t));
  }
}
}  // namespace
}  // namespace testing

std::vector<TestOutcome> run_test_file(const Core& core, const std::string& path, const TestWatch& watch) {
  return as_errors([&] {
    std::vector<TestOutcome> out;
    testing::run_cases(testing::read_cases(path), *core.state()->registry(), watch, out);
    return out;
  });
}

std::vector<TestOutcome> run_examples(const Core& core, ExtensionId extension, const TestWatch& watch) {
  return as_errors([&] {
    std::vector<TestOutcome> out;
    std::shared_ptr<const Registry> registry = core.state()->registry();
    std::set<const Source*> of = testing::sources_of(core, extension);
    for (const OpDef* op : registry->ops())
      if (of.count(op->source))
        testing::run_cases(testing::example_cases(*op), *registry, watch, out, testing::full_name(*op));
    return out;
  });
}

}  // namespace graft

#include <chrono>
#include <ctime>
#include <functional>
#include <graft/check.hpp>
#include <set>

#include "base/text.hpp"
#include "check/case.hpp"
#include "check/check_kernel.hpp"
#include "check/check_source.hpp"
#include "check/generate.hpp"
#include "devices/cpu/cpu.hpp"
#include "schema/lint.hpp"
#include "toolkit/border.hpp"
#include "toolkit/state.hpp"

namespace graft::testing {
namespace {

constexpr size_t most_samples = 60;
constexpr int most_attempts = 200;  // to find a smaller case

std::string full_name(const OpDef& op) {
  int number = opset_number(op.opset());
  return text(op.name(), "@", number < 0 ? std::string(op.opset()) : text(number));
}

std::shared_ptr<const Records> records_of(const Core& core, ExtensionId id) {
  for (const Core::State::Added& a : core.state()->added())
    if (a.info.id == id) return a.records;
  throw Error(ErrorKind::request, text("no extension with id ", static_cast<uint64_t>(id), " is added to this Core"));
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

// By the clock, or by the processor where a busy machine gives this process less: a limit means as many cases there.
class Elapsed {
 public:
  double seconds() const {
    double used = static_cast<double>(std::clock() - used_) / CLOCKS_PER_SEC;
    std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    constexpr double longest = 10;  // of the limit, for kernels that wait
    return std::max(std::min(passed.count(), used), passed.count() / longest);
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
        how_{registry, op, o.allocations},
        generator_(registry, op, valid_samples(registry, op, o), o.seed) {
    out_.operation = full_name(op);
    const Source* only = o.extension ? &records_of(core, *o.extension)->source : nullptr;
    for (const std::string& device : cpu_kernel_devices())
      for (const KernelDef& k : registry.kernels(op, device))
        if (!only || op.source == only || k.source == only) {
          kernels_.push_back([this, k](const Sample& s, const Reference& r, bool concurrent, Fault& problem) {
            return check_kernel(how_, s, r, k, concurrent, problem);
          });
          out_.kernels.push_back({text(device, ":", k.record->name), 0});
        }
    for (const std::shared_ptr<const Device>& d : core.state()->devices) add_source_kernels(d, only);
  }

  CheckedOperation run() {
    Elapsed elapsed;
    for (int i = options_.first; i < options_.first + options_.cases; ++i) {
      if (elapsed.seconds() - compiling_ > options_.seconds) break;
      if (options_.before_case) options_.before_case(i);
      if (std::optional<Sample> s = generator_.make(i)) run(*s, i);
      else ++out_.refused, refusal_ = generator_.refusal;
    }
    if (!out_.cases) out_.refusal = refusal_;
    return std::move(out_);
  }

  std::string text_of(int number) {
    std::optional<Sample> s = generator_.make(number);
    return s ? to_text(*s, op_) : "";
  }

 private:
  using Check = std::function<KernelVerdict(const Sample&, const Reference&, bool concurrent, Fault& problem)>;

  // A program is compiled for each case, which takes long; the limit is for the other kernels.
  void add_source_kernels(const std::shared_ptr<const Device>& device, const Source* only) {
    constexpr int most = 20;
    std::vector<SourceKernelDef> all = registry_.source_kernels(op_, device->name());
    if (all.empty() || device->unavailable()) return;
    for (const SourceKernelDef& k : all) {
      if (only && op_.source != only && k.source != only) continue;
      size_t at = kernels_.size();
      kernels_.push_back([this, at, device, name = std::string(view(k.record->name))](
                             const Sample& s, const Reference& r, bool, Fault& problem) {
        if (out_.kernels[at].cases >= most) return KernelVerdict::declined;
        Elapsed elapsed;
        KernelVerdict v = check_source_kernel(how_, s, r, *device, name, problem);
        compiling_ += elapsed.seconds();
        return v;
      });
      out_.kernels.push_back({text(device->name(), ":", k.record->name), 0, true});
    }
  }

  void run(const Sample& s, int number) {
    Reference reference = reference_of(how_, s);
    if (reference.problem) report(s, number, kernels_.size(), *reference.problem);
    if (!reference.refusal.empty()) {
      ++out_.refused, refusal_ = reference.refusal;
      return;
    }
    // Without an element in any output nothing is computed; the shapes are checked.
    bool computed = false;
    for (const Tensor& t : reference.outputs) computed |= t && t.size() > 0;
    if (!computed) return;
    ++out_.cases;
    for (size_t k = 0; k < kernels_.size(); ++k) {
      Fault p;
      bool concurrent = out_.kernels[k].cases % 16 == 1 || elements_of(s) > 4000;
      KernelVerdict v = kernels_[k](s, reference, concurrent, p);
      if (v != KernelVerdict::declined) ++out_.kernels[k].cases;
      if (v == KernelVerdict::failed) report(s, number, k, p);
    }
  }

  // The same kind of problem of the same kernel; `kernel` is past the end for the shape function.
  std::optional<Fault> repeats(const Sample& s, size_t kernel, const std::string& kind) {
    Reference reference = reference_of(how_, s);
    if (kernel == kernels_.size())
      return reference.problem && reference.problem->kind == kind ? reference.problem : std::nullopt;
    if (!reference.refusal.empty()) return std::nullopt;
    Fault p;
    bool failed = kernels_[kernel](s, reference, kind == "race", p) == KernelVerdict::failed;
    return failed && p.kind == kind ? std::optional(p) : std::nullopt;
  }

  void report(Sample s, int number, size_t kernel, Fault p) {
    std::string name = kernel < kernels_.size() ? out_.kernels[kernel].name : "";
    if (!reported_.insert({name, p.kind}).second) return;
    int attempts = options_.smallest ? most_attempts : 0;
    for (bool smaller = true; smaller && attempts > 0;) {
      smaller = false;
      for (Sample& candidate : generator_.simpler(s)) {
        if (--attempts <= 0) break;
        if (!generator_.valid(candidate)) continue;
        std::optional<Fault> again = repeats(candidate, kernel, p.kind);
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
  return at_border([&] {
    std::shared_ptr<const Registry> registry = core.state()->registry();
    std::shared_ptr<const Records> records = extension ? testing::records_of(core, *extension) : nullptr;
    std::vector<std::string> out;
    for (const OpDef* op : registry->ops()) {
      if (!testing::can_be_sampled(*op)) continue;
      bool mine = records ? op->source == &records->source : op->source->built_in();
      if (records && !mine)
        for (const std::string& device : cpu_kernel_devices())
          for (const KernelDef& k : registry->kernels(*op, device)) mine |= k.source == &records->source;
      if (mine) out.push_back(testing::full_name(*op));
    }
    return out;
  });
}

CheckedOperation check_operation(const Core& core, const std::string& operation, const CheckOptions& options) {
  return at_border([&] {
    std::shared_ptr<const Registry> registry = core.state()->registry();
    return testing::OperationCheck(core, *registry, testing::named_operation(*registry, operation), options).run();
  });
}

std::string generated_case(const Core& core, const std::string& operation, int number, const CheckOptions& options) {
  return at_border([&] {
    std::shared_ptr<const Registry> registry = core.state()->registry();
    return testing::OperationCheck(core, *registry, testing::named_operation(*registry, operation), options)
        .text_of(number);
  });
}

std::vector<CheckFinding> check_definitions(const Core& core, ExtensionId extension) {
  return at_border([&] {
    std::vector<CheckFinding> out;
    std::shared_ptr<const Registry> registry = core.state()->registry();
    std::shared_ptr<const Records> records = testing::records_of(core, extension);
    for (const std::string& slip : lint(*records, *registry, core.get_available_devices(), built_in_passes()))
      out.push_back({"", "", "definition", slip, "", -1});
    for (const OpDef* op : registry->ops()) {
      if (op->source != &records->source) continue;
      for (const testing::Case& c : testing::example_cases(*op))
        if (std::string why = testing::run_case(c, *registry); !why.empty())
          out.push_back({testing::full_name(*op), "", "example fails", why, c.body, -1});
    }
    return out;
  });
}

std::vector<TestOutcome> run_test_file(const Core& core, const std::string& path) {
  return at_border([&] {
    std::vector<TestOutcome> out;
    std::shared_ptr<const Registry> registry = core.state()->registry();
    for (const testing::Case& c : testing::read_cases(path))
      out.push_back({c.file, c.name, c.line, testing::run_case(c, *registry)});
    return out;
  });
}

}  // namespace graft

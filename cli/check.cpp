// graft check: examples, .test files and generated cases of operations.
#include <cstdio>
#include <graft/check.hpp>

#include "allocations.hpp"
#include "command.hpp"
#include "simulator.hpp"
#include "worker.hpp"

namespace graft::cli {
namespace {

struct CheckCommand {
  std::vector<std::string> targets;  // libraries and .test files
  ModelOptions model;                // further extensions
  std::string operation;
  bool built_ins = false, json = false;
  uint64_t seed = 1;
  int cases = 300, only = -1, first = 0;
  double seconds = 20, patience = 60;
  std::string worker;  // what this process checks for another one: an operation, or "definitions"
  bool show = false;   // the worker prints the case and does not run it
};

constexpr int most_crashes = 3;  // of one operation

nlohmann::json finding_json(const CheckFinding& f) {
  return {{"operation", f.operation}, {"kernel", f.kernel}, {"kind", f.kind},
          {"detail", f.detail},       {"test", f.test},     {"case", f.number}};
}
CheckFinding finding_of(const nlohmann::json& j) {
  return {j["operation"], j["kernel"], j["kind"], j["detail"], j["test"], j["case"]};
}

bool is_library(const std::string& path) { return extension_of(path) == ".so" || extension_of(path) == ".py"; }

// The core with all libraries, and the ids of those to check.
struct Loaded {
  Core core;
  std::vector<ExtensionId> checked;
  std::vector<std::string> tests;

  explicit Loaded(const CheckCommand& o) : core(make_core(o.model)) {
    for (const std::string& t : o.targets) {
      if (is_library(t)) checked.push_back(core.add_extension(t));
      else if (extension_of(t) == ".test") tests.push_back(t);
      else
        throw UsageError(
            text("expected a library (.so), a Python file (.py) or a file of cases (.test), got '", t, "'"));
    }
    if (checked.empty() && tests.empty() && !o.built_ins)
      throw UsageError("nothing to check",
                       "name a library (.so), a Python file (.py) or a file of cases (.test), or give --built-ins");
  }
  CheckOptions options(const CheckCommand& o, const std::string& operation) const {
    CheckOptions out;
    for (ExtensionId id : checked)
      for (const std::string& name : operations_to_check(core, id))
        if (name == operation) out.extension = id;
    out.tests = tests;
    out.seed = o.seed, out.first = o.first, out.cases = o.cases, out.seconds = o.seconds;
    if (o.only >= 0) out.first = o.only, out.cases = 1;
    out.allocations = allocation_counter();
    return out;
  }
};

// ---- the worker ----

void write_line(const nlohmann::json& j) {
  std::printf("%s\n", j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

void work(const CheckCommand& o) {
  Loaded loaded(o);
  nlohmann::json findings = nlohmann::json::array();
  if (o.worker == "definitions") {
    int passed = 0, failed = 0;
    for (ExtensionId id : loaded.checked)
      for (const CheckFinding& f : check_definitions(loaded.core, id)) findings.push_back(finding_json(f));
    for (const std::string& path : loaded.tests)
      for (const TestOutcome& t : run_test_file(loaded.core, path)) {
        t.failure.empty() ? ++passed : ++failed;
        if (!t.failure.empty())
          findings.push_back(
              finding_json({text(t.file, ":", t.line, ": ", t.name), "", "case fails", t.failure, "", -1}));
      }
    return write_line({{"findings", findings}, {"passed", passed}, {"failed", failed}});
  }
  CheckOptions options = loaded.options(o, o.worker);
  if (o.show) return write_line({{"test", generated_case(loaded.core, o.worker, options.first, options)}});
  options.before_case = [](int number) { write_line({{"case", number}}); };
  CheckedOperation r = check_operation(loaded.core, o.worker, options);
  nlohmann::json kernels = nlohmann::json::array();
  for (const CheckedKernel& k : r.kernels)
    kernels.push_back({{"name", k.name}, {"cases", k.cases}, {"source", k.source}});
  for (const CheckFinding& f : r.findings) findings.push_back(finding_json(f));
  write_line({{"findings", findings},
              {"cases", r.cases},
              {"refused", r.refused},
              {"refusal", r.refusal},
              {"kernels", kernels}});
}

// ---- the process that the user sees ----

std::vector<std::string> worker_arguments(const CheckCommand& o, const std::string& what) {
  std::vector<std::string> out{"check",   "--worker",    what,        "--seed",       text(o.seed),
                               "--cases", text(o.cases), "--seconds", text(o.seconds)};
  out.insert(out.end(), o.targets.begin(), o.targets.end());
  for (const std::string& e : o.model.extensions) out.push_back("--extensions=" + e);
  if (o.built_ins) out.emplace_back("--built-ins");
  if (o.only >= 0) out.push_back(text("--case=", o.only));
  return out;
}

std::string replay_command(const CheckCommand& o, const CheckFinding& f) {
  std::string out = "graft check";
  for (const std::string& t : o.targets) out += " " + path_for_shell(t);
  for (const std::string& e : o.model.extensions) out += " --extensions " + quoted_for_shell(e);
  if (o.built_ins) out += " --built-ins";
  if (f.number >= 0) out += text(" --op ", quoted_for_shell(f.operation), " --case ", f.number);
  if (f.number >= 0 && o.seed != 1) out += text(" --seed ", o.seed);
  return out;
}

class Checker {
 public:
  explicit Checker(const CheckCommand& o) : o_(o) {}

  void run() {
    std::vector<std::string> operations = list();
    if (o_.operation.empty()) definitions();
    for (const std::string& op : operations) operation(op);
    finish(operations.size());
  }

 private:
  std::vector<std::string> list() {
    Loaded loaded(o_);
    std::vector<std::string> all, out;
    for (ExtensionId id : loaded.checked)
      for (const std::string& name : operations_to_check(loaded.core, id)) all.push_back(name);
    if (o_.built_ins) {
      for (const std::string& name : operations_to_check(loaded.core)) all.push_back(name);
    }
    for (const std::string& name : all)
      if (o_.operation.empty() || name == o_.operation || name.substr(0, name.find('@')) == o_.operation)
        out.push_back(name);
    if (out.empty() && !o_.operation.empty()) {
      for (size_t i = 0, n = all.size(); i < n; ++i) all.push_back(all[i].substr(0, all[i].find('@')));
      auto close = nearest(o_.operation, all);
      throw UsageError(text("there is no operation '", o_.operation, "' to check"),
                       close ? text("did you mean ", *close, "?") : "");
    }
    return out;
  }

  void definitions() {
    nlohmann::json result;
    WorkerEnd end = run_worker(worker_arguments(o_, "definitions"), 10 * o_.patience,
                               [&](const std::string& line) { result = nlohmann::json::parse(line); });
    if (end.how != WorkerEnd::finished) {
      report({"", "", end.how == WorkerEnd::crashed ? "crash" : "hangs",
              text("a case of a .test file or an example ends the process: ", end.signal), "", -1});
      return;
    }
    for (const nlohmann::json& f : result["findings"]) report(finding_of(f));
    int passed = result["passed"], failed = result["failed"];
    tests_ = passed + failed;
    if (tests_ && !o_.json) std::printf("%d of %d cases of .test files passed\n", passed, tests_);
  }

  void operation(const std::string& name) {
    nlohmann::json result;
    int last = -1, crashes = 0;
    for (int first = 0;;) {
      std::vector<std::string> arguments = worker_arguments(o_, name);
      if (o_.only < 0) arguments.push_back(text("--first=", first));
      WorkerEnd end = run_worker(arguments, o_.patience, [&](const std::string& line) {
        nlohmann::json j = nlohmann::json::parse(line);
        if (j.contains("case")) last = j["case"];
        else result = j;
      });
      if (end.how == WorkerEnd::finished) break;
      report({name, "", end.how == WorkerEnd::crashed ? "crash" : "hangs",
              end.how == WorkerEnd::crashed ? end.signal : text("no result after ", o_.patience, " seconds"),
              shown_case(name, last), last});
      if (++crashes == most_crashes || o_.only >= 0 || last < first) break;
      first = last + 1;
    }
    if (result.is_null()) return;
    for (const nlohmann::json& f : result["findings"]) report(finding_of(f));
    simulate(name, result);
    cases_ += result["cases"].get<int>();
    if (o_.json) {
      result.erase("findings");
      result["operation"] = name;
      return operations_.push_back(result);
    }
    std::string kernels;
    for (const nlohmann::json& k : result["kernels"])
      kernels += text(kernels.empty() ? "" : ", ", k["name"].get<std::string>(), " ", k["cases"].get<int>());
    std::string refusal = result["refusal"];
    int cases = result["cases"], refused = result["refused"];
    std::printf("%-32s %4d cases, %3d refused; %s\n", name.c_str(), cases, refused, kernels.c_str());
    if (!refusal.empty()) std::printf("     not checked, every case was refused: %s\n", printable(refusal).c_str());
    std::fflush(stdout);
  }

  // Kernels as source text once more, in a simulator that sees each access; slow, so few cases, and built-in operations
  // only where one is named.
  void simulate(const std::string& name, const nlohmann::json& result) {
    constexpr int cases = 8;
    bool any = false;
    for (const nlohmann::json& k : result["kernels"]) any = any || (k["source"] && k["cases"] > 0);
    if (!any || (o_.built_ins && o_.operation.empty())) return;
    if (!simulator_) simulator_ = Simulator::find();
    if (!simulator_) return;
    CheckCommand few = o_;
    few.cases = std::min(o_.cases, cases);
    WorkerEnd end = run_worker(
        worker_arguments(few, name), o_.patience, [](const std::string&) {}, simulator_->environment());
    for (const Simulator::Fault& f : simulator_->faults())
      report({name, "", f.kind, text(f.detail, " (Oclgrind)"), "", -1});
    if (end.how != WorkerEnd::finished && !o_.json)
      std::printf("     not simulated by Oclgrind: %s\n",
                  end.how == WorkerEnd::crashed ? end.signal.c_str() : "too slow");
  }

  std::string shown_case(const std::string& name, int number) {
    std::string out;
    if (number < 0) return out;
    std::vector<std::string> arguments = worker_arguments(o_, name);
    arguments.emplace_back("--show-case");
    arguments.push_back(text("--first=", number));
    run_worker(arguments, o_.patience,
               [&](const std::string& line) { out = nlohmann::json::parse(line).value("test", ""); });
    return out;
  }

  void report(const CheckFinding& f) {
    ++found_;
    std::string replay = replay_command(o_, f);
    if (o_.json) {
      findings_.push_back(finding_json(f));
      findings_.back()["replay"] = replay;
      return;
    }
    std::printf("FAIL %s     replay: %s\n", printable(f.to_text()).c_str(), replay.c_str());
    std::fflush(stdout);
  }

  void finish(size_t operations) {
    if (o_.json) print_json({{"operations", operations_}, {"findings", findings_}});
    else
      std::printf("%zu %s, %d generated cases: %s\n", operations, operations == 1 ? "operation" : "operations", cases_,
                  found_ ? text(found_, found_ == 1 ? " finding" : " findings").c_str() : "no findings");
    if (found_) throw Error(ErrorKind::user, text(found_, found_ == 1 ? " finding" : " findings"));
  }

  const CheckCommand& o_;
  int found_ = 0, cases_ = 0, tests_ = 0;
  std::unique_ptr<Simulator> simulator_;
  nlohmann::json operations_ = nlohmann::json::array(), findings_ = nlohmann::json::array();
};

}  // namespace

void add_check(CLI::App& app) {
  auto o = std::make_shared<CheckCommand>();
  CLI::App* c =
      app.add_subcommand("check", "check operations: examples, .test files, and generated cases of every kernel");
  c->add_option("targets", o->targets,
                "libraries (.so) and Python files (.py) whose operations are checked, and files of cases (.test)");
  c->add_flag("--built-ins", o->built_ins, "check the built-in operations");
  c->add_option("--op", o->operation, "check only this operation: Name or Name@opset");
  c->add_option("--case", o->only, "run only this generated case")->check(CLI::NonNegativeNumber);
  c->add_option("--cases", o->cases, "number of generated cases per operation")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  c->add_option("--seed", o->seed, "seed of the generated cases")->capture_default_str();
  c->add_option("--seconds", o->seconds, "time limit per operation")->check(CLI::PositiveNumber)->capture_default_str();
  c->add_option("--patience", o->patience, "seconds of processor time after which a case counts as hanging")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  o->model.add_extensions(*c);
  c->add_flag("--json", o->json, "print JSON");
  c->add_option("--worker", o->worker)->group("");
  c->add_option("--first", o->first)->group("");
  c->add_flag("--show-case", o->show)->group("");
  c->callback([o] {
    if (o->only >= 0 && o->operation.empty() && o->worker.empty()) throw UsageError("--case requires --op");
    if (!o->worker.empty()) return work(*o);
    Checker(*o).run();
  });
}

}  // namespace graft::cli

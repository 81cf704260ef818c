// graft check: examples, .test files and generated cases of operations.
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <graft/app/check.hpp>
#include <map>
#include <set>

#include "allocations.hpp"
#include "command.hpp"
#include "simulator.hpp"
#include "terminal.hpp"
#include "worker.hpp"

namespace graft::cli {
namespace {

struct CheckCommand {
  std::vector<std::string> targets;  // libraries, .test files, and folders of these
  ModelOptions model;                // further extensions
  std::string operation;
  bool built_ins = false, json = false, verbose = false, without_empty = false;
  uint64_t seed = 1;
  int cases = 300, only = -1, first = 0;
  double seconds = 20, patience = 30;
  std::string worker;  // what this process checks for another one: an operation, or "definitions"
  bool show = false;   // the worker prints the case and does not run it
};

constexpr int most_crashes = 3;  // of one operation

CheckFinding finding_of(const nlohmann::json& j) {
  CheckFinding out;
  std::apply([&](const auto&... f) { (j.at(f.name).get_to(out.*f.member), ...); }, CheckFinding::fields);
  return out;
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
      else if (extension_of(t) == ".test" && !std::filesystem::exists(t))
        throw UsageError(text("file not found: '", t, "'"));
      else if (extension_of(t) == ".test") tests.push_back(t);
      else if (std::filesystem::is_directory(t)) add_folder(t);
      else
        throw UsageError(
            text("expected a library (.so), a Python file (.py), a file of cases (.test) or a folder of "
                 "such files, got '",
                 t, "'"));
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
    out.allocations = allocation_counter(), out.live = live_counter();
    out.empty = !o.without_empty;
    return out;
  }

 private:
  void add_folder(const std::string& folder) {
    size_t first = tests.size();
    for (const auto& e : std::filesystem::recursive_directory_iterator(folder))
      if (e.path().extension() == ".test") tests.push_back(e.path().string());
    if (tests.size() == first) throw UsageError(text("there is no file of cases (.test) in '", folder, "'"));
    std::sort(tests.begin() + static_cast<ptrdiff_t>(first), tests.end());
  }
};

// ---- the worker ----

void write_line(const nlohmann::json& j) {
  std::printf("%s\n", j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

// Examples and .test files; `first` of them are skipped.
void work_on_definitions(const CheckCommand& o, const Loaded& loaded) {
  nlohmann::json findings = nlohmann::json::array();
  for (ExtensionId id : loaded.checked)
    for (const CheckFinding& f : check_definitions(loaded.core, id)) findings.push_back(value_json(f));
  int number = 0;
  auto title = [](const TestOutcome& t) {
    return t.example_of.empty() ? text(t.file, ":", t.line, ": ", t.name) : t.example_of;
  };
  TestWatch watch;
  watch.before = [&](const TestOutcome& t) {
    if (number++ < o.first) return false;
    write_line({{"case", number - 1}, {"title", title(t)}});
    return true;
  };
  watch.after = [&](const TestOutcome& t) {
    write_line({{"done", title(t)},
                {"failure", t.failure},
                {"operations", t.operations},
                {"test", t.example_of.empty() ? "" : t.body}});
  };
  for (ExtensionId id : loaded.checked) run_examples(loaded.core, id, watch);
  for (const std::string& path : loaded.tests) run_test_file(loaded.core, path, watch);
  write_line({{"findings", findings}});
}

void work(const CheckCommand& o) {
  Loaded loaded(o);
  if (o.worker == "definitions") return work_on_definitions(o, loaded);
  CheckOptions options = loaded.options(o, o.worker);
  if (o.show) return write_line({{"test", generated_case(loaded.core, o.worker, options.first, options)}});
  options.before_case = [](int number) { write_line({{"case", number}}); };
  options.before_kernel = [](const std::string& kernel, bool empty) {
    write_line({{"kernel", kernel}, {"empty", empty}});
  };
  write_line(value_json(check_operation(loaded.core, o.worker, options)));
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

// What is being checked, on a terminal only; the line disappears when something else is printed.
class CheckProgress {
 public:
  explicit CheckProgress(bool wanted) : on_(wanted && ::isatty(STDERR_FILENO)) {}
  ~CheckProgress() { clear(); }
  CheckProgress(const CheckProgress&) = delete;

  void show(const std::string& line) {
    constexpr auto pause = std::chrono::milliseconds(100);
    auto now = std::chrono::steady_clock::now();
    if (!on_ || now - last_ < pause) return;
    last_ = now, shown_ = true;
    constexpr size_t width = 78;
    std::fprintf(raw_stderr(), "\r\x1b[K%s", printable(line).substr(0, width).c_str());
    std::fflush(raw_stderr());
  }
  void clear() {
    if (shown_) std::fprintf(raw_stderr(), "\r\x1b[K"), std::fflush(raw_stderr());
    shown_ = false;
  }

 private:
  bool on_, shown_ = false;
  std::chrono::steady_clock::time_point last_{};
};

// What a worker said last: where it was when it crashed.
struct CheckPlace {
  int number = -1;
  std::string title, kernel;
  bool empty = false;
};

class Checker {
 public:
  explicit Checker(const CheckCommand& o) : o_(o), progress_(!o.json) {}

  void run() {
    list();
    if (o_.operation.empty() || !ungenerated_.empty()) definitions();
    for (size_t i = 0; i < operations_.size(); ++i)
      operation(operations_[i], text("[", i + 1, "/", operations_.size(), "] "));
    for (const UngeneratedOperation& u : ungenerated_) without_cases(u);
    finish();
  }

 private:
  bool selected(const std::string& name) const {
    return o_.operation.empty() || name == o_.operation || name.substr(0, name.find('@')) == o_.operation;
  }
  void list() {
    Loaded loaded(o_);
    tests_given_ = !loaded.tests.empty();
    std::vector<std::string> all;
    for (ExtensionId id : loaded.checked) {
      for (const std::string& name : operations_to_check(loaded.core, id)) all.push_back(name);
      for (const UngeneratedOperation& u : operations_without_cases(loaded.core, id))
        if (selected(u.operation)) ungenerated_.push_back(u);
    }
    if (o_.built_ins)
      for (const std::string& name : operations_to_check(loaded.core)) all.push_back(name);
    std::copy_if(all.begin(), all.end(), std::back_inserter(operations_), [&](const auto& n) { return selected(n); });
    if (operations_.empty() && ungenerated_.empty() && !o_.operation.empty()) {
      for (size_t i = 0, n = all.size(); i < n; ++i) all.push_back(all[i].substr(0, all[i].find('@')));
      auto close = nearest(o_.operation, all);
      throw UsageError(text("there is no operation '", o_.operation, "' to check"),
                       close ? text("did you mean ", *close, "?") : "");
    }
  }

  // The finding for a process that has ended.
  CheckFinding ended(const WorkerEnd& end, const std::string& operation, const CheckPlace& at) const {
    std::string detail = end.how == WorkerEnd::crashed ? end.signal : text("no result after ", o_.patience, " seconds");
    if (at.empty) detail += ", with tensors that have no elements";
    return {operation, at.kernel, end.how == WorkerEnd::crashed ? "crash" : "hangs", detail, "", at.number};
  }

  void definitions() {
    nlohmann::json result;
    int crashes = 0;
    for (int first = 0;;) {
      CheckPlace at;
      std::vector<std::string> arguments = worker_arguments(o_, "definitions");
      arguments.push_back(text("--first=", first));
      WorkerEnd end = run_worker(arguments, o_.patience, [&](const std::string& line) {
        nlohmann::json j = nlohmann::json::parse(line);
        if (j.contains("case")) at.number = j["case"], at.title = j["title"], progress_.show(at.title);
        else if (j.contains("done")) tested(j);
        else result = j;
      });
      if (end.how == WorkerEnd::finished) break;
      CheckFinding f = ended(end, at.title, at);
      f.number = -1;
      ++failed_;
      report(f);
      if (at.number < first || ++crashes == most_crashes) break;
      first = at.number + 1;
    }
    if (!result.is_null())
      for (const nlohmann::json& f : result["findings"]) report(finding_of(f));
    progress_.clear();
    if (passed_ + failed_ && tests_given_ && !o_.json)
      std::printf("%d of %d cases of .test files passed\n", passed_, passed_ + failed_);
  }
  // One example, or case of a .test file.
  void tested(const nlohmann::json& j) {
    std::string title = j["done"], failure = j["failure"], test = j["test"];
    for (const nlohmann::json& name : j["operations"]) ++tested_[name.get<std::string>()];
    bool example = !test.empty();
    if (!example) failure.empty() ? ++passed_ : ++failed_;
    if (!failure.empty()) report({title, "", example ? "example fails" : "case fails", failure, test, -1});
    else if (o_.verbose && !o_.json) {
      progress_.clear();
      std::printf("ok   %s\n", printable(title).c_str());
    }
  }

  void operation(const std::string& name, const std::string& prefix) {
    nlohmann::json result;
    int crashes = 0, found = found_;
    CheckPlace at;
    bool without_empty = false;
    for (int first = 0;;) {
      std::vector<std::string> arguments = worker_arguments(o_, name);
      if (o_.only < 0) arguments.push_back(text("--first=", first));
      if (without_empty) arguments.emplace_back("--without-empty");
      WorkerEnd end = run_worker(arguments, o_.patience, [&](const std::string& line) {
        nlohmann::json j = nlohmann::json::parse(line);
        if (j.contains("case")) at = {j["case"], "", "", false};
        else if (j.contains("kernel")) at.kernel = j["kernel"], at.empty = j["empty"];
        else result = j;
        if (at.number >= 0) progress_.show(text(prefix, name, ": case ", at.number, " of ", o_.cases, " ", at.kernel));
      });
      if (end.how == WorkerEnd::finished) break;
      // Requests do not call kernels where no output has an element; one may rely on that when it divides by a size.
      bool harmless = at.empty && end.signal == ::sigdescr_np(SIGFPE);
      if (!harmless) {
        CheckFinding f = ended(end, name, at);
        f.test = shown_case(name, at.number);
        report(f);
        if (++crashes == most_crashes || (end.how == WorkerEnd::timed_out && !at.empty)) break;
      }
      if ((o_.only >= 0 && !at.empty) || at.number < first) break;
      first = at.empty ? at.number : at.number + 1;
      without_empty |= at.empty;
      at.empty = false;
    }
    progress_.clear();
    if (result.is_null()) return;
    for (const nlohmann::json& f : result["findings"]) report(finding_of(f));
    simulate(name, result);
    print_operation(name, result);
    std::string refusal = result["refusal"];
    if (!result["cases"].get<int>() && found_ == found)
      not_checked(name,
                  refusal.empty() ? "no case has an output with elements" : text("every case was refused: ", refusal));
  }

  void print_operation(const std::string& name, nlohmann::json& result) {
    cases_ += result["cases"].get<int>();
    if (o_.json) {
      result.erase("findings");
      result["operation"] = name;
      return operations_json_.push_back(result);
    }
    std::string kernels;
    for (const nlohmann::json& k : result["kernels"])
      kernels += text(kernels.empty() ? "" : ", ", k["name"].get<std::string>(), " ", k["cases"].get<int>());
    int cases = result["cases"], refused = result["refused"];
    std::printf("%-32s %4d cases, %3d refused; %s\n", name.c_str(), cases, refused, kernels.c_str());
    for (const nlohmann::json& k : result["kernels"])
      if (std::string why = k["declined"];
          !o_.built_ins && cases && !k["source"] && !k["cases"].get<int>() && !why.empty())
        std::printf("     kernel %s is not checked, it declines every case: %s\n", k["name"].get<std::string>().c_str(),
                    printable(why).c_str());
    std::fflush(stdout);
  }

  // Nothing was generated; what the user has written may check it.
  void without_cases(const UngeneratedOperation& u) {
    if (!tested_.count(u.operation)) return not_checked(u.operation, text("no cases can be generated: ", u.reason));
    if (o_.json) return operations_json_.push_back({{"operation", u.operation}, {"tests", tested_[u.operation]}});
    std::printf("%-32s %4d cases of .test files and examples; none generated: %s\n", u.operation.c_str(),
                tested_[u.operation], u.reason.c_str());
  }
  void not_checked(const std::string& name, const std::string& reason) {
    constexpr const char* advice =
        "give it a valid case: an example of the operation (`.example`), or a .test file beside the library; in the "
        "file "
        "that graft new writes, replace `error:` by values and results";
    if (o_.json) return not_checked_.push_back({{"operation", name}, {"reason", reason}});
    not_checked_.push_back(name);
    std::printf("FAIL %s: not checked\n     %s\n     %s\n", name.c_str(), printable(reason).c_str(), advice);
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
    few.seconds = o_.seconds / 4;
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
    progress_.clear();
    std::string replay = replay_command(o_, f);
    if (o_.json) {
      findings_.push_back(value_json(f));
      findings_.back()["replay"] = replay;
      return;
    }
    std::printf("FAIL %s     replay: %s\n", printable(f.to_text()).c_str(), replay.c_str());
    std::fflush(stdout);
  }

  void finish() {
    progress_.clear();
    size_t operations = operations_.size() + ungenerated_.size(), missing = not_checked_.size();
    int tests = passed_ + failed_;
    auto count = [](auto n, const char* one, const char* many) { return text(n, " ", n == 1 ? one : many); };
    std::string outcome = found_ ? count(found_, "finding", "findings") : "no findings";
    if (missing) outcome += text(", ", missing, " not checked");
    if (o_.json)
      print_json({{"operations", operations_json_},
                  {"findings", findings_},
                  {"not_checked", not_checked_},
                  {"tests", {{"passed", passed_}, {"failed", failed_}}}});
    else if (operations)
      std::printf("%s, %d generated cases: %s\n", count(operations, "operation", "operations").c_str(), cases_,
                  outcome.c_str());
    if (found_) throw Error(ErrorKind::user, count(found_, "finding", "findings"));
    if (missing) throw Error(ErrorKind::user, text(count(missing, "operation is", "operations are"), " not checked"));
    if (!operations && !tests)
      throw Error(ErrorKind::user,
                  tests_given_ ? "nothing is checked: the .test files have no cases"
                               : "nothing is checked: there are no operations",
                  "a .test file with cases checks import rules and passes: graft check LIBRARY FILE.test");
  }

  const CheckCommand& o_;
  CheckProgress progress_;
  std::vector<std::string> operations_;
  std::vector<UngeneratedOperation> ungenerated_;
  std::map<std::string, int> tested_;  // operations by cases that the user has written and that pass
  bool tests_given_ = false;
  int found_ = 0, cases_ = 0, passed_ = 0, failed_ = 0;
  std::unique_ptr<Simulator> simulator_;
  nlohmann::json operations_json_ = nlohmann::json::array(), findings_ = nlohmann::json::array(),
                 not_checked_ = nlohmann::json::array();
};

}  // namespace

void add_check(CLI::App& app) {
  auto o = std::make_shared<CheckCommand>();
  CLI::App* c =
      app.add_subcommand("check", "check operations: examples, .test files, and generated cases of every kernel");
  c->add_option("targets", o->targets,
                "libraries (.so) and Python files (.py) whose operations are checked, and files or folders of cases "
                "(.test)");
  c->add_flag("--built-ins", o->built_ins, "check the built-in operations");
  c->add_option("--op", o->operation, "check only this operation: Name or Name@opset");
  c->add_option("--case", o->only, "run only this generated case")->check(CLI::NonNegativeNumber);
  c->add_option("--cases", o->cases, "number of generated cases per operation")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  c->add_option("--seed", o->seed, "seed of the generated cases")->capture_default_str();
  c->add_option("--seconds", o->seconds, "processor time per operation")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  c->add_option("--patience", o->patience, "seconds of processor time after which a case counts as hanging")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  o->model.add_extensions(*c);
  c->add_flag("-v,--verbose", o->verbose, "also list the cases of .test files that pass");
  c->add_flag("--json", o->json, "print JSON");
  c->add_option("--worker", o->worker)->group("");
  c->add_option("--first", o->first)->group("");
  c->add_flag("--show-case", o->show)->group("");
  c->add_flag("--without-empty", o->without_empty)->group("");
  c->callback([o] {
    if (o->only >= 0 && o->operation.empty() && o->worker.empty()) throw UsageError("--case requires --op");
    if (!o->worker.empty()) return work(*o);
    Checker(*o).run();
  });
}

}  // namespace graft::cli

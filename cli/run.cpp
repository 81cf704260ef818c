// graft run: runs a model once and writes its outputs to files.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <graft/app/check.hpp>
#include <numeric>

#include "allocations.hpp"
#include "inputs.hpp"
#include "thread_options.hpp"
#include "utterances.hpp"

namespace graft::cli {
namespace {

struct RunOptions {
  ModelOptions model;
  InputOptions inputs;
  std::vector<std::string> outputs, ignored;
  std::string folder, labels;
  bool through_ir = false, check = false, json = false, quiet = false;
  int top = 0;
  ThreadOptions threads;
  int64_t chunk = 0;
};

std::vector<double> numbers_of(const Tensor& t) {
  Tensor same = t.to(DType::f64);
  return {same.data<double>(), same.data<double>() + same.size()};
}

std::string summary(const Tensor& t) {
  if (t.size() == 0) return "empty";
  if (t.type() == DType::string) return text('\'', t.text_at(0), '\'', t.size() > 1 ? ", ..." : "");
  std::vector<double> v = numbers_of(t);
  double low = v[0], high = v[0], sum = 0;
  for (double x : v) low = std::min(low, x), high = std::max(high, x), sum += x;
  auto brief = [](double x) {
    char b[32];
    std::snprintf(b, sizeof b, "%.6g", x);
    return std::string(b);
  };
  return text("min ", brief(low), "  mean ", brief(sum / static_cast<double>(v.size())), "  max ", brief(high));
}

// Whether the values can be read as one distribution over the classes: logits and distances cannot.
bool are_probabilities(const std::vector<double>& v) {
  double sum = 0;
  for (double x : v) {
    if (!(x >= 0 && x <= 1)) return false;
    sum += x;
  }
  return std::abs(sum - 1) < 1e-2;
}

void print_top(const Tensor& t, int count, const std::vector<std::string>& labels) {
  std::vector<double> v = numbers_of(t);
  std::vector<size_t> order(v.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return v[a] > v[b]; });
  std::printf("classid  %-11s%s\n-------  -----------%s\n", are_probabilities(v) ? "probability" : "score",
              labels.empty() ? "" : "  label", labels.empty() ? "" : "  -----");
  for (size_t i = 0; i < order.size() && i < static_cast<size_t>(count); ++i)
    std::printf("%-7zu  %-11.6g%s%s\n", order[i], v[order[i]], labels.empty() ? "" : "  ",
                order[i] < labels.size() ? labels[order[i]].c_str() : "");
}

// Writes values as .npy files, prints them, and lists them for outputs.json.
class OutputList {
 public:
  explicit OutputList(const RunOptions& o) : o_(o) {
    if (!o.folder.empty()) make_folder(o.folder);
    const std::string labels = o.labels.empty() ? "" : read_text_file(o.labels);
    for (std::string_view l : split(labels, '\n')) labels_.emplace_back(trim(l));
  }
  nlohmann::json list = nlohmann::json::array();

  void add(const std::string& name, const Datum& d) {
    nlohmann::json entry = value(name, d, text(list.size()));
    entry["name"] = name;
    list.push_back(std::move(entry));
  }

 private:
  nlohmann::json value(const std::string& name, const Datum& d, const std::string& stem) {
    switch (d.kind) {
      case Datum::sequence: return sequence(name, d, stem);
      case Datum::optional: return optional(name, d, stem);
      case Datum::map:
        return {{"kind", "map"},
                {"keys", value(name + ".keys", d.parts.at(0), stem + ".keys")},
                {"values", value(name + ".values", d.parts.at(1), stem + ".values")}};
      case Datum::tensor: break;
    }
    const Tensor& t = d.value;
    nlohmann::json entry{{"shape", t.dims()}, {"type", name_of(t.type())}};
    if (!o_.folder.empty()) {
      std::string file = stem + ".npy";
      write_tensor(o_.folder + "/" + file, t);
      entry["file"] = file;
    }
    print(name, text(t.info()), summary(t));
    if (o_.top > 0 && talks()) print_top(t, o_.top, labels_);
    return entry;
  }

  // Lists tensor items by their files.
  nlohmann::json sequence(const std::string& name, const Datum& d, const std::string& stem) {
    nlohmann::json items = nlohmann::json::array(), files = items, shapes = items, type;
    bool tensors = true;
    for (size_t i = 0; i < d.parts.size(); ++i) {
      nlohmann::json item = value(text(name, '.', i), d.parts[i], text(stem, '.', i));
      tensors &= d.parts[i].kind == Datum::tensor;
      if (tensors) shapes.push_back(item["shape"]), type = item["type"];
      if (tensors && item.contains("file")) files.push_back(item["file"]);
      items.push_back(std::move(item));
    }
    if (d.parts.empty()) print(name, "sequence", "without items");
    if (!tensors) return {{"kind", "sequence"}, {"items", items}};
    nlohmann::json entry{{"kind", "sequence"}, {"shapes", shapes}, {"type", type}};
    if (!o_.folder.empty()) entry["files"] = files;
    return entry;
  }
  nlohmann::json optional(const std::string& name, const Datum& d, const std::string& stem) {
    nlohmann::json entry;
    if (d.parts.empty()) {
      print(name, "optional", "without a value");
      entry["file"] = nullptr;
    } else {
      entry = value(name, d.parts[0], stem);
    }
    entry["optional"] = true;
    return entry;
  }

  bool talks() const { return !o_.json && !o_.quiet; }
  void print(const std::string& name, const std::string& what, const std::string& values) const {
    if (talks()) std::printf("%s  %s  %s\n", name.c_str(), what.c_str(), values.c_str());
  }

  const RunOptions& o_;
  std::vector<std::string> labels_;
};

// Checks the kernels of extensions on the values of this run.
void check_kernels(const Model& model, const std::vector<Tensor>& values) {
  CheckOptions options;
  options.allocations = allocation_counter();
  options.live = live_counter();
  std::vector<CheckFinding> findings = check_model(model, values, options);
  for (const CheckFinding& f : findings)
    std::printf("FAIL %s     capture: graft capture MODEL --node %s\n", printable(f.to_text()).c_str(),
                quoted_for_shell(f.operation).c_str());
  if (!findings.empty())
    throw Error(ErrorKind::user, text(findings.size(), findings.size() == 1 ? " finding" : " findings"));
}

// A Kaldi model is read for streaming if there are chunks; an IR must have been written for it.
Model load_for_archives(const Core& core, const RunOptions& o, const std::vector<std::string>& names) {
  ReadOptions read = o.model.reading();
  std::vector<std::string> files = o.model.all_files();
  read.streaming |= o.chunk && !files.empty() && core.recognize_format(files[0]) == "kaldi";
  if (!read.streaming) read.cut.more_outputs = names;
  Model model = load(core, o.model, read);
  if (!model.streaming()) {
    if (o.chunk)
      throw UsageError("--chunk: the model is not for streaming", "convert the Kaldi model with --streaming");
    return model;
  }
  if (read.streaming || names.empty()) return model;
  read.cut.more_outputs.clear();
  return load(core, o.model, read);
}

// One inference per utterance of a Kaldi archive, or one per chunk of it.
void run_archives(const RunOptions& o) {
  UtteranceOptions options{o.inputs.given, {}, o.model.limit_changes(), o.quiet, {}, o.chunk};
  std::vector<std::string> names;
  for (const std::string& output : o.outputs) {
    std::optional<TableArgument> t = TableArgument::parse(output);
    if (t && t->name.empty()) throw UsageError(text("expected NAME=", output, " for --output, got no name"));
    names.push_back(t ? t->name : output);
    if (t) options.outputs.push_back(*t);
  }
  if (!o.folder.empty() || o.top || o.json || o.check)
    throw UsageError("--output-dir, --top, --json and --check do not apply to archives", "use --output NAME=ark:FILE");
  Core core = make_core(o.model);
  Model model = load_for_archives(core, o, names);
  options.streaming = model.streaming();
  size_t outputs = model.outputs().size();
  std::vector<Group> selected = as_usage([&] { return model.select_outputs(names); });
  if (options.streaming && model.outputs().size() > outputs)
    throw UsageError("other outputs than those of the model are not available for streaming: their delay differs");
  if (o.through_ir) model = model.through_ir();
  Options compile = o.model.compile_options();
  o.threads.apply(core, compile);
  CompiledModel compiled = core.compile_model(model, o.model.device, compile);
  run_utterances(compiled, selected, options);
}

bool names_archive(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const auto& a) { return TableArgument::parse(a).has_value(); });
}

// Values may also be given for inputs of the model that the requested outputs do not need.
std::vector<Datum> inputs_of(const Core& core, const RunOptions& o, const InputOptions& inputs, const Model& model) {
  if (o.outputs.empty() || inputs.given.empty()) return make_inputs(inputs, model.input_groups(), model.inputs());
  Model whole = load(core, o.model);
  return make_inputs(inputs, whole.input_groups(), whole.inputs(), model.input_groups());
}

void run(const RunOptions& o) {
  if (names_archive(o.inputs.given)) return run_archives(o);
  if (o.chunk) throw UsageError("--chunk requires an --input from an archive", "use --input NAME=ark:FILE");
  if (names_archive(o.outputs))
    throw UsageError("--output to an archive requires an --input from an archive", "use --output-dir");
  Core core = make_core(o.model);
  ReadOptions read = o.model.reading();
  if (o.model.ran_action(core, read, o.json)) return;
  read.cut.more_outputs = o.outputs;
  read.cut.outputs = o.outputs;  // and nothing that they do not need
  Model model = load(core, o.model, read);
  // Random values say nothing about the length of a sequence.
  if (o.inputs.given.empty() && !model.report().assumed.empty()) model.require_complete();
  InputOptions inputs = o.inputs;
  inputs.limits = o.model.limit_changes();
  Fitted made = fit_model(model, inputs_of(core, o, inputs, model));
  note_all(made.notes);
  model = made.model;
  std::vector<Group> selected = as_usage([&] { return model.select_outputs(o.outputs); });
  if (o.through_ir) model = model.through_ir();
  for (const std::string& option : o.ignored)
    throw UsageError(text("--opt ", option, " is not supported for ", model.framework(), " models"));
  Options options = o.model.compile_options();
  o.threads.apply(core, options);
  CompiledModel compiled = core.compile_model(model, o.model.device, options);
  std::vector<Tensor> values = port_tensors(compiled.input_groups(), made.values, compiled.inputs().size());
  if (o.check) check_kernels(model, values);  // first: a kernel that writes outside of its memory would damage the run

  InferRequest request = compiled.create_infer_request();
  for (size_t i = 0; i < values.size(); ++i) request.set_input_tensor(i, values[i]);
  auto begin = std::chrono::steady_clock::now();
  request.infer();
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  char time[32];
  std::snprintf(time, sizeof time, "%.3f", passed.count());
  log(LogLevel::info, text("ran the model in ", time, " s"));

  OutputList report(o);
  for (const Group& g : selected)
    report.add(g.name, gathered(g, [&](size_t port) { return request.get_output_tensor(port); }));
  if (!o.folder.empty()) {
    write_file(o.folder + "/outputs.json",
               report.list.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  if (o.json) print_json(report.list);
}

}  // namespace

void add_run(CLI::App& app) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* c = app.add_subcommand("run", "run a model once and print or write its outputs");
  o->model.add_files(*c);
  o->model.add_extensions(*c);
  o->model.add_device(*c);
  o->model.add_shapes(*c);
  o->model.layers.add(*c);
  o->model.add_items(*c);
  o->inputs.add(*c);
  c->add_option("--output,-o", o->outputs,
                "outputs or other tensors to return, in this order (default: all outputs); NAME=ark:FILE writes "
                "a Kaldi archive")
      ->type_name("NAME")
      ->group("Outputs")
      ->allow_extra_args(false);
  c->add_option("--output-dir,--output_dir", o->folder,
                "write outputs.json and one .npy file per output to this directory")
      ->type_name("DIR")
      ->group("Outputs");
  c->add_option("--top", o->top, "print the N classes with the largest values")->type_name("N")->group("Outputs");
  c->add_option("--labels", o->labels, "file with class names, one per line")
      ->type_name("FILE")
      ->check(CLI::ExistingFile)
      ->group("Outputs");
  c->add_flag("--json", o->json, "print JSON")->group("Outputs");
  c->add_flag("--quiet,-q", o->quiet, "print nothing")->group("Outputs");
  c->add_flag("--check", o->check, "check the kernels of extensions on the values of this run, as graft check does");
  c->add_flag("--through-ir", o->through_ir, "convert the model to IR, read it back and run the result");
  c->add_option("--chunk", o->chunk, "run utterances of an archive in chunks of N frames, with a Kaldi model or its IR")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24));
  o->threads.add(*c, "--threads,--nthreads", "Threads");
  c->add_option("--opt", o->ignored, "framework-specific option")
      ->type_name("KEY=VALUE")
      ->group("Model")
      ->allow_extra_args(false);
  c->callback([o] { run(*o); });
}

}  // namespace graft::cli

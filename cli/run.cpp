// graft run: a model and inputs, results as files.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "inputs.hpp"
#include "readers/npy.hpp"

namespace graft::cli {
namespace {

struct RunOptions {
  ModelOptions model;
  InputOptions inputs;
  std::vector<std::string> outputs, ignored;
  std::string folder, labels;
  bool through_ir = false, json = false, quiet = false;
  int top = 0, threads = 0;
};

std::string summary(const Tensor& t) {
  if (t.size() == 0) return "empty";
  if (t.type() == DType::string) return text('\'', t.text_at(0), '\'', t.size() > 1 ? ", ..." : "");
  std::vector<double> v = values_of<double>(t);
  double low = v[0], high = v[0], sum = 0;
  for (double x : v) low = std::min(low, x), high = std::max(high, x), sum += x;
  auto brief = [](double x) {
    char b[32];
    std::snprintf(b, sizeof b, "%.6g", x);
    return std::string(b);
  };
  return text("min ", brief(low), "  mean ", brief(sum / static_cast<double>(v.size())), "  max ", brief(high));
}

void print_top(const Tensor& t, int count, const std::vector<std::string>& labels) {
  std::vector<double> v = values_of<double>(t);
  std::vector<size_t> order(v.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return v[a] > v[b]; });
  std::printf("classid  probability%s\n-------  -----------%s\n", labels.empty() ? "" : "  label",
              labels.empty() ? "" : "  -----");
  for (size_t i = 0; i < order.size() && i < static_cast<size_t>(count); ++i)
    std::printf("%-7zu  %-11.7f%s%s\n", order[i], v[order[i]], labels.empty() ? "" : "  ",
                order[i] < labels.size() ? labels[order[i]].c_str() : "");
}

// The model for the values that are given: where its inputs have other shapes, it is imported anew with theirs.
Model fitted(const Core& core, const RunOptions& o, Model model, ImportOptions options,
             const std::vector<Tensor>& values) {
  if (!o.model.input_shapes.empty()) return model;
  std::vector<Port> ports = model.inputs();
  for (size_t i = 0; i < values.size(); ++i) {
    if (takes(ports[i], values[i].dims())) continue;
    Shape given = Shape::of(values[i].dims());
    options.input_shapes[ports[i].any_name()] = given;
    note(text("input '", ports[i].any_name(), "' has the shape ", given, " of its values, not ", ports[i].shape));
  }
  if (options.input_shapes.empty()) return model;
  return with_context([&] { return load(core, o.model, options); },
                      [] { return "giving the model's inputs the shapes of the values"; });
}

// Where the outputs that were asked for stand among those of the model. Names are the framework's, as for `convert`;
// what only the imported graph knows is looked for there.
std::vector<size_t> positions_of(Model& model, const std::vector<std::string>& names) {
  std::vector<size_t> out;
  for (size_t i = 0; i < names.size(); ++i) {
    std::optional<size_t> at = model.state()->report.more_outputs[i];
    out.push_back(at ? *at : as_usage([&] { return model.add_output(names[i]); }));
  }
  return out;
}

void run(const RunOptions& o) {
  Core core = make_core(o.model);
  if (o.model.instead(core, {}, o.json)) return;
  ImportOptions import;
  import.cut.more_outputs = o.outputs;
  Model model = load(core, o.model, import);
  std::vector<Tensor> values = make_inputs(o.inputs, model.inputs());
  model = fitted(core, o, std::move(model), import, values);
  std::vector<size_t> wanted = positions_of(model, o.outputs);
  if (o.through_ir) model = through_ir(model);
  for (const std::string& option : o.ignored)
    throw UsageError(text("option '--opt ", option, "' means nothing for a model of ", model.framework()));
  Options options;
  options.threads = o.threads;
  CompiledModel compiled = core.compile_model(model, o.model.device, options);
  std::vector<Port> out = compiled.outputs();
  if (wanted.empty()) wanted.resize(out.size()), std::iota(wanted.begin(), wanted.end(), 0);

  InferRequest request = compiled.create_infer_request();
  for (size_t i = 0; i < values.size(); ++i) request.set_input_tensor(i, values[i]);
  request.infer();

  nlohmann::json list = nlohmann::json::array();
  if (!o.folder.empty()) make_folder(o.folder);
  for (size_t k = 0; k < wanted.size(); ++k) {
    size_t i = wanted[k];
    Tensor t = request.get_output_tensor(i);
    std::string name = o.outputs.empty() ? out[i].any_name() : o.outputs[k];
    nlohmann::json entry{{"name", name}, {"shape", t.dims()}, {"type", name_of(t.type())}};
    if (!o.folder.empty()) {
      std::string file = text(k, ".npy");
      write_npy(o.folder + "/" + file, t);
      entry["file"] = file;
    }
    list.push_back(entry);
    if (o.json || o.quiet) continue;
    std::printf("%s  %s  %s\n", name.c_str(), text(info_of(t)).c_str(), summary(t).c_str());
    if (o.top > 0) {
      std::vector<std::string> labels;
      if (!o.labels.empty())
        for (std::string_view l : split(read_text_file(o.labels), '\n')) labels.emplace_back(trim(l));
      print_top(t, o.top, labels);
    }
  }
  if (!o.folder.empty()) {
    OutputFile file(o.folder + "/outputs.json");
    file.write(list.dump(1));
    file.write("\n");
    file.commit();
  }
  if (o.json) print_json(list);
}

}  // namespace

void add_run(CLI::App& app) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* c = app.add_subcommand("run", "run a model once");
  o->model.add_files(*c);
  o->model.add_extensions(*c);
  o->model.add_device(*c);
  o->model.add_shapes(*c);
  o->model.teach.add(*c);
  o->inputs.add(*c);
  c->add_option("--output,-o", o->outputs,
                "outputs or other tensors that are wanted, in this order; all outputs when not said")
      ->type_name("NAME")
      ->group("Outputs")
      ->allow_extra_args(false);
  c->add_option("--output-dir,--output_dir", o->folder, "leaves outputs.json and one .npy per output there")
      ->type_name("DIR")
      ->group("Outputs");
  c->add_option("--top", o->top, "prints the N classes with the largest values")->type_name("N")->group("Outputs");
  c->add_option("--labels", o->labels, "names of the classes, one a line")
      ->type_name("FILE")
      ->check(CLI::ExistingFile)
      ->group("Outputs");
  c->add_flag("--json", o->json, "prints JSON")->group("Outputs");
  c->add_flag("--quiet,-q", o->quiet, "prints nothing")->group("Outputs");
  c->add_flag("--through-ir", o->through_ir, "goes by way of a written and re-read IR");
  c->add_option("--threads", o->threads, "threads to use; 0: one per core")->capture_default_str();
  c->add_option("--opt", o->ignored, "an option of the model's framework")
      ->type_name("KEY=VALUE")
      ->group("Model")
      ->allow_extra_args(false);
  c->callback([o] { run(*o); });
}

}  // namespace graft::cli

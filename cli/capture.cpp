// graft capture: nodes of a model, with the values they get in a run, as cases of a .test file.
#include <cstdio>
#include <graft/app/check.hpp>

#include "inputs.hpp"

namespace graft::cli {
namespace {

struct CaptureOptions {
  ModelOptions model;
  InputOptions inputs;
  std::vector<std::string> nodes;
  std::string file;
};

void capture(const CaptureOptions& o) {
  Core core = make_core(o.model);
  Model model = load(core, o.model);
  InputOptions inputs = o.inputs;
  inputs.limits = o.model.limit_changes();
  Fitted made = fit_model(model, make_inputs(inputs, model.input_groups(), model.inputs()));
  note_all(made.notes);
  std::vector<Tensor> values = port_tensors(made.model.input_groups(), made.values, made.model.inputs().size());
  std::string test;
  for (const std::string& node : o.nodes) test += (test.empty() ? "" : "\n") + capture_node(made.model, values, node);
  if (o.file.empty()) return (void)std::printf("%s", test.c_str());
  write_file(o.file, test);
  std::printf("wrote %s\n", o.file.c_str());
}

}  // namespace

void add_capture(CLI::App& app) {
  auto o = std::make_shared<CaptureOptions>();
  CLI::App* c = app.add_subcommand("capture", "write nodes of a model, with their values in a run, as test cases");
  o->model.add_files(*c);
  o->model.add_extensions(*c);
  o->model.add_shapes(*c);
  o->model.add_items(*c);
  o->inputs.add(*c);
  c->add_option("--node", o->nodes, "name of the node or of one of its tensors; may be repeated")
      ->type_name("NAME")
      ->required()
      ->allow_extra_args(false);
  c->add_option("--output,-o", o->file, "file to write (default: print the cases)")->type_name("FILE.test");
  c->callback([o] { capture(*o); });
}

}  // namespace graft::cli

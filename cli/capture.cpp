// graft capture: one node of a model, with the values it gets in a run, as a case of a .test file.
#include <cstdio>
#include <graft/check.hpp>

#include "inputs.hpp"

namespace graft::cli {
namespace {

struct CaptureOptions {
  ModelOptions model;
  InputOptions inputs;
  std::string node, file;
};

void capture(const CaptureOptions& o) {
  Core core = make_core(o.model);
  Model model = load(core, o.model);
  InputOptions inputs = o.inputs;
  inputs.limits = o.model.limit_changes();
  Fitted made = fit_model(model, make_inputs(inputs, model.input_groups(), model.inputs()));
  note_all(made.notes);
  std::vector<Tensor> values = port_tensors(made.model.input_groups(), made.values, made.model.inputs().size());
  std::string test = capture_node(made.model, values, o.node);
  if (o.file.empty()) return (void)std::printf("%s", test.c_str());
  write_file(o.file, test);
  std::printf("wrote %s\n", o.file.c_str());
}

}  // namespace

void add_capture(CLI::App& app) {
  auto o = std::make_shared<CaptureOptions>();
  CLI::App* c = app.add_subcommand("capture", "write one node of a model, with its values in a run, as a test case");
  o->model.add_files(*c);
  o->model.add_extensions(*c);
  o->model.add_shapes(*c);
  o->model.add_items(*c);
  o->inputs.add(*c);
  c->add_option("--node", o->node, "name of the node or of one of its tensors")->required();
  c->add_option("--output,-o", o->file, "file to write (default: print the case)")->type_name("FILE.test");
  c->callback([o] { capture(*o); });
}

}  // namespace graft::cli

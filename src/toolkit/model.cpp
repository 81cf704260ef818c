#include "base/temporary.hpp"
#include "base/text.hpp"
#include "graph/text.hpp"
#include "ir/ir.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/read.hpp"

namespace graft {

std::string Model::name() const { return s_->current()->name; }
std::string Model::framework() const { return s_->origin->framework; }
std::string Model::path() const { return s_->origin->path; }
size_t Model::node_count() const { return s_->current()->node_count(); }
std::vector<Port> Model::inputs() const {
  return as_errors([&] { return input_ports(*s_->current()); });
}
std::vector<Port> Model::outputs() const {
  return as_errors([&] { return output_ports(*s_->current()); });
}
std::vector<Group> Model::input_groups() const {
  return as_errors([&] { return graft::input_groups(*s_->current()); });
}
std::vector<Group> Model::output_groups() const {
  return as_errors([&] { return graft::output_groups(*s_->current()); });
}

std::vector<std::string> Model::unknown_layers() const {
  return as_errors([&] {
    std::vector<std::string> out;
    for (const UnknownType& u : s_->origin->report.unknown)
      for (const UnknownType::Layer& l : u.layers) out.push_back(text(l.name, " (", u.type, ")"));
    return out;
  });
}
Report Model::report() const {
  return as_errors([&] { return report_of(*s_->origin); });
}

void Model::require_complete() const {
  as_errors([&] { graft::require_complete(*s_->origin); });
}

void Model::reshape(const std::map<std::string, Shape>& shapes) {
  as_errors([&] {
    s_->update([&](Graph& g) { reshape_inputs(g, *s_->origin->registry, shapes, {}, s_->origin->options.limits); });
  });
}

namespace {

size_t add_output_to(Graph& graph, const std::string& name, bool tensors_share_names) {
  CutRequest request;
  request.more_outputs = {name};
  if (auto at = cut_graph(graph, request, tensors_share_names).more_outputs[0]) return *at;
  // What the graph does not know may still be what an output is called.
  if (auto at = position_of(output_ports(graph), name)) return *at;
  std::vector<std::string> known;
  for (NodeId id = 0; id < graph.end_id(); ++id)
    if (const Node& n = graph[id]; n.alive && !n.is("Result")) {
      known.push_back(n.name);
      for (const Output& o : n.outputs) known.insert(known.end(), o.names.begin(), o.names.end());
    }
  auto close = nearest(name, known);
  throw Error(ErrorKind::user, text("the model has no layer or tensor '", name, "'"),
              close ? text("did you mean ", *close, "?") : "graft explain lists the layers");
}

}  // namespace

size_t Model::add_output(const std::string& name) {
  return as_errors([&] {
    return s_->update([&](Graph& g) { return add_output_to(g, name, s_->origin->conventions.shared_names); });
  });
}

std::vector<Group> Model::select_outputs(const std::vector<std::string>& names) {
  if (names.empty()) return output_groups();
  return as_errors([&] {
    // Where the framework's own model has them.
    const std::vector<std::string>& asked = s_->origin->options.read.cut.more_outputs;
    auto placed = [&](const std::string& name) -> std::optional<size_t> {
      for (size_t i = 0; i < asked.size(); ++i)
        if (asked[i] == name) return s_->origin->report.more_outputs.at(i);
      return std::nullopt;
    };
    std::vector<Group> out;
    for (const std::string& name : names) {
      std::vector<Group> groups = output_groups();
      // The cut has found the model's own outputs before layers; its outputs may have names of other values.
      std::optional<size_t> at = placed(name);
      for (size_t k = 0; !at && k < groups.size(); ++k)
        if (groups[k].name == name) at = k;
      if (at) out.push_back(groups.at(*at));
      else out.push_back({{}, Group::Kind::tensor, add_output(name), {}});
      out.back().name = name;
    }
    return out;
  });
}

void Model::save_ir(const std::string& path) const {
  as_errors([&] {
    graft::require_complete(*s_->origin);
    write_ir(*s_->current(), *s_->origin->registry, path, 11, s_->origin->options.limits);
  });
}

Model Model::through_ir() const {
  return as_errors([&] {
    graft::require_complete(*s_->origin);
    Graph g = s_->current()->clone();
    ImportOptions again;
    again.limits = s_->origin->options.limits;
    PassOptions passes = pass_options(s_->origin->report, again.limits);
    passes.phases = PassPhases::writing;
    run_passes(g, *s_->origin->registry, passes);
    TemporaryFolder folder;
    std::string path = folder.path() + "/model.xml";
    write_ir(g, *s_->origin->registry, path, 11, again.limits);
    again.limits.nodes = nodes_by_size;  // it has several for a layer of the model
    return load_model(s_->origin->registry, {path}, again);
  });
}

std::string Model::to_text() const {
  return as_errors([&] { return print(*s_->current()); });
}

}  // namespace graft

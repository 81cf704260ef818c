#include "toolkit/load_log.hpp"

#include <map>

#include "base/tensor.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

struct Constants {
  size_t count = 0, bytes = 0;
};
void count_constants(const Graph& g, Constants& all) {
  for (NodeId id = 0; id < g.end_id(); ++id) {
    if (!g[id].alive) continue;
    for (const Body& b : g[id].bodies) count_constants(*b.graph, all);
    const Attribute* value = g[id].is("Constant") ? g[id].attrs.find("value") : nullptr;
    if (const Tensor* t = value ? value->get_if<Tensor>() : nullptr) ++all.count, all.bytes += t->bytes();
  }
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t most = 8;
  std::vector<std::string> first(names.begin(), names.begin() + static_cast<ptrdiff_t>(std::min(names.size(), most)));
  return join(first, ", ") + (names.size() > most ? text(" and ", names.size() - most, " more") : "");
}

std::string counted(size_t n, std::string_view what) { return text(n, " ", what, n == 1 ? "" : "s"); }

}  // namespace

void log_read(const RawModel& raw, const StepTime& time) {
  log_info("read '", raw.path, "': ", raw.framework, " model, ", counted(raw.graph.nodes.size(), "layer"), ", ",
           counted(raw.graph.inputs.size(), "input"), ", ", counted(raw.graph.outputs.size(), "output"), time.text());
}

void log_imported(const Graph& graph, const ImportReport& report, const StepTime& time) {
  if (!is_logged(LogLevel::info)) return;
  Constants constants;
  count_constants(graph, constants);
  log_info("imported ", counted(report.claims.size(), "layer"), ": ", counted(graph.node_count(), "node"), ", ",
           counted(constants.count, "constant"), " of ", constants.bytes, " bytes", time.text());
  std::map<std::string, std::vector<std::string>> by;
  for (const Claim& c : report.claims)
    if (c.by != "built-in" && !c.operations.empty()) by[c.by].push_back(c.layer);
  for (const auto& [who, layers] : by)
    log_info(who == "no rule" ? "unknown: " : text("claimed by ", who, ": "), counted(layers.size(), "layer"), ", ",
             some_of(layers));
}

}  // namespace graft

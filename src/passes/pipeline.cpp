#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/verify.hpp"
#include "passes/passes.hpp"

namespace graft {

const std::vector<Pass>& pipeline() {
  static const std::vector<Pass> passes = {
      {"sink_transposes", "carries transpositions behind operations until they cancel each other", sink_transposes},
      {"fold_constants", "computes what depends on constants alone", fold_constants},
      {"remove_dead", "removes what no output needs", remove_dead},  // last: the others leave things behind
  };
  return passes;
}

void check_pass_names(const std::vector<std::string>& given) {
  std::vector<std::string> names;
  for (const Pass& p : pipeline()) names.emplace_back(p.name);
  for (const std::string& d : given)
    if (std::find(names.begin(), names.end(), d) == names.end()) {
      auto close = nearest(d, names);
      throw Error(ErrorKind::user, text("there is no pass '", d, "'"),
                  close ? text("did you mean ", *close, "?") : "--list-passes shows them");
    }
}

std::vector<PassEffect> run_passes(Graph& graph, const Registry& registry, const std::vector<std::string>& disabled) {
  check_pass_names(disabled);
  std::vector<PassEffect> effects;
  for (const Pass& p : pipeline()) {
    if (std::find(disabled.begin(), disabled.end(), p.name) != disabled.end()) continue;
    with_context(
        [&] {
          size_t before = graph.node_count();
          size_t changes = p.run(graph, registry);
#ifndef NDEBUG
          verify(graph);
#endif
          effects.push_back({p.name, changes, before, graph.node_count()});
        },
        [&] { return text("running the pass '", p.name, "'"); });
  }
  return effects;
}

}  // namespace graft

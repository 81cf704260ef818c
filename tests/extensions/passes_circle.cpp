// Passes that no order satisfies; tests/cli shows what is said then.
#include <graft/extension.hpp>

static graft::Value nothing(graft::Rewrite&) { return {}; }

GRAFT_EXTENSION("passes_circle", "1.0") {
  return {
      graft::Pass("chicken").after("egg").visit({"Relu"}, nothing),
      graft::Pass("egg").after("chicken").visit({"Relu"}, nothing),
  };
}

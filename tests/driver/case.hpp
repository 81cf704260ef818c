// One case of a .test file.
//
//   == negative numbers
//   graph (x: f32[3]) { return Elu(x) {alpha = 0.5} }
//   x = {-1, 0, 2}
//   -> f32[3] {-0.31606, 0, 2}
//   tolerance 1e-5
//
// Inputs by name, results in order; type and shape may be left out where the graph tells them. `error: text` instead of
// results: refusing is what is wanted, with this message. `only reference cpu`: the ways it is run, all when not said.
#pragma once

#include <set>

#include "graph/text.hpp"

namespace graft::testing {

struct Case {
  std::string file, name;
  int line = 0;
  std::string body;
};

// The cases of a file; what stands before the first `==` must be blank or comment.
std::vector<Case> read_cases(const std::string& path);

struct Options {
  std::string update;  // reserved
  bool verbose = false;
};

// Empty when all is well, else what went wrong.
std::string run_graph_case(const Case& c);

}  // namespace graft::testing

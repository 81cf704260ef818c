// The textual form of a graph, used by `graft explain`, tests and decompositions.
//
//   graph "tiny" (x: f32[1,3,?,8]) {
//     w = f32[4,3,1,1] fill(0.5)
//     mix = Convolution@1(x, w) {strides = [1,1], auto_pad = "same_upper"} : f32[1,4,?,8] "mix:0"
//     parts = Split@1(mix, i64[] {1}) {num_splits = 2}
//     return out = Relu(parts.1), parts
//   }
//
// A node is referred to by its name; `.1` is its second output. `_` is an absent input. `Type@8` is the version of
// opset8, `Type@acme` one of another opset, `Type` the newest. After `:` follow types and shapes of the outputs, and
// their tensor names. Calls may be nested in place of values. Bodies follow the node they belong to:
//
//     y = Loop@5(n, c, x)
//       body "" (i <- iteration, a <- 2) -> (b -> 0, go -> condition) feed (b -> a)
//       graph (i: i64[], a: f32[?]) { ... return b = ..., go = ... }
#pragma once

#include <map>

#include "base/limits.hpp"
#include "graph/graph.hpp"

namespace graft {

// Values are printed by the functions of graft/app/attribute.hpp.
std::string print(const Graph& graph);

// Operations without `@` get an empty opset, attributes the kind of their literal. Nothing is looked up or inferred.
Graph parse_graph(std::string_view text, const Limits& limits = {});
// The same, with these values substituted for `$name`; for decompositions.
Graph parse_graph(std::string_view text, const Attributes& arguments);

// Parses several items from one string, for files that contain more than a graph.
class TextReader {
 public:
  explicit TextReader(std::string_view text, const Limits& limits = {});
  ~TextReader();
  bool at_end();
  bool peek(std::string_view word);  // a word or punctuation
  bool accept(std::string_view word);
  void expect(std::string_view word);
  std::string name();
  std::string quoted();
  bool peek_quoted();
  int64_t integer();
  double number();
  Graph graph(const Attributes& arguments = {});
  Tensor tensor();
  // A tensor whose type and shape are already known: parses only the values.
  Tensor values(DType type, std::vector<int64_t> dims);
  std::string rest_of_line();
  int line() const;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace graft

// Shapes written as expressions over the shapes of inputs and the parameters of a layer.
//
//   auto e = ShapeExpression::parse("in0[0], in0[1], in0[2] * factor, ceil_div(in0[3], stride)");
//   Shape s = e.evaluate(input_shapes, [](std::string_view name) { return ...; });
//
//   item        in0 alone: all dimensions of input 0; else a sum for one dimension
//   sum         product { + - product }           product   value { * / % value }, / and % round towards minus infinity
//   value       12   in0[2]   in0[-1]   factor   outer.inner   list[1]   ( sum )   - value
//               min(a, b, ...)   max(a, b, ...)   ceil_div(a, b)   default(factor, 2)
//
// What is computed from an unknown dimension is unknown.
#pragma once

#include <functional>
#include <graft/types.hpp>
#include <optional>

#include "graph/attribute.hpp"

namespace graft {

class ShapeExpression {
 public:
  static constexpr size_t longest = 10'000;
  static constexpr int deepest = 64;
  static constexpr size_t most_dimensions = 32;
  static constexpr int64_t largest_dimension = int64_t{1} << 40;

  // The value of a parameter; null: the layer has none of this name.
  using Parameters = std::function<const Attribute*(std::string_view)>;

  // Throws an Error with the expression and the position of the mistake.
  static ShapeExpression parse(std::string_view source);

  const std::string& source() const { return source_; }
  Shape evaluate(const std::vector<Shape>& inputs, const Parameters& parameters) const;

 private:
  friend class ShapeExpressionParser;
  friend class ShapeExpressionEvaluator;
  struct Term {
    enum Kind : uint8_t {
      number,
      dimension,
      whole,
      parameter,
      add,
      subtract,
      multiply,
      divide,
      remainder,
      negate,
      smallest,
      largest,
      ceil_divide,
      otherwise
    } kind;
    int64_t value = 0;             // of a number; the input of `dimension` and `whole`
    std::optional<int64_t> index;  // of `dimension`, of an item of a parameter
    std::string name;              // of a parameter
    std::vector<uint32_t> parts;   // always earlier terms
  };
  std::string source_;
  std::vector<Term> terms_;
  std::vector<uint32_t> items_;
};

}  // namespace graft

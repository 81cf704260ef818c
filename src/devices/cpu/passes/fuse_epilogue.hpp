// Passes that make what follows an operation its epilogue (graft/kit/epilogue.hpp).
#pragma once

#include <graft/formula.hpp>
#include <graft/kit/epilogue.hpp>
#include <list>
#include <optional>
#include <string>

namespace graft {

// Activations that are nothing but bounds of the result, which stay in registers.
struct ResultBounds {
  double low, high;
};
inline std::optional<ResultBounds> bounds_of(const NodeRef& f) {
  if (f.is("Relu")) return ResultBounds{0, std::numeric_limits<double>::infinity()};
  if (f.is("Clamp")) return ResultBounds{f.get<double>("min"), f.get<double>("max")};
  return std::nullopt;
}

// Whether the operation has no epilogue yet.
inline bool has_no_epilogue(const NodeRef& n) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return n.get<std::string>("activation", "").empty() && n.get<double>("low", -infinity) == -infinity &&
         n.get<double>("high", infinity) == infinity;
}

// The fused operation with this node as its epilogue; empty: it cannot be one.
inline Value with_epilogue(Rewrite& at, const NodeRef& fused, const std::vector<Value>& inputs) {
  NodeRef f = at.node();
  if (at.self().type() != DType::f32 || !has_rank_of(at.self(), at.input(0))) return {};
  if (auto bounds = bounds_of(f)) return at.like(fused, inputs, {{"low", bounds->low}, {"high", bounds->high}});
  if (!f.has_rows()) return {};
  std::vector<double> numbers;
  for (size_t i = 1; i < f.inputs(); ++i) numbers.push_back(*number(f.input(i)));
  std::vector<NamedAttr> attrs{{"activation", f.versioned()}, {"numbers", numbers}};
  std::list<std::string> names;
  for (const NamedAttr& a : f.attributes())
    attrs.push_back({names.emplace_back(std::string(activation_prefix) + std::string(a.name)), a.value});
  return at.like(fused, inputs, attrs);
}

}  // namespace graft

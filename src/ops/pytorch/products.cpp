// Products of matrices and tensors.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- products ----

Value pt_matmul(const Value& a, const Value& b) {
  if (a.type() == DType::i64 || a.type() == DType::i32 || pt::is_float(a.type())) return build::matmul(a, b);
  return convert(build::matmul(convert(a, DType::i64), convert(b, DType::i64)), a.type());
}
Value import_pt_matmul(Builder& layer) {
  Call c(layer);
  Value b;
  for (const char* name : {"other", "mat2", "vec", "tensor", "vec2"})
    if (!b) b = c.find(name);
  if (!b) fail("expected a second tensor");
  Value a = c.find("self") ? c["self"] : c["input"];
  // Vectors get an axis, which is taken off again.
  return pt_matmul(a, b);
}
Value pt_biased(Call& c, const Value& x, const Value& w) {
  Value y = build::matmul(x, w, false, true);
  if (Value b = c.find("bias")) y = y + b;
  return y;
}
Value import_pt_linear(Builder& layer) {
  Call c(layer);
  return pt_biased(c, c["input"], c["weight"]);
}
Value import_pt_bilinear(Builder& layer) {
  Call c(layer);
  Value a = c["input1"], b = c["input2"];
  Value y = layer.op("Einsum", {a, c["weight"], b}, {{"equation", "...i,oij,...j->...o"}});
  if (Value bias = c.find("bias")) y = y + bias;
  return y;
}
// beta * self + alpha * product
Value pt_added(Call& c, const Value& product) {
  Value self = c["self"], y = product;
  DType type = pt::Promotion().add(self).add(product).type();
  y = convert(y, type), self = convert(self, type);
  if (c.given("alpha")) y = y * c.number("alpha", type);
  if (c.given("beta")) {
    if (c.in.has("beta") && c.real("beta") == 0) return pt::expanded(y, shape_of(y));
    self = self * c.number("beta", type);
  }
  return self + y;
}
Value import_pt_addmm(Builder& layer) {
  Call c(layer);
  Value y;
  if (c.find("mat1")) y = pt_matmul(c["mat1"], c["mat2"]);
  else if (c.find("vec1")) y = unsqueeze(c["vec1"], {1}) * unsqueeze(c["vec2"], {0});
  else if (c.find("batch1")) y = pt_matmul(c["batch1"], c["batch2"]);
  else y = pt_matmul(c["mat"], c["vec"]);
  if (layer.type() == "aten::addbmm") y = pt::reduce("ReduceSum", y, {0}, false);
  y = pt_added(c, y);
  return layer.type() == "aten::_addmm_activation" ? layer.op(c.flag("use_gelu") ? "Gelu" : "Relu", {y}) : y;
}
Value import_pt_outer(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["vec2"];
  DType type = pt::Promotion().add(a).add(b).type();
  return unsqueeze(convert(a, type), {1}) * unsqueeze(convert(b, type), {0});
}
Value import_pt_inner(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["other"];
  if (a.rank() == 0 || b.rank() == 0) return a * b;
  // Over the last axes of both.
  std::string left, right, out;
  char next = 'a';
  for (size_t i = 0; i + 1 < a.rank(); ++i) left += next, out += next++;
  for (size_t i = 0; i + 1 < b.rank(); ++i) right += next, out += next++;
  return layer.op("Einsum", {a, b}, {{"equation", left + "z," + right + "z->" + out}});
}
Value import_pt_tensordot(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["other"];
  Ints da = pt::axes_of(c.ints("dims_self"), a.rank()), db = pt::axes_of(c.ints("dims_other"), b.rank());
  if (da.size() != db.size()) fail("expected as many axes of both tensors");
  std::string left(a.rank(), ' '), right(b.rank(), ' '), out;
  char next = 'a';
  for (size_t i = 0; i < da.size(); ++i) left[static_cast<size_t>(da[i])] = right[static_cast<size_t>(db[i])] = next++;
  for (std::string* s : {&left, &right})
    for (char& l : *s)
      if (l == ' ') l = next++, out += l;
  return layer.op("Einsum", {a, b}, {{"equation", left + "," + right + "->" + out}});
}
Value import_pt_einsum(Builder& layer) {
  Call c(layer);
  std::vector<Value> all = c.tensors("tensors");
  return layer.op("Einsum", all, {{"equation", c.word("equation")}});
}
Value import_pt_kron(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["other"];
  size_t r = std::max(a.rank(), b.rank());
  auto spread = [&](Value v, int64_t extra) {
    while (v.rank() < r) v = unsqueeze(v, {0});
    Ints axes;
    for (size_t i = 0; i < r; ++i) axes.push_back(static_cast<int64_t>(2 * i) + extra);
    return axes.empty() ? v : unsqueeze(v, axes);
  };
  Value y = spread(a, 1) * spread(b, 0);
  Ints target;
  for (size_t i = 0; i < r; ++i) {
    Shape s = y.shape();
    if (!s[2 * i].known() || !s[2 * i + 1].known()) needs_shape("the sizes of the factors are unknown");
    target.push_back(s[2 * i].value() * s[2 * i + 1].value());
  }
  return reshape(y, target);
}
Value import_pt_multi_dot(Builder& layer) {
  Call c(layer);
  std::vector<Value> all = c.tensors("tensors");
  Value y = all[0];
  for (size_t i = 1; i < all.size(); ++i) y = build::matmul(y, all[i]);
  return y;
}
Value import_pt_cross(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["other"];
  Value both = a * b;
  a = pt::broadcast_to(a, both), b = pt::broadcast_to(b, both);
  int64_t axis = static_cast<int64_t>(a.rank()) - 1;
  if (c.given("dim") || layer.type() == "aten::linalg_cross") axis = pt::axis_of(c.integer("dim"), a.rank());
  else
    for (size_t i = a.rank(); i-- > 0;)
      if (Shape s = a.shape(); s[i].known() && s[i].value() == 3) axis = static_cast<int64_t>(i);
  auto turned = [&](const Value& v, const Ints& order) { return build::gather(v, layer.ints(order), axis); };
  return turned(a, {1, 2, 0}) * turned(b, {2, 0, 1}) - turned(a, {2, 0, 1}) * turned(b, {1, 2, 0});
}
Value import_pt_vecdot(Builder& layer) {
  Call c(layer);
  Value p = c["x"] * c["y"];
  return pt::reduce("ReduceSum", p, {pt::axis_of(c.integer("dim"), p.rank())}, false);
}

}  // namespace

Definitions define_pytorch_products() {
  return {
      pt::rules({"aten::matmul", "aten::mm", "aten::bmm", "aten::mv", "aten::dot", "aten::vdot", "aten::linalg_matmul",
                 "aten::chain_matmul"},
                import_pt_matmul),
      pt::rules({"aten::linear"}, import_pt_linear),
      pt::rules({"aten::bilinear"}, import_pt_bilinear),
      pt::rules(
          {"aten::addmm", "aten::addmv", "aten::addbmm", "aten::baddbmm", "aten::addr", "aten::_addmm_activation"},
          import_pt_addmm),
      pt::rules({"aten::outer", "aten::ger"}, import_pt_outer),
      pt::rules({"aten::inner"}, import_pt_inner),
      pt::rules({"aten::tensordot"}, import_pt_tensordot),
      pt::rules({"aten::einsum"}, import_pt_einsum, {"path"}),
      pt::rules({"aten::kron"}, import_pt_kron),
      pt::rules({"aten::linalg_multi_dot"}, import_pt_multi_dot),
      pt::rules({"aten::cross", "aten::linalg_cross"}, import_pt_cross),
      pt::rules({"aten::linalg_vecdot"}, import_pt_vecdot),
  };
}

}  // namespace graft

// Joins and splits of tensors.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- joins and splits ----

Value pt_joined(Call& c, std::vector<Value> parts, int64_t axis) {
  pt::Promotion p;
  std::vector<Value> used;
  size_t rank = 0;
  for (const Value& v : parts) p.add(v), rank = std::max(rank, v.rank());
  // Empty lists without a shape are skipped.
  for (const Value& v : parts) {
    Shape s = v.shape();
    bool nothing = s.rank() == 1 && s[0].known() && s[0].value() == 0 && rank > 1;
    if (!nothing) used.push_back(convert(v, p.type()));
  }
  if (used.empty()) return parts.at(0);
  (void)c;
  return build::concat(used, pt::axis_of(axis, rank));
}
Value import_pt_cat(Builder& layer) {
  Call c(layer);
  return pt_joined(c, c.tensors("tensors"), c.integer("dim"));
}
Value import_pt_stack(Builder& layer) {
  Call c(layer);
  std::vector<Value> parts = c.tensors("tensors");
  int64_t axis = pt::axis_of(c.integer("dim"), parts[0].rank() + 1);
  for (Value& v : parts) v = unsqueeze(v, {axis});
  return pt_joined(c, parts, axis);
}
template <size_t rank>
Value import_pt_stacked(Builder& layer) {
  Call c(layer);
  std::vector<Value> parts = c.tensors("tensors");
  for (Value& v : parts) v = pt::with_rank_of_at_least(v, rank == 0 ? 1 : rank);
  // hstack joins vectors along their only axis.
  int64_t axis = rank == 0 ? parts[0].rank() == 1 ? 0 : 1 : static_cast<int64_t>(rank == 2 ? 0 : 2);
  return pt_joined(c, parts, axis);
}
Value import_pt_column_stack(Builder& layer) {
  Call c(layer);
  std::vector<Value> parts = c.tensors("tensors");
  for (Value& v : parts) v = v.rank() == 0 ? reshape(v, {1, 1}) : v.rank() == 1 ? unsqueeze(v, {1}) : v;
  return pt_joined(c, parts, 1);
}

// As many pieces as the file lists outputs.
std::vector<Value> pt_pieces(const Value& x, int64_t axis, const Ints& lengths) {
  return build::split(x, axis, lengths);
}
// All of one length, the last one shorter.
std::vector<Value> pt_even_pieces(Builder& layer, const Value& x, int64_t axis, int64_t length) {
  if (length < 0) fail("expected pieces of at least 0, got ", length);
  size_t n = std::max<size_t>(layer.outputs(), 1);
  Shape s = x.shape();
  if (n > 65'536) unsupported("expected at most 65536 pieces, got ", n);
  if (!s[static_cast<size_t>(axis)].known() || length == 0) {
    std::vector<Value> out;
    for (size_t i = 0; i < n; ++i) {
      auto at = static_cast<int64_t>(i) * length;
      out.push_back(build::slice(x, axis, at, i + 1 == n ? INT64_MAX : at + length));
    }
    return out;
  }
  Ints lengths;
  for (int64_t left = pt::known_size(x, axis); left > 0 && lengths.size() < n; left -= length)
    lengths.push_back(std::min(left, length));
  if (lengths.empty()) return {x};
  return pt_pieces(x, axis, lengths);
}
std::vector<Value> import_pt_split(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank());
  std::string_view name = c.given("split_size") ? "split_size" : "split_sizes";
  bool several = layer.has(name) && layer.field(name)->kind == GRAFT_INTS;
  std::vector<Value> symbolic = c.list(name);
  if (!symbolic.empty())
    return layer.make("VariadicSplit", {x, layer.scalar(axis), c.sizes(name)}, {}, layer.outputs(), {});
  if (several) return pt_pieces(x, axis, c.ints(name));
  return pt_even_pieces(layer, x, axis, c.integer(name));
}
std::vector<Value> import_pt_chunk(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank()), n = c.integer("chunks"), size = pt::known_size(x, axis);
  if (n < 1) fail("expected at least one chunk, got ", n);
  return pt_even_pieces(layer, x, axis, (size + n - 1) / n);
}
std::vector<Value> import_pt_unbind(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank());
  std::vector<Value> out = build::split(x, axis, static_cast<int64_t>(std::max<size_t>(layer.outputs(), 1)));
  for (Value& v : out) v = squeeze(v, {axis});
  return out;
}
// Where pieces begin, or how many there are.
std::vector<Value> pt_at_sections(const Value& x, int64_t axis, const Ints& at, bool positions) {
  int64_t size = pt::known_size(x, axis);
  Ints lengths;
  if (positions) {
    std::vector<Value> out;
    int64_t before = 0;
    for (size_t i = 0; i <= at.size(); ++i) {
      int64_t end = i < at.size() ? at[i] < 0 ? at[i] + size : std::min(at[i], size) : size;
      out.push_back(build::slice(x, axis, before, std::max(before, end)));
      before = end;
    }
    return out;
  }
  int64_t n = at.at(0);
  if (n < 1 || n > 65'536) fail("expected 1 to 65536 pieces, got ", n);
  for (int64_t i = 0; i < n; ++i) lengths.push_back(size / n + (i < size % n ? 1 : 0));
  return pt_pieces(x, axis, lengths);
}
std::vector<Value> import_pt_tensor_split(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  std::string type(layer.type());
  int64_t axis = type == "aten::hsplit"   ? x.rank() == 1 ? 0 : 1
                 : type == "aten::vsplit" ? 0
                 : type == "aten::dsplit" ? 2
                                          : pt::axis_of(c.integer("dim"), x.rank());
  if (Value t = c.find("tensor_indices_or_sections")) {
    auto at = t.values<int64_t>();
    if (!at) unsupported("where a tensor is split must be known when the model is read");
    return pt_at_sections(x, axis, *at, t.rank() == 1);
  }
  if (c.given("sections")) return pt_at_sections(x, axis, {c.integer("sections")}, false);
  return pt_at_sections(x, axis, c.ints("indices"), true);
}
std::vector<Value> import_pt_broadcast_tensors(Builder& layer) {
  Call c(layer);
  std::vector<Value> all = c.tensors("tensors");
  // The shape of their sum.
  Value zero = convert(all[0], DType::i64) * 0.0, shape = zero;
  for (size_t i = 1; i < all.size(); ++i) shape = shape + convert(all[i], DType::i64) * 0.0;
  Shape s = shape.shape();
  Value target = s.is_static() ? layer.ints(s.values()) : shape_of(shape);
  for (Value& v : all) v = pt::expanded(v, target);
  return all;
}
std::vector<Value> import_pt_meshgrid(Builder& layer) {
  Call c(layer);
  std::vector<Value> all = c.tensors("tensors"), out, sizes;
  bool columns = c.word("indexing") == "xy" && all.size() >= 2;
  for (Value& v : all) v = pt::flat(v);
  if (columns) std::swap(all[0], all[1]);
  for (const Value& v : all) sizes.push_back(build::dim(v, 0));
  Value target = build::concat(sizes, 0);
  for (size_t i = 0; i < all.size(); ++i) {
    Ints dims(all.size(), 1);
    dims[i] = -1;
    Value y = pt::expanded(reshape(all[i], dims), target);
    out.push_back(columns ? pt::swapped(y, 0, 1) : y);
  }
  if (columns) std::swap(out[0], out[1]);
  return out;
}
Value import_pt_cartesian_prod(Builder& layer) {
  Call c(layer);
  std::vector<Value> all = c.tensors("tensors"), sizes, columns;
  if (all.size() == 1) return all[0];
  for (const Value& v : all) sizes.push_back(build::dim(v, 0));
  Value target = build::concat(sizes, 0);
  for (size_t i = 0; i < all.size(); ++i) {
    Ints dims(all.size(), 1);
    dims[i] = -1;
    columns.push_back(unsqueeze(pt::flat(pt::expanded(reshape(all[i], dims), target)), {1}));
  }
  return build::concat(columns, 1);
}
Value import_pt_combinations(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t n = pt::known_size(x, 0), r = c.integer("r");
  bool again = c.flag("with_replacement");
  Ints at;
  Ints tuple(static_cast<size_t>(std::max<int64_t>(r, 0)), 0);
  if (r < 1 || r > 16 || n > 4096) unsupported("combinations of ", r, " of ", n, " are not supported");
  for (int64_t i = 0; !again && i < r; ++i) tuple[static_cast<size_t>(i)] = i;
  int64_t rows = 0;
  while ((again || r <= n) && n > 0) {
    at.insert(at.end(), tuple.begin(), tuple.end());
    if (++rows > 1 << 22) unsupported("more than 4194304 combinations are not supported");
    size_t k = tuple.size();
    while (k > 0 && tuple[k - 1] == (again ? n - 1 : n - r + static_cast<int64_t>(k) - 1)) --k;
    if (k == 0) break;
    int64_t next = tuple[k - 1] + 1;
    for (size_t i = k - 1; i < tuple.size(); ++i) tuple[i] = next + (again ? 0 : static_cast<int64_t>(i - k + 1));
  }
  return build::gather(x, layer.constant<int64_t>(at, {rows, r}), 0);
}

}  // namespace

Definitions define_pytorch_joins() {
  return {
      pt::rules({"aten::cat", "aten::concat", "aten::concatenate"}, import_pt_cat),
      pt::rules({"aten::stack"}, import_pt_stack),
      pt::rules({"aten::hstack"}, import_pt_stacked<0>),
      pt::rules({"aten::vstack", "aten::row_stack"}, import_pt_stacked<2>),
      pt::rules({"aten::dstack"}, import_pt_stacked<3>),
      pt::rules({"aten::column_stack"}, import_pt_column_stack),
      pt::rules({"aten::split", "aten::split_with_sizes", "aten::unsafe_split", "aten::unsafe_split_with_sizes",
                 "aten::split_copy", "aten::split_with_sizes_copy"},
                import_pt_split),
      pt::rules({"aten::chunk", "aten::unsafe_chunk"}, import_pt_chunk),
      pt::rules({"aten::unbind", "aten::unbind_copy"}, import_pt_unbind),
      pt::rules({"aten::tensor_split", "aten::hsplit", "aten::vsplit", "aten::dsplit"}, import_pt_tensor_split),
      pt::rules({"aten::broadcast_tensors"}, import_pt_broadcast_tensors),
      pt::rules({"aten::meshgrid"}, import_pt_meshgrid),
      pt::rules({"aten::cartesian_prod"}, import_pt_cartesian_prod),
      pt::rules({"aten::combinations"}, import_pt_combinations),
  };
}

}  // namespace graft

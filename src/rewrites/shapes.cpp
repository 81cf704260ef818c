// Sequences of shape operations, and operations that can absorb them.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

bool is_reshaping(const NodeRef& n) { return n.is("Reshape") || n.is("Squeeze") || n.is("Unsqueeze"); }

// A reshape target that turns any value with the leading dimensions of `from` into `to`; none if no list expresses it.
std::optional<std::vector<int64_t>> target_for(const Shape& from, const Shape& to) {
  if (!to.ranked()) return std::nullopt;
  std::vector<int64_t> target;
  bool rest = false;
  for (size_t i = 0; i < to.rank(); ++i) {
    if (to[i].known()) target.push_back(to[i].value());
    else if (from.ranked() && i < from.rank() && to[i].same(from[i])) target.push_back(0);
    else if (!rest) rest = true, target.push_back(-1);
    else return std::nullopt;
  }
  // 0 means "copy the dimension", so a size of 0 cannot be written, and -1 is ambiguous for an empty tensor.
  bool none = std::any_of(to.begin(), to.end(), [](const Dim& d) { return d.known() && d.value() == 0; });
  return none ? std::nullopt : std::optional(target);
}

// Whether one shape is known at least as precisely as the other.
bool tells_as_much(const Shape& a, const Shape& b) {
  if (!b.ranked()) return true;
  if (!a.ranked() || a.rank() != b.rank()) return false;
  for (size_t i = 0; i < a.rank(); ++i)
    if (b[i].known() && !a[i].known()) return false;
  return true;
}

// Reshape(Squeeze(x), target)  =>  Reshape(x, target)
Value to_one_reshape(Rewrite& at) {
  NodeRef last = at.node(), first = producer(at.input(0));
  if (!is_reshaping(last) || !is_reshaping(first)) return {};
  Value x = first.input(0);
  if (certainly_same(x.shape(), at.self().shape())) return x;
  Value y;
  if (auto target = target_for(x.shape(), at.self().shape())) {
    bool zero = std::find(target->begin(), target->end(), 0) != target->end();
    y = at.op("Reshape", {x, at.ints(*target)}, {{"special_zero", zero}});
  } else if (last.is("Reshape")) {
    // A target without copied dimensions is valid for any input.
    auto given = whole_numbers(at.input(1));
    bool special = last.get<bool>("special_zero", false);
    if (special && (!given || std::find(given->begin(), given->end(), 0) != given->end())) return {};
    y = at.op("Reshape", {x, at.input(1)}, {{"special_zero", false}});
  }
  return y && tells_as_much(y.shape(), at.self().shape()) ? y : Value();
}

std::optional<std::vector<size_t>> order_of(const NodeRef& n) {
  Shape s = n.input(0).shape();
  auto given = s.ranked() ? whole_numbers(n.input(1)) : std::nullopt;
  if (!given) return std::nullopt;
  if (given->empty())
    for (size_t i = s.rank(); i-- > 0;) given->push_back(static_cast<int64_t>(i));
  if (given->size() != s.rank()) return std::nullopt;
  return normalize_axes(*given, s.rank());
}

// Transpose(Transpose(x, p), q)  =>  Transpose(x, p[q])
// Transpose that only moves dimensions of 1  =>  Reshape
Value to_one_transpose(Rewrite& at) {
  NodeRef n = at.node();
  auto order = n.is("Transpose") ? order_of(n) : std::nullopt;
  if (!order) return {};
  if (NodeRef before = made_by(at.input(0), "Transpose")) {
    auto first = order_of(before);
    if (!first) return {};
    std::vector<int64_t> joined;
    for (size_t k : *order) joined.push_back(static_cast<int64_t>((*first)[k]));
    bool same = std::is_sorted(joined.begin(), joined.end());
    return same ? before.input(0) : transpose(before.input(0), joined);
  }
  Shape s = at.input(0).shape();
  size_t last = 0;
  for (size_t k : *order) {
    if (s[k].known() && s[k].value() == 1) continue;
    if (k < last) return {};
    last = k;
  }
  auto target = target_for(Shape::unknown(), at.self().shape());
  return target ? reshape(at.input(0), *target) : Value();
}

// Whether only the last two axes are swapped.
bool turns_matrices(const NodeRef& n) {
  auto order = n ? order_of(n) : std::nullopt;
  if (!order || order->size() < 2) return false;
  size_t rank = order->size();
  for (size_t i = 0; i + 2 < rank; ++i)
    if ((*order)[i] != i) return false;
  return (*order)[rank - 1] == rank - 2;
}

// MatMul(Transpose(a), b)  =>  MatMul(a, b) {transpose_a}
Value to_turned_matmul(Rewrite& at) {
  if (!at.node().is("MatMul")) return {};
  constexpr std::string_view names[] = {"transpose_a", "transpose_b"};
  for (size_t i : {0, 1}) {
    NodeRef t = made_by(at.input(i), "Transpose");
    if (!turns_matrices(t)) continue;
    std::vector<Value> inputs{at.input(0), at.input(1)};
    inputs[i] = t.input(0);
    return at.like(at.node(), inputs, {{names[i], !at.get<bool>(names[i], false)}});
  }
  return {};
}

// ReduceSum(ReduceSum(x, a), b)  =>  ReduceSum(x, a and b)
Value to_one_reduce(Rewrite& at) {
  NodeRef last = at.node(), first = producer(at.input(0));
  if (!first.is(last.type()) || !used_once(at.input(0))) return {};
  Value x = first.input(0);
  bool keep = last.get<bool>("keep_dims", false);
  if (!x.shape().ranked() || first.get<bool>("keep_dims", false) != keep) return {};
  // Integers would be rounded once instead of twice.
  if (last.is("ReduceMean") && !is_real(x.type())) return {};
  size_t rank = x.rank();
  auto inner = axes_of(first.input(1), rank);
  if (!inner || at.input(0).rank() == 0) return {};
  auto outer = axes_of(last.input(1), at.input(0).rank());
  if (!outer) return {};
  std::vector<bool> gone(rank, false);
  for (size_t a : *inner) gone[a] = true;
  std::vector<size_t> left;
  for (size_t i = 0; i < rank; ++i)
    if (keep || !gone[i]) left.push_back(i);
  for (size_t a : *outer) gone[left[a]] = true;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < rank; ++i)
    if (gone[i]) axes.push_back(static_cast<int64_t>(i));
  // The CPU kernel reduces adjacent axes only, so others stay in separate steps.
  if (axes.empty() || axes.back() - axes.front() + 1 != static_cast<int64_t>(axes.size())) return {};
  return at.like(last, {x, at.ints(axes)});
}

// Whether two dimensions are known to be equal.
bool agree(const Dim& a, const Dim& b) { return a.known() && b.known() && a.value() == b.value(); }

// Reshape(MatMul(Reshape(x), w)), back to the dimensions of x  =>  MatMul(x, w)
//
// This is how TensorFlow multiplies a tensor of rank 3 or more by a matrix.
Value to_product_of_rows(Rewrite& at) {
  NodeRef product = made_by(at.input(0), "MatMul");
  if (!product || !used_once(at.input(0)) || product.get<bool>("transpose_a", false)) return {};
  NodeRef rows = made_by(product.input(0), "Reshape");
  Value w = product.input(1);
  if (!rows || w.rank() != 2 || product.input(0).rank() != 2) return {};
  Value x = rows.input(0);
  size_t rank = x.rank(), last = rank - 1;
  if (rank < 2 || at.self().rank() != rank) return {};
  Shape from = x.shape(), to = at.self().shape(), flat = product.input(0).shape(), out = at.input(0).shape();
  if (!agree(from[last], flat[1]) || !agree(to[last], out[1])) return {};
  // One dimension may be unknown: it follows from the number of elements, unless that is 0.
  size_t open = 0;
  bool filled = true;
  for (size_t i = 0; i < last; ++i) {
    bool same = agree(from[i], to[i]);
    if (!same && (from[i].known() || to[i].known())) return {};
    open += !same;
    filled = filled && (!same || from[i].value() > 0);
  }
  return open == 0 || (open == 1 && filled && from[last].value() > 0) ? at.like(product, {x, w}) : Value();
}

}  // namespace

Definitions rewrite_shapes() {
  return {
      Pass("merge_rows")
          .doc("remove a pair of inverse Reshapes around a matrix product")
          .visit({"Reshape"}, to_product_of_rows),
      Pass("merge_transposes")
          .doc("combine two Transposes into one; turn one that moves nothing into a Reshape")
          .visit({"Transpose"}, to_one_transpose),
      Pass("merge_reshapes")
          .doc("combine consecutive Reshape, Squeeze and Unsqueeze into one Reshape")
          .visit({"Reshape", "Squeeze", "Unsqueeze"}, to_one_reshape),
      Pass("transpose_matmul")
          .doc("fold the transposition of matrices into MatMul")
          .visit({"MatMul"}, to_turned_matmul),
      Pass("merge_reduces")
          .doc("combine consecutive equal reductions into one")
          .visit(Trait::reduction, to_one_reduce, {"ReduceL1", "ReduceL2"}),
  };
}

}  // namespace graft

// Splitting and joining: slices that form a split, and Concats that contain each other.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

// Beyond this, comparing all consumers of a value with each other takes longer than it can save.
constexpr size_t most_readers = 256;

// A contiguous part of one axis.
struct Part {
  NodeRef node;
  size_t axis = 0;
  int64_t begin = 0, end = 0;
};

// The part that a Slice or StridedSlice takes, if it keeps all axes but one.
std::optional<Part> part_of(const NodeRef& n) {
  Shape x = n.input(0).shape(), y = n.output().shape();
  if (!x.ranked() || !y.ranked() || x.rank() != y.rank()) return std::nullopt;
  bool strided = n.is("StridedSlice");
  if (!strided && !n.is("Slice")) return std::nullopt;
  auto begin = whole_numbers(n.input(1)), end = whole_numbers(n.input(2));
  if (!begin || !end || begin->size() != end->size()) return std::nullopt;
  std::vector<int64_t> step(begin->size(), 1), axes(begin->size());
  if (n.inputs() > 3 && n.input(3)) {
    auto given = whole_numbers(n.input(3));
    if (!given || given->size() != step.size()) return std::nullopt;
    step = *given;
  }
  std::iota(axes.begin(), axes.end(), 0);
  if (!strided && n.inputs() > 4 && n.input(4)) {
    auto given = whole_numbers(n.input(4));
    if (!given || given->size() != axes.size()) return std::nullopt;
    axes = *given;
  }
  auto mask = [&](std::string_view name, size_t i) {
    auto list = strided ? n.get<std::vector<int64_t>>(name, {}) : std::vector<int64_t>();
    return i < list.size() && list[i] != 0;
  };
  std::optional<Part> out;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (mask("new_axis_mask", i) || mask("shrink_axis_mask", i) || mask("ellipsis_mask", i) || step[i] != 1)
      return std::nullopt;
    size_t axis = normalize_axis(axes[i], x.rank());
    int64_t from = mask("begin_mask", i) ? 0 : (*begin)[i];
    int64_t to = mask("end_mask", i) ? std::numeric_limits<int64_t>::max() : (*end)[i];
    if (from == 0 && to >= std::numeric_limits<int32_t>::max()) continue;
    if (!x[axis].known()) return std::nullopt;
    int64_t size = x[axis].value();
    auto within = [&](int64_t v) { return std::clamp(v < 0 ? v + size : v, int64_t{0}, size); };
    from = within(from), to = within(to);
    if (from == 0 && to == size) continue;
    if (out) return std::nullopt;
    out = Part{n, axis, from, to};
  }
  return out;
}

// Slices that cover x exactly once  =>  the outputs of a VariadicSplit
void to_split(Rewrite& at) {
  auto mine = part_of(at.node());
  if (!mine || mine->begin != 0) return;  // the slice that starts at 0 performs the rewrite
  Value x = at.input(0);
  // 1-D shape computations are better left to shape inference.
  if (x.rank() < 2) return;
  std::vector<Part> parts;
  std::vector<Consumer> all = consumers(x);
  if (all.size() > most_readers) return;
  for (const Consumer& r : all) {
    if (r.input != 0 || !producer(r.node.output())) continue;
    auto p = part_of(r.node);
    if (p && p->axis == mine->axis && p->end > p->begin) parts.push_back(*p);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
  int64_t next = 0;
  std::vector<int64_t> lengths;
  for (const Part& p : parts) {
    if (p.begin != next) return;
    lengths.push_back(p.end - p.begin);
    next = p.end;
  }
  if (parts.size() < 2 || next != x.shape()[mine->axis].value()) return;
  std::vector<Value> outputs =
      at.ops("VariadicSplit", {x, at.scalar(static_cast<int64_t>(mine->axis)), at.ints(lengths)}, {}, parts.size());
  for (size_t i = 0; i < parts.size(); ++i) at.replace(parts[i].node.output(), outputs[i]);
}

// a = Concat(p, q);  b = Concat(p, q, r)  =>  b = Concat(a, r)
Value to_reused_concat(Rewrite& at) {
  NodeRef self = at.node();
  if (!self.is("Concat") || !at.self().shape().ranked()) return {};
  size_t rank = at.self().shape().rank();
  size_t axis = normalize_axis(at.get<int64_t>("axis"), rank);
  for (size_t i = 0; i + 1 < self.inputs(); ++i) {
    std::vector<Consumer> all = consumers(self.input(i));
    if (all.size() > most_readers) continue;
    for (const Consumer& r : all) {
      NodeRef other = r.node;
      size_t n = other.inputs();
      if (r.input != 0 || !other.is("Concat") || n < 2 || n >= self.inputs() || i + n > self.inputs()) continue;
      if (!producer(other.output()) || normalize_axis(other.get<int64_t>("axis"), rank) != axis) continue;
      bool same = true;
      for (size_t k = 0; same && k < n; ++k) same = other.input(k) == self.input(i + k);
      if (!same) continue;
      std::vector<Value> inputs;
      for (size_t k = 0; k < i; ++k) inputs.push_back(self.input(k));
      inputs.push_back(other.output());
      for (size_t k = i + n; k < self.inputs(); ++k) inputs.push_back(self.input(k));
      return at.like(self, inputs);
    }
  }
  return {};
}

}  // namespace

Definitions rewrite_parts() {
  return {
      Pass("slices_to_split")
          .doc("fuse slices that cover a value exactly once into one VariadicSplit")
          .visit({"Slice", "StridedSlice"}, to_split),
      Pass("reuse_concats")
          .doc("reuse a Concat whose inputs are a part of those of another one")
          .on_request()
          .visit({"Concat"}, to_reused_concat),
  };
}

}  // namespace graft

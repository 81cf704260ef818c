// Strided 1 x 1 convolutions use only a fraction of their input. Their strides move up, through element-wise
// operations, into the convolution that computes it:
//
//   Convolution -> Relu -> [Convolution 1x1 / 2, ...]  =>  Convolution / 2 -> Relu -> [Convolution 1x1, ...]
//
// Another branch that joins in between and cannot absorb the strides gets a MaxPool with a window of one element, which
// subsamples.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

using Strides = std::vector<int64_t>;

bool is_explicit(const NodeRef& n) {
  std::string mode = n.get<std::string>("auto_pad", "explicit");
  return mode == "explicit" || mode == "valid";
}

// The strides of a 1 x 1 convolution without padding; empty if it has none to move.
Strides movable(const NodeRef& n) {
  if (!n.is("Convolution") || !is_explicit(n)) return {};
  auto w = static_dims(n.input(1));
  auto s = n.get<Strides>("strides");
  if (!w || w->size() != s.size() + 2) return {};
  for (size_t i = 0; i < s.size(); ++i)
    if ((*w)[i + 2] != 1) return {};
  for (std::string_view pads : {"pads_begin", "pads_end"})
    for (int64_t p : n.get<Strides>(pads, {}))
      if (p != 0) return {};
  return std::any_of(s.begin(), s.end(), [](int64_t x) { return x > 1; }) ? s : Strides();
}

bool is_single(const Value& v) {
  Shape s = v.shape();
  return s.is_static() && s.elements().value() == 1;
}
// One dimension, along the channels.
bool is_per_channel(const Value& v, const Value& data) {
  Shape s = v.shape(), x = data.shape();
  return s.ranked() && s.rank() == 1 && x.ranked() && x.rank() > 1 && x[1].same(s[0]);
}
// Whether each element of the result depends on one element of input 0 and on its channel.
bool is_one_to_one(const NodeRef& n) {
  bool per_channel = n.has(Trait::per_channel);
  if ((!per_channel && !n.has(Trait::elementwise)) || n.outputs() != 1 || !has_rank_of(n.output(), n.input(0)))
    return false;
  if (n.inputs() > 1 && n.get<std::string>("auto_broadcast", "numpy") != "numpy") return false;
  size_t rank = n.output().rank();
  for (size_t i = 1; i < n.inputs(); ++i) {
    Value v = n.input(i);
    if (!v || is_single(v) || (per_channel && is_per_channel(v, n.input(0)))) continue;
    if (!v.constant() || !length_along(v, rank, 1)) return false;
  }
  return true;
}

class Moving {
 public:
  Moving(Rewrite& at, Strides strides) : at_(at), strides_(std::move(strides)) {}

  // Whether some convolution above can absorb the strides.
  bool helps(const Value& v, int depth = 0) {
    NodeRef n = producer(v);
    if (!n || depth > 8) return false;
    if (is_convolution(n)) return is_explicit(n);
    if (is_one_to_one(n)) return alone(n.input(0), n) && helps(n.input(0), depth + 1);
    if (!n.is("Add") || !same_shapes(n)) return false;
    for (size_t i : {0, 1})
      if (alone(n.input(i), n) && helps(n.input(i), depth + 1)) return true;
    return false;
  }

  // The value subsampled by the strides.
  Value thinned(const Value& v, bool may_change, int depth = 0) {
    NodeRef n = may_change ? producer(v) : NodeRef();
    if (n && depth <= 8 && helps(v, depth)) {
      if (is_convolution(n)) {
        auto s = n.get<Strides>("strides");
        for (size_t i = 0; i < s.size(); ++i) s[i] *= strides_[i];
        return at_.like(n, {n.input(0), n.input(1)}, {{"strides", s}});
      }
      if (!is_one_to_one(n)) {
        Value a = thinned(n.input(0), alone(n.input(0), n), depth + 1);
        Value b = thinned(n.input(1), alone(n.input(1), n), depth + 1);
        return at_.like(n, {a, b});
      }
      std::vector<Value> inputs{thinned(n.input(0), true, depth + 1)};
      for (size_t i = 1; i < n.inputs(); ++i) inputs.push_back(n.input(i));
      return at_.like(n, inputs);
    }
    Strides one(strides_.size(), 1), none(strides_.size(), 0);
    return at_.op("MaxPool@1", {v},
                  {{"strides", strides_},
                   {"pads_begin", none},
                   {"pads_end", none},
                   {"kernel", one},
                   {"rounding_type", "floor"},
                   {"auto_pad", "explicit"}});
  }

 private:
  // Whether this node is the only consumer of the value.
  static bool alone(const Value& v, const NodeRef& reader) {
    for (const Consumer& r : consumers(v))
      if (r.node.raw() != reader.raw()) return false;
    return true;
  }
  static bool same_shapes(const NodeRef& n) {
    auto a = static_dims(n.input(0)), b = static_dims(n.input(1));
    return a && b && *a == *b;
  }

  Rewrite& at_;
  Strides strides_;
};

void move_up(Rewrite& at) {
  Strides strides = movable(at.node());
  if (strides.empty()) return;
  Value v = at.input(0);
  std::vector<NodeRef> all;
  for (const Consumer& r : consumers(v)) {
    if (r.input != 0 || movable(r.node) != strides) return;
    all.push_back(r.node);
  }
  Moving moving(at, strides);
  if (!moving.helps(v)) return;
  Value thin = moving.thinned(v, true);
  for (const NodeRef& n : all)
    at.replace(n.output(), at.like(n, {thin, n.input(1)}, {{"strides", Strides(strides.size(), 1)}}));
}

}  // namespace

Definitions rewrite_strides() {
  return Pass("move_strides")
      .doc("move the strides of 1 x 1 convolutions up into the convolution that computes their input")
      .visit({"Convolution"}, move_up);
}

}  // namespace graft

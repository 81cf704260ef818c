// Split -> n convolutions -> Concat, all along the channels  =>  one GroupConvolution
//
// This is how grouped convolutions were written before frameworks supported them. Each branch may add a bias.
#include <graft/formula.hpp>
#include <graft/op.hpp>
#include <numeric>

namespace graft {
namespace {

struct Branch {
  NodeRef convolution;
  Value bias;  // empty: none
};

// What computes input i of the Concat: a convolution, optionally with a bias.
std::optional<Branch> branch_of(const Value& v) {
  if (!used_once(v)) return std::nullopt;
  NodeRef n = producer(v);
  if (n.is("Convolution")) return Branch{n, {}};
  if (!n.is("Add")) return std::nullopt;
  auto [y, bias] = with_constant(n);
  NodeRef c = bias ? producer(y) : NodeRef();
  if (!c.is("Convolution") || !used_once(y)) return std::nullopt;
  return Branch{c, bias};
}

// Whether all attributes are equal.
bool same_window(const NodeRef& a, const NodeRef& b) {
  using List = std::vector<int64_t>;
  for (std::string_view name : {"strides", "dilations", "pads_begin", "pads_end"})
    if (a.get<List>(name, {}) != b.get<List>(name, {})) return false;
  return a.get<std::string>("auto_pad", "") == b.get<std::string>("auto_pad", "");
}

bool splits_channels_evenly(const NodeRef& split, size_t parts) {
  if (split.outputs() != parts) return false;
  auto axis = split.input(1).values<int64_t>();
  if (!axis || axis->size() != 1 || (*axis)[0] != 1) return false;
  if (split.is("Split")) return true;
  auto lengths = split.is("VariadicSplit") ? split.input(2).values<int64_t>() : std::nullopt;
  return lengths && std::all_of(lengths->begin(), lengths->end(), [&](int64_t n) { return n == (*lengths)[0]; });
}

Value group(Rewrite& at) {
  size_t n = at.inputs();
  if (n < 2 || at.get<int64_t>("axis") != 1) return {};
  std::vector<Branch> branches;
  NodeRef split;
  for (size_t i = 0; i < n; ++i) {
    auto b = branch_of(at.input(i));
    if (!b) return {};
    NodeRef s = producer(b->convolution.input(0));
    if (!s.is("Split") && !s.is("VariadicSplit")) return {};
    if (i == 0) {
      split = s;
      if (!splits_channels_evenly(split, n)) return {};
    }
    // Branch i must consume part i and be like the first one.
    if (!(b->convolution.input(0) == split.output(i))) return {};
    const Branch& first = branches.empty() ? *b : branches[0];
    Value w = b->convolution.input(1);
    if (!is_plain_constant(w) || static_dims(w) != static_dims(first.convolution.input(1))) return {};
    if (!same_window(b->convolution, first.convolution) || bool(b->bias) != bool(first.bias)) return {};
    branches.push_back(*b);
  }
  size_t rank = at.self().rank();
  std::vector<Value> weights, biases;
  for (const Branch& b : branches) {
    weights.push_back(unsqueeze(b.convolution.input(1), {0}));
    if (!b.bias) continue;
    auto channels = (*static_dims(b.convolution.input(1)))[0];
    auto length = length_along(b.bias, rank, 1);
    if (!length || (*length != 1 && *length != channels)) return {};
    Value flat = reshape(b.bias, {*length});
    biases.push_back(*length == channels ? flat
                                         : at.op("Broadcast@3", {flat, at.ints({channels})}, {{"mode", "numpy"}}));
  }
  Value all = at.op("Concat", weights, {{"axis", 0}});
  Value y = at.op("GroupConvolution", {split.input(0), all}, branches[0].convolution.attributes());
  if (biases.empty()) return y;
  std::vector<int64_t> by_channel(rank, 1);
  by_channel[1] = -1;
  return y + reshape(at.op("Concat", biases, {{"axis", 0}}), by_channel);
}

}  // namespace

Definitions rewrite_group_convolutions() {
  return Pass("group_convolutions")
      .doc("fuse equal convolutions of the parts of a value, concatenated again, into one grouped convolution")
      .visit({"Concat"}, group);
}

}  // namespace graft

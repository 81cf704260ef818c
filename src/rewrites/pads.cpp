// Folds zero padding into the padding of the following layer.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

struct Padding {
  Value data;
  std::vector<int64_t> begin, end;  // of the spatial axes
  double value;
};

// The padding of a Pad node, if it only extends the spatial axes.
std::optional<Padding> spatial_padding(const NodeRef& n) {
  if (!n.is("Pad") || n.get<std::string>("pad_mode") != "constant" || !used_once(n.output())) return std::nullopt;
  Padding p{n.input(0), {}, {}, 0};
  auto begin = n.input(1).values<int64_t>(), end = n.input(2).values<int64_t>();
  if (n.inputs() > 3) {
    auto v = number(n.input(3));
    if (!v) return std::nullopt;
    p.value = *v;
  }
  if (!begin || !end || begin->size() != end->size() || begin->size() < 3) return std::nullopt;
  for (size_t i = 0; i < begin->size(); ++i) {
    int64_t b = (*begin)[i], e = (*end)[i];
    constexpr int64_t most = 1 << 24;  // beyond what windows can compute with
    if (b < 0 || e < 0 || b > most || e > most || (i < 2 && (b || e))) return std::nullopt;
    if (i >= 2) p.begin.push_back(b), p.end.push_back(e);
  }
  return p;
}

// The padding of a convolution contributes nothing; zeros times a weight that is not finite do.
bool finite_weights(const Value& weights) {
  TensorView w = weights.constant();
  if (!w) return true;
  std::vector<double> values = w.to<double>();
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

Value take_in_pad(Rewrite& at) {
  NodeRef n = at.node();
  auto p = spatial_padding(producer(at.input(0)));
  if (!p) return {};
  std::string mode = at.get<std::string>("auto_pad", "explicit");
  if (mode != "explicit" && mode != "valid") return {};
  auto begin = at.get<std::vector<int64_t>>("pads_begin", {}), end = at.get<std::vector<int64_t>>("pads_end", {});
  if (mode == "valid" || begin.empty()) begin.assign(p->begin.size(), 0), end.assign(p->end.size(), 0);
  if (begin.size() != p->begin.size() || end.size() != p->end.size()) return {};
  std::vector<NamedAttr> changed{{"auto_pad", "explicit"}};
  bool padded = false;
  for (size_t i = 0; i < begin.size(); ++i) padded |= begin[i] != 0 || end[i] != 0;
  if (n.is("AvgPool")) {
    // Explicit zeros count in the divisor and must continue to; the layer's own padding may not.
    if (p->value != 0 || (padded && at.get<bool>("exclude-pad", false))) return {};
    if (at.get<std::string>("rounding_type", "floor") != "floor") return {};
    changed.push_back({"exclude-pad", false});
  } else if (n.is("MaxPool")) {
    if (p->value > -3e38 || at.get<std::string>("rounding_type", "floor") != "floor" || n.opset() != "opset1")
      return {};
    // A window entirely inside the padding would have no maximum.
    auto kernel = at.get<std::vector<int64_t>>("kernel");
    for (size_t i = 0; i < begin.size(); ++i)
      if (begin[i] + p->begin[i] >= kernel[i] || end[i] + p->end[i] >= kernel[i]) return {};
  } else if (p->value != 0 || !finite_weights(at.input(1))) {
    return {};
  }
  for (size_t i = 0; i < begin.size(); ++i) begin[i] += p->begin[i], end[i] += p->end[i];
  changed.push_back({"pads_begin", begin});
  changed.push_back({"pads_end", end});
  std::vector<Value> inputs{p->data};
  for (size_t i = 1; i < n.inputs(); ++i) inputs.push_back(n.input(i));
  return at.like(n, inputs, changed);
}

}  // namespace

Definitions rewrite_pads() {
  return Pass("fuse_pads")
      .doc("fold padding into the following convolution or pooling")
      .visit({"Convolution", "GroupConvolution", "AvgPool", "MaxPool"}, take_in_pad);
}

}  // namespace graft

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

// Whether a layer can take the padding into its own, which is there already if it is `padded`.
bool convolution_takes(const NodeRef& n, const Padding& p, bool) { return p.value == 0 && finite_weights(n.input(1)); }
// Explicit zeros count in the divisor and must continue to; the layer's own padding may not.
bool average_takes(const NodeRef& n, const Padding& p, bool padded) {
  return p.value == 0 && !(padded && n.get<bool>("exclude-pad", false)) &&
         n.get<std::string>("rounding_type", "floor") == "floor";
}
// A window entirely inside the padding would have no maximum.
bool maximum_takes(const NodeRef& n, const Padding& p, bool) {
  if (p.value > -3e38 || n.get<std::string>("rounding_type", "floor") != "floor" || n.opset() != "opset1") return false;
  auto kernel = n.get<std::vector<int64_t>>("kernel"), begin = n.get<std::vector<int64_t>>("pads_begin", {}),
       end = n.get<std::vector<int64_t>>("pads_end", {});
  bool own = n.get<std::string>("auto_pad", "explicit") == "explicit";
  auto at = [&](const std::vector<int64_t>& list, size_t i) { return own && i < list.size() ? list[i] : 0; };
  for (size_t i = 0; i < p.begin.size(); ++i)
    if (at(begin, i) + p.begin[i] >= kernel[i] || at(end, i) + p.end[i] >= kernel[i]) return false;
  return true;
}
struct Window {
  std::string_view type;
  bool (*takes)(const NodeRef&, const Padding&, bool padded);
};
constexpr Window windows[] = {{"AvgPool", average_takes},
                              {"Convolution", convolution_takes},
                              {"GroupConvolution", convolution_takes},
                              {"MaxPool", maximum_takes}};

Value take_in_pad(Rewrite& at) {
  NodeRef n = at.node();
  auto p = spatial_padding(producer(at.input(0)));
  if (!p) return {};
  std::string mode = at.get<std::string>("auto_pad", "explicit");
  if (mode != "explicit" && mode != "valid") return {};
  auto begin = at.get<std::vector<int64_t>>("pads_begin", {}), end = at.get<std::vector<int64_t>>("pads_end", {});
  if (mode == "valid" || begin.empty()) begin.assign(p->begin.size(), 0), end.assign(p->end.size(), 0);
  if (begin.size() != p->begin.size() || end.size() != p->end.size()) return {};
  bool padded = false;
  for (size_t i = 0; i < begin.size(); ++i) padded |= begin[i] != 0 || end[i] != 0;
  for (const Window& w : windows)
    if (n.is(w.type) && !w.takes(n, *p, padded)) return {};
  std::vector<NamedAttr> changed{{"auto_pad", "explicit"}};
  if (n.is("AvgPool")) changed.push_back({"exclude-pad", false});
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
      .visit_rows(windows, take_in_pad);
}

}  // namespace graft

// Pooling.
#include <graft/op.hpp>

#include "caffe/building.hpp"

namespace graft {
namespace {

// Caffe counts padding in the divisor, but not the part of the last window beyond the padding. So pad explicitly with
// zeros, then average with exclude-pad.
Value caffe_average(Builder& layer, Value x, std::vector<NamedAttr> attrs, const std::vector<int64_t>& kernel,
                    const std::vector<int64_t>& strides, const std::vector<int64_t>& pads, bool floor) {
  Shape s = x.shape();
  bool padded = false, sticks_out = false;
  std::vector<int64_t> positions;
  for (size_t i = 0; i < pads.size(); ++i) {
    padded |= pads[i] > 0;
    if (!s.ranked() || !s[i + 2].known()) {
      sticks_out = true;
      continue;
    }
    int64_t size = s[i + 2].value() + 2 * pads[i], left = std::max<int64_t>(size - kernel[i], 0);
    int64_t n = left / strides[i] + (left % strides[i] != 0) + 1;
    if (pads[i] && (n - 1) * strides[i] >= size - pads[i]) --n;
    sticks_out |= (n - 1) * strides[i] + kernel[i] > size;
    positions.push_back(n);
  }
  if (!padded || floor || !sticks_out) {
    attrs.push_back({"pads_begin", pads});
    attrs.push_back({"pads_end", pads});
    attrs.push_back({"exclude-pad", false});
    return layer.op("AvgPool@14", {x}, attrs);
  }
  std::vector<int64_t> around(2, 0), none(pads.size(), 0);
  around.insert(around.end(), pads.begin(), pads.end());
  x = layer.op("Pad@1", {x, layer.ints(around), layer.ints(around), like(x, 0)}, {{"pad_mode", "constant"}});
  attrs.push_back({"pads_begin", none});
  attrs.push_back({"pads_end", none});
  attrs.push_back({"exclude-pad", true});
  Value y = layer.op("AvgPool@14", {x}, attrs);
  for (size_t i = 0; i < positions.size() && positions.size() == pads.size(); ++i) {
    Shape out = y.shape();
    if (out[i + 2].known() && out[i + 2].value() > positions[i])
      y = build::slice(y, static_cast<int64_t>(i) + 2, 0, positions[i]);
  }
  return y;
}

std::vector<Value> import_caffe_pooling(Builder& layer) {
  Value x = layer.input(0);
  std::string method = caffe_word(layer, "pooling_param.pool", {"MAX", "AVE", "STOCHASTIC"}, "MAX");
  if (method != "MAX" && method != "AVE" && method != "STOCHASTIC")
    fail("expected pooling method MAX, AVE or STOCHASTIC, got '", method, "'");
  if (layer.get<bool>("pooling_param.global_pooling", false)) {
    if (method == "STOCHASTIC") unsupported("global stochastic pooling is not supported");
    if (layer.output_used(1)) unsupported("the indices output of global pooling is not supported");
    return {layer.op(method == "MAX" ? "ReduceMax" : "ReduceMean", {x, layer.ints(caffe_axes_from(2, x.rank()))},
                     {{"keep_dims", true}})};
  }
  Shape s = x.shape();
  if (s.ranked() && s.rank() < 3) fail("expected an input of rank 3 or more, got shape ", s);
  size_t axes = s.ranked() ? s.rank() - 2 : 2;
  std::vector<int64_t> pads = caffe_windows(layer, "pooling_param", "pad", "pad", axes, 0, 0);
  bool floor = caffe_word(layer, "pooling_param.round_mode", {"CEIL", "FLOOR"}, "CEIL") == "FLOOR" ||
               !layer.get<bool>("pooling_param.ceil_mode", true);
  std::vector<int64_t> kernel = caffe_windows(layer, "pooling_param", "kernel_size", "kernel", axes, 0, 1),
                       strides = caffe_windows(layer, "pooling_param", "stride", "stride", axes, 1, 1);
  for (size_t i = 0; i < axes; ++i)
    if (pads[i] >= kernel[i]) fail("expected a padding smaller than the window of ", kernel[i], ", got ", pads[i]);
  std::vector<NamedAttr> attrs{
      {"kernel", kernel}, {"strides", strides}, {"rounding_type", floor ? "floor" : "ceil_torch"}};
  if (method == "MAX") {
    attrs.push_back({"pads_begin", pads});
    attrs.push_back({"pads_end", pads});
    attrs.push_back({"dilations", std::vector<int64_t>(axes, 1)});
    attrs.push_back({"index_element_type", DType::i32});
    attrs.push_back({"axis", 2});
    std::vector<Value> out = layer.ops("MaxPool@14", {x}, attrs, 2);
    if (layer.output_used(1)) out[1] = convert(out[1], x.type());
    else out.pop_back();
    return out;
  }
  auto mean = [&](const Value& v) { return caffe_average(layer, v, attrs, kernel, strides, pads, floor); };
  if (method == "AVE") return {mean(x)};
  // At inference time stochastic pooling is the average of the elements weighted by themselves.
  return {mean(x * x) / (mean(x) + double{std::numeric_limits<float>::min()})};
}

}  // namespace

Definitions define_caffe_pool() { return caffe("Pooling").ignore("pooling_param.engine").expand(import_caffe_pooling); }

}  // namespace graft

// The region layers that the replacement files of YOLO models append to a TensorFlow graph.
#include <graft/op.hpp>
#include <numeric>

#include "layout.hpp"

namespace graft {
namespace {

Value region(Builder& layer, bool softmax) {
  Value x = layer.input(0);
  auto classes = layer.get<int64_t>("classes"), coords = layer.get<int64_t>("coords"), num = layer.get<int64_t>("num");
  for (int64_t v : {classes, coords, num})
    if (v < 0 || v > 1 << 20) fail("expected 'classes', 'coords' and 'num' of 0 to ", 1 << 20, ", got ", v);
  softmax = layer.get<bool>("do_softmax", softmax);
  auto mask = layer.get<std::vector<int64_t>>("mask", {});
  if (!softmax && mask.empty()) {
    if (num < 1 || num > 65536) fail("attribute 'num': expected a value between 1 and 65536, got ", num);
    mask.resize(static_cast<size_t>(num));
    std::iota(mask.begin(), mask.end(), 0);
  }
  if (x.rank() != 4) unsupported("expected data of rank 4 for a region layer, got shape ", x.shape());
  int64_t channels = (softmax ? num : static_cast<int64_t>(mask.size())) * (classes + coords + 1);
  bool last = x.shape()[3].can_be(channels);
  if (!last && !x.shape()[1].can_be(channels))
    fail("expected ", channels, " channels for the boxes of a region layer, got shape ", x.shape());
  return layer.op("RegionYolo", {last ? tf::channels_second(x, 2) : x},
                  {{"anchors", layer.get<std::vector<double>>("anchors", {})},
                   {"axis", layer.get<int64_t>("axis", 1)},
                   {"coords", coords},
                   {"classes", classes},
                   {"end_axis", layer.get<int64_t>("end_axis", 3)},
                   {"num", num},
                   {"do_softmax", softmax},
                   {"mask", mask}});
}
Value yolo(Builder& layer) { return region(layer, true); }
Value yolo_v3(Builder& layer) { return region(layer, false); }

}  // namespace

Definitions define_tensorflow_yolo() {
  return {replacement("TFYOLO").expand(yolo), replacement("TFYOLOV3").expand(yolo_v3)};
}

}  // namespace graft

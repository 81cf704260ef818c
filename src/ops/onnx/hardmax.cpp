// Hardmax: 1 at the first maximum along an axis, 0 elsewhere.
#include <graft/op.hpp>

#include "flatten.hpp"

namespace graft {
namespace {

Value import_hardmax(Builder& layer) {
  Value x = layer.input(0);
  auto along = [&](const Value& v, int64_t axis) {
    Value most = layer.op("ReduceMax", {v, layer.ints({axis})}, {{"keep_dims", true}});
    Value hit = layer.op("Equal", {v, most});
    // The first of several equal maxima has a running count of 1.
    Value rank = layer.op("CumSum", {convert(hit, DType::i32), layer.scalar(axis)});
    Value first = layer.op("LogicalAnd", {hit, layer.op("Equal", {rank, like(rank, 1)})});
    return convert(first, v.type());
  };
  if (layer.version() >= 13) return along(x, layer.get<int64_t>("axis", -1));
  return along_rows(x, layer.get<int64_t>("axis", 1), along);
}

}  // namespace

Definitions define_onnx_hardmax() { return onnx("Hardmax").expand(import_hardmax); }

}  // namespace graft

// FakeQuantize: removes clamps that it implies, and compresses constant weights.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

// FakeQuantize(Relu(x)), FakeQuantize(Clamp(x)), if the input range lies within the bounds  =>  FakeQuantize(x)
Value without_bounds(Rewrite& at) {
  NodeRef self = at.node(), before = used_once(at.input(0)) ? producer(at.input(0)) : NodeRef();
  bool relu = before.is("Relu");
  if (!self.is("FakeQuantize") || (!relu && !before.is("Clamp"))) return {};
  double low = relu ? 0 : before.get<double>("min");
  double high = relu ? std::numeric_limits<double>::infinity() : before.get<double>("max");
  auto in_low = at.input(1).values<double>(), in_high = at.input(2).values<double>();
  if (!in_low || !in_high || in_low->empty() || in_high->empty()) return {};
  auto [least, least_top] = std::minmax_element(in_low->begin(), in_low->end());
  auto [top_bottom, most] = std::minmax_element(in_high->begin(), in_high->end());
  // An inverted range would saturate at the other end.
  if (!(*least_top < *top_bottom) || !(low <= *least) || !(high >= *most)) return {};
  std::vector<Value> inputs{before.input(0)};
  for (size_t i = 1; i < self.inputs(); ++i) inputs.push_back(self.input(i));
  return at.like(self, inputs);
}

// FakeQuantize(constant)  =>  Multiply(Subtract(Convert(i8 constant), zero point), scale)
//
// Level q represents out_low + q * scale, scale = (out_high - out_low) / (levels - 1); q - 128 is stored.
Value to_compressed(Rewrite& at) {
  NodeRef self = at.node();
  Value w = at.input(0);
  auto levels = self.is("FakeQuantize") ? at.get<int64_t>("levels") : 0;
  if (levels < 2 || levels > 256 || w.type() != DType::f32 || !w.constant()) return {};
  constexpr double middle = 128;
  Value low = at.input(3), high = at.input(4);
  Shape ranges = broadcast(low.shape(), high.shape());
  auto lows = low.values<double>(), highs = high.values<double>();
  if (!at.input(1).constant() || !at.input(2).constant() || !lows || !highs || !ranges.is_static()) return {};
  std::vector<int64_t> dims = ranges.values();
  int64_t count = ranges.elements().value();
  if (2 * count * 4 >= w.constant().size() * 3) return {};  // would not save memory

  std::vector<int64_t> l = broadcast_strides(low.shape().values(), dims),
                       h = broadcast_strides(high.shape().values(), dims);
  std::vector<double> scale, zero;
  Walk walk(dims, {l, h});
  bool shifted = false;
  if (walk.empty()) return {};
  do {
    double a = (*lows)[static_cast<size_t>(walk[0])], b = (*highs)[static_cast<size_t>(walk[1])];
    double s = (b - a) / static_cast<double>(levels - 1);
    if (!std::isfinite(s) || (s == 0 && a != 0)) return {};
    scale.push_back(s);
    zero.push_back(s == 0 ? 0 : -a / s - middle);
    if (!std::isfinite(zero.back()) || std::fabs(zero.back()) > 4096) return {};  // the f32 result would lose precision
    shifted = shifted || zero.back() != 0;
  } while (walk.next());

  auto number = [&](double v) { return at.scalar(v, DType::f32); };
  Value level =
      at.like(self, {w, at.input(1), at.input(2), number(-middle), number(static_cast<double>(levels - 1) - middle)});
  Value narrow = convert(level, DType::i8);
  TensorView kept = narrow.constant();
  if (!kept) return {};
  Value y = convert(at.constant(kept), DType::f32);
  if (shifted) y = y - at.typed(zero, dims, DType::f32);
  return y * at.typed(scale, dims, DType::f32);
}

}  // namespace

Definitions rewrite_quantization() {
  return {
      Pass("fuse_quantized_bounds")
          .doc("remove Relu and Clamp before a FakeQuantize that clamps as tightly")
          .visit({"FakeQuantize"}, without_bounds),
      Pass("compress_quantized_weights")
          .doc("store quantized weights as i8 and dequantize them where they are used")
          .on_request()
          .keep_constants()
          .visit({"FakeQuantize"}, to_compressed),
  };
}

}  // namespace graft

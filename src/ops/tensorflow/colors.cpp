// Contrast, hue and saturation of images whose last axis is red, green, blue.
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

Value tf_largest(const Value& a, const Value& b) { return a.in().op("Maximum", {a, b}); }
Value tf_smallest(const Value& a, const Value& b) { return a.in().op("Minimum", {a, b}); }
Value tf_between_0_and_1(const Value& v) { return v.in().op("Clamp", {v}, {{"min", 0.0}, {"max", 1.0}}); }
Value tf_above(const Value& v, double limit) { return v.in().op("Greater", {v, like(v, limit)}); }

// Each with a last axis of one element.
struct Hsv {
  Value hue, value, range;  // hue from 0 to 1; range: the value minus the smallest channel

  Value saturation() const {
    Value lit = tf_above(value, 0);
    return build::select(lit, range / build::select(lit, value, like(value, 1)), like(value, 0));
  }
};

Hsv tf_hsv_of(const Value& rgb) {
  std::vector<Value> c = build::split(rgb, -1, 3);
  const Value &r = c[0], &g = c[1], &b = c[2];
  Value value = tf_largest(tf_largest(r, g), b), range = value - tf_smallest(tf_smallest(r, g), b);
  Value colored = tf_above(range, 0);
  Value unit = 1 / (build::select(colored, range, like(range, 1)) * 6.0);
  auto is_value = [&](const Value& v) { return v.in().op("Equal", {v, value}); };
  Value from_green = build::select(is_value(g), unit * (b - r) + 2.0 / 6.0, unit * (r - g) + 4.0 / 6.0);
  Value hue = build::select(is_value(r), unit * (g - b), from_green);
  hue = build::select(hue.in().op("Less", {hue, like(hue, 0)}), hue + 1, hue);
  return {build::select(colored, hue, like(hue, 0)), value, range};
}

// The intensity of each channel for a hue, from 0 to 1: [..., 3].
Value tf_channels_of(const Value& hue) {
  Value h = hue * 6.0;
  auto distance = [&](double from) { return h.in().op("Abs", {h - from}); };
  return build::concat(
      {tf_between_0_and_1(distance(3) - 1), tf_between_0_and_1(2 - distance(2)), tf_between_0_and_1(2 - distance(4))},
      -1);
}
Value tf_rgb_of(const Value& hue, const Value& saturation, const Value& value) {
  return (1 - saturation + saturation * tf_channels_of(hue)) * value;
}

Value tf_rgb_to_hsv(Builder& layer) {
  Hsv c = tf_hsv_of(layer.input(0));
  return build::concat({c.hue, c.saturation(), c.value}, -1);
}
Value tf_hsv_to_rgb(Builder& layer) {
  std::vector<Value> c = build::split(layer.input(0), -1, 3);
  return tf_rgb_of(c[0], c[1], c[2]);
}

// The following compute in f32 for every element type.
template <class F>
Value tf_in_f32(Builder& layer, F adjusted) {
  Value x = layer.input(0);
  Value amount = tf::as_scalar(convert(layer.input(1), DType::f32));
  return convert(adjusted(convert(x, DType::f32), amount), x.type());
}
Value tf_adjust_saturation(Builder& layer) {
  return tf_in_f32(layer, [](const Value& x, const Value& scale) {
    Hsv c = tf_hsv_of(x);
    return tf_rgb_of(c.hue, tf_between_0_and_1(c.saturation() * scale), c.value);
  });
}
Value tf_adjust_hue(Builder& layer) {
  return tf_in_f32(layer, [](const Value& x, const Value& delta) {
    Hsv c = tf_hsv_of(x);
    Value hue = x.in().op("FloorMod", {c.hue + delta, like(x, 1)});
    return c.value - c.range + c.range * tf_channels_of(hue);
  });
}
// Scales the difference of each channel from its mean.
Value tf_adjust_contrast(Builder& layer) {
  return tf_in_f32(layer, [](const Value& x, const Value& factor) {
    Value mean = build::reduce_mean(x, {-3, -2});
    return (x - mean) * factor + mean;
  });
}

}  // namespace

Definitions define_tensorflow_colors() {
  return {
      tensorflow("AdjustContrastv2").expand(tf_adjust_contrast),
      tensorflow("AdjustHue").expand(tf_adjust_hue),
      tensorflow("AdjustSaturation").expand(tf_adjust_saturation),
      tensorflow("HSVToRGB").expand(tf_hsv_to_rgb),
      tensorflow("RGBToHSV").expand(tf_rgb_to_hsv),
  };
}

}  // namespace graft

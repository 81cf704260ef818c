#include <graft/op.hpp>

#include "cast.hpp"

namespace graft {
namespace {

struct Convert {
  DType destination_type = DType::undefined;
  static constexpr std::tuple schema{
      attr("destination_type", &Convert::destination_type, "element type of the result").required()};
};

// Known integer and boolean values stay known if the target type can represent them.
void follow_converted(Infer& ctx, DType to) {
  auto k = ctx.known(0);
  if (!k || (to != DType::i64 && to != DType::i32 && to != DType::boolean)) return;
  if (to == DType::boolean)
    for (Dim& d : *k) d = Dim::between(d.min() > 0 || d.max() < 0 ? 1 : 0, d.min() == 0 && d.max() == 0 ? 0 : 1);
  ctx.known_output(0, *k);
}
void convert_infer(Infer& ctx, const Convert& a) {
  ctx.output(0, a.destination_type, ctx.shape(0));
  follow_converted(ctx, a.destination_type);
}
void convert_like_infer(Infer& ctx, const NoAttributes&) {
  ctx.output(0, ctx.type(1), ctx.shape(0));
  follow_converted(ctx, ctx.type(1));
}

// Strings are parsed and formatted as numbers.
std::string number_as_text(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v < 0 ? "-INF" : "INF";
  return text(static_cast<float>(v));
}
double text_as_number(std::string_view s) {
  if (s == "NaN" || s == "nan") return std::nan("");
  if (s == "INF" || s == "+INF" || s == "inf") return INFINITY;
  if (s == "-INF" || s == "-inf") return -INFINITY;
  double v = 0;
  if (s.starts_with('+')) s.remove_prefix(1);
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || end != s.data() + s.size()) fail("expected a number, got the string '", s, "'");
  return v;
}

void convert_any(Run& ctx) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  bool from_text = x.type() == DType::string, to_text = y.type() == DType::string;
  if (from_text == to_text) return y.assign(x);
  if (from_text) {
    std::vector<double> v;
    for (int64_t i = 0; i < x.size(); ++i) v.push_back(text_as_number(view(x.data<graft_str>()[i])));
    return y.assign(v);
  }
  if (is_real(x.type())) {
    std::vector<double> v = x.to<double>();
    for (size_t i = 0; i < v.size(); ++i) ctx.store(y, static_cast<int64_t>(i), number_as_text(v[i]));
  } else {
    std::vector<int64_t> v = x.to<int64_t>();
    for (size_t i = 0; i < v.size(); ++i)
      ctx.store(y, static_cast<int64_t>(i), x.type() == DType::boolean ? (v[i] ? "True" : "False") : text(v[i]));
  }
}
void convert_run(Run& ctx, const Convert&) { convert_any(ctx); }
void convert_like_run(Run& ctx, const NoAttributes&) { convert_any(ctx); }

DType named_type(Builder& layer) {
  const graft_value* to = layer.field("to");
  if (!to) fail("required attribute 'to' is missing");
  if (to->kind != GRAFT_TEXT) return onnx_element_type(to->i);
  // Opsets 1 to 5 store the name of the type.
  constexpr std::pair<std::string_view, DType> names[] = {
      {"FLOAT", DType::f32},    {"UINT8", DType::u8},    {"INT8", DType::i8},    {"UINT16", DType::u16},
      {"INT16", DType::i16},    {"INT32", DType::i32},   {"INT64", DType::i64},  {"STRING", DType::string},
      {"BOOL", DType::boolean}, {"FLOAT16", DType::f16}, {"DOUBLE", DType::f64}, {"UINT32", DType::u32},
      {"UINT64", DType::u64}};
  for (auto [name, type] : names)
    if (name == view(to->s)) return type;
  fail("expected the name of an element type, got '", to->s, "'");
}
Value import_cast(Builder& layer) {
  return cast(layer, layer.input(0), named_type(layer), layer.get<bool>("saturate", true));
}
Value import_cast_like(Builder& layer) {
  DType type = layer.input(1).type();
  if (type == DType::undefined) return layer.op("ConvertLike", {layer.input(0), layer.input(1)});
  return cast(layer, layer.input(0), type, layer.get<bool>("saturate", true));
}

}  // namespace

Definitions define_convert() {
  return {
      op<Convert>("Convert", 1)
          .doc("Convert elements to another type")
          .traits(Trait::elementwise)
          .inputs("data")
          .infer(convert_infer)
          .linear()
          .reference(convert_run)
          .import(onnx("Cast").ignore("round_mode").expand(import_cast)),
      op("ConvertLike", 1)
          .doc("Convert elements to the type of another tensor")
          .inputs("data, like")
          .infer(convert_like_infer)
          .linear()
          .reference(convert_like_run)
          .import(onnx("CastLike").ignore("round_mode").expand(import_cast_like)),
  };
}

}  // namespace graft

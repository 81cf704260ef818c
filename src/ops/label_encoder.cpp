#include <graft/kit/known.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>
#include <map>

#include "texts.hpp"

namespace graft {
namespace {

void label_encoder_infer(Infer& ctx, const NoAttributes&) {
  common_type(ctx, {0, 1});
  merge(length_of(ctx, 1), length_of(ctx, 2));
  if (Shape s = ctx.shape(3); !s.elements().can_be(1)) fail("expected a scalar default, got shape ", s);
  ctx.output(0, common_type(ctx, {2, 3}), ctx.shape(0));
}

// A total order of numbers: NaN precedes all others and equals itself.
struct LabelOrder {
  bool operator()(double a, double b) const { return std::isnan(a) ? !std::isnan(b) : a < b; }
  bool operator()(int64_t a, int64_t b) const { return a < b; }
  bool operator()(uint64_t a, uint64_t b) const { return a < b; }
  bool operator()(std::string_view a, std::string_view b) const { return a < b; }
};

// The position of each element among the keys, or -1. The last of several equal keys wins.
template <class K>
std::vector<int64_t> label_places(const std::vector<K>& data, const std::vector<K>& keys) {
  std::map<K, int64_t, LabelOrder> places;
  for (size_t i = 0; i < keys.size(); ++i) places[keys[i]] = static_cast<int64_t>(i);
  std::vector<int64_t> out;
  for (const K& d : data) {
    auto it = places.find(d);
    out.push_back(it == places.end() ? -1 : it->second);
  }
  return out;
}
std::vector<std::string_view> label_texts(TensorView t) {
  std::vector<std::string_view> out;
  for (int64_t i = 0; i < t.size(); ++i) out.push_back(view(t.data<graft_str>()[i]));
  return out;
}

void label_encoder_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0), keys = ctx.input(1);
  OutputView y = ctx.output(0);
  if (keys.size() != ctx.input(2).size())
    fail("expected ", ctx.input(2).size(), " keys, one per value, got ", keys.size());
  std::vector<int64_t> places;
  if (x.type() == DType::string) places = label_places(label_texts(x), label_texts(keys));
  else with_number_type(x.type(), [&]<class T>(T) { places = label_places(x.to<T>(), keys.to<T>()); });
  Cells values(ctx.input(2)), fallback(ctx.input(3));
  OutputCells to(y);
  size_t cell = to.cell_size();
  for (size_t i = 0; i < places.size(); ++i)
    std::memcpy(to.data() + i * cell,
                places[i] < 0 ? fallback.data() : values.data() + static_cast<size_t>(places[i]) * cell, cell);
  to.write_back();
}

// ---- ONNX ----

// The one list present among keys_* or values_*.
Value label_list(Builder& layer, const std::string& what) {
  if (layer.has(what + "_tensor")) return layer.constant(layer.get<TensorView>(what + "_tensor"));
  if (layer.has(what + "_int64s")) return layer.ints(layer.get<std::vector<int64_t>>(what + "_int64s"));
  if (layer.has(what + "_strings")) return text_list(layer, layer.get<std::vector<std::string>>(what + "_strings"));
  if (layer.has(what + "_floats")) {
    auto floats = layer.get<std::vector<float>>(what + "_floats");
    auto n = static_cast<int64_t>(floats.size());
    return layer.constant(std::move(floats), {n});
  }
  fail("expected one of the attributes ", what, "_*, got none");
}
Value label_default(Builder& layer, DType type) {
  if (layer.has("default_tensor")) return reshape(layer.constant(layer.get<TensorView>("default_tensor")), {});
  auto text = layer.get<std::string>("default_string", "_Unused");
  auto whole = layer.get<int64_t>("default_int64", -1);
  auto real = layer.get<float>("default_float", -0.0f);
  if (type == DType::string) return text_constant(layer, {text}, {});
  return convert(is_real(type) ? layer.constant<float>({real}, {}) : layer.scalar(whole), type);
}

// Version 1 maps strings to their positions in a list, or positions to strings.
Value import_label_encoder1(Builder& layer) {
  Value x = layer.input(0);
  auto classes = layer.get<std::vector<std::string>>("classes_strings");
  std::vector<int64_t> numbers(classes.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  Value texts = text_list(layer, classes), count = layer.ints(numbers);
  bool to_number = x.type() == DType::string;
  Value keys = to_number ? texts : count, values = to_number ? count : texts;
  return layer.op("LabelEncoder@graft", {x, keys, values, label_default(layer, values.type())});
}
Value import_label_encoder(Builder& layer) {
  Value keys = label_list(layer, "keys"), values = label_list(layer, "values");
  return layer.op("LabelEncoder@graft", {layer.input(0), keys, values, label_default(layer, values.type())});
}

}  // namespace

Definitions define_label_encoder() {
  return op("LabelEncoder", "graft")
      .doc("Map each element from its key to the corresponding value, or to the default")
      .inputs("data, keys, values, default")
      .infer(label_encoder_infer)
      .reference(label_encoder_run)
      .import(onnx("LabelEncoder").domain("ai.onnx.ml").until(2).expand(import_label_encoder1))
      .import(onnx("LabelEncoder").domain("ai.onnx.ml").expand(import_label_encoder));
}

}  // namespace graft

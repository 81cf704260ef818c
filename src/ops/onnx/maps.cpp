// Layers of ai.onnx.ml with maps as inputs or outputs. At import time a map is a list of its keys and its values; for
// the output of ZipMap, the values have one row per map.
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

#include "../texts.hpp"

namespace graft {
namespace {

struct MapParts {
  Value keys, values;
};
MapParts map_input(Builder& layer) {
  auto parts = layer.input(0).items();
  if (!parts || parts->size() != 2)
    unsupported("expected a map that is an input of the model or the output of a layer for maps");
  return {(*parts)[0], (*parts)[1]};
}

// The strings or integers of two attributes, of which exactly one is present.
Value map_labels(Builder& layer, std::string_view whole, std::string_view words) {
  if (layer.has(whole) == layer.has(words)) fail("expected exactly one of the attributes ", whole, " and ", words);
  if (layer.has(whole)) return layer.ints(layer.get<std::vector<int64_t>>(whole));
  return text_list(layer, layer.get<std::vector<std::string>>(words));
}
Value zero_of(Builder& layer, DType type) {
  return type == DType::string ? text_constant(layer, {""}, {}) : layer.scalar(0.0, type);
}

// One map from classes to scores per row of scores.
Value import_zip_map(Builder& layer) {
  Value keys = map_labels(layer, "classlabels_int64s", "classlabels_strings"), scores = layer.input(0);
  if (scores.rank() == 1) scores = unsqueeze(scores, {0});
  if (scores.rank() != 2) fail("expected scores of rank 1 or 2, got shape ", scores.shape());
  int64_t classes = keys.shape()[0].value();
  if (!scores.shape()[1].can_be(classes)) fail("expected scores for ", classes, " classes, got shape ", scores.shape());
  return layer.list({keys, scores});
}

// The values of the words in the vocabulary; 0 for words that the map lacks.
Value import_dict_vectorizer(Builder& layer) {
  MapParts map = map_input(layer);
  Value words = map_labels(layer, "int64_vocabulary", "string_vocabulary");
  Value found = layer.op("LabelEncoder@graft", {words, map.keys, map.values, zero_of(layer, map.values.type())});
  return unsqueeze(found, {0});
}

Value import_cast_map(Builder& layer) {
  MapParts map = map_input(layer);
  auto to = layer.get<std::string>("cast_to", "TO_FLOAT"), form = layer.get<std::string>("map_form", "DENSE");
  auto most = layer.get<int64_t>("max_map", 1);
  if (to != "TO_FLOAT" && to != "TO_INT64" && to != "TO_STRING")
    fail("expected cast_to TO_FLOAT, TO_INT64 or TO_STRING, got '", to, "'");
  if (form != "DENSE" && form != "SPARSE") fail("expected map_form DENSE or SPARSE, got '", form, "'");
  if (to == "TO_STRING" || map.values.type() == DType::string)
    unsupported("CastMap from or to strings is not supported");
  Value values = convert(map.values, to == "TO_FLOAT" ? DType::f32 : DType::i64);
  if (form == "SPARSE") {
    if (most < 1) fail("expected max_map of at least 1, got ", most);
    Value places = build::range(layer.scalar(int64_t{0}), layer.scalar(most), DType::i64);
    Value found = layer.op("LabelEncoder@graft", {places, map.keys, values, layer.scalar(0.0, values.type())});
    return unsqueeze(found, {0});
  }
  // Sorted by key.
  Value count = build::gather(shape_of(map.keys), layer.scalar(int64_t{0}), 0);
  Value order = layer.ops("TopK", {map.keys, count},
                          {{"axis", 0}, {"mode", "min"}, {"sort", "value"}, {"index_element_type", DType::i64}}, 2)[1];
  return unsqueeze(build::gather(values, order, 0), {0});
}

}  // namespace

Definitions define_onnx_maps() {
  return {
      onnx("ZipMap").domain("ai.onnx.ml").expand(import_zip_map),
      onnx("DictVectorizer").domain("ai.onnx.ml").expand(import_dict_vectorizer),
      onnx("CastMap").domain("ai.onnx.ml").expand(import_cast_map),
  };
}

}  // namespace graft

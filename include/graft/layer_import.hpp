// Layers whose class reads its parameters from a dictionary, as OpenCV's do: how they are imported and stored.
//
// One operation per type, of opset "layer": any number of inputs, of which the last `blobs` are constants (weights);
// `params` holds the layer's fields as "name=value" with the value in JSON. It is written to an IR like any other
// operation. Used by layer.hpp, by opencv.hpp and by graft.register_layer in Python.
#pragma once

#include <cstdio>

#include "op.hpp"

namespace [[gnu::visibility("hidden")]] graft {

inline constexpr std::string_view layer_opset = "layer";

struct LayerAttributes {
  std::vector<std::string> params;
  int64_t blobs = 0, outputs = 1;
  static constexpr std::tuple schema{
      attr("params", &LayerAttributes::params, "parameters as name=value, the value in JSON"),
      attr("blobs", &LayerAttributes::blobs, "number of inputs, at the end, that are weights").between(0, 65536),
      attr("outputs", &LayerAttributes::outputs, "number of outputs").between(1, 65536)};
};

namespace detail {

inline std::string json_text(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (byte < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", byte);
      out += buffer;
    } else out += c;
  }
  return out + '"';
}
// With a point or an exponent, so that it stays a floating-point number.
inline std::string json_number(double f) {
  if (std::isnan(f)) return "NaN";
  if (std::isinf(f)) return f > 0 ? "Infinity" : "-Infinity";
  std::string out = text(f);
  return out.find_first_of(".e") == out.npos ? out + ".0" : out;
}

}  // namespace detail

// The value of a parameter in JSON; empty: a kind of value that parameters cannot have.
inline std::string parameter_text(const graft_value& v) {
  auto list = [&](auto item) {
    std::string out = "[";
    for (size_t i = 0; i < v.count; ++i) out += (i ? ", " : "") + item(i);
    return out + "]";
  };
  switch (v.kind) {
    case GRAFT_BOOL: return v.i ? "true" : "false";
    case GRAFT_INT: return text(v.i);
    case GRAFT_FLOAT: return detail::json_number(v.f);
    case GRAFT_TEXT: return detail::json_text(view(v.s));
    case GRAFT_DTYPE: return detail::json_text(name_of(static_cast<DType>(v.i)));
    case GRAFT_INTS: return list([&](size_t i) { return text(static_cast<const int64_t*>(v.items)[i]); });
    case GRAFT_FLOATS:
      return list([&](size_t i) { return detail::json_number(static_cast<const double*>(v.items)[i]); });
    case GRAFT_TEXTS:
      return list([&](size_t i) { return detail::json_text(view(static_cast<const graft_str*>(v.items)[i])); });
    default: return "";
  }
}

// OpenCV's name of a field: without the message it is in (Caffe), and with its own words for windows of ONNX.
inline std::string parameter_name(std::string_view framework, std::string_view path) {
  constexpr std::pair<std::string_view, std::string_view> renamed[] = {{"kernel_shape", "kernel_size"},
                                                                       {"strides", "stride"},
                                                                       {"pads", "pad"},
                                                                       {"dilations", "dilation"},
                                                                       {"auto_pad", "pad_mode"}};
  if (framework == "onnx")
    for (const auto& [theirs, ours] : renamed)
      if (path == theirs) return std::string(ours);
  return std::string(framework == "caffe" ? path.substr(path.rfind('.') + 1) : path);
}

// Imports a layer as the operation `type` of opset "layer": every field is a parameter; tensors, constant inputs and
// the weights of Caffe are blobs. As in OpenCV, a layer of TensorFlow gets and returns images, which are all tensors of
// rank 4, as [n, c, h, w].
inline void import_layer(Builder& layer, std::string_view framework, std::string_view type) {
  std::vector<std::string> params;
  std::vector<Value> inputs, blobs;
  bool channels_last = framework == "tensorflow", images = false;
  for (const graft_named_value& f : layer.fields()) {
    if (view(f.name) == "data_format" && f.value.kind == GRAFT_TEXT && view(f.value.s) == "NCHW") channels_last = false;
    if (f.value.kind == GRAFT_TENSOR) blobs.push_back(layer.constant(TensorView(f.value.tensor)));
    else if (std::string value = parameter_text(f.value); !value.empty())
      params.push_back(parameter_name(framework, view(f.name)) + "=" + value);
    else
      log_message(Log::warning, "layer '", layer.name(), "' (", layer.type(), "): field '", view(f.name),
                  "' has a kind of value that parameters cannot have");
  }
  bool stored = framework == "caffe";  // with the layer, at the end
  for (size_t i = 0; i < layer.inputs(); ++i) {
    Value v = layer.has_input(i) ? layer.input(i) : Value();
    bool blob = stored ? i >= layer.flows() : v && v.constant();
    if (channels_last && !blob && v && v.shape().ranked() && v.shape().rank() == 4) {
      v = transpose(v, {0, 3, 1, 2});
      images = true;
    }
    (blob ? blobs : inputs).push_back(v);
  }
  std::vector<NamedAttr> attrs{{"params", params}, {"blobs", blobs.size()}, {"outputs", layer.outputs()}};
  inputs.insert(inputs.end(), blobs.begin(), blobs.end());
  std::vector<Value> made =
      layer.make(text(type, '@', layer_opset), inputs, attrs, std::max<size_t>(layer.outputs(), 1), {});
  for (size_t i = 0; i < layer.outputs(); ++i) {
    if (!layer.output_used(i)) continue;
    Shape s = made[i].shape();
    bool image = images && (!s.ranked() || s.rank() == 4);
    layer.output(i, image ? transpose(made[i], {0, 2, 3, 1}) : made[i]);
  }
}

}  // namespace graft

#include "readers/caffe/parts.hpp"

namespace graft {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

// Layer types of the second generation (V1LayerParameter), an enum.
constexpr NamePair enum_types[] = {
    {"ABSVAL", "AbsVal"},
    {"ACCURACY", "Accuracy"},
    {"ARGMAX", "ArgMax"},
    {"BNLL", "BNLL"},
    {"CONCAT", "Concat"},
    {"CONTRASTIVE_LOSS", "ContrastiveLoss"},
    {"CONVOLUTION", "Convolution"},
    {"DATA", "Data"},
    {"DECONVOLUTION", "Deconvolution"},
    {"DROPOUT", "Dropout"},
    {"DUMMY_DATA", "DummyData"},
    {"EUCLIDEAN_LOSS", "EuclideanLoss"},
    {"ELTWISE", "Eltwise"},
    {"EXP", "Exp"},
    {"FLATTEN", "Flatten"},
    {"HDF5_DATA", "HDF5Data"},
    {"HDF5_OUTPUT", "HDF5Output"},
    {"HINGE_LOSS", "HingeLoss"},
    {"IM2COL", "Im2col"},
    {"IMAGE_DATA", "ImageData"},
    {"INFOGAIN_LOSS", "InfogainLoss"},
    {"INNER_PRODUCT", "InnerProduct"},
    {"LRN", "LRN"},
    {"MEMORY_DATA", "MemoryData"},
    {"MULTINOMIAL_LOGISTIC_LOSS", "MultinomialLogisticLoss"},
    {"MVN", "MVN"},
    {"POOLING", "Pooling"},
    {"POWER", "Power"},
    {"RELU", "ReLU"},
    {"SIGMOID", "Sigmoid"},
    {"SIGMOID_CROSS_ENTROPY_LOSS", "SigmoidCrossEntropyLoss"},
    {"SILENCE", "Silence"},
    {"SOFTMAX", "Softmax"},
    {"SOFTMAX_LOSS", "SoftmaxWithLoss"},
    {"SPLIT", "Split"},
    {"SLICE", "Slice"},
    {"TANH", "TanH"},
    {"WINDOW_DATA", "WindowData"},
    {"THRESHOLD", "Threshold"},
};

// The first generation (V0LayerParameter): lower-case types, all parameters in one message.
struct FirstType {
  std::string_view old, now, message;
  NamePair fields[6];
};
constexpr FirstType first_types[] = {
    {"conv",
     "Convolution",
     "convolution_param",
     {{"num_output", "num_output"},
      {"biasterm", "bias_term"},
      {"pad", "pad"},
      {"kernelsize", "kernel_size"},
      {"group", "group"},
      {"stride", "stride"}}},
    {"innerproduct", "InnerProduct", "inner_product_param", {{"num_output", "num_output"}, {"biasterm", "bias_term"}}},
    {"pool",
     "Pooling",
     "pooling_param",
     {{"pool", "pool"}, {"pad", "pad"}, {"kernelsize", "kernel_size"}, {"stride", "stride"}}},
    {"lrn", "LRN", "lrn_param", {{"local_size", "local_size"}, {"alpha", "alpha"}, {"beta", "beta"}, {"k", "k"}}},
    {"dropout", "Dropout", "dropout_param", {{"dropout_ratio", "dropout_ratio"}}},
    {"concat", "Concat", "concat_param", {{"concat_dim", "concat_dim"}}},
    {"padding", "Padding", "padding_param", {{"pad", "pad"}}},
    {"accuracy", "Accuracy", "", {}},
    {"bnll", "BNLL", "", {}},
    {"data", "Data", "", {}},
    {"euclidean_loss", "EuclideanLoss", "", {}},
    {"flatten", "Flatten", "", {}},
    {"hdf5_data", "HDF5Data", "", {}},
    {"hdf5_output", "HDF5Output", "", {}},
    {"im2col", "Im2col", "", {}},
    {"images", "ImageData", "", {}},
    {"infogain_loss", "InfogainLoss", "", {}},
    {"multinomial_logistic_loss", "MultinomialLogisticLoss", "", {}},
    {"relu", "ReLU", "", {}},
    {"sigmoid", "Sigmoid", "", {}},
    {"softmax", "Softmax", "", {}},
    {"softmax_loss", "SoftmaxWithLoss", "", {}},
    {"split", "Split", "", {}},
    {"tanh", "TanH", "", {}},
    {"window_data", "WindowData", "", {}},
};

ProtoNode text_field(std::string_view name, std::string_view value, size_t line) {
  ProtoNode n;
  n.name = name;
  n.kind = ProtoNode::text;
  n.line = line;
  n.value = value;
  return n;
}

ProtoNode from_first(const ProtoNode& layer, const ProtoNode& inner) {
  ProtoNode out;
  out.name = "layer";
  out.line = layer.line;
  out.fields.push_back(text_field("name", inner.text_of("name"), inner.line));
  std::string type = inner.text_of("type");
  const FirstType* entry = nullptr;
  for (const FirstType& t : first_types)
    if (t.old == type) entry = &t;
  out.fields.push_back(text_field("type", entry ? entry->now : type, inner.line));
  for (const ProtoNode& f : layer.fields)
    if (f.name != "layer") out.fields.push_back(f);
  ProtoNode param;
  param.line = inner.line;
  if (entry) {
    param.name = entry->message;
    for (const auto& [old, now] : entry->fields)
      for (const ProtoNode& f : inner.fields)
        if (!old.empty() && f.name == old) param.fields.push_back(f), param.fields.back().name = now;
  }
  if (!param.fields.empty()) out.fields.push_back(std::move(param));
  return out;
}

}  // namespace

ProtoNode upgraded_caffe_layer(const ProtoNode& layer) {
  if (const ProtoNode* inner = layer.find("layer"); inner && inner->kind == ProtoNode::message)
    return from_first(layer, *inner);
  ProtoNode out = layer;
  for (ProtoNode& f : out.fields)
    if (f.name == "type" && f.kind != ProtoNode::message)
      for (const auto& [word, name] : enum_types)
        if (f.value == word) f.value = name, f.kind = ProtoNode::text;
  // In this generation the names of shared parameters are strings next to the layer's own fields.
  std::erase_if(out.fields, [](const ProtoNode& f) { return f.name == "param"; });
  return out;
}

}  // namespace graft

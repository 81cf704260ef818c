// Reads a net's definition from a caffemodel, with the field numbers and names of Caffe's own messages.
#include <charconv>

#include "base/text.hpp"
#include "readers/caffe/parts.hpp"

namespace graft {
namespace {

// "number name kind": i an integer (repeated ones may be packed), f a float, b a boolean, s a string, | enumerators
// starting at 0, a message's name for a message.
struct MessageTable {
  std::string_view name, fields;
};
constexpr MessageTable message_tables[] = {
    {"Net", "1 name s;3 input s;4 input_dim i;8 input_shape Shape;100 layer Layer;2 layers OldLayer"},
    {"Shape", "1 dim i"},
    {"Rule", "1 phase |TRAIN|TEST;2 min_level i;3 max_level i;4 stage s;5 not_stage s"},
    {"Layer",
     "1 name s;2 type s;3 bottom s;4 top s;8 include Rule;9 exclude Rule;103 argmax_param ArgMax;139 batch_norm_param "
     "BatchNorm;141 bias_param Bias;148 clip_param Clip;104 concat_param Concat;106 convolution_param Convolution;144 "
     "crop_param Crop;108 dropout_param Dropout;110 eltwise_param Eltwise;140 elu_param Elu;137 embed_param Embed;111 "
     "exp_param Exp;135 flatten_param Flatten;117 inner_product_param InnerProduct;143 input_param Input;134 log_param "
     "Exp;118 lrn_param Lrn;120 mvn_param Mvn;145 parameter_param Input;121 pooling_param Pooling;122 power_param "
     "Power;131 prelu_param Prelu;130 python_param Python;146 recurrent_param Recurrent;136 reduction_param "
     "Reduction;123 relu_param Relu;133 reshape_param Reshape;142 scale_param Scale;125 softmax_param Softmax;126 "
     "slice_param Slice;147 swish_param Swish;128 threshold_param Threshold;138 tile_param Tile;202 permute_param "
     "Permute;203 prior_box_param PriorBox;204 detection_output_param DetectionOutput;206 norm_param Norm"},
    {"OldLayer",
     "1 layer FirstLayer;2 bottom s;3 top s;4 name s;5 type "
     "|NONE|ACCURACY|BNLL|CONCAT|CONVOLUTION|DATA|DROPOUT|EUCLIDEAN_LOSS|FLATTEN|HDF5_DATA|HDF5_OUTPUT|IM2COL|IMAGE_"
     "DATA|"
     "INFOGAIN_LOSS|INNER_PRODUCT|LRN|MULTINOMIAL_LOGISTIC_LOSS|POOLING|RELU|SIGMOID|SOFTMAX|SOFTMAX_LOSS|SPLIT|TANH|"
     "WINDOW_DATA|ELTWISE|POWER|SIGMOID_CROSS_ENTROPY_LOSS|HINGE_LOSS|MEMORY_DATA|ARGMAX|THRESHOLD|DUMMY_DATA|SLICE|"
     "MVN|"
     "ABSVAL|SILENCE|CONTRASTIVE_LOSS|EXP|DECONVOLUTION;32 include Rule;33 exclude Rule;23 argmax_param ArgMax;9 "
     "concat_param Concat;10 convolution_param Convolution;12 dropout_param Dropout;24 eltwise_param Eltwise;41 "
     "exp_param "
     "Exp;17 inner_product_param InnerProduct;18 lrn_param Lrn;34 mvn_param Mvn;19 pooling_param Pooling;21 "
     "power_param "
     "Power;30 relu_param Relu;39 softmax_param Softmax;31 slice_param Slice;25 threshold_param Threshold"},
    {"FirstLayer",
     "1 name s;2 type s;3 num_output i;4 biasterm b;7 pad i;8 kernelsize i;9 group i;10 stride i;11 pool "
     "|MAX|AVE|STOCHASTIC;12 dropout_ratio f;13 local_size i;14 alpha f;15 beta f;22 k f;65 concat_dim i"},
    {"ArgMax", "1 out_max_val b;2 top_k i;3 axis i"},
    {"BatchNorm", "1 use_global_stats b;2 moving_average_fraction f;3 eps f"},
    {"Bias", "1 axis i;2 num_axes i"},
    {"Clip", "1 min f;2 max f"},
    {"Concat", "2 axis i;1 concat_dim i"},
    {"Convolution",
     "1 num_output i;2 bias_term b;3 pad i;4 kernel_size i;6 stride i;18 dilation i;9 pad_h i;10 pad_w i;11 kernel_h "
     "i;12 kernel_w i;13 stride_h i;14 stride_w i;5 group i;16 axis i"},
    {"Crop", "1 axis i;2 offset i"},
    {"Dropout", "1 dropout_ratio f"},
    {"Eltwise", "1 operation |PROD|SUM|MAX;2 coeff f"},
    {"Elu", "1 alpha f"},
    {"Embed", "1 num_output i;2 input_dim i;3 bias_term b"},
    {"Exp", "1 base f;2 scale f;3 shift f"},
    {"Flatten", "1 axis i;2 end_axis i"},
    {"InnerProduct", "1 num_output i;2 bias_term b;5 axis i;6 transpose b"},
    {"Input", "1 shape Shape"},
    {"Lrn", "1 local_size i;2 alpha f;3 beta f;4 norm_region |ACROSS_CHANNELS|WITHIN_CHANNEL;5 k f"},
    {"Mvn", "1 normalize_variance b;2 across_channels b;3 eps f"},
    {"Pooling",
     "1 pool |MAX|AVE|STOCHASTIC;4 pad i;9 pad_h i;10 pad_w i;2 kernel_size i;5 kernel_h i;6 kernel_w i;3 stride i;7 "
     "stride_h i;8 stride_w i;12 global_pooling b;13 round_mode |CEIL|FLOOR"},
    {"Power", "1 power f;2 scale f;3 shift f"},
    {"Prelu", "2 channel_shared b"},
    {"Python", "1 module s;2 layer s;3 param_str s"},
    {"Recurrent", "1 num_output i;5 expose_hidden b"},
    {"Reduction", "1 operation ||SUM|ASUM|SUMSQ|MEAN;2 axis i;3 coeff f"},
    {"Relu", "1 negative_slope f"},
    {"Reshape", "1 shape Shape;2 axis i;3 num_axes i"},
    {"Scale", "1 axis i;2 num_axes i;4 bias_term b"},
    {"Slice", "3 axis i;2 slice_point i;1 slice_dim i"},
    {"Softmax", "2 axis i"},
    {"Swish", "1 beta f"},
    {"Threshold", "1 threshold f"},
    {"Tile", "1 axis i;2 tiles i"},
    {"Permute", "1 order i"},
    {"PriorBox",
     "1 min_size f;2 max_size f;3 aspect_ratio f;4 flip b;5 clip b;6 variance f;7 img_size i;8 img_h i;9 img_w i;10 "
     "step "
     "f;11 step_h f;12 step_w f;13 offset f"},
    {"DetectionOutput",
     "1 num_classes i;2 share_location b;3 background_label_id i;4 nms_param Nms;6 code_type "
     "||CORNER|CENTER_SIZE|CORNER_SIZE;7 keep_top_k i;8 variance_encoded_in_target b;9 confidence_threshold f"},
    {"Nms", "1 nms_threshold f;2 top_k i;3 eta f"},
    {"Norm", "1 across_spatial b;3 channel_shared b;4 eps f"},
};

struct BinaryField {
  std::string_view name, kind;
};

std::string_view table_of(std::string_view message) {
  for (const MessageTable& t : message_tables)
    if (t.name == message) return t.fields;
  return {};
}

bool find_number(std::string_view table, uint32_t number, BinaryField& out) {
  for (std::string_view entry : split(table, ';')) {
    size_t space = entry.find(' '), second = entry.find(' ', space + 1);
    uint32_t n = 0;
    std::from_chars(entry.data(), entry.data() + space, n);
    if (n != number) continue;
    out = {entry.substr(space + 1, second - space - 1), entry.substr(second + 1)};
    return true;
  }
  return false;
}

void read_message(Wire w, std::string_view message, ProtoNode& out, int depth, size_t& budget) {
  std::string_view table = table_of(message);
  while (w.next()) {
    BinaryField f;
    if (!find_number(table, w.field(), f)) {
      w.skip();
      continue;
    }
    if (budget-- == 0) w.broken("has too many fields");
    auto scalar = [&](ProtoNode::Kind kind, std::string value) {
      ProtoNode n;
      n.name = f.name;
      n.kind = kind;
      n.line = w.offset();
      n.value = std::move(value);
      out.fields.push_back(std::move(n));
    };
    if (f.kind == "s") scalar(ProtoNode::text, w.text());
    else if (f.kind == "b") scalar(ProtoNode::word, w.varint() ? "true" : "false");
    else if (f.kind == "i") w.integers([&](int64_t v) { scalar(ProtoNode::number, text(v)); });
    else if (f.kind == "f")
      w.fixed<float>([&](float v) {
        std::string s = number_text(static_cast<double>(v));
        bool digits = s.find_first_of("0123456789") != s.npos;
        scalar(digits ? ProtoNode::number : ProtoNode::word, std::move(s));
      });
    else if (f.kind[0] == '|') {
      int64_t v = w.small();
      std::vector<std::string_view> words = split(f.kind.substr(1), '|');
      bool known = v >= 0 && static_cast<size_t>(v) < words.size();
      scalar(known ? ProtoNode::word : ProtoNode::number, known ? std::string(words[static_cast<size_t>(v)]) : text(v));
    } else {
      ProtoNode n;
      n.name = f.name;
      n.line = w.offset();
      if (depth > 16) w.broken("is nested too deeply");
      read_message(w.message("parameter message"), f.kind, n, depth + 1, budget);
      out.fields.push_back(std::move(n));
    }
  }
}

}  // namespace

ProtoNode read_caffe_definition(std::string_view caffemodel, const Limits& limits) {
  ProtoNode net;
  size_t budget = limits.nodes * 16;
  read_message(Wire(caffemodel, "NetParameter"), "Net", net, 0, budget);
  return net;
}

}  // namespace graft

#include "readers/tflite/operators.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace graft {
namespace tflite_tables {
namespace {

using enum TfliteOption::Kind;
using Option = TfliteOption;

constexpr Option activation_at_0{"fused_activation_function", 0, activation};

constexpr Option conv_2d[] = {{"padding", 0, padding},
                              {"stride_w", 1, i32},
                              {"stride_h", 2, i32},
                              {"fused_activation_function", 3, activation},
                              {"dilation_w_factor", 4, i32, 1},
                              {"dilation_h_factor", 5, i32, 1},
                              {"quantized_bias_type", 6, type}};
constexpr Option conv_3d[] = {{"padding", 0, padding},
                              {"stride_d", 1, i32},
                              {"stride_w", 2, i32},
                              {"stride_h", 3, i32},
                              {"fused_activation_function", 4, activation},
                              {"dilation_d_factor", 5, i32, 1},
                              {"dilation_w_factor", 6, i32, 1},
                              {"dilation_h_factor", 7, i32, 1}};
constexpr Option pool[] = {{"padding", 0, padding},   {"stride_w", 1, i32},
                           {"stride_h", 2, i32},      {"filter_width", 3, i32},
                           {"filter_height", 4, i32}, {"fused_activation_function", 5, activation}};
constexpr Option depthwise[] = {{"padding", 0, padding},
                                {"stride_w", 1, i32},
                                {"stride_h", 2, i32},
                                {"depth_multiplier", 3, i32},
                                {"fused_activation_function", 4, activation},
                                {"dilation_w_factor", 5, i32, 1},
                                {"dilation_h_factor", 6, i32, 1}};
constexpr Option concat_embeddings[] = {
    {"num_channels", 0, i32}, {"num_columns_per_channel", 1, i32s}, {"embedding_dim_per_channel", 2, i32s}};
constexpr Option lsh_projection[] = {{"type", 0, projection}};
constexpr Option svdf[] = {
    {"rank", 0, i32}, {"fused_activation_function", 1, activation}, {"asymmetric_quantize_inputs", 2, flag}};
constexpr Option rnn[] = {activation_at_0, {"asymmetric_quantize_inputs", 1, flag}};
constexpr Option sequence_rnn[] = {
    {"time_major", 0, flag}, {"fused_activation_function", 1, activation}, {"asymmetric_quantize_inputs", 2, flag}};
constexpr Option two_way_rnn[] = {{"time_major", 0, flag},
                                  {"fused_activation_function", 1, activation},
                                  {"merge_outputs", 2, flag},
                                  {"asymmetric_quantize_inputs", 3, flag}};
constexpr Option fully_connected[] = {activation_at_0,
                                      {"weights_format", 1, weights_format},
                                      {"keep_num_dims", 2, flag},
                                      {"asymmetric_quantize_inputs", 3, flag},
                                      {"quantized_bias_type", 4, type}};
constexpr Option softmax[] = {{"beta", 0, f32}};
constexpr Option concatenation[] = {{"axis", 0, i32}, {"fused_activation_function", 1, activation}};
constexpr Option add[] = {activation_at_0, {"pot_scale_int16", 1, flag, 1}};
constexpr Option activation_alone[] = {activation_at_0};
constexpr Option local_response[] = {{"radius", 0, i32}, {"bias", 1, f32}, {"alpha", 2, f32}, {"beta", 3, f32}};
constexpr Option lstm[] = {activation_at_0,
                           {"cell_clip", 1, f32},
                           {"proj_clip", 2, f32},
                           {"kernel_type", 3, lstm_kernel},
                           {"asymmetric_quantize_inputs", 4, flag}};
constexpr Option sequence_lstm[] = {activation_at_0,
                                    {"cell_clip", 1, f32},
                                    {"proj_clip", 2, f32},
                                    {"time_major", 3, flag},
                                    {"asymmetric_quantize_inputs", 4, flag},
                                    {"diagonal_recurrent_tensors", 5, flag}};
constexpr Option two_way_lstm[] = {activation_at_0,
                                   {"cell_clip", 1, f32},
                                   {"proj_clip", 2, f32},
                                   {"merge_outputs", 3, flag},
                                   {"time_major", 4, flag, 1},
                                   {"asymmetric_quantize_inputs", 5, flag}};
constexpr Option resize_bilinear[] = {{"align_corners", 2, flag}, {"half_pixel_centers", 3, flag}};
constexpr Option resize_nearest[] = {{"align_corners", 0, flag}, {"half_pixel_centers", 1, flag}};
constexpr Option call[] = {{"subgraph", 0, u32}};
constexpr Option reshape[] = {{"new_shape", 0, i32s}};
constexpr Option skip_gram[] = {{"ngram_size", 0, i32}, {"max_skip_size", 1, i32}, {"include_all_ngrams", 2, flag}};
constexpr Option block_size[] = {{"block_size", 0, i32}};
constexpr Option embedding_sparse[] = {{"combiner", 0, combiner}};
constexpr Option gather[] = {{"axis", 0, i32}, {"batch_dims", 1, i32}};
constexpr Option reducer[] = {{"keep_dims", 0, flag}};
constexpr Option squeeze[] = {{"squeeze_dims", 0, i32s}};
constexpr Option strided_slice[] = {{"begin_mask", 0, i32},    {"end_mask", 1, i32},         {"ellipsis_mask", 2, i32},
                                    {"new_axis_mask", 3, i32}, {"shrink_axis_mask", 4, i32}, {"offset", 5, flag}};
constexpr Option num_splits[] = {{"num_splits", 0, i32}};
constexpr Option cast[] = {{"in_data_type", 0, type}, {"out_data_type", 1, type}};
constexpr Option output_type[] = {{"output_type", 0, type}};
constexpr Option transpose_conv[] = {{"padding", 0, padding},
                                     {"stride_w", 1, i32},
                                     {"stride_h", 2, i32},
                                     {"fused_activation_function", 3, activation},
                                     {"quantized_bias_type", 4, type}};
constexpr Option sparse_to_dense[] = {{"validate_indices", 0, flag}};
constexpr Option shape[] = {{"out_type", 0, type}};
constexpr Option fake_quant[] = {{"min", 0, f32}, {"max", 1, f32}, {"num_bits", 2, i32}, {"narrow_range", 3, flag}};
constexpr Option pack[] = {{"values_count", 0, i32}, {"axis", 1, i32}};
constexpr Option axis_alone[] = {{"axis", 0, i32}};
constexpr Option unpack[] = {{"num", 0, i32}, {"axis", 1, i32}};
constexpr Option leaky_relu[] = {{"alpha", 0, f32}};
constexpr Option mirror_pad[] = {{"mode", 0, mirror_mode}};
constexpr Option unique[] = {{"idx_out_type", 0, type, 2}};
constexpr Option reverse_sequence[] = {{"seq_dim", 0, i32}, {"batch_dim", 1, i32}};
constexpr Option branches[] = {{"then_subgraph_index", 0, i32}, {"else_subgraph_index", 1, i32}};
constexpr Option loop[] = {{"cond_subgraph_index", 0, i32}, {"body_subgraph_index", 1, i32}};
constexpr Option call_once[] = {{"init_subgraph_index", 0, i32}};
constexpr Option batch_matmul[] = {{"adj_x", 0, flag}, {"adj_y", 1, flag}, {"asymmetric_quantize_inputs", 2, flag}};
constexpr Option cumsum[] = {{"exclusive", 0, flag}, {"reverse", 1, flag}};
constexpr Option hashtable[] = {{"table_id", 0, i32}, {"key_dtype", 1, type}, {"value_dtype", 2, type}};
constexpr Option var_handle[] = {{"container", 0, chars}, {"shared_name", 1, chars}};
constexpr Option random[] = {{"seed", 0, i64}, {"seed2", 1, i64}};
constexpr Option bucketize[] = {{"boundaries", 0, f32s}};
constexpr Option gelu[] = {{"approximate", 0, flag}};
constexpr Option composite[] = {{"name", 0, chars}, {"decomposition_subgraph_index", 1, i32}, {"version", 4, i32}};
constexpr Option stablehlo_compare[] = {{"comparison_direction", 0, u32}, {"compare_type", 1, u32}};
constexpr Option stablehlo_axis[] = {{"dimension", 0, i64}};

// In the order of their numbers.
constexpr TfliteOperatorInfo operators[] = {
    {0, "ADD", 11, add},
    {1, "AVERAGE_POOL_2D", 5, pool},
    {2, "CONCATENATION", 10, concatenation},
    {3, "CONV_2D", 1, conv_2d},
    {4, "DEPTHWISE_CONV_2D", 2, depthwise},
    {5, "DEPTH_TO_SPACE", 94, block_size},
    {6, "DEQUANTIZE"},
    {7, "EMBEDDING_LOOKUP"},
    {8, "FLOOR"},
    {9, "FULLY_CONNECTED", 8, fully_connected},
    {10, "HASHTABLE_LOOKUP"},
    {11, "L2_NORMALIZATION", 12, activation_alone},
    {12, "L2_POOL_2D", 5, pool},
    {13, "LOCAL_RESPONSE_NORMALIZATION", 13, local_response},
    {14, "LOGISTIC"},
    {15, "LSH_PROJECTION", 4, lsh_projection},
    {16, "LSTM", 14, lstm},
    {17, "MAX_POOL_2D", 5, pool},
    {18, "MUL", 21, activation_alone},
    {19, "RELU"},
    {20, "RELU_N1_TO_1"},
    {21, "RELU6"},
    {22, "RESHAPE", 17, reshape},
    {23, "RESIZE_BILINEAR", 15, resize_bilinear},
    {24, "RNN", 7, rnn},
    {25, "SOFTMAX", 9, softmax},
    {26, "SPACE_TO_DEPTH", 19, block_size},
    {27, "SVDF", 6, svdf},
    {28, "TANH"},
    {29, "CONCAT_EMBEDDINGS", 3, concat_embeddings},
    {30, "SKIP_GRAM", 18, skip_gram},
    {31, "CALL", 16, call},
    {32, "CUSTOM"},
    {33, "EMBEDDING_LOOKUP_SPARSE", 20, embedding_sparse},
    {34, "PAD"},
    {35, "UNIDIRECTIONAL_SEQUENCE_RNN", 31, sequence_rnn},
    {36, "GATHER", 23, gather},
    {37, "BATCH_TO_SPACE_ND"},
    {38, "SPACE_TO_BATCH_ND"},
    {39, "TRANSPOSE"},
    {40, "MEAN", 27, reducer},
    {41, "SUB", 28, add},
    {42, "DIV", 29, activation_alone},
    {43, "SQUEEZE", 30, squeeze},
    {44, "UNIDIRECTIONAL_SEQUENCE_LSTM", 71, sequence_lstm},
    {45, "STRIDED_SLICE", 32, strided_slice},
    {46, "BIDIRECTIONAL_SEQUENCE_RNN", 70, two_way_rnn},
    {47, "EXP"},
    {48, "TOPK_V2"},
    {49, "SPLIT", 35, num_splits},
    {50, "LOG_SOFTMAX"},
    {51, "DELEGATE"},
    {52, "BIDIRECTIONAL_SEQUENCE_LSTM", 69, two_way_lstm},
    {53, "CAST", 37, cast},
    {54, "PRELU"},
    {55, "MAXIMUM"},
    {56, "ARG_MAX", 40, output_type},
    {57, "MINIMUM"},
    {58, "LESS"},
    {59, "NEG"},
    {60, "PADV2"},
    {61, "GREATER"},
    {62, "GREATER_EQUAL"},
    {63, "LESS_EQUAL"},
    {64, "SELECT"},
    {65, "SLICE"},
    {66, "SIN"},
    {67, "TRANSPOSE_CONV", 49, transpose_conv},
    {68, "SPARSE_TO_DENSE", 50, sparse_to_dense},
    {69, "TILE"},
    {70, "EXPAND_DIMS"},
    {71, "EQUAL"},
    {72, "NOT_EQUAL"},
    {73, "LOG"},
    {74, "SUM", 27, reducer},
    {75, "SQRT"},
    {76, "RSQRT"},
    {77, "SHAPE", 55, shape},
    {78, "POW"},
    {79, "ARG_MIN", 57, output_type},
    {80, "FAKE_QUANT", 58, fake_quant},
    {81, "REDUCE_PROD", 27, reducer},
    {82, "REDUCE_MAX", 27, reducer},
    {83, "PACK", 59, pack},
    {84, "LOGICAL_OR"},
    {85, "ONE_HOT", 61, axis_alone},
    {86, "LOGICAL_AND"},
    {87, "LOGICAL_NOT"},
    {88, "UNPACK", 64, unpack},
    {89, "REDUCE_MIN", 27, reducer},
    {90, "FLOOR_DIV"},
    {91, "REDUCE_ANY", 27, reducer},
    {92, "SQUARE"},
    {93, "ZEROS_LIKE"},
    {94, "FILL"},
    {95, "FLOOR_MOD"},
    {96, "RANGE"},
    {97, "RESIZE_NEAREST_NEIGHBOR", 74, resize_nearest},
    {98, "LEAKY_RELU", 75, leaky_relu},
    {99, "SQUARED_DIFFERENCE"},
    {100, "MIRROR_PAD", 77, mirror_pad},
    {101, "ABS"},
    {102, "SPLIT_V", 79, num_splits},
    {103, "UNIQUE", 80, unique},
    {104, "CEIL"},
    {105, "REVERSE_V2"},
    {106, "ADD_N"},
    {107, "GATHER_ND"},
    {108, "COS"},
    {109, "WHERE"},
    {110, "RANK"},
    {111, "ELU"},
    {112, "REVERSE_SEQUENCE", 87, reverse_sequence},
    {113, "MATRIX_DIAG"},
    {114, "QUANTIZE"},
    {115, "MATRIX_SET_DIAG"},
    {116, "ROUND"},
    {117, "HARD_SWISH"},
    {118, "IF", 92, branches},
    {119, "WHILE", 93, loop},
    {120, "NON_MAX_SUPPRESSION_V4"},
    {121, "NON_MAX_SUPPRESSION_V5"},
    {122, "SCATTER_ND"},
    {123, "SELECT_V2"},
    {124, "DENSIFY"},
    {125, "SEGMENT_SUM"},
    {126, "BATCH_MATMUL", 101, batch_matmul},
    {128, "CUMSUM", 102, cumsum},
    {129, "CALL_ONCE", 103, call_once},
    {130, "BROADCAST_TO"},
    {131, "RFFT2D"},
    {132, "CONV_3D", 106, conv_3d},
    {133, "IMAG"},
    {134, "REAL"},
    {135, "COMPLEX_ABS"},
    {136, "HASHTABLE", 107, hashtable},
    {137, "HASHTABLE_FIND"},
    {138, "HASHTABLE_IMPORT"},
    {139, "HASHTABLE_SIZE"},
    {140, "REDUCE_ALL", 27, reducer},
    {141, "CONV_3D_TRANSPOSE", 106, conv_3d},
    {142, "VAR_HANDLE", 111, var_handle},
    {143, "READ_VARIABLE"},
    {144, "ASSIGN_VARIABLE"},
    {145, "BROADCAST_ARGS"},
    {146, "RANDOM_STANDARD_NORMAL", 114, random},
    {147, "BUCKETIZE", 115, bucketize},
    {148, "RANDOM_UNIFORM", 114, random},
    {149, "MULTINOMIAL", 114, random},
    {150, "GELU", 116, gelu},
    {151, "DYNAMIC_UPDATE_SLICE"},
    {152, "RELU_0_TO_1"},
    {153, "UNSORTED_SEGMENT_PROD"},
    {154, "UNSORTED_SEGMENT_MAX"},
    {155, "UNSORTED_SEGMENT_SUM"},
    {156, "ATAN2"},
    {157, "UNSORTED_SEGMENT_MIN"},
    {158, "SIGN"},
    {159, "BITCAST"},
    {160, "BITWISE_XOR"},
    {161, "RIGHT_SHIFT"},
    {162, "STABLEHLO_LOGISTIC"},
    {163, "STABLEHLO_ADD"},
    {164, "STABLEHLO_DIVIDE"},
    {165, "STABLEHLO_MULTIPLY"},
    {166, "STABLEHLO_MAXIMUM"},
    {167, "STABLEHLO_RESHAPE"},
    {168, "STABLEHLO_CLAMP"},
    {169, "STABLEHLO_CONCATENATE", 1, stablehlo_axis, true},
    {170, "STABLEHLO_BROADCAST_IN_DIM"},
    {171, "STABLEHLO_CONVOLUTION"},
    {172, "STABLEHLO_SLICE"},
    {173, "STABLEHLO_CUSTOM_CALL"},
    {174, "STABLEHLO_REDUCE"},
    {175, "STABLEHLO_ABS"},
    {176, "STABLEHLO_AND"},
    {177, "STABLEHLO_COSINE"},
    {178, "STABLEHLO_EXPONENTIAL"},
    {179, "STABLEHLO_FLOOR"},
    {180, "STABLEHLO_LOG"},
    {181, "STABLEHLO_MINIMUM"},
    {182, "STABLEHLO_NEGATE"},
    {183, "STABLEHLO_OR"},
    {184, "STABLEHLO_POWER"},
    {185, "STABLEHLO_REMAINDER"},
    {186, "STABLEHLO_RSQRT"},
    {187, "STABLEHLO_SELECT"},
    {188, "STABLEHLO_SUBTRACT"},
    {189, "STABLEHLO_TANH"},
    {190, "STABLEHLO_SCATTER"},
    {191, "STABLEHLO_COMPARE", 8, stablehlo_compare, true},
    {192, "STABLEHLO_CONVERT"},
    {193, "STABLEHLO_DYNAMIC_SLICE"},
    {194, "STABLEHLO_DYNAMIC_UPDATE_SLICE"},
    {195, "STABLEHLO_PAD"},
    {196, "STABLEHLO_IOTA"},
    {197, "STABLEHLO_DOT_GENERAL"},
    {198, "STABLEHLO_REDUCE_WINDOW"},
    {199, "STABLEHLO_SORT"},
    {200, "STABLEHLO_WHILE", 15, loop, true},
    {201, "STABLEHLO_GATHER"},
    {202, "STABLEHLO_TRANSPOSE"},
    {203, "DILATE"},
    {204, "STABLEHLO_RNG_BIT_GENERATOR"},
    {205, "REDUCE_WINDOW"},
    {206, "STABLEHLO_COMPOSITE", 21, composite, true},
    {207, "COMPLEX"},
};

// The words of an enumeration, in the order of their numbers.
std::span<const std::string_view> words(TfliteOption::Kind kind) {
  static constexpr std::string_view paddings[] = {"SAME", "VALID"};
  static constexpr std::string_view activations[] = {"NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT"};
  static constexpr std::string_view modes[] = {"REFLECT", "SYMMETRIC"};
  static constexpr std::string_view combiners[] = {"SUM", "MEAN", "SQRTN"};
  static constexpr std::string_view kernels[] = {"FULL", "BASIC"};
  static constexpr std::string_view formats[] = {"DEFAULT", "SHUFFLED4x16INT8"};
  static constexpr std::string_view projections[] = {"UNKNOWN", "SPARSE", "DENSE"};
  switch (kind) {
    case padding: return paddings;
    case activation: return activations;
    case mirror_mode: return modes;
    case combiner: return combiners;
    case lstm_kernel: return kernels;
    case weights_format: return formats;
    case projection: return projections;
    default: return {};
  }
}

template <class T>
Attribute list_of(const FlatTable* t, size_t field) {
  auto all = t ? t->numbers<T>(field) : std::vector<T>();
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  return std::vector<Wide>(all.begin(), all.end());
}

Attribute option_value(const TfliteOption& o, const FlatTable* t) {
  auto whole = static_cast<int64_t>(o.fallback);
  switch (o.kind) {
    case i8: return static_cast<int64_t>(t ? t->number<int8_t>(o.field, static_cast<int8_t>(whole)) : whole);
    case i32: return static_cast<int64_t>(t ? t->number<int32_t>(o.field, static_cast<int32_t>(whole)) : whole);
    case u32: return static_cast<int64_t>(t ? t->number<uint32_t>(o.field, static_cast<uint32_t>(whole)) : whole);
    case i64: return t ? t->number<int64_t>(o.field, whole) : whole;
    case f32: return static_cast<double>(t ? t->number<float>(o.field, static_cast<float>(o.fallback)) : o.fallback);
    case flag: return t ? t->flag(o.field, whole != 0) : whole != 0;
    case chars: return t ? t->string(o.field) : std::string();
    case i32s: return list_of<int32_t>(t, o.field);
    case i64s: return list_of<int64_t>(t, o.field);
    case f32s: return list_of<float>(t, o.field);
    case type: {
      int64_t code = t ? t->number<int8_t>(o.field, static_cast<int8_t>(whole)) : whole;
      DType known = tflite_known_type(code);
      if (known == DType::undefined) return tflite_type_name(code);  // the rule may not need it
      return known;
    }
    default: break;
  }
  auto all = words(o.kind);
  int64_t number = t ? t->number<int8_t>(o.field, static_cast<int8_t>(whole)) : whole;
  if (number < 0 || static_cast<size_t>(number) >= all.size())
    t->broken("has the unknown number ", number, " as '", o.name, "', expected 0 to ", all.size() - 1);
  return std::string(all[static_cast<size_t>(number)]);
}

struct ElementType {
  std::string_view name;
  DType type;
};
// In the order of TensorType.
constexpr ElementType element_types[] = {{"FLOAT32", DType::f32},
                                         {"FLOAT16", DType::f16},
                                         {"INT32", DType::i32},
                                         {"UINT8", DType::u8},
                                         {"INT64", DType::i64},
                                         {"STRING", DType::string},
                                         {"BOOL", DType::boolean},
                                         {"INT16", DType::i16},
                                         {"COMPLEX64", DType::undefined},
                                         {"INT8", DType::i8},
                                         {"FLOAT64", DType::f64},
                                         {"COMPLEX128", DType::undefined},
                                         {"UINT64", DType::u64},
                                         {"RESOURCE", DType::undefined},
                                         {"VARIANT", DType::undefined},
                                         {"UINT32", DType::u32},
                                         {"UINT16", DType::u16},
                                         {"INT4", DType::i4},
                                         {"BFLOAT16", DType::bf16},
                                         {"INT2", DType::undefined},
                                         {"UINT4", DType::u4},
                                         {"FLOAT8_E4M3FN", DType::f8e4m3},
                                         {"FLOAT8_E5M2", DType::f8e5m2}};

}  // namespace
}  // namespace tflite_tables

const TfliteOperatorInfo* tflite_operator(int32_t code) {
  auto it = std::lower_bound(std::begin(tflite_tables::operators), std::end(tflite_tables::operators), code,
                             [](const TfliteOperatorInfo& o, int32_t c) { return o.code < c; });
  return it != std::end(tflite_tables::operators) && it->code == code ? it : nullptr;
}

std::vector<std::pair<std::string, RawField>> tflite_options(const TfliteOperatorInfo& op,
                                                             const std::optional<FlatTable>& table) {
  std::vector<std::pair<std::string, RawField>> out;
  for (const TfliteOption& o : op.options) {
    RawField f;
    f.value = tflite_tables::option_value(o, table ? &*table : nullptr);
    out.emplace_back(o.name, std::move(f));
  }
  return out;
}

std::string tflite_type_name(int64_t code) {
  return code >= 0 && code < static_cast<int64_t>(std::size(tflite_tables::element_types))
             ? std::string(tflite_tables::element_types[static_cast<size_t>(code)].name)
             : text("number ", code);
}
DType tflite_known_type(int64_t code) {
  return code >= 0 && code < static_cast<int64_t>(std::size(tflite_tables::element_types))
             ? tflite_tables::element_types[static_cast<size_t>(code)].type
             : DType::undefined;
}
DType tflite_element_type(int64_t code) {
  if (code < 0 || code >= static_cast<int64_t>(std::size(tflite_tables::element_types)))
    throw_user("expected an element type number of 0 to ", std::size(tflite_tables::element_types) - 1, ", got ", code);
  DType t = tflite_known_type(code);
  if (t == DType::undefined) throw_unsupported("tensors of the type ", tflite_type_name(code), " are not supported");
  return t;
}

}  // namespace graft

// The builtin operators of TensorFlow Lite: their numbers, names and options. The one home of these facts.
#pragma once

#include <span>

#include "readers/raw.hpp"
#include "readers/tflite/model.hpp"

namespace graft {

struct TfliteOption {
  enum Kind : uint8_t {
    i8,
    i32,
    u32,
    i64,
    f32,
    flag,
    chars,
    i32s,
    i64s,
    f32s,
    type,  // an element type
    padding,
    activation,
    mirror_mode,
    combiner,
    lstm_kernel,
    weights_format,
    projection  // words
  };
  std::string_view name;
  uint8_t field;
  Kind kind;
  double fallback = 0;
};

struct TfliteOperatorInfo {
  int32_t code;
  std::string_view name;
  uint8_t union_type = 0;  // number of the table of options; 0: the operator has none
  std::span<const TfliteOption> options{};
  bool second_union = false;  // the options are in builtin_options_2
};

// Null: a number that this version does not know.
const TfliteOperatorInfo* tflite_operator(int32_t code);

// All options of an operator, with the defaults of those that the table does not have.
std::vector<std::pair<std::string, RawField>> tflite_options(const TfliteOperatorInfo& op,
                                                             const std::optional<FlatTable>& table);

// Of quantized tensors: "quantization.input0.scale", ".zero_point", ".axis"; of builtin operators the types of their
// outputs: "types.output0".
void add_tflite_steps(const TfliteGraph& graph, const TfliteOperator& op,
                      std::vector<std::pair<std::string, RawField>>& fields);

// Undefined, or an error, for types that Graft lacks.
DType tflite_known_type(int64_t code);
DType tflite_element_type(int64_t code);
std::string tflite_type_name(int64_t code);

}  // namespace graft

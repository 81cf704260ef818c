// Element types, shapes and tensors of TensorFlow.
#pragma once

#include <optional>

#include "readers/raw.hpp"
#include "readers/wire.hpp"

namespace graft {

// The element type with this number (DataType); undefined for unsupported types (complex, resource, variant) and for
// unknown numbers. A reference type maps to its plain type.
DType tensorflow_element_type(int64_t code);
std::string tensorflow_type_name(int64_t code);                      // for messages
std::optional<int64_t> tensorflow_type_code(std::string_view name);  // "DT_FLOAT" -> 1

class TensorFlowTensors {
 public:
  // `keeper` owns the bytes of the file: tensor_content is not copied.
  TensorFlowTensors(std::shared_ptr<const void> keeper, const Limits& limits)
      : keeper_(std::move(keeper)), limits_(limits) {}

  Shape shape(Wire w) const;
  // None for a tensor of an unsupported element type. Complex numbers get an additional last axis of size 2.
  Tensor tensor(Wire w);

 private:
  std::shared_ptr<const void> keeper_;
  Limits limits_;
  size_t repeated_ = 0;  // bytes added by repeating values, over the whole model
};

}  // namespace graft

// Files with one value of an input or output: TensorProto, SequenceProto, OptionalProto, MapProto. The message does not
// say which of them it is, so the caller does.
#pragma once

#include <graft/app/values.hpp>

#include "readers/raw.hpp"

namespace graft {

Datum read_onnx_value(const std::string& path, Datum::Kind kind, const Limits& limits = {});
// From memory; external data is looked up in `folder`.
Datum read_onnx_value(std::string_view bytes, std::shared_ptr<const void> keeper, const std::string& folder,
                      Datum::Kind kind, const Limits& limits = {});

}  // namespace graft

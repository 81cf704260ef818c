// ONNX: binary ModelProto and TensorProto files.
#pragma once

#include "readers/raw.hpp"

namespace graft {

inline constexpr Conventions onnx_conventions{.domains = true};

bool looks_like_onnx(std::string_view bytes);
RawModel read_onnx(const std::string& path, const Limits& limits = {});
// From memory; external data is looked up in `folder`.
RawModel read_onnx(std::string_view bytes, std::shared_ptr<const void> keeper, const std::string& folder,
                   const Limits& limits = {});

// A file holding one TensorProto.
Tensor read_onnx_tensor(const std::string& path);

}  // namespace graft

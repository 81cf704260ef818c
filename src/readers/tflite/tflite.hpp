// Reads TensorFlow Lite models (.tflite).
#pragma once

#include <graft/app/read.hpp>
#include <memory>

#include "readers/raw.hpp"

namespace graft {

inline constexpr Conventions tflite_conventions{.channels_last = true};

bool looks_like_tflite(std::string_view bytes);

RawModel read_tflite(const std::string& path, const ReadOptions& request, const Limits& limits);
// `keeper` owns the bytes: weights are not copied.
RawModel read_tflite(std::string_view bytes, std::shared_ptr<const void> keeper, const ReadOptions& request,
                     const Limits& limits);

}  // namespace graft

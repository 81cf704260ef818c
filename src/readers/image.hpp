// Images as inputs: read from files of any format that src/codecs decodes.
#pragma once

#include <graft/app/memory.hpp>

#include "base/limits.hpp"

namespace graft {

// u8 [height, width, channels]; 1 channel (gray) or 3 (red, green, blue). Transparency is dropped.
Tensor read_image(const std::string& path, const Limits& limits = {});
bool is_image_name(const std::string& path);
// Bilinear, half-pixel centers.
Tensor resize_image(const Tensor& image, int64_t height, int64_t width, const Limits& limits = {});

}  // namespace graft

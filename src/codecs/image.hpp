// Images as bytes of a file: recognized by content, decoded to 8-bit samples. For pictures that are given as inputs and
// for operations that decode images inside a model. It knows nothing else of Graft.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace graft::codecs {

// The bytes are no image that can be decoded; what() says why.
struct ImageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Memory for height x width x channels samples, row by row. It may throw: an image that is too large is refused here,
// before it is decoded.
using Canvas = std::function<uint8_t*(int64_t height, int64_t width, int64_t channels)>;

// Channels that the result has: those of the file (1 or 3), or converted to them.
enum class Channels { of_file, gray, rgb, bgr };

// PNG, JPEG, BMP, PNM, WebP, TIFF or JPEG 2000. An alpha channel is dropped.
void decode_image(std::string_view bytes, const Canvas& canvas, Channels channels = Channels::of_file);

std::string encode_png(const uint8_t* samples, int64_t height, int64_t width, int64_t channels);

}  // namespace graft::codecs

#include <webp/decode.h>

#include "codecs/formats.hpp"

namespace graft::codecs {

void decode_webp(std::string_view bytes, const Canvas& canvas) {
  auto data = reinterpret_cast<const uint8_t*>(bytes.data());
  int width = 0, height = 0;
  if (!WebPGetInfo(data, bytes.size(), &width, &height)) refuse("invalid WebP: the header cannot be read");
  uint8_t* to = canvas(height, width, 3);
  size_t row = 3 * static_cast<size_t>(width), size = row * static_cast<size_t>(height);
  if (!WebPDecodeRGBInto(data, bytes.size(), to, size, static_cast<int>(row)))
    refuse("invalid WebP: the image is truncated or animated");
}

}  // namespace graft::codecs

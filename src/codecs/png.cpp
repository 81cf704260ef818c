#include <png.h>

#include <vector>

#include "codecs/formats.hpp"

namespace graft::codecs {

namespace {
struct Png {
  png_image image{};
  Png() { image.version = PNG_IMAGE_VERSION; }
  ~Png() { png_image_free(&image); }
};
}  // namespace

void decode_png(std::string_view bytes, const Canvas& canvas) {
  Png png;
  png_image& p = png.image;
  if (!png_image_begin_read_from_memory(&p, bytes.data(), bytes.size())) refuse("invalid PNG: ", p.message);
  bool color = p.format & PNG_FORMAT_FLAG_COLOR, alpha = p.format & PNG_FORMAT_FLAG_ALPHA;
  int64_t channels = color ? 3 : 1;
  p.format = color ? (alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB) : (alpha ? PNG_FORMAT_GA : PNG_FORMAT_GRAY);
  uint8_t* to = canvas(p.height, p.width, channels);
  if (!alpha) {
    if (!png_image_finish_read(&p, nullptr, to, 0, nullptr)) refuse("invalid PNG: ", p.message);
    return;
  }
  // Without a background libpng blends nothing; the alpha samples are left out here.
  std::vector<uint8_t> read(PNG_IMAGE_SIZE(p));
  size_t pixels = static_cast<size_t>(p.height) * p.width, n = static_cast<size_t>(channels);
  if (!png_image_finish_read(&p, nullptr, read.data(), 0, nullptr)) refuse("invalid PNG: ", p.message);
  for (size_t i = 0; i < pixels; ++i)
    for (size_t c = 0; c < n; ++c) to[i * n + c] = read[i * (n + 1) + c];
}

std::string encode_png(const uint8_t* samples, int64_t height, int64_t width, int64_t channels) {
  constexpr png_uint_32 formats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
  if (channels < 1 || channels > 4) refuse("expected an image with 1 to 4 channels, got ", channels);
  if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX)
    refuse("expected an image of at least 1 x 1 pixels, got ", width, " x ", height);
  Png png;
  png.image.height = static_cast<png_uint_32>(height);
  png.image.width = static_cast<png_uint_32>(width);
  png.image.format = formats[channels - 1];
  png_alloc_size_t size = 0;
  if (!png_image_write_to_memory(&png.image, nullptr, &size, 0, samples, 0, nullptr))
    refuse("cannot encode the image: ", png.image.message);
  std::string out(size, '\0');
  if (!png_image_write_to_memory(&png.image, out.data(), &size, 0, samples, 0, nullptr))
    refuse("cannot encode the image: ", png.image.message);
  out.resize(size);
  return out;
}

}  // namespace graft::codecs

#include "readers/image.hpp"

#include <cmath>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "codecs/image.hpp"

namespace graft {
namespace {

// The most pixels for a file of this size. Photographs have a few pixels per byte; a large empty image is refused.
class Canvas {
 public:
  Canvas(const Limits& limits, size_t file_bytes) : most_(limits.pixels + 8 * file_bytes) {}
  Tensor blank(int64_t height, int64_t width, int64_t channels) const {
    if (height < 1 || width < 1) throw_user("expected an image of at least 1 x 1 pixels, got ", width, " x ", height);
    if (height > INT32_MAX || width > INT32_MAX || static_cast<uint64_t>(height * width) > most_)
      throw_limit(&Limits::pixels, "expected an image of at most ", most_, " pixels, got ", width, " x ", height);
    return Tensor(DType::u8, {height, width, channels});
  }

 private:
  uint64_t most_;
};

}  // namespace

bool is_image_name(const std::string& path) {
  std::string e = extension_of(path);
  for (const char* known :
       {".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".pnm", ".bmp", ".webp", ".tif", ".tiff", ".jp2", ".j2k"})
    if (e == known) return true;
  return false;
}

Tensor read_image(const std::string& path, const Limits& limits) {
  return with_context(
      [&] {
        auto file = MappedFile::open(path);
        std::string_view b = file->chars();
        Canvas canvas(limits, b.size());
        Tensor out;
        try {
          codecs::decode_image(b, [&](int64_t height, int64_t width, int64_t channels) {
            out = canvas.blank(height, width, channels);
            return static_cast<uint8_t*>(out.data());
          });
        } catch (const codecs::ImageError& e) {
          throw_user(e.what());
        }
        return out;
      },
      [&] { return text("reading '", path, "'"); });
}

Tensor resize_image(const Tensor& image, int64_t height, int64_t width, const Limits& limits) {
  int64_t h = image.dims()[0], w = image.dims()[1], c = image.dims()[2];
  if (h == height && w == width) return image;
  Tensor out = Canvas(limits, 0).blank(height, width, c);
  auto* from = static_cast<const unsigned char*>(image.data());
  auto* to = static_cast<unsigned char*>(out.data());
  for (int64_t y = 0; y < height; ++y) {
    double sy = std::min(
        std::max((static_cast<double>(y) + 0.5) * static_cast<double>(h) / static_cast<double>(height) - 0.5, 0.0),
        static_cast<double>(h - 1));
    auto y0 = static_cast<int64_t>(sy), y1 = std::min(y0 + 1, h - 1);
    double fy = sy - static_cast<double>(y0);
    for (int64_t x = 0; x < width; ++x) {
      double sx = std::min(
          std::max((static_cast<double>(x) + 0.5) * static_cast<double>(w) / static_cast<double>(width) - 0.5, 0.0),
          static_cast<double>(w - 1));
      auto x0 = static_cast<int64_t>(sx), x1 = std::min(x0 + 1, w - 1);
      double fx = sx - static_cast<double>(x0);
      for (int64_t k = 0; k < c; ++k) {
        auto at = [&](int64_t yy, int64_t xx) { return static_cast<double>(from[(yy * w + xx) * c + k]); };
        double v =
            (at(y0, x0) * (1 - fx) + at(y0, x1) * fx) * (1 - fy) + (at(y1, x0) * (1 - fx) + at(y1, x1) * fx) * fy;
        to[(y * width + x) * c + k] = static_cast<unsigned char>(std::lround(v));
      }
    }
  }
  return out;
}

}  // namespace graft

#include "readers/image.hpp"

#include <jpeglib.h>
#include <png.h>
#include <setjmp.h>

#include <cmath>
#include <cstring>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"

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

Tensor read_png_bytes(std::string_view bytes, const Canvas& canvas) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size())) throw_user("invalid PNG: ", png.message);
  bool colour = png.format & PNG_FORMAT_FLAG_COLOR;
  png.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  Tensor t;
  try {
    t = canvas.blank(png.height, png.width, colour ? 3 : 1);
  } catch (...) {
    png_image_free(&png);
    throw;
  }
  png_color black{0, 0, 0};
  if (!png_image_finish_read(&png, &black, t.data(), 0, nullptr)) throw_user("invalid PNG: ", png.message);
  return t;
}

struct JpegErrors {
  jpeg_error_mgr manager;
  jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

// setjmp requires trivial locals, so the caller creates the tensor between the two calls.
struct JpegReader {
  jpeg_decompress_struct info{};
  JpegErrors errors{};
  JpegReader() {
    info.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = [](j_common_ptr c) {
      auto* e = reinterpret_cast<JpegErrors*>(c->err);
      e->manager.format_message(c, e->message);
      longjmp(e->back, 1);
    };
    errors.manager.output_message = [](j_common_ptr) {};
    // The decoder fills in missing data and continues: reject such a file too.
    errors.manager.emit_message = [](j_common_ptr c, int level) {
      if (level < 0) c->err->error_exit(c);
    };
    jpeg_create_decompress(&info);
  }
  ~JpegReader() { jpeg_destroy_decompress(&info); }
  bool header(std::string_view bytes) {
    if (setjmp(errors.back)) return false;
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&info, TRUE);
    if (info.jpeg_color_space != JCS_GRAYSCALE) info.out_color_space = JCS_RGB;
    jpeg_calc_output_dimensions(&info);
    return true;
  }
  bool rows(unsigned char* to, size_t row) {
    if (setjmp(errors.back)) return false;
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
      unsigned char* line = to + info.output_scanline * row;
      jpeg_read_scanlines(&info, &line, 1);
    }
    jpeg_finish_decompress(&info);
    return true;
  }
};

Tensor read_jpeg_bytes(std::string_view bytes, const Canvas& canvas) {
  JpegReader r;
  if (!r.header(bytes)) throw_user("invalid JPEG: ", static_cast<const char*>(r.errors.message));
  int64_t channels = r.info.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  Tensor t = canvas.blank(r.info.output_height, r.info.output_width, channels);
  if (!r.rows(static_cast<unsigned char*>(t.data()),
              static_cast<size_t>(r.info.output_width) * static_cast<size_t>(channels)))
    throw_user("invalid JPEG: ", static_cast<const char*>(r.errors.message));
  return t;
}

// P2, P3 (text), P5, P6 (binary), up to 8 bits a channel.
Tensor read_pnm_bytes(std::string_view bytes, const Canvas& canvas) {
  size_t at = 2;
  auto number = [&]() -> int64_t {
    for (;;) {
      while (at < bytes.size() && (bytes[at] == ' ' || bytes[at] == '\n' || bytes[at] == '\t' || bytes[at] == '\r'))
        ++at;
      if (at < bytes.size() && bytes[at] == '#') at = std::min(bytes.find('\n', at), bytes.size());
      else break;
    }
    size_t start = at;
    while (at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9') ++at;
    auto v = parse_int(bytes.substr(start, at - start));
    if (!v) throw_user("invalid PNM image at byte ", start);
    return *v;
  };
  char kind = bytes[1];
  int64_t channels = kind == '3' || kind == '6' ? 3 : 1, width = number(), height = number(), most = number();
  if (most < 1 || most > 255) throw_unsupported("expected a PNM image with 1 to 255 levels, got ", most);
  Tensor t = canvas.blank(height, width, channels);
  auto* to = static_cast<unsigned char*>(t.data());
  if (kind == '5' || kind == '6') {
    ++at;  // one blank
    if (at > bytes.size() || bytes.size() - at < t.bytes()) throw_user("the PNM image is truncated");
    std::memcpy(to, bytes.data() + at, t.bytes());
  } else {
    for (size_t i = 0; i < t.bytes(); ++i) to[i] = static_cast<unsigned char>(std::min<int64_t>(number(), most));
  }
  if (most != 255)
    for (size_t i = 0; i < t.bytes(); ++i)
      to[i] = static_cast<unsigned char>(std::min<int64_t>(to[i], most) * 255 / most);
  return t;
}

// Uncompressed, 24 or 32 bits, or 8 with a palette.
Tensor read_bmp_bytes(std::string_view bytes, const Canvas& canvas) {
  auto word = [&](size_t at) -> int64_t {
    if (at + 4 > bytes.size()) throw_user("the BMP image is truncated");
    int32_t v;
    std::memcpy(&v, bytes.data() + at, 4);
    return v;
  };
  int64_t start = word(10), header = word(14), width = word(18), height = word(22), bits = word(26) >> 16 & 0xffff,
          compression = word(30);
  bool upside_down = height > 0;
  if (height < 0) height = -height;
  if (compression != 0 && compression != 3) throw_unsupported("compressed BMP images are not supported");
  if (bits != 24 && bits != 32 && bits != 8) throw_unsupported("expected a BMP image of 8, 24 or 32 bits, got ", bits);
  Tensor t = canvas.blank(height, width, 3);
  int64_t row = (width * bits / 8 + 3) / 4 * 4, size = static_cast<int64_t>(bytes.size());
  if (start < 0 || start > size || row * height > size - start) throw_user("the BMP image is truncated");
  int64_t palette = 14 + header;
  auto* to = static_cast<unsigned char*>(t.data());
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      const char* p = bytes.data() + start + (upside_down ? height - 1 - y : y) * row + x * bits / 8;
      if (bits == 8) {
        int64_t entry = palette + 4 * static_cast<unsigned char>(*p);
        if (palette < 0 || entry + 3 > size) throw_user("the BMP image is truncated");
        p = bytes.data() + entry;
      }
      unsigned char* pixel = to + (y * width + x) * 3;
      pixel[0] = static_cast<unsigned char>(p[2]), pixel[1] = static_cast<unsigned char>(p[1]),
      pixel[2] = static_cast<unsigned char>(p[0]);
    }
  return t;
}

}  // namespace

bool is_image_name(const std::string& path) {
  std::string e = extension_of(path);
  for (const char* known : {".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".pnm", ".bmp"})
    if (e == known) return true;
  return false;
}

Tensor read_image(const std::string& path, const Limits& limits) {
  return with_context(
      [&] {
        auto file = MappedFile::open(path);
        std::string_view b = file->chars();
        Canvas canvas(limits, b.size());
        if (b.starts_with("\x89PNG")) return read_png_bytes(b, canvas);
        if (b.starts_with("\xff\xd8")) return read_jpeg_bytes(b, canvas);
        if (b.starts_with("BM")) return read_bmp_bytes(b, canvas);
        if (b.size() > 2 && b[0] == 'P' && (b[1] == '2' || b[1] == '3' || b[1] == '5' || b[1] == '6'))
          return read_pnm_bytes(b, canvas);
        throw_user("expected a PNG, JPEG, BMP or PPM image");
      },
      [&] { return text("reading '", path, "'"); });
}

void write_png(const std::string& path, const Tensor& image) {
  if (image.type() != DType::u8 || image.dims().size() != 3 || (image.dims()[2] != 1 && image.dims()[2] != 3))
    throw_user("expected an image u8[height,width,1 or 3], got ", image.info());
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.height = static_cast<png_uint_32>(image.dims()[0]);
  png.width = static_cast<png_uint_32>(image.dims()[1]);
  png.format = image.dims()[2] == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = 0;
  if (!png_image_write_to_memory(&png, nullptr, &size, 0, image.data(), 0, nullptr))
    throw_user("cannot encode the image: ", png.message);
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&png, bytes.data(), &size, 0, image.data(), 0, nullptr))
    throw_user("cannot encode the image: ", png.message);
  bytes.resize(size);
  OutputFile file(path);
  file.write(bytes);
  file.commit();
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

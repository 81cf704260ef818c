#include <tiffio.h>

#include <cstdarg>
#include <cstring>
#include <memory>
#include <vector>

#include "codecs/formats.hpp"

namespace graft::codecs {
namespace {

// A file in memory, and the first error of the library.
struct TiffFile {
  std::string_view bytes;
  toff_t at = 0;
  std::string error;

  static tmsize_t read(thandle_t handle, void* to, tmsize_t size) {
    auto* f = static_cast<TiffFile*>(handle);
    if (f->at >= f->bytes.size() || size < 0) return 0;
    tmsize_t n = std::min<tmsize_t>(size, static_cast<tmsize_t>(f->bytes.size() - f->at));
    std::memcpy(to, f->bytes.data() + f->at, static_cast<size_t>(n));
    f->at += static_cast<toff_t>(n);
    return n;
  }
  static toff_t seek(thandle_t handle, toff_t to, int from) {
    auto* f = static_cast<TiffFile*>(handle);
    f->at = from == SEEK_SET ? to : from == SEEK_CUR ? f->at + to : f->bytes.size() + to;
    return f->at;
  }
  static toff_t size(thandle_t handle) { return static_cast<TiffFile*>(handle)->bytes.size(); }
  static int keep_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
    auto* f = static_cast<TiffFile*>(user);
    char message[256];
    std::vsnprintf(message, sizeof message, format, arguments);
    if (f->error.empty()) f->error = message;
    return 1;  // handled: nothing is printed
  }
  static int ignore(TIFF*, void*, const char*, const char*, va_list) { return 1; }
};

}  // namespace

void decode_tiff(std::string_view bytes, const Canvas& canvas) {
  TiffFile file{bytes, 0, {}};
  std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), TiffFile::keep_error, &file);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), TiffFile::ignore, nullptr);
  // A strip or tile that is larger than this is no picture.
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), tmsize_t{1} << 30);
  std::unique_ptr<TIFF, void (*)(TIFF*)> tiff(
      TIFFClientOpenExt(
          "image", "rm", &file, TiffFile::read, TiffFile::read, TiffFile::seek, [](thandle_t) { return 0; },
          TiffFile::size, nullptr, nullptr, options.get()),
      TIFFClose);
  if (!tiff) refuse("invalid TIFF: ", file.error);
  uint32_t width = 0, height = 0;
  uint16_t samples = 1;
  if (!TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) || !TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height))
    refuse("invalid TIFF: it has no width or height");
  TIFFGetFieldDefaulted(tiff.get(), TIFFTAG_SAMPLESPERPIXEL, &samples);
  uint16_t photometric = PHOTOMETRIC_MINISBLACK;
  TIFFGetField(tiff.get(), TIFFTAG_PHOTOMETRIC, &photometric);
  int64_t channels = samples < 3 && photometric <= PHOTOMETRIC_MINISBLACK ? 1 : 3;
  uint8_t* to = canvas(height, width, channels);
  std::vector<uint32_t> pixels(static_cast<size_t>(width) * height);
  if (!TIFFReadRGBAImageOriented(tiff.get(), width, height, pixels.data(), ORIENTATION_TOPLEFT, 1))
    refuse("invalid TIFF: ", file.error.empty() ? "the image cannot be decoded" : file.error);
  for (size_t i = 0; i < pixels.size(); ++i)
    for (int64_t c = 0; c < channels; ++c)
      to[static_cast<int64_t>(i) * channels + c] = static_cast<uint8_t>(pixels[i] >> 8 * c);
}

}  // namespace graft::codecs

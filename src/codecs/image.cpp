#include "codecs/image.hpp"

#include <algorithm>
#include <vector>

#include "codecs/formats.hpp"

namespace graft::codecs {
namespace {

struct Format {
  std::string_view name;
  bool (*recognize)(std::string_view);
  void (*decode)(std::string_view, const Canvas&);
};

bool starts(std::string_view bytes, std::initializer_list<std::string_view> any) {
  return std::any_of(any.begin(), any.end(), [&](std::string_view s) { return bytes.starts_with(s); });
}

using namespace std::string_view_literals;
constexpr Format formats[] = {
    {"PNG", [](std::string_view b) { return b.starts_with("\x89PNG"); }, decode_png},
    {"JPEG", [](std::string_view b) { return b.starts_with("\xff\xd8"); }, decode_jpeg},
    {"BMP", [](std::string_view b) { return b.starts_with("BM"); }, decode_bmp},
    {"PNM",
     [](std::string_view b) {
       return starts(b, {"P2", "P3", "P5", "P6"});
     },
     decode_pnm},
    {"WebP", [](std::string_view b) { return b.starts_with("RIFF") && b.size() > 12 && b.substr(8, 4) == "WEBP"; },
     decode_webp},
    {"TIFF",
     [](std::string_view b) {
       return starts(b, {"II\x2a\0"sv, "MM\0\x2a"sv});
     },
     decode_tiff},
    {"JPEG 2000",
     [](std::string_view b) {
       return starts(b, {"\0\0\0\x0cjP  "sv, "\xff\x4f\xff\x51"sv});
     },
     decode_jpeg2000},
};

const Format* format_of(std::string_view bytes) {
  for (const Format& f : formats)
    if (f.recognize(bytes)) return &f;
  return nullptr;
}

// The luma of ITU-R BT.601 in 16-bit fixed point, rounded.
uint8_t luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

}  // namespace

void decode_image(std::string_view bytes, const Canvas& canvas, Channels channels) {
  const Format* f = format_of(bytes);
  if (!f) refuse("expected a PNG, JPEG, BMP, PNM, WebP, TIFF or JPEG 2000 image");
  if (channels == Channels::of_file) return f->decode(bytes, canvas);
  int64_t wanted = channels == Channels::gray ? 1 : 3, found = 0;
  uint8_t* to = nullptr;
  size_t pixels = 0;
  std::vector<uint8_t> read;  // if the file has another number of channels
  f->decode(bytes, [&](int64_t height, int64_t width, int64_t count) {
    to = canvas(height, width, wanted);
    found = count, pixels = static_cast<size_t>(height * width);
    if (found == wanted) return to;
    read.resize(pixels * static_cast<size_t>(found));
    return read.data();
  });
  for (size_t i = 0; found != wanted && i < pixels; ++i) {
    if (wanted == 1) to[i] = luma(&read[3 * i]);
    else std::fill_n(to + 3 * i, 3, read[i]);
  }
  if (channels == Channels::bgr)
    for (size_t i = 0; i < pixels; ++i) std::swap(to[3 * i], to[3 * i + 2]);
}

}  // namespace graft::codecs

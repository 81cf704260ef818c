// BMP and PNM: formats without compression.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "codecs/formats.hpp"

namespace graft::codecs {
namespace {

// The numbers of a PNM file, with comments between them.
struct PnmText {
  std::string_view bytes;
  size_t at = 2;

  int64_t number() {
    for (;;) {
      while (at < bytes.size() && std::string_view(" \n\t\r").find(bytes[at]) != std::string_view::npos) ++at;
      if (at < bytes.size() && bytes[at] == '#') at = std::min(bytes.find('\n', at), bytes.size());
      else break;
    }
    int64_t value = 0;
    auto [end, error] = std::from_chars(bytes.data() + at, bytes.data() + bytes.size(), value);
    if (error != std::errc() || value < 0) refuse("invalid PNM image at byte ", at);
    at = static_cast<size_t>(end - bytes.data());
    return value;
  }
};

}  // namespace

// P2, P3 (text), P5, P6 (binary), up to 8 bits a channel.
void decode_pnm(std::string_view bytes, const Canvas& canvas) {
  PnmText text{bytes};
  char kind = bytes[1];
  int64_t channels = kind == '3' || kind == '6' ? 3 : 1;
  int64_t width = text.number(), height = text.number(), most = text.number();
  if (most < 1 || most > 255) refuse("expected a PNM image with 1 to 255 levels, got ", most);
  uint8_t* to = canvas(height, width, channels);
  auto samples = static_cast<size_t>(height * width * channels);
  if (kind == '5' || kind == '6') {
    size_t start = text.at + 1;  // one blank
    if (start > bytes.size() || bytes.size() - start < samples) refuse("the PNM image is truncated");
    std::memcpy(to, bytes.data() + start, samples);
  } else {
    for (size_t i = 0; i < samples; ++i) to[i] = static_cast<uint8_t>(std::min(text.number(), most));
  }
  if (most != 255)
    for (size_t i = 0; i < samples; ++i) to[i] = static_cast<uint8_t>(std::min<int64_t>(to[i], most) * 255 / most);
}

// Uncompressed, 24 or 32 bits, or 8 with a palette.
void decode_bmp(std::string_view bytes, const Canvas& canvas) {
  auto word = [&](size_t at) -> int64_t {
    if (at + 4 > bytes.size()) refuse("the BMP image is truncated");
    int32_t v;
    std::memcpy(&v, bytes.data() + at, 4);
    return v;
  };
  int64_t start = word(10), header = word(14), width = word(18), height = word(22), bits = word(26) >> 16 & 0xffff,
          compression = word(30);
  bool upside_down = height > 0;
  if (height < 0) height = -height;
  if (compression != 0 && compression != 3) refuse("compressed BMP images are not supported");
  if (bits != 24 && bits != 32 && bits != 8) refuse("expected a BMP image of 8, 24 or 32 bits, got ", bits);
  uint8_t* to = canvas(height, width, 3);
  int64_t row = (width * bits / 8 + 3) / 4 * 4, size = static_cast<int64_t>(bytes.size());
  if (start < 0 || start > size || row * height > size - start) refuse("the BMP image is truncated");
  int64_t palette = 14 + header;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      const char* p = bytes.data() + start + (upside_down ? height - 1 - y : y) * row + x * bits / 8;
      if (bits == 8) {
        int64_t entry = palette + 4 * static_cast<unsigned char>(*p);
        if (palette < 0 || entry + 3 > size) refuse("the BMP image is truncated");
        p = bytes.data() + entry;
      }
      uint8_t* pixel = to + (y * width + x) * 3;
      for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(p[2 - c]);
    }
}

}  // namespace graft::codecs

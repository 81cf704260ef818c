// One decoder per format; image.cpp chooses.
#pragma once

#include <sstream>

#include "codecs/image.hpp"

namespace graft::codecs {

void decode_png(std::string_view bytes, const Canvas& canvas);
void decode_jpeg(std::string_view bytes, const Canvas& canvas);
void decode_bmp(std::string_view bytes, const Canvas& canvas);
void decode_pnm(std::string_view bytes, const Canvas& canvas);
void decode_webp(std::string_view bytes, const Canvas& canvas);
void decode_tiff(std::string_view bytes, const Canvas& canvas);
void decode_jpeg2000(std::string_view bytes, const Canvas& canvas);

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  throw ImageError(out.str());
}

}  // namespace graft::codecs

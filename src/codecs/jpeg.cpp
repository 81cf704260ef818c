#include <jpeglib.h>
#include <setjmp.h>

#include <cstdio>  // before jpeglib.h, which needs it

#include "codecs/formats.hpp"

namespace graft::codecs {
namespace {

struct JpegErrors {
  jpeg_error_mgr manager;
  jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

// setjmp requires trivial locals, so the caller creates the canvas between the two calls.
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

}  // namespace

void decode_jpeg(std::string_view bytes, const Canvas& canvas) {
  JpegReader r;
  if (!r.header(bytes)) refuse("invalid JPEG: ", static_cast<const char*>(r.errors.message));
  int64_t channels = r.info.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  uint8_t* to = canvas(r.info.output_height, r.info.output_width, channels);
  if (!r.rows(to, static_cast<size_t>(r.info.output_width) * static_cast<size_t>(channels)))
    refuse("invalid JPEG: ", static_cast<const char*>(r.errors.message));
}

}  // namespace graft::codecs

#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "codecs/formats.hpp"

namespace graft::codecs {
namespace {

struct Source {
  std::string_view bytes;
  size_t at = 0;

  static OPJ_SIZE_T read(void* to, OPJ_SIZE_T size, void* user) {
    auto* s = static_cast<Source*>(user);
    if (s->at >= s->bytes.size()) return static_cast<OPJ_SIZE_T>(-1);
    size_t n = std::min<size_t>(size, s->bytes.size() - s->at);
    std::memcpy(to, s->bytes.data() + s->at, n);
    s->at += n;
    return n;
  }
  static OPJ_OFF_T skip(OPJ_OFF_T n, void* user) {
    auto* s = static_cast<Source*>(user);
    if (n < 0 || static_cast<size_t>(n) > s->bytes.size() - s->at) return -1;
    s->at += static_cast<size_t>(n);
    return n;
  }
  static OPJ_BOOL seek(OPJ_OFF_T to, void* user) {
    auto* s = static_cast<Source*>(user);
    if (to < 0 || static_cast<size_t>(to) > s->bytes.size()) return OPJ_FALSE;
    s->at = static_cast<size_t>(to);
    return OPJ_TRUE;
  }
};

void keep_message(const char* message, void* user) {
  auto* kept = static_cast<std::string*>(user);
  if (kept->empty()) *kept = std::string(message, std::strcspn(message, "\n"));
}

// A component's value as 8 bits.
uint8_t sample(const opj_image_comp_t& c, size_t at) {
  int64_t v = c.data[at] + (c.sgnd ? int64_t{1} << (c.prec - 1) : 0);
  if (c.prec > 8) v >>= c.prec - 8;
  else if (c.prec < 8) v = v * 255 / ((1 << c.prec) - 1);
  return static_cast<uint8_t>(std::clamp<int64_t>(v, 0, 255));
}

}  // namespace

void decode_jpeg2000(std::string_view bytes, const Canvas& canvas) {
  std::string error;
  auto fail = [&] { refuse("invalid JPEG 2000: ", error.empty() ? "the image cannot be decoded" : error); };
  bool boxed = bytes[0] == '\0';
  std::unique_ptr<opj_codec_t, void (*)(opj_codec_t*)> codec(
      opj_create_decompress(boxed ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K), [](opj_codec_t* c) { opj_destroy_codec(c); });
  opj_set_error_handler(codec.get(), keep_message, &error);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  if (!opj_setup_decoder(codec.get(), &parameters)) fail();
  opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE);  // a truncated file is refused
  Source source{bytes};
  std::unique_ptr<opj_stream_t, void (*)(opj_stream_t*)> stream(opj_stream_default_create(OPJ_TRUE),
                                                                [](opj_stream_t* s) { opj_stream_destroy(s); });
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), bytes.size());
  opj_stream_set_read_function(stream.get(), Source::read);
  opj_stream_set_skip_function(stream.get(), Source::skip);
  opj_stream_set_seek_function(stream.get(), Source::seek);
  opj_image_t* header = nullptr;
  if (!opj_read_header(stream.get(), codec.get(), &header)) fail();
  std::unique_ptr<opj_image_t, void (*)(opj_image_t*)> image(header, [](opj_image_t* i) { opj_image_destroy(i); });
  if (!image->numcomps) refuse("invalid JPEG 2000: it has no components");
  int64_t channels = image->numcomps < 3 ? 1 : 3;
  for (int64_t c = 0; c < channels; ++c) {
    const opj_image_comp_t &first = image->comps[0], &other = image->comps[c];
    if (other.dx != first.dx || other.dy != first.dy)
      refuse("JPEG 2000 images with subsampled components are not supported");
    if (other.prec < 1 || other.prec > 31) refuse("expected a JPEG 2000 image of 1 to 31 bits, got ", other.prec);
  }
  if (image->color_space == OPJ_CLRSPC_SYCC || image->color_space == OPJ_CLRSPC_CMYK)
    refuse("expected a JPEG 2000 image in gray or RGB, got one in YCC or CMYK");
  auto extent = [&](OPJ_UINT32 from, OPJ_UINT32 to, OPJ_UINT32 step) -> int64_t {
    return step ? (int64_t{to} + step - 1) / step - (int64_t{from} + step - 1) / step : 0;
  };
  int64_t height = extent(image->y0, image->y1, image->comps[0].dy);
  int64_t width = extent(image->x0, image->x1, image->comps[0].dx);
  uint8_t* to = canvas(height, width, channels);
  if (!opj_decode(codec.get(), stream.get(), image.get()) || !opj_end_decompress(codec.get(), stream.get())) fail();
  for (int64_t c = 0; c < channels; ++c) {
    const opj_image_comp_t& from = image->comps[c];
    if (!from.data || from.w != width || from.h != height) fail();
    for (int64_t i = 0; i < height * width; ++i) to[i * channels + c] = sample(from, static_cast<size_t>(i));
  }
}

}  // namespace graft::codecs

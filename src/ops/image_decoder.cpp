// Images that are decoded inside a model.
#include <graft/op.hpp>

#include "codecs/image.hpp"

namespace graft {
namespace {

struct ImageDecoder {
  enum Format { rgb, bgr, grayscale } pixel_format = rgb;
  static constexpr std::tuple schema{attr("pixel_format", &ImageDecoder::pixel_format, "channels of the result, in order")
                                         .one_of("RGB", "BGR", "Grayscale")};
};

void image_decoder_infer(Infer& ctx, const ImageDecoder& a) {
  if (DType t = ctx.type(0); t != DType::u8 && t != DType::undefined) fail("expected the bytes of a file as u8, got ", t);
  if (Shape s = ctx.shape(0); s.ranked() && s.rank() != 1) fail("expected a 1-D tensor of bytes, got shape ", s);
  ctx.output(0, DType::u8, Shape{Dim::between(1, INT32_MAX), Dim::between(1, INT32_MAX), Dim(a.pixel_format == ImageDecoder::grayscale ? 1 : 3)});
}

void image_decoder_run(Run& ctx, const ImageDecoder& a) {
  constexpr codecs::Channels channels[] = {codecs::Channels::rgb, codecs::Channels::bgr, codecs::Channels::gray};
  TensorView x = ctx.input(0);
  std::string_view bytes(reinterpret_cast<const char*>(x.data<const uint8_t>()), static_cast<size_t>(x.size()));
  try {
    codecs::decode_image(
        bytes,
        [&](int64_t height, int64_t width, int64_t count) {
          return static_cast<uint8_t*>(ctx.allocate(0, {height, width, count}).bytes());
        },
        channels[a.pixel_format]);
  } catch (const codecs::ImageError& e) {
    fail(e.what());
  }
}

}  // namespace

Definitions define_image_decoder() {
  return op<ImageDecoder>("ImageDecoder", "graft")
      .doc("Decode the bytes of a PNG, JPEG, BMP, PNM, WebP, TIFF or JPEG 2000 file to u8 [height, width, channels]")
      .inputs("encoded_stream")
      .infer(image_decoder_infer)
      .reference(image_decoder_run)
      .import(onnx("ImageDecoder"));
}

}  // namespace graft

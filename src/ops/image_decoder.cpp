// Images that are decoded and encoded inside a model.
#include <graft/op.hpp>

#include "codecs/image.hpp"

namespace graft {
namespace {

struct ImageDecoder {
  enum Format { rgb, bgr, grayscale, of_file } pixel_format = rgb;
  static constexpr std::tuple schema{
      attr("pixel_format", &ImageDecoder::pixel_format,
           "channels of the result, in order; File: those of the file, gray or red, green and blue")
          .one_of("RGB", "BGR", "Grayscale", "File")};
};

void image_decoder_infer(Infer& ctx, const ImageDecoder& a) {
  if (DType t = ctx.type(0); t != DType::u8 && t != DType::undefined)
    fail("expected the bytes of a file as u8, got ", t);
  if (Shape s = ctx.shape(0); s.ranked() && s.rank() != 1) fail("expected a 1-D tensor of bytes, got shape ", s);
  Dim size = Dim::between(1, INT32_MAX), channels(3);
  if (a.pixel_format == ImageDecoder::grayscale) channels = Dim(1);
  if (a.pixel_format == ImageDecoder::of_file) channels = Dim::between(1, 3);
  ctx.output(0, DType::u8, Shape{size, size, channels});
}

void image_decoder_run(Run& ctx, const ImageDecoder& a) {
  using enum codecs::Channels;
  constexpr codecs::Channels channels[] = {rgb, bgr, gray, of_file};
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

void encode_png_infer(Infer& ctx, const NoAttributes&) {
  if (DType t = ctx.type(0); t != DType::u8 && t != DType::undefined) fail("expected pixels of type u8, got ", t);
  if (Shape s = ctx.shape(0); s.ranked() && s.rank() != 3)
    fail("expected an image [height,width,channels], got shape ", s);
  ctx.output(0, DType::string, Shape{});
}
void encode_png_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  if (x.rank() != 3) fail("expected an image [height,width,channels], got shape ", x.info().shape);
  try {
    ctx.store(ctx.output(0), 0, codecs::encode_png(x.data<const uint8_t>(), x.dim(0), x.dim(1), x.dim(2)));
  } catch (const codecs::ImageError& e) {
    fail(e.what());
  }
}

// TensorFlow holds a file as a string.
Value tf_decode_image(Builder& layer) {
  for (std::string_view f :
       {"fancy_upscaling", "try_recover_truncated", "acceptable_fraction", "dct_method", "expand_animations"})
    layer.has(f);
  int64_t ratio = layer.get<int64_t>("ratio", 1), channels = layer.get<int64_t>("channels", 0);
  if (ratio != 1) unsupported("expected a ratio of 1, got ", ratio);
  if (channels != 0 && channels != 1 && channels != 3) unsupported("expected 0, 1 or 3 channels, got ", channels);
  if (DType type = layer.get<DType>("dtype", DType::u8); type != DType::u8)
    unsupported("expected pixels of type u8, got ", type);
  Value bytes = layer.ops("StringTensorUnpack", {layer.input(0)}, {}, 3)[2];
  return layer.op("ImageDecoder@graft", {bytes},
                  {{"pixel_format", channels == 0   ? "File"
                                    : channels == 1 ? "Grayscale"
                                                    : "RGB"}});
}

}  // namespace

Definitions define_image_decoder() {
  return {
      op<ImageDecoder>("ImageDecoder", "graft")
          .doc(
              "Decode the bytes of a PNG, JPEG, BMP, PNM, WebP, TIFF or JPEG 2000 file to u8 [height, width, channels]")
          .inputs("encoded_stream")
          .infer(image_decoder_infer)
          .reference(image_decoder_run)
          .import(onnx("ImageDecoder"))
          .import(tensorflow("DecodeBmp").expand(tf_decode_image))
          .import(tensorflow("DecodeImage").expand(tf_decode_image))
          .import(tensorflow("DecodeJpeg").expand(tf_decode_image))
          .import(tensorflow("DecodePng").expand(tf_decode_image)),
      op("EncodePng", "graft")
          .doc("Encode u8 [height, width, channels] as the bytes of a PNG file")
          .inputs("image")
          .infer(encode_png_infer)
          .reference(encode_png_run)
          .import(tensorflow("EncodePng").ignore("compression")),
  };
}

}  // namespace graft

// Any bytes as a picture, as inputs and operations inside models decode them; the first byte says with which channels.
#include "codecs/image.hpp"

#include <vector>

#include "common.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<uint8_t> samples;
  graft::codecs::Canvas canvas = [&](int64_t height, int64_t width, int64_t channels) {
    // What a reader's limit on pixels does.
    if (height < 1 || width < 1 || height > (1 << 20) / width) throw graft::codecs::ImageError("too large");
    samples.resize(static_cast<size_t>(height * width * channels));
    return samples.data();
  };
  try {
    graft::codecs::decode_image(bytes, canvas, static_cast<graft::codecs::Channels>(data[0] % 4));
  } catch (const graft::codecs::ImageError&) {
  }
  return 0;
}

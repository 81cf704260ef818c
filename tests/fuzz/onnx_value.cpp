// Any bytes as a value of an input: the first one says of which kind, the others are the message.
#include "common.hpp"
#include "readers/onnx/value.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  return graft::fuzz([&] {
    std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    graft::read_onnx_value(bytes, nullptr, "/nonexistent", static_cast<graft::Datum::Kind>(data[0] % 4));
  });
}

// Any bytes as a TensorFlow Lite model: read, imported, verified.
#include "readers/tflite/tflite.hpp"

#include "common.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "import/importer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return graft::fuzz([&] {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    graft::looks_like_tflite(bytes);
    graft::ImportOptions options;
    options.limits.fold_value = size_t{1} << 16, options.limits.fold_bytes = size_t{1} << 20;
    options.limits.expanded_bytes = size_t{1} << 20;
    graft::RawModel raw = graft::read_tflite(bytes, nullptr, {}, options.limits);
    graft::Imported m = graft::import_model(raw, graft::fuzz_registry(), options);
    graft::verify(m.graph);
  });
}

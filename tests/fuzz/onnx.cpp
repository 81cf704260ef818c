// Any bytes as an ONNX model: read, imported, written as text.
#include "readers/onnx/onnx.hpp"

#include "common.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "import/importer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return graft::fuzz([&] {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    graft::looks_like_onnx(bytes);
    graft::ImportOptions options;
    options.limits.fold_value = size_t{1} << 16, options.limits.fold_bytes = size_t{1} << 20;
    graft::Imported m =
        graft::import_model(graft::read_onnx(bytes, nullptr, "/nonexistent"), graft::fuzz_registry(), options);
    graft::verify(m.graph);
  });
}

// Any bytes as a GraphDef, a SavedModel or a checkpoint's index: read, imported.
#include "readers/tensorflow/tensorflow.hpp"

#include "common.hpp"
#include "graph/verify.hpp"
#include "import/importer.hpp"
#include "readers/tensorflow/tensor_bundle.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  graft::fuzz([&] {
    graft::TensorBundle bundle(bytes, "/nonexistent", "variables");
    for (const std::string& name : bundle.names()) graft::fuzz([&] { bundle.tensor(name); });
  });
  return graft::fuzz([&] {
    graft::looks_like_tensorflow(bytes);
    graft::ImportOptions options;
    options.limits.fold_value = size_t{1} << 16, options.limits.fold_bytes = size_t{1} << 20;
    options.limits.inlined = 10'000;
    graft::Imported m =
        graft::import_model(graft::read_tensorflow(bytes, nullptr, "/nonexistent"), graft::fuzz_registry(), options);
    graft::verify(m.graph);
  });
}

// Any bytes as an exported program of PyTorch: read, imported, verified.
#include "common.hpp"
#include "graph/verify.hpp"
#include "import/importer.hpp"
#include "readers/pytorch/program.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return graft::fuzz([&] {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    graft::looks_like_pytorch(bytes);
    graft::ImportOptions options;
    options.limits.fold_value = size_t{1} << 16, options.limits.fold_bytes = size_t{1} << 20;
    graft::Limits limits;
    limits.value_bytes = size_t{1} << 26, limits.npz_bytes = size_t{1} << 26;
    graft::Imported m =
        graft::import_model(graft::read_pytorch(bytes, nullptr, limits), graft::fuzz_registry(), options);
    graft::verify(m.graph);
  });
}

// Any bytes as an MXNet model: up to the first zero byte the symbol, behind it the parameters. Read and imported.
#include "readers/mxnet/mxnet.hpp"

#include "common.hpp"
#include "graph/verify.hpp"
#include "import/importer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return graft::fuzz([&] {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    graft::looks_like_mxnet_symbol(bytes);
    size_t zero = bytes.find('\0');
    std::string_view symbol = bytes.substr(0, zero);
    std::string_view arrays = zero == bytes.npos ? std::string_view() : bytes.substr(zero + 1);
    graft::MxnetParams params;
    if (graft::looks_like_mxnet_params(arrays)) params = graft::read_mxnet_params(arrays, nullptr);
    graft::ImportOptions options;
    options.limits.fold_value = size_t{1} << 16, options.limits.fold_bytes = size_t{1} << 20;
    graft::Imported m =
        graft::import_model(graft::read_mxnet(symbol, "fuzz", params, {}), graft::fuzz_registry(), options);
    graft::verify(m.graph);
  });
}

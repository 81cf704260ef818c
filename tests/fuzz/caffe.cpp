// Any bytes as a Caffe net: up to the first zero byte the definition, behind it the weights. Read and imported.
#include "readers/caffe/caffe.hpp"

#include "common.hpp"
#include "graph/verify.hpp"
#include "import/importer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return graft::fuzz([&] {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    graft::looks_like_caffe_text(bytes);
    graft::looks_like_caffe_weights(bytes);
    size_t zero = bytes.find('\0');
    std::string_view definition = bytes.substr(0, zero);
    std::string_view weights = zero == bytes.npos ? std::string_view() : bytes.substr(zero + 1);
    graft::ImportOptions options;
    options.limits.fold_value = size_t{1} << 16, options.limits.fold_bytes = size_t{1} << 20;
    graft::Imported m =
        graft::import_model(graft::read_caffe(definition, "fuzz", weights, nullptr), graft::fuzz_registry(), options);
    graft::verify(m.graph);
  });
}

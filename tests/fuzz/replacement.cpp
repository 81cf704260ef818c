// Any bytes as a file of --transformations_config: read, applied to a model, brought up to date.
#include "common.hpp"
#include "graph/verify.hpp"
#include "import/importer.hpp"
#include "import/replace.hpp"
#include "readers/caffe/caffe.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string_view net = R"(
    input: "x" input_shape { dim: 1 dim: 2 }
    layer { name: "first" type: "ReLU" bottom: "x" top: "v0" }
    layer { name: "cell_a/left" type: "ReLU" bottom: "v0" top: "v1" }
    layer { name: "cell_a/right" type: "Sigmoid" bottom: "v0" top: "v2" }
    layer { name: "cell_a/join" type: "Eltwise" bottom: "v1" bottom: "v2" top: "v3" eltwise_param { operation: PROD } }
    layer { name: "cell_b/left" type: "ReLU" bottom: "v3" top: "v4" }
    layer { name: "cell_b/right" type: "TanH" bottom: "v3" top: "v5" }
    layer { name: "cell_b/join" type: "Eltwise" bottom: "v4" bottom: "v5" top: "v6" }
    layer { name: "last" type: "ReLU" bottom: "v6" top: "y" }
  )";
  std::string_view json(reinterpret_cast<const char*>(data), size);
  graft::fuzz([&] { graft::updated_replacements(graft::read_caffe(net, "net", {}, nullptr), json, "fuzz"); });
  return graft::fuzz([&] {
    graft::ReplacementConfig config = graft::parse_replacements(json, "fuzz");
    graft::RawModel model = graft::read_caffe(net, "net", {}, nullptr);
    for (const graft::ReplacementOutcome& o : graft::apply_replacements(model, config))
      for (const graft::Error& e : o.errors)
        if (e.kind() == graft::ErrorKind::internal) __builtin_trap();
    graft::Imported m = graft::import_model(model, graft::fuzz_registry(), {});
    graft::verify(m.graph);
  });
}

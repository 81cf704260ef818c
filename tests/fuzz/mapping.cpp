// Any bytes as a CustomLayersMapping.xml: read, and applied to a net.
#include "import/mapping.hpp"

#include "common.hpp"
#include "graph/verify.hpp"
#include "import/importer.hpp"
#include "readers/caffe/caffe.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string_view net = R"(
    input: "x" input_shape { dim: 2 dim: 3 dim: 4 dim: -1 }
    layer { name: "t" type: "Twist" bottom: "x" top: "y" twist_param { factor: 3 pads: 1 pads: 2 flag: true word: "a" in { deep: 5 } } }
    layer { name: "h" type: "Halves" bottom: "y" top: "a" top: "b" }
    layer { name: "r" type: "ReLU" bottom: "a" top: "c" }
  )";
  return graft::fuzz([&] {
    graft::ImportOptions options;
    options.mapping = std::make_shared<graft::LayerMapping>(
        graft::parse_mapping({reinterpret_cast<const char*>(data), size}, "fuzz"));
    graft::Imported m =
        graft::import_model(graft::read_caffe(net, "net", {}, nullptr), graft::fuzz_registry(), options);
    graft::verify(m.graph);
  });
}

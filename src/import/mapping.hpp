// CustomLayersMapping.xml: Caffe layers that are passed through unchanged, with all of their parameters or none.
//
//   <CustomLayersMapping>
//     <CustomLayer NativeType="EdgeWarp" hasParam="true" protoParamName="edge_warp_param" outputShape="in0"/>
//     <CustomLayer NativeType="Halves" hasParam="false">
//       <Output shape="in0[0], in0[1] / 2" type="f32"/>
//       <Output shape="in0[0], in0[1] - in0[1] / 2"/>
//     </CustomLayer>
//   </CustomLayersMapping>
//
// outputShape and <Output> are our additions: the Model Optimizer ran Caffe itself to infer shapes.
#pragma once

#include <string>
#include <vector>

#include "import/shape_expression.hpp"

namespace graft {

struct MappedOutput {
  ShapeExpression shape;
  DType type = DType::undefined;  // undefined: that of input 0
};

struct MappedLayer {
  std::string type;  // case-insensitive
  bool has_parameters = false;
  std::string block;  // the message that holds them: "edge_warp_param"
  std::vector<MappedOutput> outputs;
  size_t line = 0;
};

struct LayerMapping {
  std::string file;
  std::vector<MappedLayer> layers;
  // Names of nested parameters: outer__inner, or just inner.
  bool nested_names = false;

  const MappedLayer* find(std::string_view type) const;
};

struct MappingLimits {
  size_t bytes = size_t{16} << 20;
  size_t layers = 100'000;
  size_t outputs = 1000;  // of a layer
};

LayerMapping read_mapping(const std::string& path, const MappingLimits& limits = {});
// From memory; `name` is the file name in errors.
LayerMapping parse_mapping(std::string_view xml, const std::string& name, const MappingLimits& limits = {});

}  // namespace graft

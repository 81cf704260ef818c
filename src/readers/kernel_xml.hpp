// The .xml files that describe OpenCL kernels for layers: CustomLayer elements of type SimpleGPU and MVCL (VPU). The
// sources that they name are not opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graft {

enum class KernelDevice { gpu, vpu };

// A macro with the value of an attribute of the layer (GPU).
struct KernelDefine {
  std::string name, parameter, type;  // type: "int[]" and "float[]" become arrays, others nothing
  std::optional<std::string> preset;
};

struct KernelArgument {
  enum class Kind { tensor, data, scalar };
  Kind kind = Kind::tensor;
  int64_t index = -1;                          // GPU: position in the argument list
  std::string name;                            // VPU: name of the argument. GPU: of the weights of a Data element
  std::string type, format;                    // type: input, output, internal, input_buffer, ..., int, float
  std::optional<int64_t> port;                 // of the layer, or number of the buffer
  std::string source;                          // of weights and scalars (VPU)
  std::string size;                            // formula, of a buffer
  std::optional<std::pair<bool, size_t>> dim;  // tensor that B, F, Y, X of the formula refer to: is input, port
  std::string at;                              // "LINE:COLUMN"
};

struct KernelStage {
  std::string entry;  // function
  std::vector<std::string> sources;
  std::vector<KernelDefine> defines;
  std::vector<KernelArgument> arguments;
  std::vector<std::string> global, local;  // formulas; no global ones: the elements of output 0
  std::pair<bool, size_t> dim{false, 0};   // tensor that B, F, Y, X refer to: is input, port
  std::string options;                     // of the compiler
  int64_t stage = 0, most_shaves = 0;      // VPU
  std::string at;                          // "LINE:COLUMN"
};

struct KernelDescription {
  std::string layer;
  KernelDevice device = KernelDevice::gpu;
  std::vector<std::pair<std::string, std::string>> where;  // VPU: conditions on parameters of the layer
  std::vector<KernelStage> stages;                         // in order; one for the GPU
  std::string at;                                          // "LINE:COLUMN"
  size_t line = 0;
};

struct KernelXmlLimits {
  size_t bytes = size_t{16} << 20;
  size_t elements = 100'000;
};

std::vector<KernelDescription> read_kernel_xml(const std::string& path, const KernelXmlLimits& limits = {});
// From memory; `name` is the file name in errors.
std::vector<KernelDescription> parse_kernel_xml(std::string_view xml, const std::string& name,
                                                const KernelXmlLimits& limits = {});

}  // namespace graft

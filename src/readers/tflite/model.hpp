// The content of a .tflite file: sub-graphs with tensors and operators, signatures, and the data of constants.
#pragma once

#include <memory>

#include "base/limits.hpp"
#include "readers/raw.hpp"
#include "readers/tflite/flat.hpp"

namespace graft {

struct TfliteQuantization {
  std::vector<double> scale;
  std::vector<int64_t> zero_point;
  int64_t axis = 0;
};

struct TfliteTensor {
  std::string name;
  int8_t type = 0;
  Shape shape;  // with unknown dimensions
  std::vector<int32_t> dims;
  uint32_t buffer = 0;
  TfliteQuantization quantization;
  bool is_variable = false;
  std::optional<FlatTable> sparsity;
};

struct TfliteOperator {
  std::string type;  // a builtin operator's name, or a custom code
  int32_t code = 0;
  int32_t version = 1;
  std::string fallback_framework;        // see RawOrigin
  std::vector<int32_t> inputs, outputs;  // -1: absent
  std::vector<std::pair<std::string, RawField>> fields;
  size_t position = 0;

  bool is_builtin() const { return code != 32; }
};

struct TfliteGraph {
  std::string name;
  std::vector<TfliteTensor> tensors;
  std::vector<int32_t> inputs, outputs;
  std::vector<TfliteOperator> operators;
};

struct TfliteSignature {
  std::string name;
  std::vector<std::pair<std::string, uint32_t>> inputs, outputs;  // name, tensor
  uint32_t graph = 0;
};

class TfliteModel {
 public:
  // `keeper` owns the bytes: constants are not copied.
  TfliteModel(std::string_view bytes, std::shared_ptr<const void> keeper, const Limits& limits);

  std::string description;
  std::vector<TfliteGraph> graphs;
  std::vector<TfliteSignature> signatures;

  // Whether the file has data for a tensor, and the data.
  bool is_constant(const TfliteTensor& t) const;
  Tensor constant(const TfliteTensor& t) const;

 private:
  struct OperatorCode {
    int32_t code = 0, version = 1;
    std::string custom;
  };
  TfliteGraph graph(const FlatTable& t);
  TfliteTensor tensor(const FlatTable& t) const;
  TfliteOperator operation(const FlatTable& t);
  void custom_options(const FlatTable& t, TfliteOperator& op);
  TfliteSignature signature(const FlatTable& t) const;
  std::string_view behind(const FlatTable& t, uint64_t offset, uint64_t size) const;

  std::shared_ptr<const void> keeper_;
  Limits limits_;
  FlatFile file_;
  std::vector<OperatorCode> codes_;
  std::vector<std::string_view> buffers_;
  mutable uint64_t expanded_ = 0;  // bytes of all sparse tensors
};

// The dense form of a sparse tensor.
Tensor tflite_dense(const TfliteTensor& t, DType type, std::string_view data);

}  // namespace graft

// ONNX tensors: raw, typed, sparse and external data.
#pragma once

#include <optional>

#include "readers/raw.hpp"
#include "readers/wire.hpp"

namespace graft {

class OnnxTensors {
 public:
  // `keeper` owns the bytes of the message: raw data is not copied.
  OnnxTensors(std::shared_ptr<const void> keeper, std::string folder, const Limits& limits)
      : keeper_(std::move(keeper)), folder_(std::move(folder)), limits_(limits) {}

  std::pair<std::string, Tensor> tensor(Wire w);
  std::pair<std::string, Tensor> sparse(Wire w);
  // Throws if external tensors partly overlap.
  void check_overlaps() const;

 private:
  struct External {
    std::string location;
    uint64_t offset = 0;
    std::optional<uint64_t> length;
  };
  struct Range {
    uint64_t begin, end;
    std::string name;
  };
  Tensor dense(const Tensor& values, const std::vector<int64_t>& at, std::vector<int64_t> dims);
  Tensor external(const std::string& name, const External& where, DType type, std::vector<int64_t> dims);

  std::shared_ptr<const void> keeper_;
  std::string folder_;
  Limits limits_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
  std::map<std::string, std::vector<Range>> ranges_;
  size_t dense_bytes_ = 0;  // of all expanded sparse tensors
};

}  // namespace graft

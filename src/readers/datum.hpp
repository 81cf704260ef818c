// A value of an input or output, which need not be a tensor in ONNX.
#pragma once

#include <graft/memory.hpp>

namespace graft {

struct Datum {
  enum Kind {
    tensor,
    sequence,  // its items are `parts`
    optional,  // `parts` has its value or nothing
    map,       // `parts` are its keys and its values, tensors of one dimension
  } kind = tensor;
  Tensor value;  // of a tensor
  std::vector<Datum> parts;

  Datum() = default;
  Datum(Tensor t) : value(std::move(t)) {}
  Datum(Kind k, std::vector<Datum> p) : kind(k), parts(std::move(p)) {}
};

}  // namespace graft

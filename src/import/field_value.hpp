// A field of a layer in the form of the ABI.
#pragma once

#include "readers/raw.hpp"

namespace graft {

// Refers to the field, and owns the lists that the ABI needs.
struct FieldValue {
  graft_value value{};
  std::vector<graft_str> texts;
  std::vector<graft_type> types;
  std::vector<const graft_tensor*> tensors;

  FieldValue() = default;
  explicit FieldValue(const RawField& f) {
    if (!f.graphs.empty()) {
      value.kind = GRAFT_GRAPH;
      value.count = f.graphs.size();
    } else if (!f.tensors.empty()) {
      for (const Tensor& t : f.tensors) tensors.push_back(t.raw());
      value.kind = GRAFT_TENSORS;
      value.items = tensors.data(), value.count = tensors.size();
    } else {
      value = f.value.raw(texts, types);
    }
  }
  FieldValue(const FieldValue&) = delete;
};

}  // namespace graft

// What the description of a VPU layer refers to: dimensions and attributes of a node.
#pragma once

#include <graft/source_kernel.hpp>

#include "readers/kernel_xml.hpp"

namespace graft {

class VpuValues {
 public:
  // Throws Failure of kind unsupported if the batches of the tensors do not fit together. Shapes must be known.
  VpuValues(const Accept& node, const KernelDescription& layer);

  // Each launch sees one item of the batch.
  int64_t batch() const { return batch_; }
  // Whether a launch sees a part of the tensor.
  bool is_split(bool input, size_t port) const;
  // Type and shape of a tensor as a launch sees it.
  Info seen(bool input, size_t port) const;

  // A formula of B, F, Y, X of the tensor `dim` and of attributes.
  int64_t formula(const std::string& formula, std::pair<bool, size_t> dim) const;
  // A <Scalar>.
  double scalar(const KernelArgument& a) const;

 private:
  Info whole(bool input, size_t port) const;
  bool has_batch(bool input, size_t port) const;
  void split_batch();
  double letter(char name, std::pair<bool, size_t> dim) const;

  const Accept& node_;
  const KernelDescription& layer_;
  int64_t batch_ = 1;
  std::vector<bool> split_inputs_, split_outputs_;
};

// Why the <Where> of a layer does not hold for a node; empty if it does.
std::string vpu_where_fails(const Accept& node, const KernelDescription& layer);

}  // namespace graft

// What torch.save writes: a ZIP archive with a pickle and the storages that it refers to. The pickle is read by a
// machine of its own, which knows data only: a few opcodes, and names of a few functions that make tensors. Nothing is
// executed, and all else is refused by name.
#pragma once

#include <graft/app/memory.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/limits.hpp"
#include "readers/zip.hpp"

namespace graft {

struct Pickled;
using PickledRef = std::shared_ptr<Pickled>;

// A value of a pickle.
struct Pickled {
  enum Kind { none, boolean, integer, number, text, list, dict, tensor, name, storage, mark } kind = none;
  int64_t whole = 0;
  double real = 0;
  std::string chars;              // a text, the name of a function
  std::vector<PickledRef> items;  // of a list or tuple; keys and values of a dict in turn
  Tensor data;                    // a tensor; a storage as one of rank 1
};

PickledRef read_torch_save(const ZipContent& archive, const Limits& limits);

}  // namespace graft

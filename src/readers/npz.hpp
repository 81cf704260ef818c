// NumPy's .npz: a ZIP archive of .npy files.
#pragma once

#include <graft/app/memory.hpp>

#include "base/limits.hpp"

namespace graft {

std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& path, const Limits& limits = {});

}  // namespace graft

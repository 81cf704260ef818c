// Exported programs of PyTorch (torch.export.save): .pt2 archives of a program in JSON and its tensors.
#pragma once

#include <string>
#include <string_view>

#include "readers/raw.hpp"
#include "readers/zip.hpp"

namespace graft {

// Whether an archive holds an exported program.
bool looks_like_pytorch(std::string_view bytes);
RawModel read_pytorch(const std::string& path, const Limits& limits);
RawModel read_pytorch(std::string_view bytes, std::shared_ptr<const void> keeper, const Limits& limits);

}  // namespace graft

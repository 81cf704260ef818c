// The files of an MXNet model, in any order; missing ones are found by their names.
#pragma once

#include "readers/raw.hpp"

namespace graft {

// The symbol (prefix-symbol.json), and files of arrays (prefix-0000.params, .nd). If one kind is absent, it is looked
// for beside the other: a symbol alone needs the only file prefix-NNNN.params there, arrays alone need
// prefix-symbol.json.
RawModel read_mxnet_files(const std::vector<std::string>& files, const ReadRequest& request, const Limits& limits);

}  // namespace graft

// Control flow of MXNet: _foreach, _while_loop and _cond become the loops and branches that import knows, in the domain
// "graft": Scan, While and If.
#pragma once

#include <functional>

#include "readers/mxnet/symbol.hpp"

namespace graft {

bool is_mxnet_control(const MxnetNode& n);

// Reads a sub-graph as layers and outputs. Its names get the prefix; `variables` are the values of its variables.
using ReadMxnetBody =
    std::function<RawGraph(const MxnetSymbol&, const std::string& prefix, const std::vector<std::string>& variables)>;

// The layers that take the place of `layer`, which has the names of the inputs and outputs.
std::vector<RawNode> mxnet_control(const MxnetNode& n, const RawNode& layer, const ReadMxnetBody& read);

}  // namespace graft

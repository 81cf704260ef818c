// Layouts as users write them, on the command line and in Python: "nhwc", "n...c", "[n,h,w,c]", "nhwc->nchw".
#pragma once

#include <graft/app/convert.hpp>

namespace graft::cli {

// A name per dimension. `item` is the text that it is a part of, for messages.
std::vector<std::string> layout_entries(std::string_view layout, std::string_view item);
// The layout of all inputs, and with an arrow the one that they get.
LayoutRequest layout_change(std::string_view item);

}  // namespace graft::cli

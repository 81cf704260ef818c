// FlexBuffers: the self-describing options of custom operators.
#pragma once

#include "base/limits.hpp"
#include "readers/raw.hpp"

namespace graft {

// The entries of a map as fields: nested maps, and vectors of maps or of vectors, under dotted paths ("size.width",
// "boxes.0"), typed vectors and vectors of one kind as lists. None: the bytes are no FlexBuffer map.
std::optional<std::vector<std::pair<std::string, RawField>>> read_flex_map(std::string_view bytes,
                                                                           const Limits& limits);

// The strings of a vector, such as the [name, NodeDef] of a TensorFlow operator. None: the bytes are no such vector.
std::optional<std::vector<std::string_view>> read_flex_strings(std::string_view bytes);

}  // namespace graft

// GraphDef and SavedModel in protobuf's text format (.pbtxt).
#pragma once

#include <string>
#include <string_view>

namespace graft {

bool looks_like_tensorflow_text(std::string_view bytes);
// Converts it to the binary format. Fields that no reader uses are omitted.
std::string tensorflow_text_to_binary(std::string_view bytes, const std::string& file);

}  // namespace graft

// The format of a model file, by its content.
#pragma once

#include <string>
#include <string_view>

namespace graft {

enum class Format { onnx, caffe, tensorflow, mxnet, kaldi, ir, text };

// Throws when the content is in none of the supported formats.
Format recognize(const std::string& path);
std::string_view format_name(Format f);
// Whether models of this format are imported; the others are graphs already.
bool is_framework(Format f);

}  // namespace graft

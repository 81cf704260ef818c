// Parts of the Caffe reader.
#pragma once

#include <unordered_map>

#include "readers/proto_text.hpp"
#include "readers/raw.hpp"
#include "readers/wire.hpp"

namespace graft {

// ---- caffe_weights.cpp ----

// A BlobProto. Numbers of single precision stay where they are in the file, others are converted to it.
Tensor caffe_blob(Wire w, const std::shared_ptr<const void>& keeper, const ReadLimits& limits);

// The blobs of every layer that has some; of two layers with one name the first counts.
using CaffeBlobs = std::unordered_map<std::string, std::vector<Tensor>>;
CaffeBlobs read_caffe_blobs(std::string_view caffemodel, const std::shared_ptr<const void>& keeper,
                            const ReadLimits& limits);

// ---- caffe_binary.cpp ----

// The definition that a caffemodel carries beside the weights, as the text format would give it. Parameters are known
// by number there: those of Caffe itself have names, a fork's are left out. `line` of a layer is its byte offset.
ProtoNode read_caffe_definition(std::string_view caffemodel, const ReadLimits& limits);

// ---- caffe_legacy.cpp ----

// Today's form of a layer of `layers`: type names instead of the enum, parameters in a message per type.
ProtoNode upgraded_caffe_layer(const ProtoNode& layer);

// ---- python_text.cpp ----

// The fields of a text in the syntax of a Python dictionary, outer braces optional: {'stride': 16, scales: [8, 16]}.
// Nested dictionaries have dotted paths. Empty when the text is something else.
std::vector<std::pair<std::string, Attribute>> parse_python_fields(std::string_view text);

}  // namespace graft

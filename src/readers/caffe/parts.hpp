// Parts of the Caffe reader.
#pragma once

#include <unordered_map>

#include "readers/proto_text.hpp"
#include "readers/python_text.hpp"
#include "readers/raw.hpp"
#include "readers/wire.hpp"

namespace graft {

// ---- caffe_weights.cpp ----

// A BlobProto. Single-precision data is used in place, other types are converted to f32.
Tensor caffe_blob(Wire w, const std::shared_ptr<const void>& keeper, const Limits& limits);

// The blobs of every layer that has some; of two layers with the same name, the first is used.
using CaffeBlobs = std::unordered_map<std::string, std::vector<Tensor>>;
CaffeBlobs read_caffe_blobs(std::string_view caffemodel, const std::shared_ptr<const void>& keeper,
                            const Limits& limits);

// ---- caffe_binary.cpp ----

// The definition that a caffemodel contains next to the weights, in the form of the text format. Parameters are
// numbered there: those of Caffe itself have known names, a fork's are omitted. `line` of a layer is its byte offset.
ProtoNode read_caffe_definition(std::string_view caffemodel, const Limits& limits);

// ---- caffe_legacy.cpp ----

// Converts a layer of `layers` to the current form: type names instead of the enum, parameters in a message per type.
ProtoNode upgraded_caffe_layer(const ProtoNode& layer);

}  // namespace graft

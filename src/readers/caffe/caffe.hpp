// Reads Caffe files: a net's definition (.prototxt), its weights (.caffemodel), mean images (.binaryproto).
//
// Layers of all three generations arrive in today's form: type "Convolution", parameters under their dotted paths
// ("convolution_param.num_output"), including messages and fields that only a fork has. A field that occurs once is a
// value, one that repeats (or is written as a list) is a list; further messages with the same name are "shape.1.dim". A
// layer's blobs are its last inputs. An in-place layer produces a new value: the last one has the blob's name.
#pragma once

#include "readers/proto_text.hpp"
#include "readers/raw.hpp"

namespace graft {

inline constexpr Conventions caffe_conventions{.shared_names = true};

bool looks_like_caffe_text(std::string_view bytes);
bool looks_like_caffe_weights(std::string_view bytes);

// Either may be empty: a net without weights, or one whose definition is in the weights file.
RawModel read_caffe(const std::string& prototxt, const std::string& caffemodel, const Limits& limits = {});
// From memory; `name` is the prototxt's name in errors.
RawModel read_caffe(std::string_view prototxt, const std::string& name, std::string_view caffemodel,
                    std::shared_ptr<const void> keeper, const Limits& limits = {});

// A file that holds one blob: a mean image.
Tensor read_caffe_blob(const std::string& path);

}  // namespace graft

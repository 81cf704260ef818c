// TensorFlow: frozen graphs (GraphDef) and SavedModels, binary or as text.
#pragma once

#include "readers/raw.hpp"

namespace graft {

bool looks_like_tensorflow(std::string_view bytes);
// A GraphDef, or a SavedModel: its folder or the saved_model.pb in it.
RawModel read_tensorflow(const std::string& path, const ReadLimits& limits = {});
// From memory; a SavedModel's variables are looked up in `folder`.
RawModel read_tensorflow(std::string_view bytes, std::shared_ptr<const void> keeper, const std::string& folder,
                         const ReadLimits& limits = {});

}  // namespace graft

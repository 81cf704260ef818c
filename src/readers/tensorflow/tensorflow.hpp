// TensorFlow: frozen graphs (GraphDef) and SavedModels, binary or as text.
#pragma once

#include <graft/app/read.hpp>

#include "readers/raw.hpp"

namespace graft {

inline constexpr Conventions tensorflow_conventions{.open_outputs = true, .channels_last = true};

bool looks_like_tensorflow(std::string_view bytes);
// A GraphDef; a SavedModel: its folder or the saved_model.pb in it; or a MetaGraph (.meta) beside its checkpoint.
RawModel read_tensorflow(const std::string& path, const ReadOptions& request = {}, const Limits& limits = {});
// From memory; variables are looked up in `folder`, those of a SavedModel in its usual sub-folder.
RawModel read_tensorflow(std::string_view bytes, std::shared_ptr<const void> keeper, const std::string& folder,
                         const ReadOptions& request = {}, const Limits& limits = {});

}  // namespace graft

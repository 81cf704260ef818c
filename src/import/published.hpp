// The ids of the replacement files that the Model Optimizer shipped with: what each of them needs here.
#pragma once

#include <span>

#include "import/replace_config.hpp"
#include "readers/raw.hpp"

namespace graft {

struct PublishedReplacement {
  enum Kind {
    not_needed,  // the importer does the work by itself
    regions,     // RegionYolo layers become the outputs of the model
    detections   // the outputs become one of the form [1,1,N,7] if they are those of the Object Detection API
  };
  std::string_view id;
  Kind kind;
  std::string_view reason;  // completes "replacement 'x' is not needed: "; of detections, for models without
                            // such outputs; empty: these are an error
};
const PublishedReplacement* find_published(std::string_view id);

// Appends a layer of type `r.id` to each output of the model, or to the inputs of the nodes in `entry_points`, and
// makes these layers the outputs; a rule for replacements imports them.
ReplacementMatch append_regions(RawModel& model, const Replacement& r, const std::string& file);

}  // namespace graft

// Detections as one output of the form [1,1,N,7], which the Model Optimizer's DetectionOutput has: rows of image,
// label, score, x_min, y_min, x_max and y_max; the first row with the image -1 ends them.
#pragma once

#include <optional>

#include "import/replace_config.hpp"
#include "readers/raw.hpp"

namespace graft {

// Joins the outputs of a detection model: detection_boxes, detection_scores, detection_classes and num_detections of
// TensorFlow's Object Detection API, or an output that MXNet's MultiBoxDetection makes. The layer that is appended is
// named `by` in reports. None: the model has no such outputs.
std::optional<ReplacementMatch> append_detections(RawModel& model, const std::string& by);

}  // namespace graft

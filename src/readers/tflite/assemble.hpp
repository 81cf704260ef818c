// Makes a raw model of the sub-graphs of a file: one of them with what it calls in place, control flow as graphs of its
// layers, variables and tables as their values.
#pragma once

#include "readers/tflite/model.hpp"

namespace graft {

// `signature`: whose sub-graph, inputs and outputs are those of the model; null: the first sub-graph as it is.
RawModel assemble_tflite(const TfliteModel& model, const TfliteSignature* signature, const Limits& limits);

}  // namespace graft

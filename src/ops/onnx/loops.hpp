// Loops in the form of ONNX: inputs are the number of iterations, the condition and the states; the body takes the
// iteration, the condition and the states, and gives the condition, the states and the values to collect.
#pragma once

#include <graft/op.hpp>

namespace graft {

// A Loop from the layer's condition, states and body, with at most `trips` iterations (-1: no limit).
std::vector<Value> make_loop(Builder& layer, const Value& trips);

}  // namespace graft

// <ie_layers.h> for sources that were written for the Inference Engine: see graft/inference_engine/layer.hpp.
#pragma once

#include "../inference_engine/layer.hpp"

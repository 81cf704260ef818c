// <ie_parallel.hpp> for sources that were written for the Inference Engine: see graft/inference_engine/parallel.hpp.
#pragma once

#include "../inference_engine/parallel.hpp"

// <details/ie_exception.hpp> for sources that were written for the Inference Engine: see graft/inference_engine/types.hpp.
#pragma once

#include "../../inference_engine/types.hpp"

// <ext_list.hpp> for sources that were written for the Inference Engine: see graft/inference_engine.hpp.
#pragma once

#include "../inference_engine.hpp"

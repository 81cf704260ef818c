// <ie_iextension.h> for sources that were written for the Inference Engine: see graft/inference_engine/extension.hpp.
#pragma once

#include "../inference_engine/extension.hpp"

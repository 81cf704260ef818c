// <onnx_import/onnx_utils.hpp> for sources that were written for nGraph: see graft/ngraph/ngraph.hpp.
#pragma once

#include "../../ngraph/ngraph.hpp"

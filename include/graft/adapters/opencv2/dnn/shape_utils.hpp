// <opencv2/dnn/shape_utils.hpp>: see opencv2/dnn.hpp.
#pragma once

#include "../dnn.hpp"

// <opencv2/dnn/layer.details.hpp>: see opencv2/dnn.hpp.
#pragma once

#include "../dnn.hpp"

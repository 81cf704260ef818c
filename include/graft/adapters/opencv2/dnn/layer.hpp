// <opencv2/dnn/layer.hpp>: see opencv2/dnn.hpp.
#pragma once

#include "../dnn.hpp"

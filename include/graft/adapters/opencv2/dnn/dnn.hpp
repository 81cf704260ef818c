// <opencv2/dnn/dnn.hpp>: see opencv2/dnn.hpp.
#pragma once

#include "../dnn.hpp"

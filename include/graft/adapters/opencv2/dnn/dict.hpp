// <opencv2/dnn/dict.hpp>: see opencv2/dnn.hpp.
#pragma once

#include "../dnn.hpp"

// <opencv2/core/mat.hpp>: see opencv2/dnn.hpp.
#pragma once

#include "../core.hpp"

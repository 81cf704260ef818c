// <opencv2/core/types.hpp>: see opencv2/dnn.hpp.
#pragma once

#include "../core.hpp"

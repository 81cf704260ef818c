// <opencv2/core/core.hpp>: see opencv2/dnn.hpp.
#pragma once

#include "../core.hpp"

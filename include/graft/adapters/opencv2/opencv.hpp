// <opencv2/opencv.hpp>, of which there are core and dnn: see dnn.hpp.
#pragma once

#include "dnn.hpp"

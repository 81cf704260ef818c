// <opencv2/core.hpp>: see dnn.hpp.
#pragma once

#include "../../opencv/mat.hpp"

#define GRAFT_OPENCV_ADAPTER 1  // tells graft/opencv.hpp that this is not OpenCV

namespace cv {
using namespace graft::opencv;
namespace Error {
using namespace graft::opencv::Error;
}  // namespace Error
}  // namespace cv

using uchar = unsigned char;
using schar = signed char;
using int64 = int64_t;
using uint64 = uint64_t;

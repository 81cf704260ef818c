// <opencv2/dnn.hpp> for sources that were written for OpenCV, compiled without it: add the folder `adapters` to the
// include path. See graft/layer.hpp.
#pragma once

#include "../../layer.hpp"
#include "../../opencv/net.hpp"
#include "core.hpp"

namespace cv {
namespace dnn {
using namespace graft::opencv::dnn;
}  // namespace dnn
}  // namespace cv

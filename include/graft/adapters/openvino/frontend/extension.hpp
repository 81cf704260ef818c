// <openvino/frontend/extension.hpp> for sources that were written for OpenVINO: see graft/openvino.hpp.
#pragma once

#include "../../../openvino.hpp"

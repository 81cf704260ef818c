// Runs subclasses of the real cv::dnn::Layer, unchanged. Requires OpenCV 4 with its dnn module.
//
//   #include <graft/opencv.hpp>
//   #include "interp_layer.hpp"      // class InterpLayer : public cv::dnn::Layer, written for OpenCV
//
//   GRAFT_EXTENSION("interp", "1.0") { return graft::opencv_layer<InterpLayer>("Interp"); }
//
// Build the extension with OpenCV's flags (pkg-config --cflags --libs opencv4). Inputs and outputs are cv::Mat headers
// over Graft's memory: nothing is copied. What layer.hpp says about types, files and threads holds here as well; layers
// that need a network around them (getLayerInputs and the like) are not supported.
#pragma once

#include <opencv2/dnn.hpp>

#ifdef GRAFT_OPENCV_ADAPTER
#error \
    "graft/opencv.hpp needs OpenCV, but <opencv2/dnn.hpp> is that of graft/adapters: include graft/layer.hpp, or remove the folder from the include path"
#endif

#include "extension.hpp"
#include "layer_ops.hpp"

namespace [[gnu::visibility("hidden")]] graft {

namespace detail {

struct OpenCvApi {
  using Layer = cv::dnn::Layer;
  using Params = cv::dnn::LayerParams;
  using Mat = cv::Mat;
  using Shape = cv::dnn::MatShape;
  using Pointer = cv::Ptr<Layer>;

  static_assert(CV_8U == 0 && CV_32S == 4 && CV_32F == 5 && CV_16F == 7);  // as matrix_depth says
  // A header over the memory. cv::Mat has at least two dimensions, so that a vector becomes a column.
  static void point(Shape s, int depth, const void* memory, Mat& to) {
    while (s.size() < 2) s.push_back(1);
    auto* data = static_cast<unsigned char*>(const_cast<void*>(memory));
    bool same =
        to.dims == static_cast<int>(s.size()) && to.depth() == depth && std::equal(s.begin(), s.end(), to.size.p);
    if (same) to.data = data, to.datastart = data;
    else to = Mat(static_cast<int>(s.size()), s.data(), depth, data);
  }
  static const void* data(const Mat& m) { return m.data; }
  static void set(Params& params, const std::string& key, const std::vector<int64_t>& v, bool is_list) {
    if (is_list) params.set(key, cv::dnn::DictValue::arrayInt(v.begin(), static_cast<int>(v.size())));
    else params.set(key, narrow<int>(v[0]));
  }
  static void set(Params& params, const std::string& key, const std::vector<double>& v, bool is_list) {
    if (is_list) params.set(key, cv::dnn::DictValue::arrayReal(v.begin(), static_cast<int>(v.size())));
    else params.set(key, v[0]);
  }
  static void set(Params& params, const std::string& key, const std::vector<std::string>& v, bool is_list) {
    if (is_list) params.set(key, cv::dnn::DictValue::arrayString(v.begin(), static_cast<int>(v.size())));
    else params.set(key, cv::String(v[0]));
  }
  static void finalize(Layer& layer, std::vector<Mat>& inputs, std::vector<Mat>& outputs) {
    layer.finalize(cv::_InputArray(inputs), cv::_OutputArray(outputs));
  }
  static void forward(Layer& layer, std::vector<Mat>& inputs, std::vector<Mat>& outputs, std::vector<Mat>& internals) {
    layer.forward(cv::_InputArray(inputs), cv::_OutputArray(outputs), cv::_OutputArray(internals));
  }
};

}  // namespace detail

// The definitions for a layer class with a static `create(LayerParams&)`, as CV_DNN_REGISTER_LAYER_CLASS expects it.
template <class L>
Definitions opencv_layer(std::string_view type) {
  return detail::LayerOp<detail::OpenCvApi>::define(
      type, [](cv::dnn::LayerParams& p) -> cv::Ptr<cv::dnn::Layer> { return L::create(p); });
}

}  // namespace graft

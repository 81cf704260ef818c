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

  static std::optional<int> depth(DType type) {
    switch (type) {
      case DType::boolean:
      case DType::u8: return CV_8U;
      case DType::i8: return CV_8S;
      case DType::u16: return CV_16U;
      case DType::i16: return CV_16S;
      case DType::i32: return CV_32S;
      case DType::f32: return CV_32F;
      case DType::f64: return CV_64F;
      case DType::f16: return CV_16F;
      default: return std::nullopt;
    }
  }
  static bool has_type(DType type) { return depth(type).has_value(); }
  static Shape shape(std::span<const int64_t> dims) {
    Shape s;
    for (int64_t d : dims) s.push_back(narrow<int>(d));
    return s;
  }
  static std::vector<int64_t> dims(const Shape& s) { return {s.begin(), s.end()}; }
  // A header over the memory. cv::Mat has at least two dimensions, so that a vector becomes a column.
  static void point(std::span<const int64_t> dims, int depth, const void* memory, Mat& to) {
    Shape s = shape(dims);
    while (s.size() < 2) s.push_back(1);
    auto* data = static_cast<unsigned char*>(const_cast<void*>(memory));
    bool same =
        to.dims == static_cast<int>(s.size()) && to.depth() == depth && std::equal(s.begin(), s.end(), to.size.p);
    if (same) to.data = data, to.datastart = data;
    else to = Mat(static_cast<int>(s.size()), s.data(), depth, data);
  }
  static void view(TensorView t, Mat& to) { point(t.dims(), depth(t.type()).value(), t.bytes(), to); }
  static void view(OutputView t, Mat& to) { point(t.dims(), depth(t.type()).value(), t.bytes(), to); }
  static void view(const Shape& s, unsigned char* memory, Mat& to) { point(dims(s), CV_32F, memory, to); }
  static Mat copy(TensorView t) {
    Mat m;
    if (t.type() == DType::i64) {
      std::vector<int32_t> narrowed = t.to<int32_t>();
      point(t.dims(), CV_32S, narrowed.data(), m);
      return m.clone();
    }
    if (!has_type(t.type())) unsupported("layers of OpenCV have no element type ", t.type());
    view(t, m);
    return m.clone();
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

// Operations in the form of OpenCV's custom layers, without OpenCV.
//
//   #include <opencv2/dnn.hpp>      // with -I<prefix>/include/graft/adapters, or: #include <graft/layer.hpp> and
//                                   // namespace cv = graft::opencv;
//   class InterpLayer : public cv::dnn::Layer {
//    public:
//     InterpLayer(const cv::dnn::LayerParams& p) : Layer(p), height(p.get<int>("height", 0)) {}
//     static cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& p) { return cv::makePtr<InterpLayer>(p); }
//     bool getMemoryShapes(const std::vector<cv::dnn::MatShape>& inputs, int, std::vector<cv::dnn::MatShape>& outputs,
//                          std::vector<cv::dnn::MatShape>&) const override { ... }
//     void forward(cv::InputArrayOfArrays in, cv::OutputArrayOfArrays out, cv::OutputArrayOfArrays) override { ... }
//   };
//   CV_DNN_REGISTER_LAYER_CLASS_STATIC(Interp, InterpLayer)
//
// Source that was written for OpenCV 3.4 or 4.x compiles as it is: both forms of `finalize` and `forward`, CV_Assert
// and its relatives, LayerFactory. Built as a shared library, the last line makes it an extension; instead of it, or
// for definitions of other kinds beside it, in one source file:
//
//   GRAFT_EXTENSION("interp", "1.0") { return graft::layer<InterpLayer>("Interp"); }
//
// A layer of this type is then taken from Caffe, TensorFlow, ONNX (with a domain: "acme.Interp"), MXNet and Kaldi
// files, and takes the place of a built-in one while the extension is loaded. Its fields are in LayerParams, its
// weights in `blobs`; tensors of rank 4 are [n, c, h, w], also those of TensorFlow. Tensors of f16 and bf16 reach the
// layer as f32. A program uses layers of its own through cv::dnn::readNet (opencv/net.hpp). With OpenCV itself,
// opencv.hpp runs subclasses of the real cv::dnn::Layer.
//
// Differences from OpenCV: several requests may run at once, each with an instance of its own; contents of outputs and
// internals are undefined at the beginning of `forward`, as in OpenCV; errors are thrown, as any exception.
#pragma once

#include "layer_ops.hpp"
#include "opencv/layer.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// Visible, so that the classes of users that derive from Layer need no attribute.
namespace [[gnu::visibility("default")]] opencv {

// How the shared machinery (layer_ops.hpp) handles the types above.
struct Api {
  using Layer = dnn::Layer;
  using Params = dnn::LayerParams;
  using Mat = opencv::Mat;
  using Shape = dnn::MatShape;
  using Pointer = Ptr<Layer>;

  static void point(const Shape& dims, int depth, const void* memory, Mat& to) {
    // The matrix of an earlier call has these dimensions already.
    bool same = to.type() == depth && to.size.dims() == static_cast<int>(std::max<size_t>(dims.size(), 2)) &&
                std::equal(dims.begin(), dims.end(), to.size.p);
    if (!same) to = Mat(dims, depth, nullptr);
    to.data = static_cast<unsigned char*>(const_cast<void*>(memory));
  }
  static const void* data(const Mat& m) { return m.data; }
  template <class T>
  static void set(Params& params, const std::string& key, const std::vector<T>& values, bool) {
    params.set(key, dnn::DictValue(values));
  }
  static void finalize(Layer& layer, std::vector<Mat>& inputs, std::vector<Mat>& outputs) {
    layer.finalize(pointers(inputs), outputs);
  }
  static void forward(Layer& layer, std::vector<Mat>& inputs, std::vector<Mat>& outputs, std::vector<Mat>& internals) {
    std::vector<Mat*> all = pointers(inputs);
    layer.forward(all, outputs, internals);
  }

 private:
  static std::vector<Mat*> pointers(std::vector<Mat>& matrices) {
    std::vector<Mat*> out;
    for (Mat& m : matrices) out.push_back(&m);
    return out;
  }
};

}  // namespace opencv

// The definitions for a layer type. `type` is a literal; for ONNX it may begin with a domain: "acme.Interp".
template <class L>
Definitions layer(std::string_view type) {
  return detail::LayerOp<opencv::Api>::define(type, opencv::dnn::created<L>);
}
// Those for all types that LayerFactory knows, with their current constructors.
inline Definitions registered_layers() {
  Definitions all;
  for (const auto& [type, constructor] : opencv::dnn::LayerFactory::registered())
    all += detail::LayerOp<opencv::Api>::define(type, constructor);
  return all;
}

namespace detail {
// The entry of a library whose layers are registered at its load; emitted where a registration refers to it.
[[gnu::visibility("default")]] inline const graft_extension* layers_entry(const graft_host* h) __asm__(
    "graft_extension_entry");
inline const graft_extension* layers_entry(const graft_host* h) { return enter<registered_layers>(h, "layers", "1.0"); }
}  // namespace detail

}  // namespace graft

// In a function, before a model is read.
#ifndef CV_DNN_REGISTER_LAYER_CLASS
#define CV_DNN_REGISTER_LAYER_FUNC(TYPE, FUNCTION) ::graft::opencv::dnn::LayerFactory::registerLayer(#TYPE, FUNCTION);
#define CV_DNN_REGISTER_LAYER_CLASS(TYPE, CLASS) \
  ::graft::opencv::dnn::LayerFactory::registerLayer(#TYPE, ::graft::opencv::dnn::created<CLASS>);
// At namespace scope: as long as the program runs; in a shared library, as the definitions of the extension that it is.
// A source file has either these or GRAFT_EXTENSION.
#define CV_DNN_REGISTER_LAYER_FUNC_STATIC(TYPE, FUNCTION)                                          \
  static ::graft::opencv::dnn::LayerRegistration graft_layer_registration_##TYPE(#TYPE, FUNCTION); \
  [[gnu::used]] static const auto graft_layer_entry_##TYPE = &::graft::detail::layers_entry;
#define CV_DNN_REGISTER_LAYER_CLASS_STATIC(TYPE, CLASS) \
  CV_DNN_REGISTER_LAYER_FUNC_STATIC(TYPE, ::graft::opencv::dnn::constructed<CLASS>)
#endif

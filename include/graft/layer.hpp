// Operations in the form of OpenCV's custom layers, without OpenCV.
//
//   #include <graft/layer.hpp>
//   namespace cv = graft::opencv;   // code that was written for OpenCV compiles as it is
//
//   class InterpLayer : public cv::dnn::Layer {
//    public:
//     explicit InterpLayer(const cv::dnn::LayerParams& p) : Layer(p), height(p.get<int>("height", 0)) {}
//     static cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& p) { return cv::makePtr<InterpLayer>(p); }
//     bool getMemoryShapes(const std::vector<cv::dnn::MatShape>& inputs, int, std::vector<cv::dnn::MatShape>& outputs,
//                          std::vector<cv::dnn::MatShape>&) const override { ... }
//     void forward(cv::InputArrayOfArrays in, cv::OutputArrayOfArrays out, cv::OutputArrayOfArrays) override { ... }
//   };
//   GRAFT_EXTENSION("interp", "1.0") { return graft::layer<InterpLayer>("Interp"); }
//
// A layer of this type is then taken from Caffe, TensorFlow, ONNX (with a domain: "acme.Interp"), MXNet and Kaldi
// files, and takes the place of a built-in one while the extension is loaded. Its fields are in LayerParams, its
// weights in `blobs`; tensors of rank 4 are [n, c, h, w], also those of TensorFlow. With OpenCV itself, opencv.hpp runs
// subclasses of the real cv::dnn::Layer.
//
// Differences from OpenCV: several requests may run at once, each with an instance of its own; contents of outputs and
// internals are undefined at the beginning of `forward`, as in OpenCV; errors are thrown, as any exception.
#pragma once

#include <cstring>
#include <map>

#include "extension.hpp"
#include "layer_ops.hpp"

#ifndef CV_OVERRIDE
#define CV_OVERRIDE override
#define CV_FINAL final
#endif

namespace [[gnu::visibility("hidden")]] graft {

// Visible, so that the classes of users that derive from Layer need no attribute.
namespace [[gnu::visibility("default")]] opencv {

using String = std::string;
template <class T>
using Ptr = std::shared_ptr<T>;
template <class T, class... Args>
Ptr<T> makePtr(Args&&... args) {
  return std::make_shared<T>(std::forward<Args>(args)...);
}

// The depths of OpenCV; matrices have one channel.
enum Depth { CV_8U, CV_8S, CV_16U, CV_16S, CV_32S, CV_32F, CV_64F, CV_16F };

// A dense matrix of any number of dimensions over memory that it does not own, or that copies share.
class Mat {
 public:
  struct Sizes {
    std::vector<int> values;
    int operator[](int axis) const { return values.at(static_cast<size_t>(axis)); }
  };
  Mat() = default;
  Mat(std::vector<int> dims, int depth, void* memory)
      : dims(static_cast<int>(dims.size())),
        size{std::move(dims)},
        data(static_cast<unsigned char*>(memory)),
        depth_(depth) {}

  int dims = 0;
  Sizes size;
  unsigned char* data = nullptr;

  int type() const { return depth_; }
  int depth() const { return depth_; }
  bool empty() const { return total() == 0; }
  bool isContinuous() const { return true; }
  size_t elemSize() const {
    return depth_ <= CV_8S ? 1 : depth_ <= CV_16S || depth_ == CV_16F ? 2 : depth_ == CV_64F ? 8 : 4;
  }
  size_t total() const { return total(0); }
  // The number of elements from this axis on.
  size_t total(int first) const {
    size_t n = dims > 0 ? 1 : 0;
    for (int i = first; i < dims; ++i) n *= static_cast<size_t>(size[i]);
    return n;
  }
  // The element with these leading indices; the remaining ones are 0.
  template <class T = unsigned char, class... Index>
  T* ptr(Index... index) const {
    size_t at = 0;
    int axis = 0;
    ((at += static_cast<size_t>(index) * total(++axis)), ...);
    return reinterpret_cast<T*>(data) + at;
  }
  template <class T, class... Index>
  T& at(Index... index) const {
    return *ptr<T>(index...);
  }
  Mat clone() const {
    Mat copy = *this;
    copy.memory_ = std::make_shared<std::vector<unsigned char>>(data, data + total() * elemSize());
    copy.data = copy.memory_->data();
    return copy;
  }
  void copyTo(Mat& to) const {
    if (to.total() * to.elemSize() != total() * elemSize()) fail("copyTo: the matrices differ in size");
    std::memcpy(to.data, data, total() * elemSize());
  }

 private:
  int depth_ = CV_32F;
  std::shared_ptr<std::vector<unsigned char>> memory_;
};

class MatArray {
 public:
  explicit MatArray(std::vector<Mat>& all) : all_(&all) {}
  // The matrices share their memory: writing to their elements is writing to the outputs.
  void getMatVector(std::vector<Mat>& to) const { to = *all_; }
  Mat getMat(int i) const { return all_->at(static_cast<size_t>(i)); }
  size_t total() const { return all_->size(); }

 private:
  std::vector<Mat>* all_;
};
using InputArrayOfArrays = const MatArray&;
using OutputArrayOfArrays = const MatArray&;

namespace dnn {

using MatShape = std::vector<int>;
inline MatShape shape(const Mat& m) { return m.size.values; }
inline int total(const MatShape& s, int begin = 0) {
  int n = 1;
  for (size_t i = static_cast<size_t>(begin); i < s.size(); ++i) n *= s[i];
  return n;
}

// One or more integers, numbers or strings; they convert as OpenCV's do.
class DictValue {
 public:
  DictValue(std::vector<int64_t> v) : ints_(std::move(v)) {}
  DictValue(std::vector<double> v) : reals_(std::move(v)) {}
  DictValue(std::vector<std::string> v) : texts_(std::move(v)) {}

  bool isInt() const { return !ints_.empty(); }
  bool isReal() const { return !reals_.empty() || isInt(); }
  bool isString() const { return !texts_.empty(); }
  int size() const { return static_cast<int>(ints_.size() + reals_.size() + texts_.size()); }
  // Element `i`; -1: the only one.
  template <class T>
  T get(int i = -1) const {
    if (i < 0 && size() != 1) fail("expected a single value, got ", size());
    auto at = static_cast<size_t>(std::max(i, 0));
    if (at >= static_cast<size_t>(size())) fail("there is no element ", i, ": the value has ", size());
    if constexpr (std::is_same_v<T, std::string>) {
      if (!isString()) fail("expected a string, got a number");
      return texts_[at];
    } else if constexpr (std::is_same_v<T, bool>) return get<int64_t>(i) != 0;
    else if constexpr (std::is_integral_v<T>) {
      if (isString()) return narrow<T>(std::strtoll(texts_[at].c_str(), nullptr, 10));
      return narrow<T>(isInt() ? ints_[at] : whole_number(reals_[at]));
    } else {
      if (isString()) return static_cast<T>(std::strtod(texts_[at].c_str(), nullptr));
      return isInt() ? static_cast<T>(ints_[at]) : static_cast<T>(reals_[at]);
    }
  }
  int getIntValue(int i = -1) const { return get<int>(i); }
  double getRealValue(int i = -1) const { return get<double>(i); }
  std::string getStringValue(int i = -1) const { return get<std::string>(i); }

 private:
  std::vector<int64_t> ints_;
  std::vector<double> reals_;
  std::vector<std::string> texts_;
};

class Dict {
 public:
  bool has(const std::string& key) const { return values_.count(key) > 0; }
  const DictValue& get(const std::string& key) const {
    auto it = values_.find(key);
    if (it == values_.end()) fail("required parameter '", key, "' is missing");
    return it->second;
  }
  template <class T>
  T get(const std::string& key) const {
    try {
      return get(key).get<T>();
    } catch (Failure& f) {
      if (has(key)) f.message = text("parameter '", key, "': ", f.message);
      throw;
    }
  }
  template <class T>
  T get(const std::string& key, const T& fallback) const {
    return has(key) ? get<T>(key) : fallback;
  }
  template <class T>
  void set(const std::string& key, const std::vector<T>& values) {
    values_.insert_or_assign(key, DictValue(values));
  }
  void set(const std::string& key, int64_t v) { set(key, std::vector<int64_t>{v}); }
  void set(const std::string& key, double v) { set(key, std::vector<double>{v}); }
  void set(const std::string& key, const std::string& v) { set(key, std::vector<std::string>{v}); }
  void erase(const std::string& key) { values_.erase(key); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::map<std::string, DictValue> values_;
};

class LayerParams : public Dict {
 public:
  std::vector<Mat> blobs;  // weights
  String name, type;
};

class Layer {
 public:
  Layer() = default;
  explicit Layer(const LayerParams& p) : blobs(p.blobs), name(p.name), type(p.type) {}
  virtual ~Layer() = default;

  // Output shapes, at least `requiredOutputs`, and shapes of temporary matrices. True if it can work in place, which
  // OpenCV makes use of and Graft does not. By default every output has the shape of input 0.
  virtual bool getMemoryShapes(const std::vector<MatShape>& inputs, int requiredOutputs, std::vector<MatShape>& outputs,
                               std::vector<MatShape>&) const {
    if (inputs.empty()) fail("getMemoryShapes is required for a layer without inputs");
    outputs.assign(std::max(static_cast<size_t>(requiredOutputs), inputs.size()), inputs[0]);
    return false;
  }
  // Before the first `forward` with these shapes.
  virtual void finalize(InputArrayOfArrays, OutputArrayOfArrays) {}
  virtual void forward(InputArrayOfArrays inputs, OutputArrayOfArrays outputs, OutputArrayOfArrays internals) = 0;

  std::vector<Mat> blobs;
  String name, type;
};

}  // namespace dnn

// How the shared machinery (layer_ops.hpp) handles the types above.
struct Api {
  using Layer = dnn::Layer;
  using Params = dnn::LayerParams;
  using Mat = opencv::Mat;
  using Shape = dnn::MatShape;
  using Pointer = Ptr<Layer>;

  static void point(const Shape& dims, int depth, const void* memory, Mat& to) {
    // The matrix of an earlier call has these dimensions already.
    if (to.depth() != depth || to.size.values != dims) to = Mat(dims, depth, nullptr);
    to.data = static_cast<unsigned char*>(const_cast<void*>(memory));
  }
  static const void* data(const Mat& m) { return m.data; }
  template <class T>
  static void set(Params& params, const std::string& key, const std::vector<T>& values, bool) {
    params.set(key, values);
  }
  static void finalize(Layer& layer, std::vector<Mat>& inputs, std::vector<Mat>& outputs) {
    layer.finalize(MatArray(inputs), MatArray(outputs));
  }
  static void forward(Layer& layer, std::vector<Mat>& inputs, std::vector<Mat>& outputs, std::vector<Mat>& internals) {
    layer.forward(MatArray(inputs), MatArray(outputs), MatArray(internals));
  }
};

}  // namespace opencv

// The definitions for a layer type. `type` is a literal; for ONNX it may begin with a domain: "acme.Interp".
template <class L>
Definitions layer(std::string_view type) {
  return detail::LayerOp<opencv::Api>::define(
      type, [](opencv::dnn::LayerParams& p) -> opencv::Ptr<opencv::dnn::Layer> { return L::create(p); });
}

}  // namespace graft

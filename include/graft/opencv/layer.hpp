// The base class of layers, and their registration, with the names of OpenCV. Included by layer.hpp.
#pragma once

#include <mutex>

#include "params.hpp"

namespace graft {
namespace [[gnu::visibility("default")]] opencv {
namespace dnn {

using MatShape = std::vector<int>;

enum Backend {
  DNN_BACKEND_DEFAULT,
  DNN_BACKEND_HALIDE,
  DNN_BACKEND_INFERENCE_ENGINE,
  DNN_BACKEND_OPENCV,
  DNN_BACKEND_VKCOM,
  DNN_BACKEND_CUDA
};
enum Target {
  DNN_TARGET_CPU,
  DNN_TARGET_OPENCL,
  DNN_TARGET_OPENCL_FP16,
  DNN_TARGET_MYRIAD,
  DNN_TARGET_VULKAN,
  DNN_TARGET_FPGA
};

class ActivationLayer;

class Layer {
 public:
  Layer() = default;
  explicit Layer(const LayerParams& p) { setParamsFrom(p); }
  virtual ~Layer() = default;
  void setParamsFrom(const LayerParams& p) { blobs = p.blobs, name = p.name, type = p.type; }

  // Output shapes, at least `requiredOutputs`, and shapes of temporary matrices. True if it can work in place, which
  // OpenCV makes use of and Graft does not. By default every output has the shape of input 0.
  virtual bool getMemoryShapes(const std::vector<MatShape>& inputs, const int requiredOutputs,
                               std::vector<MatShape>& outputs, std::vector<MatShape>&) const {
    if (inputs.empty()) fail("getMemoryShapes is required for a layer without inputs");
    outputs.assign(std::max(static_cast<size_t>(requiredOutputs), inputs.size()), inputs[0]);
    return false;
  }
  // Before the first `forward` with these shapes. A layer overrides one of the two forms: that of 4.x ...
  virtual void finalize(InputArrayOfArrays, OutputArrayOfArrays) {}
  virtual void forward(InputArrayOfArrays, OutputArrayOfArrays, OutputArrayOfArrays) {
    fail("the layer class does not implement forward");
  }
  // ... or that of 3.4, which Graft calls; it goes first if a class has both.
  virtual void finalize(const std::vector<Mat*>& inputs, std::vector<Mat>& outputs) {
    finalize(InputArrays(inputs), OutputArrays(outputs));
  }
  virtual void forward(std::vector<Mat*>& inputs, std::vector<Mat>& outputs, std::vector<Mat>& internals) {
    if (falling_back_) fail("the layer class calls forward_fallback, and does not implement forward for std::vector");
    forward(InputArrays(inputs), OutputArrays(outputs), OutputArrays(internals));
  }
  // Calls `forward` with matrices of f32 for those of half precision, which OpenCV marks as CV_16S on its target
  // DNN_TARGET_OPENCL_FP16; others reach the form for std::vector. Graft itself passes f16 as f32.
  void forward_fallback(InputArrayOfArrays inputs_arr, OutputArrayOfArrays outputs_arr,
                        OutputArrayOfArrays internals_arr) {
    std::vector<Mat> inputs, outputs, internals;
    inputs_arr.getMatVector(inputs);
    outputs_arr.getMatVector(outputs);
    internals_arr.getMatVector(internals);
    bool marked = preferableTarget == DNN_TARGET_OPENCL_FP16;
    auto is_half = [&](const Mat& m) { return m.depth() == 7 || (marked && m.depth() == 3); };
    if (!inputs.empty() && is_half(inputs[0])) return forward_as_f32(inputs, outputs, internals);
    std::vector<Mat*> pointers;
    for (Mat& m : inputs) pointers.push_back(&m);
    falling_back_ = true;
    struct Reset {
      bool& flag;
      ~Reset() { flag = false; }
    } reset{falling_back_};
    forward(pointers, outputs, internals);
  }

  // What a layer may override for OpenCV's own backends and fusions. Graft calls none of these.
  virtual bool supportBackend(int backendId) { return backendId == DNN_BACKEND_OPENCV; }
  virtual int64_t getFLOPS(const std::vector<MatShape>&, const std::vector<MatShape>&) const { return 0; }
  virtual bool setActivation(const Ptr<ActivationLayer>&) { return false; }
  virtual bool tryFuse(Ptr<Layer>&) { return false; }
  virtual void getScaleShift(Mat& scale, Mat& shift) const { scale = Mat(), shift = Mat(); }
  virtual void unsetAttached() {}
  virtual bool updateMemoryShapes(const std::vector<MatShape>&) { return true; }
  virtual int inputNameToIndex(String) { return -1; }
  virtual int outputNameToIndex(const String&) { return 0; }

  std::vector<Mat> blobs;
  String name, type;
  int preferableTarget = DNN_TARGET_CPU;

 private:
  void forward_as_f32(const std::vector<Mat>& inputs, std::vector<Mat>& outputs, std::vector<Mat>& internals) {
    auto in_f32 = [](const std::vector<Mat>& all) {
      std::vector<Mat> out(all.size());
      for (size_t i = 0; i < all.size(); ++i) {
        Mat half = all[i].depth() == 3 ? Mat(all[i].size.values(), 7, all[i].data) : all[i];
        half.convertTo(out[i], 5);
      }
      return out;
    };
    std::vector<Mat> x = in_f32(inputs), y = in_f32(outputs), t = in_f32(internals);
    forward(InputArrays(x), OutputArrays(y), OutputArrays(t));
    for (size_t i = 0; i < y.size(); ++i) {
      Mat half(outputs[i].size.values(), 7, outputs[i].data);
      y[i].convertTo(half, 7);
    }
  }
  bool falling_back_ = false;
};

class ActivationLayer : public Layer {};

// ---- registration ----

// Constructors of layers by type; the one that was registered last is used until it is unregistered. Of this program or
// library alone: Net (opencv/net.hpp) uses those of the program, an extension offers those of the library.
class LayerFactory {
 public:
  using Constructor = Ptr<Layer> (*)(LayerParams&);

  static void registerLayer(const String& type, Constructor constructor) {
    std::lock_guard lock(state().mutex);
    std::vector<Constructor>& stack = state().types[type];
    if (!stack.empty() && stack.back() == constructor)
      error(Error::StsBadArg, "the layer type \"" + type + "\" is already registered with this constructor",
            "registerLayer", __FILE__, __LINE__);
    stack.push_back(constructor);
  }
  static void unregisterLayer(const String& type) {
    std::lock_guard lock(state().mutex);
    auto it = state().types.find(type);
    if (it == state().types.end()) return;
    it->second.pop_back();
    if (it->second.empty()) state().types.erase(it);
  }
  static bool isLayerRegistered(const String& type) {
    std::lock_guard lock(state().mutex);
    return state().types.count(type) > 0;
  }
  // Null: the type is not registered.
  static Ptr<Layer> createLayerInstance(const String& type, LayerParams& params) {
    Constructor constructor = nullptr;
    {
      std::lock_guard lock(state().mutex);
      if (auto it = state().types.find(type); it != state().types.end()) constructor = it->second.back();
    }
    return constructor ? constructor(params) : nullptr;
  }
  // Types with their current constructors. The names stay valid.
  static std::vector<std::pair<std::string_view, Constructor>> registered() {
    std::lock_guard lock(state().mutex);
    std::vector<std::pair<std::string_view, Constructor>> out;
    for (const auto& [type, stack] : state().types)
      out.emplace_back(state().names.try_emplace(type, type).first->second, stack.back());
    return out;
  }

 private:
  struct State {
    std::mutex mutex;
    std::map<std::string, std::vector<Constructor>> types;
    std::map<std::string, std::string> names;
  };
  // Never destroyed: static registrations are undone when the process ends.
  [[gnu::visibility("hidden")]] static State& state() {
    static auto* s = new State;
    return *s;
  }
};

template <class L>
Ptr<Layer> created(LayerParams& params) {
  return L::create(params);
}
template <class L>
Ptr<Layer> constructed(LayerParams& params) {
  return Ptr<Layer>(new L(params));
}

// Registered as long as the object exists.
class LayerRegistration {
 public:
  LayerRegistration(const String& type, LayerFactory::Constructor constructor) : type_(type) {
    LayerFactory::registerLayer(type, constructor);
  }
  ~LayerRegistration() { LayerFactory::unregisterLayer(type_); }
  LayerRegistration(const LayerRegistration&) = delete;

 private:
  String type_;
};

// ---- shapes (shape_utils.hpp) ----

inline MatShape shape(const Mat& m) { return m.size.values(); }
inline MatShape shape(const MatSize& s) { return s.values(); }
inline MatShape shape(const int* dims, int n) { return {dims, dims + n}; }
template <class... Dims>
requires(std::is_integral_v<Dims>&&...) MatShape shape(int first, Dims... rest) {
  return {first, static_cast<int>(rest)...};
}
inline int total(const MatShape& s, int begin = 0, int end = -1) {
  int n = 1;
  for (size_t i = static_cast<size_t>(begin); i < (end < 0 ? s.size() : static_cast<size_t>(end)); ++i) n *= s.at(i);
  return n;
}
inline MatShape concat(const MatShape& a, const MatShape& b) {
  MatShape out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}
// The matrix of image n and channel c.
inline Mat getPlane(const Mat& m, int n, int c) {
  if (m.dims < 3) fail("getPlane: expected at least 3 dimensions, got ", m.dims);
  std::vector<int> dims = m.size.values();
  dims.erase(dims.begin(), dims.begin() + 2);
  size_t at = (static_cast<size_t>(n) * static_cast<size_t>(m.size[1]) + static_cast<size_t>(c)) * m.total(2);
  return {dims, m.type(), m.data + at * m.elemSize()};
}
inline int normalize_axis(int axis, int dims) {
  if (axis < -dims || axis >= dims) fail("expected an axis from ", -dims, " to ", dims - 1, ", got ", axis);
  return axis < 0 ? axis + dims : axis;
}
inline int normalize_axis(int axis, const MatShape& s) { return normalize_axis(axis, static_cast<int>(s.size())); }
inline int clamp(int axis, int dims) { return normalize_axis(axis, dims); }
inline int clamp(int axis, const MatShape& s) { return normalize_axis(axis, s); }

}  // namespace dnn
}  // namespace opencv
}  // namespace graft

// Networks with the names of OpenCV, for programs that were written for it: <opencv2/dnn.hpp> of the folder `adapters`
// includes this file. Programs link Graft's library; extensions that do not use Net link nothing.
//
//   CV_DNN_REGISTER_LAYER_CLASS(Interp, InterpLayer);
//   cv::dnn::Net net = cv::dnn::readNet("net.prototxt", "net.caffemodel");
//   net.setInput(blob);                    // [n, c, h, w], also for TensorFlow
//   cv::Mat out = net.forward();           // of the last output, or of the layer that is named
//
// A network keeps the layers that were registered when it was read. Errors are thrown as cv::Exception with Graft's
// report. New programs use toolkit.hpp.
#pragma once

#include <map>
#include <optional>

#include "../layer.hpp"
#include "../toolkit.hpp"

namespace graft {
namespace [[gnu::visibility("default")]] opencv {
namespace dnn {

namespace detail {

template <class F>
auto as_exception(F&& f) {
  try {
    return f();
  } catch (const Exception&) {
    throw;
  } catch (const graft::Error& e) {
    throw Exception(Error::StsError, e.report(), "Net", "", 0);
  } catch (const Failure& e) {
    throw Exception(Error::StsError, e.message, "Net", "", 0);
  }
}

inline DType element_type(const Mat& m) {
  constexpr DType types[] = {DType::u8,  DType::i8,  DType::u16, DType::i16,
                             DType::i32, DType::f32, DType::f64, DType::f16};
  if (m.channels() != 1) fail("expected a blob with one channel per element, got ", m.channels());
  return types[m.depth()];
}

// The axes of images in another order: [n, h, w, c] from [n, c, h, w], or back.
inline Tensor transposed(const Tensor& t, bool to_channels_last) {
  const std::vector<int64_t>& d = t.dims();
  int64_t c = to_channels_last ? d[1] : d[3], plane = to_channels_last ? d[2] * d[3] : d[1] * d[2];
  std::vector<int64_t> dims =
      to_channels_last ? std::vector<int64_t>{d[0], d[2], d[3], d[1]} : std::vector<int64_t>{d[0], d[3], d[1], d[2]};
  Tensor out(t.type(), dims);
  size_t bytes = static_cast<size_t>(bits_of(t.type())) / 8;
  const auto* from = static_cast<const unsigned char*>(t.data());
  auto* to = static_cast<unsigned char*>(out.data());
  int64_t inner = to_channels_last ? c : plane, outer = to_channels_last ? plane : c;
  for (int64_t n = 0; n < d[0]; ++n)
    for (int64_t i = 0; i < outer; ++i)
      for (int64_t k = 0; k < inner; ++k)
        std::memcpy(to + static_cast<size_t>((n * outer + i) * inner + k) * bytes,
                    from + static_cast<size_t>((n * inner + k) * outer + i) * bytes, bytes);
  return out;
}

}  // namespace detail

class Net {
 public:
  Net() = default;
  bool empty() const { return !s_; }

  // For the input of this name, or the first one: (blob - mean) * scalefactor.
  void setInput(InputArray blob, const String& name = "", double scalefactor = 1, const Scalar& mean = Scalar()) {
    detail::as_exception([&] {
      std::vector<Port> ports = state().model.inputs();
      size_t at = name.empty() ? 0 : find_port(ports, name, "input");
      Mat m = blob.getMat().clone();
      bool shifted = scalefactor != 1 || mean[0] != 0 || mean[1] != 0 || mean[2] != 0 || mean[3] != 0;
      if (shifted) m = normalized(m, scalefactor, mean);
      if (at >= ports.size()) fail("the network has no inputs");
      std::vector<int> d = m.size.values();
      std::vector<int64_t> dims(d.begin(), d.end());
      Tensor t = Tensor::wrap(detail::element_type(m), dims, m.data, std::make_shared<Mat>(m));
      // Mat has two dimensions at least, the second of a vector being 1.
      const Shape& wanted = ports[at].shape;
      if (dims.size() == 2 && dims[1] == 1 && wanted.ranked() && wanted.rank() == 1) t = t.reshaped({dims[0]});
      if (is_image(t.dims().size())) t = detail::transposed(t, true);
      state().inputs[at] = t.to(ports[at].type);
    });
  }
  // The output of a layer; without a name, the last output of the network.
  Mat forward(const String& outputName = "") {
    std::vector<Mat> out = run({outputName});
    return out[0];
  }
  void forward(OutputArrayOfArrays outputs, const String& outputName = "") { outputs.assign(run({outputName})); }
  void forward(OutputArrayOfArrays outputs, const std::vector<String>& names) { outputs.assign(run(names)); }

  std::vector<String> getLayerNames() const {
    return detail::as_exception([&] {
      std::vector<String> out;
      for (const Claim& c : state().model.report().claims) out.push_back(c.layer);
      if (!out.empty()) return out;
      for (const auto& layer : state().core.query_model(state().model).layers) out.push_back(layer.layer);  // of an IR
      return out;
    });
  }
  // By the names of the tensors, where they differ from those of the layers.
  std::vector<String> getUnconnectedOutLayersNames() const {
    return detail::as_exception([&] {
      std::vector<String> out;
      for (const Port& p : state().own_outputs) out.push_back(p.any_name());
      return out;
    });
  }
  // Graft is the only backend: the default and OpenCV's names of it are accepted.
  void setPreferableBackend(int backend) {
    if (backend != DNN_BACKEND_DEFAULT && backend != DNN_BACKEND_OPENCV && backend != DNN_BACKEND_INFERENCE_ENGINE)
      error(Error::StsNotImplemented, format("there is no backend %d here", backend), "setPreferableBackend", "", 0);
  }
  // CPU; OPENCL, with half precision or without, is Graft's device GPU, MYRIAD its VPU.
  void setPreferableTarget(int target) {
    std::string device = target == DNN_TARGET_CPU                                          ? "CPU"
                         : target == DNN_TARGET_OPENCL || target == DNN_TARGET_OPENCL_FP16 ? "GPU"
                         : target == DNN_TARGET_MYRIAD                                     ? "VPU"
                                                                                           : "";
    if (device.empty())
      error(Error::StsNotImplemented, format("there is no target %d here", target), "setPreferableTarget", "", 0);
    if (state().device != device) state().device = device, state().request.reset();
  }

  // Used by readNet.
  explicit Net(const std::vector<String>& files) {
    detail::as_exception([&] {
      Core core;
      if (!LayerFactory::registered().empty())
        core.add_extension(definitions("opencv", "1.0", [] { return registered_layers(); }));
      Model model = core.read_model(files);
      require_layers(model);
      model.require_complete();
      s_ = std::make_shared<State>(State{core, model, model.outputs(), "CPU", {}, {}});
    });
  }

 private:
  struct State {
    Core core;
    Model model;
    std::vector<Port> own_outputs;
    std::string device;
    std::map<size_t, Tensor> inputs;
    std::optional<InferRequest> request;  // none: to be compiled
  };
  State& state() const {
    if (!s_) error(Error::StsError, "the network is empty: read it with readNet", "Net", "", 0);
    return *s_;
  }
  // With the words of OpenCV, which names the first unknown layer, before the report, which has all of them.
  static void require_layers(const Model& model) {
    const Report report = model.report();
    if (report.unknown.empty() || report.unknown[0].layers.empty()) return;
    error(Error::StsError,
          "Unspecified error: Can't create layer \"" + report.unknown[0].layers[0].name + "\" of type \"" +
              report.unknown[0].type + "\" in function getLayerInstance\n" + report.to_text(),
          "getLayerInstance", "", 0);
  }
  // OpenCV has images as [n, c, h, w] whatever the framework.
  bool is_image(size_t rank) const { return rank == 4 && state().model.framework() == "tensorflow"; }

  static Mat normalized(const Mat& m, double factor, const Scalar& mean) {
    Mat out;
    m.convertTo(out, 5);
    size_t channels = m.dims > 1 ? static_cast<size_t>(m.size[1]) : 1, plane = m.total(2);
    for (size_t i = 0; i < out.total(); ++i) {
      size_t channel = i / plane % channels;
      if (channels > 4 && (mean[0] != 0 || mean[1] != 0)) fail("a mean is for at most 4 channels, got ", channels);
      float& v = out.ptr<float>()[i];
      v = static_cast<float>((static_cast<double>(v) - mean[static_cast<int>(channel % 4)]) * factor);
    }
    return out;
  }

  std::vector<Mat> run(const std::vector<String>& names) {
    return detail::as_exception([&] {
      State& s = state();
      std::vector<Port> ports = s.model.inputs();
      std::map<std::string, Shape> shapes;
      for (const auto& [at, t] : s.inputs)
        if (!ports[at].takes(t.dims())) shapes[ports[at].any_name()] = Shape::of(t.dims());
      if (!shapes.empty()) s.model.reshape(shapes), s.request.reset();
      std::vector<size_t> wanted;
      for (const String& name : names) {
        size_t before = s.model.outputs().size();
        wanted.push_back(name.empty() ? s.own_outputs.size() - 1 : s.model.add_output(name));
        if (s.model.outputs().size() != before) s.request.reset();
      }
      if (!s.request) s.request = s.core.compile_model(s.model, s.device).create_infer_request();
      for (size_t i = 0; i < ports.size(); ++i) {
        auto it = s.inputs.find(i);
        if (it == s.inputs.end()) fail("the input '", ports[i].any_name(), "' is not set: call setInput");
        s.request->set_input_tensor(i, it->second);
      }
      s.request->infer();
      std::vector<Mat> out;
      for (size_t i : wanted) out.push_back(matrix(s.request->get_output_tensor(i)));
      return out;
    });
  }
  // A copy, since the next run changes the tensor.
  Mat matrix(const Tensor& t) const {
    Tensor u = is_image(t.dims().size()) ? detail::transposed(t, false) : t;
    std::optional<int> depth = graft::detail::matrix_depth(u.type());
    if (!depth) u = u.to(is_real(u.type()) ? DType::f32 : DType::i32), depth = graft::detail::matrix_depth(u.type());
    return Mat(graft::detail::matrix_shape(u.dims()), *depth, u.data()).clone();
  }
  std::shared_ptr<State> s_;
};

// The files of a network, in any order; the format is recognized by their content, so that `framework` need not be
// given.
inline Net readNet(const String& model, const String& config = "", const String& framework = "") {
  (void)framework;
  return Net(config.empty() ? std::vector<String>{model} : std::vector<String>{model, config});
}
inline Net readNetFromCaffe(const String& prototxt, const String& model = "") { return readNet(prototxt, model); }
// OpenCV's text files for TensorFlow networks are not needed; a network has one file.
inline Net readNetFromTensorflow(const String& model) { return readNet(model); }
inline Net readNetFromONNX(const String& model) { return readNet(model); }
inline Net readNetFromModelOptimizer(const String& xml, const String& bin = "") { return readNet(xml, bin); }

}  // namespace dnn
}  // namespace opencv
}  // namespace graft

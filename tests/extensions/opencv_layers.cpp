// Layers as a reader of OpenCV's tutorials writes them, compiled without OpenCV. Cases are in opencv_layers.test.
#include <algorithm>
#include <cmath>
#include <graft/layer.hpp>

namespace cv = graft::opencv;

// Resizes so that the corners of both images coincide, as in DeepLab's Caffe.
class InterpLayer : public cv::dnn::Layer {
 public:
  InterpLayer(const cv::dnn::LayerParams& params) : Layer(params) {
    outWidth = params.get<int>("width", 0);
    outHeight = params.get<int>("height", 0);
    zoom = params.get<int>("zoom_factor", 0);
  }
  static cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& params) { return cv::makePtr<InterpLayer>(params); }

  bool getMemoryShapes(const std::vector<cv::dnn::MatShape>& inputs, const int /*requiredOutputs*/,
                       std::vector<cv::dnn::MatShape>& outputs,
                       std::vector<cv::dnn::MatShape>& /*internals*/) const CV_OVERRIDE {
    std::vector<int> out{inputs[0][0], inputs[0][1], outHeight, outWidth};
    if (zoom > 0)
      for (size_t i : {2, 3}) out[i] = inputs[0][i] + (inputs[0][i] - 1) * (zoom - 1);
    outputs.assign(1, out);
    return false;
  }

  void forward(cv::InputArrayOfArrays inputs_arr, cv::OutputArrayOfArrays outputs_arr,
               cv::OutputArrayOfArrays /*internals_arr*/) CV_OVERRIDE {
    std::vector<cv::Mat> inputs, outputs;
    inputs_arr.getMatVector(inputs);
    outputs_arr.getMatVector(outputs);
    const cv::Mat &inp = inputs[0], &out = outputs[0];
    const int height = inp.size[2], width = inp.size[3], rows = out.size[2], columns = out.size[3];
    const float down = rows > 1 ? static_cast<float>(height - 1) / static_cast<float>(rows - 1) : 0;
    const float across = columns > 1 ? static_cast<float>(width - 1) / static_cast<float>(columns - 1) : 0;
    for (int n = 0; n < inp.size[0]; ++n)
      for (int c = 0; c < inp.size[1]; ++c)
        for (int i = 0; i < rows; ++i)
          for (int j = 0; j < columns; ++j) {
            float y = down * static_cast<float>(i), x = across * static_cast<float>(j);
            int y0 = static_cast<int>(y), x0 = static_cast<int>(x);
            int y1 = std::min(y0 + 1, height - 1), x1 = std::min(x0 + 1, width - 1);
            float fy = y - static_cast<float>(y0), fx = x - static_cast<float>(x0);
            const float *top = inp.ptr<float>(n, c, y0), *bottom = inp.ptr<float>(n, c, y1);
            *out.ptr<float>(n, c, i, j) =
                (1 - fy) * ((1 - fx) * top[x0] + fx * top[x1]) + fy * ((1 - fx) * bottom[x0] + fx * bottom[x1]);
          }
  }

 private:
  int outWidth, outHeight, zoom;
};

// Takes the size from its blobs, as it comes from a TensorFlow graph; uses a temporary matrix.
class ResizeBilinearLayer CV_FINAL : public cv::dnn::Layer {
 public:
  ResizeBilinearLayer(const cv::dnn::LayerParams& params) : Layer(params) {
    if (params.get<bool>("align_corners", false)) graft::fail("align_corners is not supported");
    if (blobs.size() != 1 || blobs[0].type() != cv::CV_32S || blobs[0].total() != 2)
      graft::fail("expected one blob with height and width");
    outHeight = blobs[0].at<int>(0);
    outWidth = blobs[0].at<int>(1);
  }
  static cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& params) {
    return cv::makePtr<ResizeBilinearLayer>(params);
  }

  bool getMemoryShapes(const std::vector<cv::dnn::MatShape>& inputs, const int, std::vector<cv::dnn::MatShape>& outputs,
                       std::vector<cv::dnn::MatShape>& internals) const CV_OVERRIDE {
    outputs = {{inputs[0][0], inputs[0][1], outHeight, outWidth}};
    internals = {{inputs[0][2], outWidth}};
    return false;
  }
  void finalize(cv::InputArrayOfArrays inputs_arr, cv::OutputArrayOfArrays) CV_OVERRIDE {
    std::vector<cv::Mat> inputs;
    inputs_arr.getMatVector(inputs);
    height = inputs[0].size[2], width = inputs[0].size[3];
  }
  void forward(cv::InputArrayOfArrays inputs_arr, cv::OutputArrayOfArrays outputs_arr,
               cv::OutputArrayOfArrays internals_arr) CV_OVERRIDE {
    std::vector<cv::Mat> inputs, outputs, internals;
    inputs_arr.getMatVector(inputs);
    outputs_arr.getMatVector(outputs);
    internals_arr.getMatVector(internals);
    float* rows = internals[0].ptr<float>();
    // `from` groups of `count` numbers become `to` groups.
    auto mix = [](const float* in, int from, int to, int count, float* out) {
      for (int i = 0; i < to; ++i) {
        float at = static_cast<float>(i) * static_cast<float>(from) / static_cast<float>(to);
        int first = static_cast<int>(at), second = std::min(first + 1, from - 1);
        float share = at - static_cast<float>(first);
        for (int k = 0; k < count; ++k)
          out[i * count + k] = (1 - share) * in[first * count + k] + share * in[second * count + k];
      }
    };
    for (int n = 0; n < inputs[0].size[0]; ++n)
      for (int c = 0; c < inputs[0].size[1]; ++c) {
        for (int y = 0; y < height; ++y) mix(inputs[0].ptr<float>(n, c, y), width, outWidth, 1, rows + y * outWidth);
        mix(rows, height, outHeight, outWidth, outputs[0].ptr<float>(n, c));
      }
  }

 private:
  int outHeight = 0, outWidth = 0, height = 0, width = 0;
};

// Every kind of parameter, weights of Caffe, two outputs.
class TellLayer : public cv::dnn::Layer {
 public:
  TellLayer(const cv::dnn::LayerParams& p) : Layer(p) {
    scale = p.get<float>("scale");
    flag = p.get<bool>("flag", false);
    word = p.get<cv::String>("word", "none");
    const cv::dnn::DictValue& list = p.get("list");
    for (int i = 0; i < list.size(); ++i) sum += list.get<int>(i);
  }
  static cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& p) { return cv::makePtr<TellLayer>(p); }
  bool getMemoryShapes(const std::vector<cv::dnn::MatShape>& inputs, int required,
                       std::vector<cv::dnn::MatShape>& outputs,
                       std::vector<cv::dnn::MatShape>& internals) const override {
    if (word == "short") return false;  // no output shape
    return Layer::getMemoryShapes(inputs, required, outputs, internals);
  }
  void forward(cv::InputArrayOfArrays in, cv::OutputArrayOfArrays out, cv::OutputArrayOfArrays) override {
    cv::Mat x = in.getMat(0), a = out.getMat(0), b = out.getMat(1);
    if (word == "throw") throw std::runtime_error("the layer gave up");
    for (size_t i = 0; i < x.total(); ++i) {
      a.ptr<float>()[i] = x.ptr<float>()[i] * scale * (flag ? -1.0f : 1.0f);
      b.ptr<float>()[i] = static_cast<float>(sum) + blobs.at(0).ptr<float>()[i];
    }
  }

 private:
  float scale = 1;
  bool flag = false;
  cv::String word;
  int sum = 0;
};

GRAFT_EXTENSION("opencv_layers", "1.0") {
  return {graft::layer<InterpLayer>("Interp"), graft::layer<ResizeBilinearLayer>("ResizeBilinear"),
          graft::layer<TellLayer>("Tell"), graft::layer<InterpLayer>("acme.AcmeInterp")};
}

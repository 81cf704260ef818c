// The three layers of OpenCV's tutorial on custom layers, in OpenCV's form. With OpenCV's headers in place of the first
// lines, the classes compile there as well.
#include <graft/layer.hpp>

namespace cv = graft::opencv;
using cv::dnn::LayerParams;
using cv::dnn::MatShape;

// Bilinear interpolation of one plane. Output (y, x) lies at (y * row_step, x * column_step) of the input.
static void resize_plane(const float* in, int height, int width, float* out, int rows, int columns, float row_step,
                         float column_step) {
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) {
      float at_y = static_cast<float>(y) * row_step, at_x = static_cast<float>(x) * column_step;
      int y0 = static_cast<int>(at_y), y1 = std::min(y0 + 1, height - 1);
      int x0 = static_cast<int>(at_x), x1 = std::min(x0 + 1, width - 1);
      float v = at_y - static_cast<float>(y0), u = at_x - static_cast<float>(x0);
      float top = in[y0 * width + x0] * (1 - u) + in[y0 * width + x1] * u;
      float bottom = in[y1 * width + x0] * (1 - u) + in[y1 * width + x1] * u;
      out[y * columns + x] = top * (1 - v) + bottom * v;
    }
}

// Interp of Caffe: the size is a parameter, corners are aligned.
class InterpLayer : public cv::dnn::Layer {
 public:
  InterpLayer(const LayerParams& params)
      : Layer(params), height(params.get<int>("height", 0)), width(params.get<int>("width", 0)) {}
  static cv::Ptr<cv::dnn::Layer> create(LayerParams& params) { return cv::makePtr<InterpLayer>(params); }

  bool getMemoryShapes(const std::vector<MatShape>& inputs, const int, std::vector<MatShape>& outputs,
                       std::vector<MatShape>&) const CV_OVERRIDE {
    outputs.assign(1, MatShape{inputs[0][0], inputs[0][1], height, width});
    return false;
  }
  void forward(cv::InputArrayOfArrays inputs_arr, cv::OutputArrayOfArrays outputs_arr,
               cv::OutputArrayOfArrays) CV_OVERRIDE {
    std::vector<cv::Mat> inputs, outputs;
    inputs_arr.getMatVector(inputs);
    outputs_arr.getMatVector(outputs);
    auto step = [](int in, int out) {
      return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.f;
    };
    int h = inputs[0].size[2], w = inputs[0].size[3];
    for (int n = 0; n < inputs[0].size[0]; ++n)
      for (int c = 0; c < inputs[0].size[1]; ++c)
        resize_plane(inputs[0].ptr<float>(n, c), h, w, outputs[0].ptr<float>(n, c), height, width, step(h, height),
                     step(w, width));
  }

 private:
  int height, width;
};

// ResizeBilinear of TensorFlow: the size is a constant input, hence a blob; the first corners coincide.
class ResizeBilinearLayer : public cv::dnn::Layer {
 public:
  ResizeBilinearLayer(const LayerParams& params) : Layer(params) {
    if (params.get<bool>("align_corners", false)) throw std::runtime_error("align_corners is not supported");
    height = blobs.at(0).at<int>(0), width = blobs.at(0).at<int>(1);
  }
  static cv::Ptr<cv::dnn::Layer> create(LayerParams& params) { return cv::makePtr<ResizeBilinearLayer>(params); }

  bool getMemoryShapes(const std::vector<MatShape>& inputs, const int, std::vector<MatShape>& outputs,
                       std::vector<MatShape>&) const CV_OVERRIDE {
    outputs.assign(1, MatShape{inputs[0][0], inputs[0][1], height, width});
    return false;
  }
  // The sizes are known from here on.
  void finalize(cv::InputArrayOfArrays inputs_arr, cv::OutputArrayOfArrays) CV_OVERRIDE {
    std::vector<cv::Mat> inputs;
    inputs_arr.getMatVector(inputs);
    row_step = static_cast<float>(inputs[0].size[2]) / static_cast<float>(height);
    column_step = static_cast<float>(inputs[0].size[3]) / static_cast<float>(width);
  }
  void forward(cv::InputArrayOfArrays inputs_arr, cv::OutputArrayOfArrays outputs_arr,
               cv::OutputArrayOfArrays) CV_OVERRIDE {
    std::vector<cv::Mat> inputs, outputs;
    inputs_arr.getMatVector(inputs);
    outputs_arr.getMatVector(outputs);
    for (int n = 0; n < inputs[0].size[0]; ++n)
      for (int c = 0; c < inputs[0].size[1]; ++c)
        resize_plane(inputs[0].ptr<float>(n, c), inputs[0].size[2], inputs[0].size[3], outputs[0].ptr<float>(n, c),
                     height, width, row_step, column_step);
  }

 private:
  int height = 0, width = 0;
  float row_step = 1, column_step = 1;
};

// Crop of Caffe, but from the center: the middle of input 0, with the size of input 1.
class CropLayer : public cv::dnn::Layer {
 public:
  CropLayer(const LayerParams& params) : Layer(params) {}
  static cv::Ptr<cv::dnn::Layer> create(LayerParams& params) { return cv::makePtr<CropLayer>(params); }

  bool getMemoryShapes(const std::vector<MatShape>& inputs, const int, std::vector<MatShape>& outputs,
                       std::vector<MatShape>&) const CV_OVERRIDE {
    outputs.assign(1, MatShape{inputs[0][0], inputs[0][1], inputs[1][2], inputs[1][3]});
    return false;
  }
  void forward(cv::InputArrayOfArrays inputs_arr, cv::OutputArrayOfArrays outputs_arr,
               cv::OutputArrayOfArrays) CV_OVERRIDE {
    std::vector<cv::Mat> inputs, outputs;
    inputs_arr.getMatVector(inputs);
    outputs_arr.getMatVector(outputs);
    cv::Mat in = inputs[0], out = outputs[0];
    int top = (in.size[2] - out.size[2]) / 2, left = (in.size[3] - out.size[3]) / 2;
    for (int n = 0; n < out.size[0]; ++n)
      for (int c = 0; c < out.size[1]; ++c)
        for (int y = 0; y < out.size[2]; ++y)
          std::memcpy(out.ptr<float>(n, c, y), in.ptr<float>(n, c, y + top) + left,
                      static_cast<size_t>(out.size[3]) * sizeof(float));
  }
};

GRAFT_EXTENSION("layers", "1.0") {
  graft::Definitions all = graft::layer<InterpLayer>("Interp");
  all += graft::layer<ResizeBilinearLayer>("ResizeBilinear");
  all += graft::layer<CropLayer>("Crop");
  return all;
}

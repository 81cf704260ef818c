// A layer of the real OpenCV, unchanged; built where OpenCV is installed. Cases are in real_opencv.test.
#include <graft/opencv.hpp>

class ScaleAddLayer CV_FINAL : public cv::dnn::Layer {
 public:
  ScaleAddLayer(const cv::dnn::LayerParams& params) : Layer(params), by(params.get<float>("by", 2)) {
    const cv::dnn::DictValue list = params.get("list");
    for (int i = 0; i < list.size(); ++i) sum += list.get<int>(i);
  }
  static cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& params) {
    return cv::Ptr<cv::dnn::Layer>(new ScaleAddLayer(params));
  }
  bool getMemoryShapes(const std::vector<cv::dnn::MatShape>& inputs, const int, std::vector<cv::dnn::MatShape>& outputs,
                       std::vector<cv::dnn::MatShape>& internals) const CV_OVERRIDE {
    outputs.assign(1, inputs[0]);
    internals.assign(1, inputs[0]);
    return false;
  }
  void forward(cv::InputArrayOfArrays inputs_arr, cv::OutputArrayOfArrays outputs_arr,
               cv::OutputArrayOfArrays internals_arr) CV_OVERRIDE {
    std::vector<cv::Mat> inputs, outputs, internals;
    inputs_arr.getMatVector(inputs);
    outputs_arr.getMatVector(outputs);
    internals_arr.getMatVector(internals);
    inputs[0].convertTo(internals[0], CV_32F, by);
    for (size_t i = 0; i < outputs[0].total(); ++i)
      outputs[0].ptr<float>()[i] = internals[0].ptr<float>()[i] + blobs[0].ptr<float>()[0] + static_cast<float>(sum);
  }

 private:
  float by;
  int sum = 0;
};

GRAFT_EXTENSION("real_opencv", "1.0") { return graft::opencv_layer<ScaleAddLayer>("ScaleAdd"); }

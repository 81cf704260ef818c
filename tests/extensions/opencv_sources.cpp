// Sources in the two forms of OpenCV's tutorials, 3.4 and 4.x, compiled without OpenCV, with its own include lines and
// the folder `adapters` in the include path. They use what those texts use; what they compute is other. Cases are in
// opencv_sources.test.
#include <cmath>
#include <opencv2/dnn.hpp>
#include <opencv2/dnn/shape_utils.hpp>  // getPlane

// ---- the form of 3.4: matrices by pointer, several conditions in one CV_Assert ----

// Takes every second element of a row, or the row backwards.
class RowPickLayer : public cv::dnn::Layer {
 public:
  RowPickLayer(const cv::dnn::LayerParams &params) : Layer(params) {
    step = params.get<int>("step", 1);
    backwards = params.get<bool>("backwards", false);
    CV_Assert(step > 0, step < 100, !params.has("count"));
  }
  static cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& params) {
    return cv::Ptr<cv::dnn::Layer>(new RowPickLayer(params));
  }
  virtual bool getMemoryShapes(const std::vector<std::vector<int> > &inputs, const int requiredOutputs,
                               std::vector<std::vector<int> > &outputs,
                               std::vector<std::vector<int> > &internals) const CV_OVERRIDE {
    CV_UNUSED(requiredOutputs); CV_UNUSED(internals);
    std::vector<int> outShape(4);
    for (size_t i = 0; i < 3; ++i) outShape[i] = inputs[0][i];
    outShape[3] = (inputs[0][3] + step - 1) / step;
    outputs.assign(1, outShape);
    return false;
  }
  virtual void finalize(const std::vector<cv::Mat*> &inputs, std::vector<cv::Mat> &outputs) CV_OVERRIDE {
    from = inputs[0]->size[3];
    to = outputs[0].size[3];
  }
  virtual void forward(std::vector<cv::Mat*> &inputs, std::vector<cv::Mat> &outputs, std::vector<cv::Mat> &internals) CV_OVERRIDE {
    CV_UNUSED(internals);
    cv::Mat& inp = *inputs[0];
    cv::Mat& out = outputs[0];
    const float* inpData = (float*)inp.data;
    float* outData = (float*)out.data;
    const int rows = inp.size[0] * inp.size[1] * inp.size[2];
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < to; ++i)
        outData[r * to + i] = inpData[r * from + (backwards ? from - 1 - i * step : i * step)];
  }
  virtual void forward(cv::InputArrayOfArrays, cv::OutputArrayOfArrays, cv::OutputArrayOfArrays) CV_OVERRIDE {}

 private:
  int step, from, to;
  bool backwards;
};

// ---- the form of 4.x: arrays of arrays, the branch for half precision, blobs ----

// Enlarges images by repeating elements: to a size in one blob, or by factors in two.
class RepeatLayer CV_FINAL : public cv::dnn::Layer {
 public:
  RepeatLayer(const cv::dnn::LayerParams &params) : Layer(params) {
    CV_Assert(!params.get<bool>("smooth", false));
    CV_Assert(!blobs.empty());
    for (size_t i = 0; i < blobs.size(); ++i)
      CV_Assert(blobs[i].type() == CV_32SC1);
    if (blobs.size() == 1) {
      CV_Assert(blobs[0].total() == 2);
      outHeight = blobs[0].at<int>(0, 0);
      outWidth = blobs[0].at<int>(0, 1);
      factorHeight = factorWidth = 0;
    } else {
      CV_Assert(blobs.size() == 2); CV_Assert(blobs[0].total() == 1); CV_Assert(blobs[1].total() == 1);
      factorHeight = blobs[0].at<int>(0, 0);
      factorWidth = blobs[1].at<int>(0, 0);
      outHeight = outWidth = 0;
    }
  }
  static cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& params) {
    return cv::Ptr<cv::dnn::Layer>(new RepeatLayer(params));
  }
  virtual bool getMemoryShapes(const std::vector<std::vector<int> > &inputs, const int,
                               std::vector<std::vector<int> > &outputs,
                               std::vector<std::vector<int> > &) const CV_OVERRIDE {
    std::vector<int> outShape(inputs[0]);
    outShape[2] = outHeight != 0 ? outHeight : (inputs[0][2] * factorHeight);
    outShape[3] = outWidth != 0 ? outWidth : (inputs[0][3] * factorWidth);
    outputs.assign(1, outShape);
    return false;
  }
  virtual void finalize(cv::InputArrayOfArrays, cv::OutputArrayOfArrays outputs_arr) CV_OVERRIDE {
    std::vector<cv::Mat> outputs;
    outputs_arr.getMatVector(outputs);
    if (!outWidth && !outHeight) {
      outHeight = outputs[0].size[2];
      outWidth = outputs[0].size[3];
    }
  }
  virtual void forward(cv::InputArrayOfArrays inputs_arr, cv::OutputArrayOfArrays outputs_arr,
                       cv::OutputArrayOfArrays internals_arr) CV_OVERRIDE {
    if (inputs_arr.depth() == CV_16S) {
      forward_fallback(inputs_arr, outputs_arr, internals_arr);
      return;
    }
    std::vector<cv::Mat> inputs, outputs;
    inputs_arr.getMatVector(inputs);
    outputs_arr.getMatVector(outputs);
    cv::Mat& inp = inputs[0];
    cv::Mat& out = outputs[0];
    const float* inpData = (float*)inp.data;
    float* outData = (float*)out.data;
    const int inpHeight = inp.size[2];
    const int inpWidth = inp.size[3];
    for (int b = 0; b < inp.size[0]; ++b)
      for (int c = 0; c < inp.size[1]; ++c)
        for (int y = 0; y < outHeight; ++y)
          for (int x = 0; x < outWidth; ++x)
            outData[offset(out.size, c, x, y, b)] =
                inpData[offset(inp.size, c, std::min(x * inpWidth / outWidth, inpWidth - 1), y * inpHeight / outHeight, b)];
  }

 private:
  static inline int offset(const cv::MatSize& size, int c, int x, int y, int b) {
    return x + size[3] * (y + size[2] * (c + size[1] * b));
  }
  int outWidth, outHeight, factorWidth, factorHeight;
};

// Half precision, said in OpenCV's way: what forward_fallback does when it is called.
class HalfLayer CV_FINAL : public cv::dnn::Layer {
 public:
  HalfLayer(const cv::dnn::LayerParams& params) : Layer(params) {}
  void forward(cv::InputArrayOfArrays inputs_arr, cv::OutputArrayOfArrays outputs_arr,
               cv::OutputArrayOfArrays internals_arr) CV_OVERRIDE {
    if (inputs_arr.depth() == CV_16S || inputs_arr.depth() == CV_16F)
      return forward_fallback(inputs_arr, outputs_arr, internals_arr);
    if (!halves) {
      // As on DNN_TARGET_OPENCL_FP16: the halves are marked as CV_16S.
      halves = true;
      preferableTarget = cv::dnn::DNN_TARGET_OPENCL_FP16;
      std::vector<cv::Mat> in(1), out(1), none;
      inputs_arr.getMat(0).convertTo(in[0], CV_16F);
      outputs_arr.getMat(0).convertTo(out[0], CV_16F);
      kept = {in[0], out[0]};
      for (auto* m : {&in[0], &out[0]}) *m = cv::Mat(m->size.values(), CV_16S, m->data);
      forward(in, out, none);
      halves = false;
      cv::Mat(out[0].size.values(), CV_16F, out[0].data).convertTo(outputs_arr.getMatRef(0), CV_32F);
      return;
    }
    cv::Mat x = inputs_arr.getMat(0), y = outputs_arr.getMat(0);
    CV_CheckDepthEQ(x.depth(), CV_32F, "the fallback converts");
    for (size_t i = 0; i < x.total(); ++i) y.ptr<float>()[i] = 3 * x.ptr<float>()[i];
  }

 private:
  bool halves = false;
  std::vector<cv::Mat> kept;  // whose memory the others refer to
};

// Errors in the ways that layers report them.
class ComplainLayer : public cv::dnn::Layer {
 public:
  ComplainLayer(const cv::dnn::LayerParams& params) : Layer(params), how(params.get<cv::String>("how", "")) {}
  void forward(cv::InputArrayOfArrays inputs_arr, cv::OutputArrayOfArrays outputs_arr,
               cv::OutputArrayOfArrays internals_arr) CV_OVERRIDE {
    if (how == "error") CV_Error(cv::Error::StsBadArg, "out of sorts");
    if (how == "format") CV_Error_(cv::Error::StsNotImplemented, ("no mode %d of %s", 3, "it"));
    if (how == "check") CV_CheckEQ(inputs_arr.getMat(0).dims, 7, "rank");
    if (how == "fallback") forward_fallback(inputs_arr, outputs_arr, internals_arr);
    if (how == "axis") (void)inputs_arr.getMat(0).size[9];
  }

 private:
  cv::String how;
};

// Code that stands in the namespaces of OpenCV.
namespace cv {
namespace dnn {
class PlaneMeanLayer CV_FINAL : public Layer {
 public:
  explicit PlaneMeanLayer(const LayerParams& params) : Layer(params) {}
  bool getMemoryShapes(const std::vector<MatShape>& inputs, const int, std::vector<MatShape>& outputs,
                       std::vector<MatShape>& internals) const CV_OVERRIDE {
    outputs.assign(1, shape(inputs[0][0], inputs[0][1], 1, 1));
    internals.assign(1, MatShape(1, total(inputs[0], 2)));
    return false;
  }
  void forward(InputArrayOfArrays inputs_arr, OutputArrayOfArrays outputs_arr,
               OutputArrayOfArrays internals_arr) CV_OVERRIDE {
    std::vector<Mat> inputs, outputs, internals;
    inputs_arr.getMatVector(inputs);
    outputs_arr.getMatVector(outputs);
    internals_arr.getMatVector(internals);
    for (int n = 0; n < inputs[0].size[0]; ++n)
      for (int c = 0; c < inputs[0].size[1]; ++c) {
        Mat plane = getPlane(inputs[0], n, c), flat = plane.reshape(1, static_cast<int>(plane.total()));
        CV_Assert(plane.dims == 2 && flat.rows == internals[0].rows && flat.cols == 1);
        flat.copyTo(internals[0]);
        float sum = 0;
        for (int i = 0; i < flat.rows; ++i) sum += internals[0].at<float>(i, 0);
        outputs[0].at<float>(n, c, 0, 0) = sum / static_cast<float>(flat.rows);
      }
  }
};
}  // namespace dnn
}  // namespace cv

#include <opencv2/dnn/layer.details.hpp>  // CV_DNN_REGISTER_LAYER_CLASS

// As a program does it; here it is only compiled.
static inline void loadNet() {
  CV_DNN_REGISTER_LAYER_CLASS(RowPick, RowPickLayer);
  cv::dnn::Net caffeNet = cv::dnn::readNet("/path/to/config.prototxt", "/path/to/weights.caffemodel");
  CV_DNN_REGISTER_LAYER_CLASS(Repeat, RepeatLayer);
  cv::dnn::Net tfNet = cv::dnn::readNet("/path/to/graph.pb");
  cv::dnn::LayerFactory::unregisterLayer("Repeat");
  if (false) loadNet();
}

// And as a library: these lines make it an extension.
CV_DNN_REGISTER_LAYER_CLASS_STATIC(RowPick, RowPickLayer);
CV_DNN_REGISTER_LAYER_CLASS_STATIC(Repeat, RepeatLayer);
CV_DNN_REGISTER_LAYER_CLASS_STATIC(Triple, HalfLayer);
CV_DNN_REGISTER_LAYER_CLASS_STATIC(Complain, ComplainLayer);
CV_DNN_REGISTER_LAYER_CLASS_STATIC(PlaneMean, cv::dnn::PlaneMeanLayer);

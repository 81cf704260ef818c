// A program that was written for OpenCV's dnn module: layers of its own, readNet, setInput, forward.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <graft/adapters/opencv2/dnn.hpp>

namespace {

template <int factor>
class TimesLayer : public cv::dnn::Layer {
 public:
  explicit TimesLayer(const cv::dnn::LayerParams& params) : Layer(params) {}
  static cv::Ptr<cv::dnn::Layer> create(cv::dnn::LayerParams& params) {
    return cv::Ptr<cv::dnn::Layer>(new TimesLayer(params));
  }
  void forward(cv::InputArrayOfArrays inputs, cv::OutputArrayOfArrays outputs, cv::OutputArrayOfArrays) override {
    cv::Mat x = inputs.getMat(0), y = outputs.getMat(0);
    for (size_t i = 0; i < x.total(); ++i) y.ptr<float>()[i] = x.ptr<float>()[i] * factor;
  }
};

class OpenCvNet : public testing::Test {
 protected:
  OpenCvNet() : folder_(std::filesystem::temp_directory_path() / ("graft-net-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
  }
  ~OpenCvNet() override { std::filesystem::remove_all(folder_); }
  std::string write(const char* name, const char* content) const {
    std::ofstream(folder_ / name) << content;
    return folder_ / name;
  }
  std::string caffe() const {
    return write("net.prototxt", R"(
        input: "x" input_shape { dim: 1 dim: 2 dim: 1 dim: 2 }
        layer { name: "times" type: "Times" bottom: "x" top: "t" }
        layer { name: "minus" type: "Power" bottom: "t" top: "m" power_param { scale: -1 } })");
  }

 private:
  std::filesystem::path folder_;
};

std::vector<float> elements(const cv::Mat& m) { return {m.ptr<float>(), m.ptr<float>() + m.total()}; }

using Floats = std::vector<float>;
using Factory = cv::dnn::LayerFactory;

TEST_F(OpenCvNet, LayersAreRegisteredInAStack) {
  Floats values{1, 2, 3, 4};
  cv::Mat blob({1, 2, 1, 2}, CV_32F, values.data());
  auto result = [&] {
    cv::dnn::Net net = cv::dnn::readNet(caffe());
    net.setInput(blob);
    return elements(net.forward("times"));
  };
  try {
    cv::dnn::readNet(caffe());
    FAIL() << "expected an exception";
  } catch (const cv::Exception& e) {
    EXPECT_TRUE(e.err.starts_with(
        "Unspecified error: Can't create layer \"times\" of type \"Times\" in function getLayerInstance\n"))
        << e.err;
    EXPECT_NE(e.err.find("1 layer type is unknown"), e.err.npos) << e.err;
    EXPECT_EQ(e.func, "getLayerInstance");
  }
  CV_DNN_REGISTER_LAYER_CLASS(Times, TimesLayer<2>);
  EXPECT_EQ(result(), (Floats{2, 4, 6, 8}));
  EXPECT_THROW(Factory::registerLayer("Times", cv::dnn::created<TimesLayer<2>>), cv::Exception);
  CV_DNN_REGISTER_LAYER_FUNC(Times, cv::dnn::constructed<TimesLayer<10>>);
  EXPECT_EQ(result(), (Floats{10, 20, 30, 40}));
  Factory::unregisterLayer("Times");
  EXPECT_EQ(result(), (Floats{2, 4, 6, 8}));
  EXPECT_TRUE(Factory::isLayerRegistered("Times"));
  cv::dnn::LayerParams params;
  params.set("width", 8), params.set("word", "wide");
  EXPECT_EQ(params.get<int>("width") + params.get<float>("width"), 16);
  EXPECT_TRUE(Factory::createLayerInstance("Times", params));
  Factory::unregisterLayer("Times");
  EXPECT_FALSE(Factory::isLayerRegistered("Times"));
  EXPECT_FALSE(Factory::createLayerInstance("Times", params));
  EXPECT_THROW(result(), cv::Exception);
}

TEST_F(OpenCvNet, RunsAsProgramsOfOpenCvDo) {
  CV_DNN_REGISTER_LAYER_CLASS(Times, TimesLayer<3>);
  cv::dnn::Net net = cv::dnn::readNetFromCaffe(caffe());
  Factory::unregisterLayer("Times");  // the network keeps its layers
  EXPECT_TRUE(cv::dnn::Net().empty());
  EXPECT_FALSE(net.empty());
  EXPECT_EQ(net.getLayerNames(), (std::vector<std::string>{"times", "minus"}));
  EXPECT_EQ(net.getUnconnectedOutLayersNames(), std::vector<std::string>{"m"});
  EXPECT_THROW(net.forward(), cv::Exception);  // no input
  Floats values{1, 2, 3, 4};
  net.setInput(cv::Mat({1, 2, 1, 2}, CV_32F, values.data()), "x");
  cv::Mat last = net.forward();
  EXPECT_EQ(cv::dnn::shape(last), (cv::dnn::MatShape{1, 2, 1, 2}));
  EXPECT_EQ(elements(last), (Floats{-3, -6, -9, -12}));
  // (blob - mean) * scale, by channel; other sizes; bytes.
  std::vector<unsigned char> bytes{1, 2, 3, 4, 5, 6};
  net.setInput(cv::Mat({1, 2, 1, 3}, CV_8U, bytes.data()), "x", 2, cv::Scalar(1, 10));
  std::vector<cv::Mat> both;
  net.forward(both, std::vector<std::string>{"minus", "times"});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(elements(both[1]), (Floats{0, 6, 12, -36, -30, -24}));
  EXPECT_EQ(elements(both[0]), (Floats{0, -6, -12, 36, 30, 24}));
  net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
  net.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
  EXPECT_THROW(net.setPreferableTarget(cv::dnn::DNN_TARGET_FPGA), cv::Exception);
  EXPECT_THROW(net.forward("nothing"), cv::Exception);
  EXPECT_THROW(net.setInput(cv::Mat({1, 2}, CV_32F), "nothing"), cv::Exception);
}

TEST_F(OpenCvNet, ImagesOfTensorFlowHaveTheirChannelsFirst) {
  std::string file = write("net.pbtxt", R"(
      node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
        attr { key: "shape" value { shape { dim { size: 1 } dim { size: 1 } dim { size: 2 } dim { size: 3 } } } } }
      node { name: "b" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor {
        dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 10 float_val: 20 float_val: 30 } } } }
      node { name: "y" op: "BiasAdd" input: "x" input: "b" })");
  cv::dnn::Net net = cv::dnn::readNetFromTensorflow(file);
  Floats values{1, 2, 3, 4, 5, 6};
  net.setInput(cv::Mat({1, 3, 1, 2}, CV_32F, values.data()));
  cv::Mat y = net.forward();
  EXPECT_EQ(cv::dnn::shape(y), (cv::dnn::MatShape{1, 3, 1, 2}));
  EXPECT_EQ(elements(y), (Floats{11, 12, 23, 24, 35, 36}));
}

TEST(OpenCvMat, HalfPrecision) {
  Floats all{0, -0.0f, 1, -2.5f, 65504, 65519, 65520, 6.1035e-5f, 5.96e-8f, 2.9e-8f, 1.0009766f, 2049, INFINITY, NAN};
  cv::Mat x({static_cast<int>(all.size()), 1}, CV_32F, all.data()), half, back;
  x.convertTo(half, CV_16F);
  half.convertTo(back, CV_32F);
  for (size_t i = 0; i < all.size(); ++i) {
    auto expected = static_cast<float>(static_cast<_Float16>(all[i]));
    float got = back.at<float>(static_cast<int>(i), 0);
    EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected))) << all[i] << ": " << got;
    EXPECT_EQ(std::signbit(got), std::signbit(expected));
  }
}

}  // namespace

// CPU extensions in the form of 2019: layers as the generator and its users wrote them.
#include <cmath>
#include <cstring>
#include <graft/inference_engine.hpp>

namespace InferenceEngine {
namespace Extensions {
namespace Cpu {

// y = (x + sum of shifts) * scale, the parameters in every form that the generator knows.
class SquashImpl : public ExtLayerBase {
 public:
  explicit SquashImpl(const CNNLayer* layer) {
    try {
      times = layer->GetParamAsInt("times");
      scale = layer->GetParamAsFloat("scale", 1.f);
      negate = layer->GetParamAsBool("negate", false);
      mode = layer->GetParamAsString("mode", "linear");
      shifts = layer->GetParamAsFloats("shifts", {});
      weights = layer->GetParamAsInts("weights", {1});
      if (mode != "linear" && mode != "square") THROW_IE_EXCEPTION << "mode " << mode << " is not known";
      addConfig(layer, {DataConfigurator(ConfLayout::PLN)}, {DataConfigurator(ConfLayout::PLN)});
    } catch (InferenceEngine::details::InferenceEngineException& ex) {
      errorMsg = ex.what();
    }
  }

  StatusCode execute(std::vector<Blob::Ptr>& inputs, std::vector<Blob::Ptr>& outputs,
                     ResponseDesc* /*resp*/) noexcept override {
    const float* src =
        inputs[0]->cbuffer().as<const float*>() + inputs[0]->getTensorDesc().getBlockingDesc().getOffsetPadding();
    float* dst = outputs[0]->buffer().as<float*>() + outputs[0]->getTensorDesc().getBlockingDesc().getOffsetPadding();
    float shift = 0;
    for (size_t i = 0; i < shifts.size(); ++i) shift += shifts[i] * static_cast<float>(weights[i % weights.size()]);
    parallel_for(inputs[0]->size(), [&](size_t i) {
      float v = (src[i] + shift) * scale * static_cast<float>(times);
      if (mode == "square") v *= v;
      dst[i] = negate ? -v : v;
    });
    return OK;
  }

 private:
  int times = 0;
  float scale = 1;
  bool negate = false;
  std::string mode;
  std::vector<float> shifts;
  std::vector<int> weights;
};

// Two outputs of different shapes: the chosen columns of a matrix, and the largest element of each row.
class ColumnsImpl : public ExtLayerBase {
 public:
  explicit ColumnsImpl(const CNNLayer* layer) : chosen(layer->GetParamAsInts("columns")) {
    addConfig(layer, {DataConfigurator(ConfLayout::PLN)},
              {DataConfigurator(ConfLayout::PLN), DataConfigurator(ConfLayout::PLN)});
  }
  StatusCode execute(std::vector<Blob::Ptr>& inputs, std::vector<Blob::Ptr>& outputs, ResponseDesc*) noexcept override {
    const SizeVector dims = inputs[0]->getTensorDesc().getDims();
    const float* x = inputs[0]->cbuffer().as<const float*>();
    float *picked = outputs[0]->buffer(), *largest = outputs[1]->buffer();
    parallel_for2d(dims[0], chosen.size(), [&](size_t row, size_t c) {
      picked[row * chosen.size() + c] = x[row * dims[1] + static_cast<size_t>(chosen[c])];
    });
    parallel_nt(0, [&](int ithr, int nthr) {
      size_t begin = 0, end = 0;
      splitter(dims[0], nthr, ithr, begin, end);
      for (size_t row = begin; row < end; ++row)
        largest[row] = *std::max_element(x + row * dims[1], x + (row + 1) * dims[1]);
    });
    return OK;
  }

 private:
  std::vector<int> chosen;
};
class ColumnsShapeInfer : public IShapeInferImpl {
 public:
  StatusCode inferShapes(const std::vector<Blob::CPtr>& inBlobs, const std::map<std::string, std::string>& params,
                         const std::map<std::string, Blob::Ptr>&, std::vector<SizeVector>& outShapes,
                         ResponseDesc* resp) noexcept override {
    const SizeVector& dims = inBlobs[0]->getTensorDesc().getDims();
    if (dims.size() != 2) {
      std::strncpy(resp->msg, "only matrices have columns", sizeof(resp->msg) - 1);
      return PARAMETER_MISMATCH;
    }
    const std::string& list = params.at("columns");
    auto count = static_cast<size_t>(std::count(list.begin(), list.end(), ',')) + 1;
    outShapes.push_back({dims[0], count});
    outShapes.push_back({dims[0]});
    return OK;
  }
};

// Works on blocks of eight channels only; each element becomes its channel's place in the block.
class BlockedImpl : public ExtLayerBase {
 public:
  explicit BlockedImpl(const CNNLayer* layer) {
    addConfig(layer, {DataConfigurator(ConfLayout::BLK8)}, {DataConfigurator(ConfLayout::BLK8)});
  }
  StatusCode execute(std::vector<Blob::Ptr>& inputs, std::vector<Blob::Ptr>& outputs, ResponseDesc*) noexcept override {
    const SizeVector& blocks = inputs[0]->getTensorDesc().getBlockingDesc().getBlockDims();
    if (blocks.size() != 5 || blocks[4] != 8) return UNEXPECTED;
    size_t total = 1;
    for (size_t b : blocks) total *= b;
    const float* x = inputs[0]->cbuffer().as<const float*>();
    float* y = outputs[0]->buffer().as<float*>();
    for (size_t i = 0; i < total; ++i) y[i] = x[i] * 10 + static_cast<float>(i % 8);
    return OK;
  }
};

// Changes its input where it is: the output is the same memory.
class BumpImpl : public ExtLayerBase {
 public:
  explicit BumpImpl(const CNNLayer* layer) {
    addConfig(layer, {DataConfigurator(ConfLayout::PLN)}, {DataConfigurator(ConfLayout::PLN, false, 0)});
  }
  StatusCode execute(std::vector<Blob::Ptr>& inputs, std::vector<Blob::Ptr>&, ResponseDesc*) noexcept override {
    float* x = inputs[0]->buffer().as<float*>();
    for (size_t i = 0; i < inputs[0]->size(); ++i) x[i] += 1;
    return OK;
  }
};

// Knows 32-bit integers only. The second input is a constant that the constructor reads.
class CountImpl : public ExtLayerBase {
 public:
  explicit CountImpl(const CNNLayer* layer) {
    try {
      if (layer->insData.size() != 2) THROW_IE_EXCEPTION << "expected two inputs, got " << layer->insData.size();
      for (auto& in : layer->insData)
        if (in.lock()->getPrecision() != Precision::I32) THROW_IE_EXCEPTION << "only I32 is supported";
      CNNLayerPtr creator = layer->insData[1].lock()->getCreatorLayer().lock();
      if (!creator || creator->type != "Const") THROW_IE_EXCEPTION << "the step must be constant";
      addConfig(layer, {DataConfigurator(ConfLayout::PLN), DataConfigurator(ConfLayout::PLN)},
                {DataConfigurator(ConfLayout::PLN)});
    } catch (const std::exception& ex) {
      errorMsg = ex.what();
    }
  }
  StatusCode execute(std::vector<Blob::Ptr>& inputs, std::vector<Blob::Ptr>& outputs, ResponseDesc*) noexcept override {
    const auto* x = inputs[0]->cbuffer().as<const int32_t*>();
    const auto* step = inputs[1]->cbuffer().as<const int32_t*>();
    auto* y = outputs[0]->buffer().as<int32_t*>();
    for (size_t i = 0; i < outputs[0]->size(); ++i) y[i] = x[i] + step[0];
    return OK;
  }
};
class CountShapeInfer : public IShapeInferImpl {
 public:
  // The form of the first releases, with shapes instead of blobs.
  StatusCode inferShapes(const std::vector<SizeVector>& inShapes, const std::map<std::string, std::string>&,
                         const std::map<std::string, Blob::Ptr>&, std::vector<SizeVector>& outShapes,
                         ResponseDesc*) noexcept override {
    outShapes.push_back(inShapes[0]);
    return OK;
  }
};

// x times its weights, plus its biases.
class WeighImpl : public ExtLayerBase {
 public:
  explicit WeighImpl(const CNNLayer* layer) {
    weights = layer->blobs.at("weights");
    biases = layer->blobs.at("biases");
    addConfig(layer, {DataConfigurator(ConfLayout::ANY)}, {DataConfigurator(ConfLayout::ANY)});
  }
  StatusCode execute(std::vector<Blob::Ptr>& inputs, std::vector<Blob::Ptr>& outputs, ResponseDesc*) noexcept override {
    TBlob<float>* in = inputs[0]->as<TBlob<float>>();
    if (!in) return PARAMETER_MISMATCH;
    const float *w = weights->cbuffer().as<const float*>(), *b = biases->cbuffer().as<const float*>();
    float* y = outputs[0]->buffer();
    for (float x : *in) *y++ = x * w[0] + b[0];
    return OK;
  }

 private:
  Blob::Ptr weights, biases;
};

// Fails as its parameter says.
class FailImpl : public ExtLayerBase {
 public:
  explicit FailImpl(const CNNLayer* layer) : how(layer->GetParamAsString("how")) {
    if (how == "construct") THROW_IE_EXCEPTION << "the constructor of " << layer->name << " gave up";
    if (how != "configure") addConfig(layer, {DataConfigurator(ConfLayout::PLN)}, {DataConfigurator(ConfLayout::PLN)});
  }
  StatusCode init(LayerConfig& config, ResponseDesc* resp) noexcept override {
    if (how != "init") return ExtLayerBase::init(config, resp);
    std::strncpy(resp->msg, "not today", sizeof(resp->msg) - 1);
    return NOT_ALLOCATED;
  }
  StatusCode execute(std::vector<Blob::Ptr>&, std::vector<Blob::Ptr>&, ResponseDesc* resp) override {
    if (how == "throw") THROW_IE_EXCEPTION << "thrown by execute";
    std::strncpy(resp->msg, "index 7 of 3", sizeof(resp->msg) - 1);
    return OUT_OF_BOUNDS;
  }

 private:
  std::string how;
};

REG_FACTORY_FOR(ImplFactory<SquashImpl>, Squash);
REG_FACTORY_FOR(ImplFactory<ColumnsImpl>, Columns);
REG_SHAPE_INFER_FOR_TYPE(ColumnsShapeInfer, Columns);
REG_FACTORY_FOR(ImplFactory<BlockedImpl>, Blocked);
REG_FACTORY_FOR(ImplFactory<BumpImpl>, Bump);
REG_FACTORY_FOR(ImplFactory<CountImpl>, Count);
REG_SHAPE_INFER_FOR_TYPE(CountShapeInfer, Count);
REG_FACTORY_FOR(ImplFactory<WeighImpl>, Weigh);
REG_FACTORY_FOR(ImplFactory<FailImpl>, Fail);
REG_FACTORY_FOR(ImplFactory<SquashImpl>, TwoInputs);

}  // namespace Cpu
}  // namespace Extensions
}  // namespace InferenceEngine

// A CPU extension with an IExtension and a factory of its own, as the samples of 2019 had them. It includes the
// interfaces alone, as sources with their own copies of the generator's helpers do.
#include <cstring>
#include <graft/inference_engine/extension.hpp>

using namespace InferenceEngine;

namespace {

class RepeatImpl : public ILayerExecImpl {
 public:
  explicit RepeatImpl(const CNNLayer& layer) : layer_(layer) {}
  StatusCode getSupportedConfigurations(std::vector<LayerConfig>& conf, ResponseDesc*) noexcept override {
    LayerConfig config;
    DataConfig in, out;
    const SizeVector &from = layer_.insData[0].lock()->getDims(), &to = layer_.outData[0]->getDims();
    in.desc = TensorDesc(Precision::FP32, from, {from, {0, 1}, SIZE_MAX});
    out.desc = TensorDesc(Precision::FP32, to, {to, {0, 1}, SIZE_MAX});
    config.inConfs.push_back(in);
    config.outConfs.push_back(out);
    conf.push_back(config);
    return OK;
  }
  StatusCode init(LayerConfig& config, ResponseDesc*) noexcept override {
    if (config.inConfs[0].desc.getBlockingDesc().getOffsetPadding() == SIZE_MAX) return UNEXPECTED;
    rows_ = config.inConfs[0].desc.getDims()[0];
    return OK;
  }
  StatusCode execute(std::vector<Blob::Ptr>& inputs, std::vector<Blob::Ptr>& outputs, ResponseDesc*) noexcept override {
    size_t bytes = inputs[0]->byteSize(), times = outputs[0]->getTensorDesc().getDims()[0] / rows_;
    for (size_t i = 0; i < times; ++i)
      std::memcpy(outputs[0]->buffer().as<char*>() + i * bytes, inputs[0]->cbuffer().as<const char*>(), bytes);
    return OK;
  }

 private:
  CNNLayer layer_;
  size_t rows_ = 0;
};

class RepeatFactory : public ILayerImplFactory {
 public:
  explicit RepeatFactory(const CNNLayer* layer) : layer_(*layer) {}
  StatusCode getShapes(const std::vector<TensorDesc>& in, std::vector<TensorDesc>& out,
                       ResponseDesc*) noexcept override {
    SizeVector dims = in[0].getDims();
    dims[0] *= layer_.GetParamAsUInt("times");
    out.emplace_back(in[0].getPrecision(), dims, in[0].getLayout());
    return OK;
  }
  StatusCode getImplementations(std::vector<ILayerImpl::Ptr>& impls, ResponseDesc*) noexcept override {
    impls.push_back(ILayerImpl::Ptr(new RepeatImpl(layer_)));
    return OK;
  }

 private:
  CNNLayer layer_;
};

class Extension : public IExtension {
 public:
  void GetVersion(const Version*& version) const noexcept override {
    static Version own = {{2, 0}, "7.1", "repeat"};
    version = &own;
  }
  void SetLogCallback(IErrorListener&) noexcept override {}
  void Unload() noexcept override {}
  void Release() noexcept override { delete this; }
  StatusCode getPrimitiveTypes(char**& types, unsigned int& size, ResponseDesc*) noexcept override {
    types = new char*[1];
    types[0] = new char[7];
    std::strcpy(types[0], "Repeat");
    size = 1;
    return OK;
  }
  StatusCode getFactoryFor(ILayerImplFactory*& factory, const CNNLayer* layer, ResponseDesc* resp) noexcept override {
    if (layer->type != "Repeat") {
      std::strncpy(resp->msg, "only Repeat is known", sizeof(resp->msg) - 1);
      return NOT_FOUND;
    }
    factory = new RepeatFactory(layer);
    return OK;
  }
};

}  // namespace

INFERENCE_EXTENSION_API(StatusCode) InferenceEngine::CreateExtension(IExtension*& ext, ResponseDesc*) noexcept {
  ext = new Extension;
  return OK;
}

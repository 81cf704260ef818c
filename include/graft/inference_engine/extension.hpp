// The interfaces that a classic CPU extension implements. A source that has its own copies of ext_base.hpp and
// ext_list.hpp includes this file; others include <graft/inference_engine.hpp>, which has those helpers, too.
#pragma once

#include "layer.hpp"

namespace [[gnu::visibility("default")]] InferenceEngine {

struct DataConfig {
  TensorDesc desc;
  int inPlace = -1;       // the port at the other side whose memory is shared
  bool constant = false;  // without effect here: constants are folded whatever it says
};

struct LayerConfig {
  bool dynBatchSupport = false;  // without effect here: every set of input shapes is configured
  std::vector<DataConfig> inConfs;
  std::vector<DataConfig> outConfs;
};

// The functions are not noexcept here, so that exceptions become errors; overrides may be.
class ILayerImpl {
 public:
  using Ptr = std::shared_ptr<ILayerImpl>;
  virtual ~ILayerImpl() = default;
  virtual StatusCode getSupportedConfigurations(std::vector<LayerConfig>& conf, ResponseDesc* resp) = 0;
  virtual StatusCode init(LayerConfig& config, ResponseDesc* resp) = 0;
};

class ILayerExecImpl : public ILayerImpl {
 public:
  using Ptr = std::shared_ptr<ILayerExecImpl>;
  virtual StatusCode execute(std::vector<Blob::Ptr>& inputs, std::vector<Blob::Ptr>& outputs, ResponseDesc* resp) = 0;
};

class ILayerImplFactory {
 public:
  using Ptr = std::shared_ptr<ILayerImplFactory>;
  using ImplCreator = std::function<ILayerImpl*()>;
  virtual ~ILayerImplFactory() = default;
  virtual StatusCode getShapes(const std::vector<TensorDesc>&, std::vector<TensorDesc>&, ResponseDesc*) {
    return NOT_IMPLEMENTED;
  }
  virtual StatusCode getImplementations(std::vector<ILayerImpl::Ptr>& impls, ResponseDesc* resp) = 0;
};

class IShapeInferImpl {
 public:
  using Ptr = std::shared_ptr<IShapeInferImpl>;
  virtual ~IShapeInferImpl() = default;
  // Blobs of inputs that are not constant have no memory.
  virtual StatusCode inferShapes(const std::vector<Blob::CPtr>&, const std::map<std::string, std::string>&,
                                 const std::map<std::string, Blob::Ptr>&, std::vector<SizeVector>&, ResponseDesc*) {
    return NOT_IMPLEMENTED;
  }
  virtual StatusCode inferShapes(const std::vector<SizeVector>&, const std::map<std::string, std::string>&,
                                 const std::map<std::string, Blob::Ptr>&, std::vector<SizeVector>&, ResponseDesc*) {
    return NOT_IMPLEMENTED;
  }
};

class IErrorListener {
 public:
  virtual ~IErrorListener() = default;
  virtual void onError(const char*) {}
};

class IShapeInferExtension : public details::IRelease {
 public:
  virtual void SetLogCallback(IErrorListener&) {}
  virtual void GetVersion(const Version*& version) const = 0;
  virtual void Unload() {}
  virtual StatusCode getShapeInferTypes(char**&, unsigned int&, ResponseDesc*) { return NOT_IMPLEMENTED; }
  virtual StatusCode getShapeInferImpl(IShapeInferImpl::Ptr&, const char*, ResponseDesc*) { return NOT_IMPLEMENTED; }
};

class IExtension : public IShapeInferExtension {
 public:
  virtual StatusCode getFactoryFor(ILayerImplFactory*& factory, const CNNLayer* layer, ResponseDesc* resp) = 0;
  virtual StatusCode getPrimitiveTypes(char**& types, unsigned int& size, ResponseDesc* resp) = 0;
};
using IExtensionPtr = std::shared_ptr<IExtension>;
using IShapeInferExtensionPtr = std::shared_ptr<IShapeInferExtension>;

// A library either defines CreateExtension, or registers its layers with REG_FACTORY_FOR (ext_base.hpp).
extern "C" [[gnu::weak, gnu::visibility("hidden")]] StatusCode CreateExtension(IExtension*& extension,
                                                                               ResponseDesc* resp) noexcept;
extern "C" [[gnu::weak, gnu::visibility("hidden")]] StatusCode CreateShapeInferExtension(
    IShapeInferExtension*& extension, ResponseDesc* resp) noexcept;

}  // namespace InferenceEngine

#include "adapter.hpp"

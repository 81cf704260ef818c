// The interfaces that a CPU extension of 2018 to 2021 implements. A source that has its own copies of ext_base.hpp and
// ext_list.hpp includes this file; others include <graft/inference_engine.hpp>, which has those helpers, too.
#pragma once

#include "../ngraph/ngraph.hpp"
#include "layer.hpp"

// Defines the function that creates the extension of a library (2021).
#define IE_DEFINE_EXTENSION_CREATE_FUNCTION(TYPE)                                                   \
  INFERENCE_EXTENSION_API(void)                                                                     \
  InferenceEngine::CreateExtensionShared(std::shared_ptr<InferenceEngine::IExtension>& extension) { \
    extension = std::make_shared<TYPE>();                                                           \
  }

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
  // 2018 to 2019: layers by type.
  virtual StatusCode getFactoryFor(ILayerImplFactory*&, const CNNLayer*, ResponseDesc*) { return NOT_IMPLEMENTED; }
  virtual StatusCode getPrimitiveTypes(char**&, unsigned int&, ResponseDesc*) { return NOT_IMPLEMENTED; }
  // 2020 to 2021: operations by the name of their opset, and how a node of them is computed on a device; Graft asks for
  // the type "CPU", and runs `evaluate` of the operation where there is no implementation.
  virtual std::map<std::string, ngraph::OpSet> getOpSets() { return {}; }
  virtual std::vector<std::string> getImplTypes(const std::shared_ptr<ngraph::Node>&) { return {}; }
  virtual ILayerImpl::Ptr getImplementation(const std::shared_ptr<ngraph::Node>&, const std::string&) {
    return nullptr;
  }
};
using IExtensionPtr = std::shared_ptr<IExtension>;
using IShapeInferExtensionPtr = std::shared_ptr<IShapeInferExtension>;

// A library either defines CreateExtension, or registers its layers with REG_FACTORY_FOR (ext_base.hpp).
extern "C" [[gnu::weak, gnu::visibility("hidden")]] StatusCode CreateExtension(IExtension*& extension,
                                                                               ResponseDesc* resp) noexcept;
extern "C" [[gnu::weak, gnu::visibility("hidden")]] StatusCode CreateShapeInferExtension(
    IShapeInferExtension*& extension, ResponseDesc* resp) noexcept;
extern "C" [[gnu::weak, gnu::visibility("hidden")]] void CreateExtensionShared(std::shared_ptr<IExtension>& extension);

namespace details {
inline Precision convertPrecision(const ngraph::element::Type& type) {
  using Kind = ngraph::element::Type_t;
  switch (Kind(type)) {
    case Kind::boolean: return Precision::BOOL;
    case Kind::f64: return Precision::FP64;
    case Kind::f32: return Precision::FP32;
    case Kind::f16: return Precision::FP16;
    case Kind::bf16: return Precision::BF16;
    case Kind::i64: return Precision::I64;
    case Kind::i32: return Precision::I32;
    case Kind::i16: return Precision::I16;
    case Kind::i8: return Precision::I8;
    case Kind::u64: return Precision::U64;
    case Kind::u32: return Precision::U32;
    case Kind::u16: return Precision::U16;
    case Kind::u8: return Precision::U8;
    default: THROW_IE_EXCEPTION << "there is no precision for the element type " << type;
  }
}
}  // namespace details

}  // namespace InferenceEngine

#include "adapter.hpp"

// The helpers that came with the extension generator, as ext_base.hpp and ext_list.hpp.
#pragma once

#include "extension.hpp"
#include "parallel.hpp"

namespace [[gnu::visibility("default")]] InferenceEngine {
namespace Extensions {
namespace Cpu {

class ExtLayerBase : public ILayerExecImpl {
 public:
  StatusCode getSupportedConfigurations(std::vector<LayerConfig>& conf, ResponseDesc* resp) override {
    if (errorMsg.empty()) return conf = confs, OK;
    if (resp) resp->msg[errorMsg.copy(resp->msg, sizeof resp->msg - 1)] = 0;
    return GENERAL_ERROR;
  }
  // Padding is refused; Graft never asks for it.
  StatusCode init(LayerConfig& config, ResponseDesc*) override {
    for (const auto* ports : {&config.inConfs, &config.outConfs})
      for (const DataConfig& port : *ports) {
        const BlockingDesc& b = port.desc.getBlockingDesc();
        const SizeVector& pads = b.getOffsetPaddingToData();
        if (b.getOffsetPadding() || std::any_of(pads.begin(), pads.end(), [](size_t p) { return p != 0; }))
          return GENERAL_ERROR;
      }
    return OK;
  }

 protected:
  enum class ConfLayout { ANY, PLN, BLK8, BLK16 };

  class DataConfigurator {
   public:
    explicit DataConfigurator(ConfLayout l) : layout(l) {}
    DataConfigurator(ConfLayout l, bool constant, int inplace = -1) : layout(l), constant(constant), inplace(inplace) {}
    DataConfigurator(ConfLayout l, Precision p) : layout(l), precision(p) {}
    ConfLayout layout;
    bool constant = false;
    int inplace = -1;
    Precision precision;  // unspecified: that of the data
  };

  void addConfig(const CNNLayer* layer, std::vector<DataConfigurator> in, std::vector<DataConfigurator> out,
                 bool dynBatchSupport = false) {
    if (in.size() != layer->insData.size())
      THROW_IE_EXCEPTION << "Incorrect number of input edges for layer " << layer->name << ". Expected "
                         << layer->insData.size() << " but layout specification provided for " << in.size();
    if (out.size() != layer->outData.size())
      THROW_IE_EXCEPTION << "Incorrect number of output edges for layer " << layer->name << ". Expected "
                         << layer->outData.size() << " but layout specification provided for " << out.size();
    LayerConfig config;
    config.dynBatchSupport = dynBatchSupport;
    for (size_t i = 0; i < in.size(); ++i) config.inConfs.push_back(port(in[i], layer->insData[i].lock()));
    for (size_t i = 0; i < out.size(); ++i) config.outConfs.push_back(port(out[i], layer->outData[i]));
    confs.push_back(config);
  }

  std::string errorMsg;
  std::vector<LayerConfig> confs;

 private:
  static DataConfig port(const DataConfigurator& wish, const DataPtr& data) {
    if (!data) THROW_IE_EXCEPTION << "Cannot get input data!";
    const SizeVector& dims = data->getDims();
    Precision precision = wish.precision ? wish.precision : data->getPrecision();
    DataConfig config;
    config.inPlace = wish.inplace, config.constant = wish.constant;
    if (wish.layout == ConfLayout::ANY) return config.desc = TensorDesc(precision, dims, Layout::ANY), config;
    SizeVector blocks = dims, order(dims.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (wish.layout != ConfLayout::PLN) {
      if (dims.size() < 4 || dims.size() > 5)
        THROW_IE_EXCEPTION << "Inapplicable blocking layout. Tensor should be 4D or 5D.";
      size_t size = wish.layout == ConfLayout::BLK8 ? 8 : 16;
      order.push_back(1);
      blocks[1] = (blocks[1] + size - 1) / size;
      blocks.push_back(size);
    }
    config.desc = TensorDesc(precision, dims, BlockingDesc(blocks, order));
    return config;
  }
};

template <class IMPL>
class ImplFactory : public ILayerImplFactory {
 public:
  explicit ImplFactory(const CNNLayer* layer) : cnnLayer(*layer) {}
  StatusCode getImplementations(std::vector<ILayerImpl::Ptr>& impls, ResponseDesc*) override {
    impls.push_back(ILayerImpl::Ptr(new IMPL(&cnnLayer)));
    return OK;
  }

 protected:
  CNNLayer cnnLayer;
};

using ext_factory = std::function<ILayerImplFactory*(const CNNLayer*)>;

struct ExtensionsHolder {
  std::map<std::string, ext_factory> list;
  std::map<std::string, IShapeInferImpl::Ptr> si_list;
};

// The extension made of what REG_FACTORY_FOR registers in this library.
class CpuExtensions : public IExtension {
 public:
  StatusCode getPrimitiveTypes(char**& types, unsigned int& size, ResponseDesc*) override {
    return collect(GetExtensionsHolder()->list, types, size);
  }
  StatusCode getShapeInferTypes(char**& types, unsigned int& size, ResponseDesc*) override {
    return collect(GetExtensionsHolder()->si_list, types, size);
  }
  StatusCode getFactoryFor(ILayerImplFactory*& factory, const CNNLayer* layer, ResponseDesc*) override {
    auto it = GetExtensionsHolder()->list.find(layer->type);
    if (it == GetExtensionsHolder()->list.end()) return NOT_FOUND;
    factory = it->second(layer);
    return OK;
  }
  StatusCode getShapeInferImpl(IShapeInferImpl::Ptr& impl, const char* type, ResponseDesc*) override {
    auto it = GetExtensionsHolder()->si_list.find(type);
    if (it == GetExtensionsHolder()->si_list.end()) return NOT_FOUND;
    impl = it->second;
    return OK;
  }
  void GetVersion(const Version*& version) const override {
    static const Version own{{2, 1}, "1.0", "CPU extension"};
    version = &own;
  }
  static void AddExt(const std::string& name, ext_factory factory) {
    graft::classic::registered = create;
    GetExtensionsHolder()->list[name] = std::move(factory);
  }
  static void AddShapeInferImpl(const std::string& name, const IShapeInferImpl::Ptr& impl) {
    graft::classic::registered = create;
    GetExtensionsHolder()->si_list[name] = impl;
  }
  // Hidden: one per library, not one per process.
  [[gnu::visibility("hidden")]] static std::shared_ptr<ExtensionsHolder> GetExtensionsHolder() {
    static auto holder = std::make_shared<ExtensionsHolder>();
    return holder;
  }

 private:
  static IExtension* create() { return new CpuExtensions; }
  template <class T>
  static StatusCode collect(const std::map<std::string, T>& from, char**& types, unsigned int& size) {
    types = new char*[from.size()];
    size = 0;
    for (const auto& [name, value] : from) {
      types[size] = new char[name.size() + 1]{};
      name.copy(types[size++], name.size());
    }
    return OK;
  }
};

template <class Ext>
class ExtRegisterBase {
 public:
  explicit ExtRegisterBase(const std::string& type) {
    CpuExtensions::AddExt(type, [](const CNNLayer* layer) -> ILayerImplFactory* {
      if constexpr (std::is_base_of_v<ILayerImpl, Ext>) return new ImplFactory<Ext>(layer);
      else return new Ext(layer);
    });
  }
};
template <class Impl>
class ShapeInferRegister {
 public:
  explicit ShapeInferRegister(const std::string& type) {
    CpuExtensions::AddShapeInferImpl(type, std::make_shared<Impl>());
  }
};

}  // namespace Cpu
}  // namespace Extensions
}  // namespace InferenceEngine

#define REG_FACTORY_FOR(FACTORY, TYPE) \
  static ::InferenceEngine::Extensions::Cpu::ExtRegisterBase<FACTORY> graft_registered_##TYPE(#TYPE)
#define REG_SHAPE_INFER_FOR_TYPE(IMPL, TYPE) \
  static ::InferenceEngine::Extensions::Cpu::ShapeInferRegister<IMPL> graft_shape_of_##TYPE(#TYPE)

// A node of Graft as a classic extension sees it, and its implementation: the parts of adapter.hpp that know no graph.
#pragma once

#include <dlfcn.h>

#include <cstring>

#include "../numeric.hpp"
#include "../op.hpp"
#include "extension.hpp"
#include "parallel.hpp"

namespace graft {
namespace [[gnu::visibility("hidden")]] classic {

namespace ie = InferenceEngine;

inline ie::IExtension*& the_library() {
  static ie::IExtension* one = nullptr;
  return one;
}
inline ie::IExtension& library() { return *the_library(); }
// The file name of this library, for messages.
inline std::string_view library_name() {
  static const std::string name = [] {
    Dl_info info{};
    std::string path = dladdr(reinterpret_cast<void*>(&the_library), &info) && info.dli_fname ? info.dli_fname : "";
    return path.substr(path.rfind('/') + 1);
  }();
  return name;
}

inline std::string_view status_name(ie::StatusCode s) {
  constexpr std::string_view names[] = {"OK",
                                        "GENERAL_ERROR",
                                        "NOT_IMPLEMENTED",
                                        "NETWORK_NOT_LOADED",
                                        "PARAMETER_MISMATCH",
                                        "NOT_FOUND",
                                        "OUT_OF_BOUNDS",
                                        "UNEXPECTED",
                                        "REQUEST_BUSY",
                                        "RESULT_NOT_READY",
                                        "NOT_ALLOCATED",
                                        "INFER_NOT_STARTED",
                                        "NETWORK_NOT_READ"};
  auto i = static_cast<size_t>(-static_cast<int64_t>(s));
  return i < std::size(names) ? names[i] : "an unknown status";
}
inline std::string complaint(std::string_view function, ie::StatusCode status, const ie::ResponseDesc& resp) {
  std::string message(resp.msg, strnlen(resp.msg, sizeof resp.msg));
  return text("library '", library_name(), "': ", function, " returned ", status_name(status),
              message.empty() ? "" : ": ", message);
}
// Calls into the library; its exceptions become errors that name it.
template <class F>
auto guard(std::string_view function, F&& f) {
  try {
    return f();
  } catch (const Failure&) {
    throw;
  } catch (const std::exception& e) {
    fail("library '", library_name(), "': ", function, ": ", e.what());
  }
}

struct TypeName {
  DType type;
  ie::Precision::ePrecision precision;
};
inline constexpr TypeName type_names[] = {
    {DType::f32, ie::Precision::FP32},    {DType::f16, ie::Precision::FP16}, {DType::bf16, ie::Precision::BF16},
    {DType::f64, ie::Precision::FP64},    {DType::i64, ie::Precision::I64},  {DType::i32, ie::Precision::I32},
    {DType::i16, ie::Precision::I16},     {DType::i8, ie::Precision::I8},    {DType::u64, ie::Precision::U64},
    {DType::u32, ie::Precision::U32},     {DType::u16, ie::Precision::U16},  {DType::u8, ie::Precision::U8},
    {DType::boolean, ie::Precision::BOOL}};
inline ie::Precision precision_of(DType type) {
  for (const TypeName& t : type_names)
    if (t.type == type) return t.precision;
  unsupported("CPU extensions have no precision for the element type ", type);
}
inline DType type_of(ie::Precision precision) {
  for (const TypeName& t : type_names)
    if (t.precision == precision) return t.type;
  unsupported("library '", library_name(), "' asks for the precision ", precision.name(), ", which is not supported");
}
// The CPU plugin converted to these types before its layers saw a tensor.
inline ie::Precision classic_precision(ie::Precision p) {
  switch (p) {
    case ie::Precision::I64:
    case ie::Precision::U64:
    case ie::Precision::U32: return ie::Precision::I32;
    case ie::Precision::FP16:
    case ie::Precision::BF16:
    case ie::Precision::FP64: return ie::Precision::FP32;
    case ie::Precision::BOOL: return ie::Precision::U8;
    default: return p;
  }
}

// An attribute as the IR writes it.
inline std::string attribute_text(const graft_value& v) {
  auto list = [&](auto item) {
    std::string out;
    for (size_t i = 0; i < v.count; ++i) out += (i ? "," : "") + item(i);
    return out;
  };
  switch (v.kind) {
    case GRAFT_BOOL: return v.i ? "true" : "false";
    case GRAFT_INT: return text(v.i);
    case GRAFT_FLOAT: return text(v.f);
    case GRAFT_TEXT: return std::string(view(v.s));
    case GRAFT_DTYPE: return std::string(name_of(static_cast<DType>(v.i)));
    case GRAFT_SHAPE: {
      std::string s = text(Shape(v.shape));
      return s.size() < 2 ? s : s.substr(1, s.size() - 2);
    }
    case GRAFT_INTS: return list([&](size_t i) { return text(static_cast<const int64_t*>(v.items)[i]); });
    case GRAFT_FLOATS: return list([&](size_t i) { return text(static_cast<const double*>(v.items)[i]); });
    case GRAFT_TEXTS:
      return list([&](size_t i) { return std::string(view(static_cast<const graft_str*>(v.items)[i])); });
    case GRAFT_DTYPES:
      return list([&](size_t i) {
        return std::string(name_of(static_cast<DType>(static_cast<const graft_type*>(v.items)[i])));
      });
    default: return "";
  }
}

// What is known of a node; its constants belong to the host.
struct NodeFacts {
  std::string name, type;
  std::map<std::string, std::string> params;
  std::vector<Info> inputs, outputs;
  std::vector<TensorView> constants;  // of the inputs, empty where not constant
  std::vector<std::pair<std::string, TensorView>> blobs;
  // Of an operation of nGraph: its implementation. Empty: the library's factory is asked.
  std::function<ie::ILayerImpl::Ptr()> implementation;
};
inline size_t flows_of(size_t inputs, size_t blobs) {
  if (blobs > inputs) fail("expected ", blobs, " blobs among the inputs, got ", inputs, " inputs");
  return inputs - blobs;
}
inline NodeFacts facts_of(const NodeView& ctx, const std::vector<std::string>& blobs) {
  NodeFacts f;
  f.name = ctx.name(), f.type = ctx.op_type();
  for (const graft_named_value& a : ctx.all_attributes())
    if (view(a.name) != "blobs") f.params[std::string(view(a.name))] = attribute_text(a.value);
  size_t flows = flows_of(ctx.inputs(), blobs.size());
  for (size_t i = 0; i < flows; ++i) {
    f.inputs.push_back(ctx.input(i));
    f.constants.push_back(ctx.constant(i));
  }
  for (size_t i = 0; i < blobs.size(); ++i) {
    TensorView t = ctx.constant(flows + i);
    if (!t) unsupported("blob '", blobs[i], "' of '", f.name, "' must be constant");
    f.blobs.emplace_back(blobs[i], t);
  }
  return f;
}
inline Shape shape_of_dims(const ie::SizeVector& dims) {
  std::vector<int64_t> out;
  for (size_t d : dims) out.push_back(narrow<int64_t>(d));
  return Shape::of(out);
}
// Unknown dimensions are taken as small as they can be.
inline ie::SizeVector dims_of(const Shape& s) {
  ie::SizeVector out;
  if (s.ranked())
    for (const Dim& d : s) out.push_back(static_cast<size_t>(d.known() ? d.value() : std::max<int64_t>(d.min(), 1)));
  return out;
}

// An implementation with its configuration, and the blobs of one call.
struct Chosen {
  std::shared_ptr<ie::ILayerExecImpl> impl;
  ie::LayerConfig config;
  std::vector<ie::Blob::Ptr> inputs, outputs;

  void initialize() {
    ie::ResponseDesc resp;
    ie::StatusCode status = guard("init", [&] { return impl->init(config, &resp); });
    if (status != ie::OK) fail(complaint("init", status, resp));
    for (const ie::DataConfig& c : config.inConfs) inputs.push_back(ie::make_blob_with_precision(c.desc));
    for (const ie::DataConfig& c : config.outConfs) outputs.push_back(ie::make_blob_with_precision(c.desc));
  }
};

// A CNNLayer with what it refers to.
class LayerNode {
 public:
  // `classic`: with the types of 2019.
  LayerNode(const NodeFacts& f, bool classic) {
    auto desc = [&](const Info& i) {
      ie::SizeVector dims = dims_of(i.shape);
      ie::Precision p = precision_of(i.type == DType::undefined ? DType::f32 : i.type);
      return ie::TensorDesc(classic ? classic_precision(p) : p, dims, ie::TensorDesc::getLayoutByDims(dims));
    };
    ie::Precision precision = f.outputs.empty() ? ie::Precision() : desc(f.outputs[0]).getPrecision();
    auto made = std::make_shared<ie::WeightableLayer>(ie::LayerParams{f.name, f.type, precision});
    made->params = f.params;
    for (size_t i = 0; i < f.inputs.size(); ++i) {
      inputs.push_back(std::make_shared<ie::Data>(text(f.name, "/input", i), desc(f.inputs[i])));
      made->insData.push_back(inputs.back());
      if (f.constants[i]) add_constant(i, f.constants[i]);
    }
    for (size_t i = 0; i < f.outputs.size(); ++i)
      made->outData.push_back(std::make_shared<ie::Data>(i ? text(f.name, ".", i) : f.name, desc(f.outputs[i])));
    for (const auto& [name, t] : f.blobs) made->blobs[name] = blob_of(t);
    if (made->blobs.count("weights")) made->_weights = made->blobs["weights"];
    if (made->blobs.count("biases")) made->_biases = made->blobs["biases"];
    layer = made;
    implementation_ = f.implementation;
  }

  std::shared_ptr<ie::ILayerImplFactory> factory() const {
    ie::ILayerImplFactory* made = nullptr;
    ie::ResponseDesc resp;
    ie::StatusCode status = guard("getFactoryFor", [&] { return library().getFactoryFor(made, layer.get(), &resp); });
    if (status != ie::OK || !made) unsupported(complaint("getFactoryFor", status, resp));
    return std::shared_ptr<ie::ILayerImplFactory>(made);
  }
  ie::Blob::CPtr input_blob(size_t i) const {
    if (ie::CNNLayerPtr c = inputs[i]->getCreatorLayer().lock()) return c->blobs.at("custom");
    return ie::make_blob_with_precision(inputs[i]->getTensorDesc());
  }

  // The implementation and configuration that need the fewest conversions; none: `reason` says why.
  static std::optional<Chosen> choose(const std::shared_ptr<LayerNode>& node) {
    std::optional<Chosen> best;
    try {
      best = node->find();
    } catch (const Failure& f) {
      node->reason = f.message;
    } catch (const std::exception& e) {
      node->reason = text("library '", library_name(), "': ", e.what());
    }
    return best;
  }

  std::shared_ptr<ie::CNNLayer> layer;
  std::vector<ie::DataPtr> inputs;
  std::string reason;

 private:
  std::optional<Chosen> find() {
    std::optional<Chosen> best;
    int fewest = 0;
    std::vector<ie::ILayerImpl::Ptr> impls;
    ie::ResponseDesc resp;
    ie::StatusCode status = ie::OK;
    if (implementation_) {
      impls.push_back(implementation_());
    } else {
      factory_ = factory();
      status = factory_->getImplementations(impls, &resp);
    }
    if (status != ie::OK) unsupported(complaint("getImplementations", status, resp));
    for (const ie::ILayerImpl::Ptr& impl : impls) {
      auto runs = std::dynamic_pointer_cast<ie::ILayerExecImpl>(impl);
      if (!runs) continue;
      std::vector<ie::LayerConfig> configs;
      status = impl->getSupportedConfigurations(configs, &resp);
      if (status != ie::OK) {
        reason = complaint("getSupportedConfigurations", status, resp);
        continue;
      }
      for (ie::LayerConfig& c : configs) {
        int steps = conversions(c);
        if (steps < 0 || (best && steps >= fewest)) continue;
        fewest = steps;
        best = Chosen{runs, std::move(c), {}, {}};
      }
    }
    if (!best && reason.empty())
      reason = text("library '", library_name(), "' has no configuration for ", layer->insData.size(), " inputs and ",
                    layer->outData.size(), " outputs");
    return best;
  }

  // Makes the descriptors concrete and counts the ports that need a conversion; -1: does not fit the node.
  int conversions(ie::LayerConfig& c) const {
    if (c.inConfs.size() != inputs.size() || c.outConfs.size() != layer->outData.size()) return -1;
    int steps = 0;
    auto visit = [&](ie::DataConfig& port, const ie::TensorDesc& have) {
      ie::Precision p = port.desc.getPrecision() ? port.desc.getPrecision() : have.getPrecision();
      const ie::BlockingDesc& b = port.desc.getBlockingDesc();
      if (port.desc.getLayout() == ie::Layout::ANY || b.getOrder().empty())
        port.desc = ie::TensorDesc(p, have.getDims(), have.getLayout());
      else if (b.getOffsetPadding() == SIZE_MAX)  // any offset is accepted
        port.desc = ie::TensorDesc(p, have.getDims(), ie::BlockingDesc(b.getBlockDims(), b.getOrder()));
      bool same = p == have.getPrecision() && port.desc.getBlockingDesc() == have.getBlockingDesc();
      steps += same ? 0 : 1;
    };
    for (size_t i = 0; i < inputs.size(); ++i) visit(c.inConfs[i], inputs[i]->getTensorDesc());
    for (size_t i = 0; i < c.outConfs.size(); ++i) visit(c.outConfs[i], layer->outData[i]->getTensorDesc());
    return steps;
  }

  static ie::Blob::Ptr blob_of(TensorView t) {
    ie::SizeVector dims(t.dims().begin(), t.dims().end());
    auto blob = ie::make_blob_with_precision(
        ie::TensorDesc(precision_of(t.type()), dims, ie::TensorDesc::getLayoutByDims(dims)));
    blob->use_memory(const_cast<void*>(t.bytes()));
    return blob;
  }
  void add_constant(size_t input, TensorView t) {
    auto c = std::make_shared<ie::CNNLayer>(ie::LayerParams{inputs[input]->getName(), "Const", precision_of(t.type())});
    c->blobs["custom"] = blob_of(t);
    constants_.push_back(c);
    inputs[input]->getCreatorLayer() = c;
  }

  std::shared_ptr<ie::ILayerImplFactory> factory_;
  std::function<ie::ILayerImpl::Ptr()> implementation_;
  std::vector<ie::CNNLayerPtr> constants_;
};

// With the types of 2019, since libraries may take it for granted that there are no others, or with the node's own
// types if the library refuses those.
inline std::pair<std::shared_ptr<LayerNode>, std::optional<Chosen>> choose(const NodeFacts& f) {
  auto classic = std::make_shared<LayerNode>(f, true), own = std::make_shared<LayerNode>(f, false);
  if (auto c = LayerNode::choose(classic)) return {classic, std::move(c)};
  if (auto c = LayerNode::choose(own)) return {own, std::move(c)};
  return {classic, std::nullopt};
}

// How a tensor reaches the memory that the implementation sees: as it is, or through a copy with another type or order.
class PortPlan {
 public:
  PortPlan(const ie::DataConfig& port, const Info& info, size_t offset) : desc_(port.desc), end(offset) {
    type_ = type_of(desc_.getPrecision());
    const ie::SizeVector& dims = desc_.getDims();
    if (shape_of_dims(dims) != info.shape)
      unsupported("library '", library_name(), "': expected a configuration for shape ", info.shape, ", got ",
                  shape_of_dims(dims));
    plain_ = desc_.getBlockingDesc() == ie::BlockingDesc(dims, ie::TensorDesc::getLayoutByDims(dims));
    same_ = type_ == info.type;
    auto reserve = [&](size_t elements) {
      size_t at = end;
      end += (elements * desc_.getPrecision().size() + 63) / 64 * 64;
      return at;
    };
    count_ = 1;
    for (size_t d : dims) count_ *= d;
    if (!same_) converted_ = reserve(count_);
    if (!plain_) {
      blocked_count_ = desc_.getBlockingDesc().getOffsetPadding();
      size_t last = 1;
      for (size_t i = 0; i < desc_.getBlockingDesc().getBlockDims().size(); ++i)
        last += (std::max<size_t>(desc_.getBlockingDesc().getBlockDims()[i], 1) - 1 +
                 desc_.getBlockingDesc().getOffsetPaddingToData()[i]) *
                desc_.getBlockingDesc().getStrides()[i];
      blocked_count_ += last;
      blocked_ = reserve(blocked_count_);
    }
  }

  // The memory of the port, given that of the tensor.
  void* memory(void* tensor, unsigned char* scratch) const {
    return !plain_ ? scratch + blocked_ : !same_ ? scratch + converted_ : tensor;
  }
  void* load(TensorView from, unsigned char* scratch) const {
    const void* now = from.bytes();
    if (!same_) {
      graft_tensor to = *from.raw();
      to.type = static_cast<graft_type>(type_), to.data = scratch + converted_;
      check(host->convert(from.raw(), &to));
      now = to.data;
    }
    if (plain_) return const_cast<void*>(now);
    size_t size = desc_.getPrecision().size();
    unsigned char* to = scratch + blocked_;
    std::memset(to, 0, blocked_count_ * size);
    for (size_t i = 0; i < count_; ++i)
      std::memcpy(to + desc_.offset(i) * size, static_cast<const unsigned char*>(now) + i * size, size);
    return to;
  }
  void store(OutputView to, unsigned char* scratch) const {
    if (plain_ && same_) return;
    auto* flat = same_ ? static_cast<unsigned char*>(to.bytes()) : scratch + converted_;
    size_t size = desc_.getPrecision().size();
    for (size_t i = 0; i < count_ && !plain_; ++i)
      std::memcpy(flat + i * size, scratch + blocked_ + desc_.offset(i) * size, size);
    if (same_) return;
    graft_tensor from = *to.raw();
    from.type = static_cast<graft_type>(type_), from.data = flat;
    check(host->convert(&from, to.raw()));
  }

 private:
  ie::TensorDesc desc_;
  DType type_;
  bool plain_ = true, same_ = true;
  size_t count_ = 0, blocked_count_ = 0, converted_ = 0, blocked_ = 0;

 public:
  size_t end;  // of its part of the scratch memory
};

}  // namespace classic
}  // namespace graft

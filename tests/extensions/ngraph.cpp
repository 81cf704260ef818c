// A CPU extension of 2021: operations of nGraph in an operation set, an implementation for one of them, and a layer of
// ONNX, with the include lines of that time and the folder `adapters` in the include path. Cases are in ngraph.test.
#include <ie_iextension.h>

#include <ie_ngraph_utils.hpp>
#include <ngraph/ngraph.hpp>
#include <ngraph/opsets/opset.hpp>
#include <onnx_import/onnx_utils.hpp>

namespace Acme {

// y = x + add, by `evaluate`.
class Shift : public ngraph::op::Op {
 public:
  NGRAPH_RTTI_DECLARATION;

  Shift() = default;
  Shift(const ngraph::Output<ngraph::Node>& arg, int64_t add) : Op({arg}), add(add) {
    constructor_validate_and_infer_types();
  }
  void validate_and_infer_types() override {
    NODE_VALIDATION_CHECK(this, get_input_size() == 1, "one input");
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<ngraph::Node> clone_with_new_inputs(const ngraph::OutputVector& new_args) const override {
    if (new_args.size() != 1) throw ngraph::ngraph_error("Incorrect number of new arguments");
    return std::make_shared<Shift>(new_args.at(0), add);
  }
  bool visit_attributes(ngraph::AttributeVisitor& visitor) override {
    visitor.on_attribute("add", add);
    return true;
  }
  bool evaluate(const ngraph::HostTensorVector& outputs, const ngraph::HostTensorVector& inputs) const override {
    outputs[0]->set_unary(inputs[0]);
    switch (inputs[0]->get_element_type()) {
      case ngraph::element::Type_t::f32: return compute<ngraph::element::Type_t::f32>(*outputs[0], *inputs[0]);
      case ngraph::element::Type_t::i32: return compute<ngraph::element::Type_t::i32>(*outputs[0], *inputs[0]);
      default: return false;
    }
  }

 protected:
  template <ngraph::element::Type_t type>
  bool compute(ngraph::HostTensor& y, ngraph::HostTensor& x) const {
    auto *from = x.get_data_ptr<type>(), *to = y.get_data_ptr<type>();
    using T = std::remove_reference_t<decltype(*to)>;
    for (size_t i = 0; i < x.get_element_count(); ++i) to[i] = from[i] + static_cast<T>(add);
    return true;
  }
  int64_t add = 0;
};
NGRAPH_RTTI_DEFINITION(Acme::Shift, "Shift", 0);

// Positive elements alone: a shape that depends on the data, and type_info as early releases wrote it.
class Positive : public ngraph::op::Op {
 public:
  static constexpr ngraph::NodeTypeInfo type_info{"Positive", 0};
  const ngraph::NodeTypeInfo& get_type_info() const override { return type_info; }
  Positive() = default;
  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), ngraph::PartialShape{ngraph::Dimension::dynamic()});
  }
  std::shared_ptr<ngraph::Node> clone_with_new_inputs(const ngraph::OutputVector&) const override { return nullptr; }
  bool evaluate(const ngraph::HostTensorVector& outputs, const ngraph::HostTensorVector& inputs) const override {
    std::vector<float> kept;
    const float* x = inputs[0]->get_data_ptr<float>();
    for (size_t i = 0; i < inputs[0]->get_element_count(); ++i)
      if (x[i] > 0) kept.push_back(x[i]);
    outputs[0]->set_shape(ngraph::Shape{kept.size()});
    outputs[0]->write(kept.data(), kept.size() * sizeof(float));
    return true;
  }
};

// y = x * by, with an implementation for the CPU; its `evaluate` would give other numbers.
class Stretch : public ngraph::op::Op {
 public:
  NGRAPH_RTTI_DECLARATION;
  Stretch() = default;
  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<ngraph::Node> clone_with_new_inputs(const ngraph::OutputVector&) const override { return nullptr; }
  bool visit_attributes(ngraph::AttributeVisitor& visitor) override { return visitor.on_attribute("by", by), true; }
  bool evaluate(const ngraph::HostTensorVector& outputs, const ngraph::HostTensorVector&) const override {
    for (size_t i = 0; i < outputs[0]->get_element_count(); ++i) outputs[0]->get_data_ptr<float>()[i] = -1;
    return true;
  }
  float by = 1;
};
NGRAPH_RTTI_DEFINITION(Acme::Stretch, "Stretch", 0);

class StretchImplementation : public InferenceEngine::ILayerExecImpl {
 public:
  explicit StretchImplementation(const std::shared_ptr<ngraph::Node>& node) {
    auto stretch = std::dynamic_pointer_cast<Stretch>(node);
    if (!stretch) IE_THROW() << "Cannot create implementation for unknown operation!";
    if (stretch->get_input_partial_shape(0).is_dynamic())
      IE_THROW() << "Cannot create implementation for op with dynamic shapes!";
    by = stretch->by;
    shape = stretch->get_input_shape(0);
    precision = InferenceEngine::details::convertPrecision(stretch->get_input_element_type(0));
    if (precision != InferenceEngine::Precision::FP32) error = "Operation supports only FP32 tensors.";
  }
  InferenceEngine::StatusCode getSupportedConfigurations(std::vector<InferenceEngine::LayerConfig>& conf,
                                                         InferenceEngine::ResponseDesc* resp) noexcept override {
    if (!error.empty()) {
      error.copy(resp->msg, sizeof resp->msg - 1);
      return InferenceEngine::GENERAL_ERROR;
    }
    InferenceEngine::SizeVector order(shape.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    InferenceEngine::DataConfig data;
    data.desc = InferenceEngine::TensorDesc(precision, shape, {shape, order, (std::numeric_limits<size_t>::max)()});
    InferenceEngine::LayerConfig config;
    config.inConfs = {data}, config.outConfs = {data};
    conf.push_back(config);
    return InferenceEngine::OK;
  }
  InferenceEngine::StatusCode init(InferenceEngine::LayerConfig& config,
                                   InferenceEngine::ResponseDesc*) noexcept override {
    return config.inConfs.size() == 1 ? InferenceEngine::OK : InferenceEngine::GENERAL_ERROR;
  }
  InferenceEngine::StatusCode execute(std::vector<InferenceEngine::Blob::Ptr>& inputs,
                                      std::vector<InferenceEngine::Blob::Ptr>& outputs,
                                      InferenceEngine::ResponseDesc*) noexcept override {
    const float* x = inputs[0]->cbuffer().as<const float*>();
    float* y = outputs[0]->buffer().as<float*>();
    for (size_t i = 0; i < inputs[0]->size(); ++i) y[i] = x[i] * by;
    return InferenceEngine::OK;
  }

 private:
  float by;
  InferenceEngine::SizeVector shape;
  InferenceEngine::Precision precision;
  std::string error;
};

class Extension : public InferenceEngine::IExtension {
 public:
  Extension() {
    ngraph::onnx_import::register_operator(
        Shift::type_info.name, 1, "acme", [](const ngraph::onnx_import::Node& node) -> ngraph::OutputVector {
          ngraph::OutputVector inputs{node.get_ng_inputs()};
          return {std::make_shared<Shift>(inputs.at(0), node.get_attribute_value<int64_t>("add", 7))};
        });
  }
  ~Extension() override { ngraph::onnx_import::unregister_operator(Shift::type_info.name, 1, "acme"); }
  void GetVersion(const InferenceEngine::Version*& versionInfo) const noexcept override {
    static InferenceEngine::Version description = {{1, 0}, "1.0", "acme"};
    versionInfo = &description;
  }
  void Unload() noexcept override {}
  std::map<std::string, ngraph::OpSet> getOpSets() override {
    std::map<std::string, ngraph::OpSet> opsets;
    ngraph::OpSet opset;
    opset.insert<Shift>();
    opset.insert<Positive>();
    opset.insert<Stretch>();
    opsets["acme_opset"] = opset;
    return opsets;
  }
  std::vector<std::string> getImplTypes(const std::shared_ptr<ngraph::Node>& node) override {
    if (std::dynamic_pointer_cast<Stretch>(node)) return {"CPU"};
    return {};
  }
  InferenceEngine::ILayerImpl::Ptr getImplementation(const std::shared_ptr<ngraph::Node>& node,
                                                     const std::string& implType) override {
    if (implType != "CPU") return nullptr;
    return std::make_shared<StretchImplementation>(node);
  }
};

}  // namespace Acme

IE_DEFINE_EXTENSION_CREATE_FUNCTION(Acme::Extension)

// Extensions in the form of OpenVINO 2022, as the guide shows them and as users went on from there.
#include <algorithm>
#include <cmath>
#include <graft/openvino.hpp>

namespace TemplateExtension {

class Same : public ov::op::Op {
 public:
  OPENVINO_OP("Same");

  Same() = default;
  explicit Same(const ov::Output<ov::Node>& arg) : Op({arg}) { constructor_validate_and_infer_types(); }
  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& new_args) const override {
    OPENVINO_ASSERT(new_args.size() == 1, "Incorrect number of new arguments");
    return std::make_shared<Same>(new_args.at(0));
  }
  bool visit_attributes(ov::AttributeVisitor&) override { return true; }
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override {
    auto in = inputs[0];
    auto out = outputs[0];
    if (out.data() == in.data()) return true;
    out.set_shape(in.get_shape());
    memcpy(out.data(), in.data(), in.get_byte_size());
    return true;
  }
  bool has_evaluate() const override { return true; }
};

enum class Rounding { none, up };

}  // namespace TemplateExtension

namespace ov {
template <>
EnumNames<TemplateExtension::Rounding>& EnumNames<TemplateExtension::Rounding>::get() {
  static auto names = EnumNames<TemplateExtension::Rounding>(
      "Rounding", {{"none", TemplateExtension::Rounding::none}, {"up", TemplateExtension::Rounding::up}});
  return names;
}
template <>
class AttributeAdapter<TemplateExtension::Rounding> : public EnumAttributeAdapterBase<TemplateExtension::Rounding> {
 public:
  using EnumAttributeAdapterBase::EnumAttributeAdapterBase;
};
}  // namespace ov

namespace TemplateExtension {

// Output 0: the elements at `positions` of the last axis, scaled; output 1: how many elements the input has.
class Describe : public ov::op::Op {
 public:
  OPENVINO_OP("Describe", "acme");

  void validate_and_infer_types() override {
    NODE_VALIDATION_CHECK(this, get_input_size() == 1, "Describe takes one input, got ", get_input_size());
    auto shape = get_input_partial_shape(0);
    if (shape.rank().is_static()) {
      NODE_VALIDATION_CHECK(this, shape.size() > 0, "expected at least one axis");
      shape[shape.size() - 1] = static_cast<int64_t>(m_positions.size());
    }
    set_output_size(2);
    set_output_type(0, m_type.is_dynamic() ? get_input_element_type(0) : m_type, shape);
    set_output_type(1, ov::element::i64, ov::PartialShape{1});
  }
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& new_args) const override {
    check_new_args_count(this, new_args);
    auto copy = std::make_shared<Describe>(*this);
    copy->set_arguments(new_args);
    return copy;
  }
  bool visit_attributes(ov::AttributeVisitor& visitor) override {
    visitor.on_attribute("label", m_label);
    visitor.on_attribute("positions", m_positions);
    visitor.on_attribute("scales", m_scales);
    visitor.on_attribute("offset", m_offset);
    visitor.on_attribute("count", m_count);
    visitor.on_attribute("negate", m_negate);
    visitor.on_attribute("rounding", m_rounding);
    visitor.on_attribute("type", m_type);
    visitor.on_attribute("expected", m_expected);
    visitor.on_attribute("words", m_words);
    return true;
  }
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override {
    if (m_label == "refuse") return false;
    OPENVINO_ASSERT(m_label != "throw", "thrown by evaluate");
    const float* x = inputs[0].data<const float>();
    const ov::Shape& in = inputs[0].get_shape();
    size_t axis = in.back(), rows = ov::shape_size(in) / axis;
    std::vector<float> y;
    for (size_t r = 0; r < rows; ++r)
      for (size_t i = 0; i < m_positions.size(); ++i) {
        float v = x[r * axis + m_positions[i]] * (m_scales.empty() ? 1.f : m_scales[i % m_scales.size()]) + m_offset;
        if (m_rounding == Rounding::up) v = std::ceil(v);
        y.push_back(m_negate ? -v : v);
      }
    if (outputs[0].get_element_type() == ov::element::i32)
      for (size_t i = 0; i < y.size(); ++i) outputs[0].data<int32_t>()[i] = static_cast<int32_t>(y[i]);
    else std::copy(y.begin(), y.end(), outputs[0].data<float>());
    outputs[1].data<int64_t>()[0] = static_cast<int64_t>(inputs[0].get_size()) + m_count;
    return true;
  }
  bool has_evaluate() const override { return get_input_element_type(0) == ov::element::f32; }

 private:
  std::string m_label = "none";
  std::vector<size_t> m_positions{0};
  std::vector<float> m_scales;
  float m_offset = 0;
  int m_count = 0;
  bool m_negate = false;
  Rounding m_rounding = Rounding::none;
  ov::element::Type m_type = ov::element::dynamic;
  ov::PartialShape m_expected;
  std::vector<std::string> m_words;
};

// The positive elements: a data-dependent shape.
class Positive : public ov::op::Op {
 public:
  OPENVINO_OP("Positive");
  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), ov::PartialShape{ov::Dimension::dynamic()});
  }
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector&) const override { return nullptr; }
  bool visit_attributes(ov::AttributeVisitor&) override { return true; }
  bool has_evaluate() const override { return true; }
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override {
    std::vector<float> kept;
    for (size_t i = 0; i < inputs[0].get_size(); ++i)
      if (inputs[0].data<float>()[i] > 0) kept.push_back(inputs[0].data<float>()[i]);
    outputs[0].set_shape({kept.size()});
    std::copy(kept.begin(), kept.end(), outputs[0].data<float>());
    return true;
  }
};

// As many copies as a constant input says.
class Copies : public ov::op::Op {
 public:
  OPENVINO_OP("Copies", "acme", ov::op::Op);
  void validate_and_infer_types() override {
    auto shape = get_input_partial_shape(0);
    auto times = ov::get_constant_from_source(input_value(1));
    shape[0] = times ? shape[0] * ov::Dimension(times->cast_vector<int64_t>().at(0)) : ov::Dimension::dynamic();
    set_output_type(0, get_input_element_type(0), shape);
  }
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector&) const override { return nullptr; }
  bool visit_attributes(ov::AttributeVisitor&) override { return true; }
  bool has_evaluate() const override { return true; }
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override {
    auto times = static_cast<size_t>(inputs[1].data<int64_t>()[0]);
    ov::Shape shape = inputs[0].get_shape();
    shape[0] *= times;
    outputs[0].set_shape(shape);
    for (size_t i = 0; i < times; ++i)
      memcpy(static_cast<char*>(outputs[0].data()) + i * inputs[0].get_byte_size(), inputs[0].data(),
             inputs[0].get_byte_size());
    return true;
  }
};

}  // namespace TemplateExtension

using namespace TemplateExtension;

// clang-format off
OPENVINO_CREATE_EXTENSIONS(
    std::vector<ov::Extension::Ptr>({
        std::make_shared<ov::OpExtension<Same>>(),
        std::make_shared<ov::frontend::OpExtension<Same>>(),
        std::make_shared<ov::OpExtension<Describe>>(),
        std::make_shared<ov::frontend::OpExtension<Describe>>(
            "Depict", std::map<std::string, std::string>{{"label", "title"}, {"positions", "at"}},
            std::map<std::string, ov::Any>{{"count", 100}, {"negate", true}}),
        std::make_shared<ov::frontend::onnx::OpExtension<Describe>>("Portray", "acme"),
        std::make_shared<ov::OpExtension<Positive>>(),
        std::make_shared<ov::OpExtension<Copies>>(),
        std::make_shared<ov::frontend::OpExtension<>>("Relu", "MyRelu"),
        std::make_shared<ov::frontend::ConversionExtension>("MyThreshold", [](const ov::frontend::NodeContext& node) {
          auto greater = std::make_shared<ov::opset8::Greater>(
              node.get_input(0), ov::opset8::Constant::create(ov::element::f32, {}, {node.get_attribute<float>("alpha")}));
          auto casted = std::make_shared<ov::opset8::Convert>(greater, ov::element::f32);
          return ov::OutputVector{std::make_shared<ov::opset8::Multiply>(node.get_input(0), casted)};
        }),
        std::make_shared<ov::frontend::ConversionExtension>("Twofold", [](const ov::frontend::NodeContext& node) {
          auto same = std::make_shared<Same>(node.get_input(0));
          return ov::OutputVector{std::make_shared<ov::opset8::Add>(same, std::make_shared<ov::opset8::Relu>(same))};
        })
    }));
// clang-format on

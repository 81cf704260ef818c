// The custom operations of bench/custom_models.py for OpenVINO, through ov::op::Op: planar memory, one thread.
#include <openvino/core/extension.hpp>
#include <openvino/core/op_extension.hpp>
#include <openvino/frontend/onnx/extension/conversion.hpp>
#include <openvino/op/op.hpp>

#include "../formulas.hpp"

namespace {

using formulas::Picture;

// What all of them share: the output has the type and the shape of the first input.
template <class Derived>
class Custom : public ov::op::Op {
 public:
  Custom() = default;
  explicit Custom(const ov::OutputVector& inputs) : Op(inputs) { constructor_validate_and_infer_types(); }
  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override {
    return std::make_shared<Derived>(inputs);
  }
  bool visit_attributes(ov::AttributeVisitor&) override { return true; }
  bool has_evaluate() const override { return true; }
};

class BenchMish : public Custom<BenchMish> {
 public:
  OPENVINO_OP("BenchMish", "bench");
  using Custom::Custom;
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override {
    const auto* x = inputs[0].data<const float>();
    std::transform(x, x + inputs[0].get_size(), outputs[0].data<float>(), formulas::mish);
    return true;
  }
};

class BenchCosh : public Custom<BenchCosh> {
 public:
  OPENVINO_OP("BenchCosh", "bench");
  using Custom::Custom;
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override {
    const auto* x = inputs[0].data<const float>();
    std::transform(x, x + inputs[0].get_size(), outputs[0].data<float>(), formulas::cosine);
    return true;
  }
};

class BenchChannelNorm : public Custom<BenchChannelNorm> {
 public:
  OPENVINO_OP("BenchChannelNorm", "bench");
  using Custom::Custom;
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override {
    Picture p(inputs[0].get_shape(), false);
    formulas::normalize_pixels(p, inputs[0].data<const float>(), inputs[1].data<const float>(),
                               outputs[0].data<float>(), 0, p.batch * p.pixels());
    return true;
  }
};

class BenchWarp : public Custom<BenchWarp> {
 public:
  OPENVINO_OP("BenchWarp", "bench");
  using Custom::Custom;
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override {
    Picture p(inputs[0].get_shape(), false);
    formulas::warp_rows(p, inputs[0].data<const float>(), inputs[1].data<const float>(), outputs[0].data<float>(), 0,
                        p.batch * p.rows);
    return true;
  }
};

template <class T>
ov::Extension::Ptr import_as(const char* name) {
  return std::make_shared<ov::frontend::onnx::ConversionExtension>(
      name, formulas::domain, [](const ov::frontend::NodeContext& node) {
        ov::OutputVector inputs;
        for (size_t i = 0; i < node.get_input_size(); ++i) inputs.push_back(node.get_input(static_cast<int>(i)));
        return std::make_shared<T>(inputs)->outputs();
      });
}

}  // namespace

OPENVINO_CREATE_EXTENSIONS(std::vector<ov::Extension::Ptr>({
    std::make_shared<ov::OpExtension<BenchMish>>(),
    import_as<BenchMish>("BenchMish"),
    std::make_shared<ov::OpExtension<BenchCosh>>(),
    import_as<BenchCosh>("BenchCosh"),
    std::make_shared<ov::OpExtension<BenchChannelNorm>>(),
    import_as<BenchChannelNorm>("BenchChannelNorm"),
    std::make_shared<ov::OpExtension<BenchWarp>>(),
    import_as<BenchWarp>("BenchWarp"),
}));

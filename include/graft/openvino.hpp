// Extensions that were written for OpenVINO 2022 and later, without OpenVINO.
//
//   #include <graft/openvino.hpp>   // instead of <openvino/op/op.hpp>, <openvino/core/extension.hpp>, ...
//
//   class Identity : public ov::op::Op {
//    public:
//     OPENVINO_OP("Identity");
//     Identity() = default;
//     explicit Identity(const ov::Output<ov::Node>& x) : Op({x}) { constructor_validate_and_infer_types(); }
//     void validate_and_infer_types() override {
//       set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
//     }
//     std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& x) const override {
//       return std::make_shared<Identity>(x.at(0));
//     }
//     bool visit_attributes(ov::AttributeVisitor&) override { return true; }
//     bool has_evaluate() const override { return true; }
//     bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override {
//       return inputs[0].copy_to(outputs[0]), true;
//     }
//   };
//   OPENVINO_CREATE_EXTENSIONS(std::vector<ov::Extension::Ptr>({
//       std::make_shared<ov::OpExtension<Identity>>(),               // as IRs name it
//       std::make_shared<ov::frontend::OpExtension<Identity>>()}));  // as a layer of ONNX, TensorFlow, ...
//
// Build it as a shared library that links nothing (c++ -std=c++20 -O2 -fPIC -shared -I<prefix>/include), and load it
// with --extensions. The attributes of the operation are those that a default-constructed object visits, with its
// values as defaults. `evaluate` gets tensors over Graft's memory and may run on several threads at once; an output
// whose shape validate_and_infer_types left dynamic is allocated by set_shape. Exceptions become errors that name the
// node.
//
// Conversion functions build standard operations with ov::op::Standard("Relu", {x}, attributes); the names of
// ov::opset8 cover the frequent ones.
#pragma once

#include "openvino/extension.hpp"

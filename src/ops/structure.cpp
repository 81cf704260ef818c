// Parameter, Constant, Result: the inputs, constants and outputs of a graph.
#include <graft/op.hpp>

namespace graft {
namespace {

struct Parameter {
  Shape shape = Shape::unknown();
  DType element_type = DType::undefined;
  static constexpr std::tuple schema{
      attr("shape", &Parameter::shape, "shape, which may be partially or completely unknown"),
      attr("element_type", &Parameter::element_type, "element type")};
};
void parameter_infer(Infer& ctx, const Parameter& a) { ctx.output(0, a.element_type, a.shape); }

struct Constant {
  TensorView value;
  static constexpr std::tuple schema{attr("value", &Constant::value, "value of the constant")};
};
void constant_infer(Infer& ctx, const Constant& a) { ctx.output(0, a.value.info()); }
void constant_run(Run& ctx, const Constant& a) { ctx.output(0).assign(a.value); }

void result_infer(Infer&, const NoAttributes&) {}

Value import_constant(Builder& layer) {
  if (layer.has("value")) return layer.constant(layer.get<TensorView>("value"));
  if (layer.has("sparse_value")) return layer.constant(layer.get<TensorView>("sparse_value"));
  if (layer.has("value_float")) return layer.constant<float>({layer.get<float>("value_float")}, {});
  if (layer.has("value_int")) return layer.constant<int64_t>({layer.get<int64_t>("value_int")}, {});
  if (layer.has("value_ints")) return layer.ints(layer.get<std::vector<int64_t>>("value_ints"));
  if (layer.has("value_floats")) {
    auto v = layer.get<std::vector<float>>("value_floats");
    auto n = static_cast<int64_t>(v.size());
    return layer.constant(std::move(v), {n});
  }
  if (layer.has("value_string") || layer.has("value_strings")) {
    std::vector<std::string> texts = layer.has("value_string") ? std::vector{layer.get<std::string>("value_string")}
                                                               : layer.get<std::vector<std::string>>("value_strings");
    std::vector<graft_str> strs;
    for (const std::string& t : texts) strs.push_back(str(t));
    auto n = static_cast<int64_t>(strs.size());
    return layer.constant(std::move(strs), layer.has("value_string") ? std::vector<int64_t>{} : std::vector{n});
  }
  fail("the constant has none of the attributes that hold a value");
}

}  // namespace

Definitions define_structure() {
  return {
      op<Parameter>("Parameter", 1).doc("Input of the model or of a body").inputs("").infer(parameter_infer).impure(),
      op<Constant>("Constant", 1)
          .doc("Constant value")
          .ir_name("Const")
          .inputs("")
          .infer(constant_infer)
          .reference(constant_run)
          .import(onnx("Constant").expand(import_constant)),
      op("Result", 1).doc("Output of the model or of a body").inputs("input").outputs("").infer(result_infer).impure(),
  };
}

}  // namespace graft

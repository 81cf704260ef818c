// Extensions in OpenVINO's form: operations, and how the layers of frameworks become operations.
#pragma once

#include "adapter.hpp"

namespace [[gnu::visibility("default")]] ov {

// What OPENVINO_CREATE_EXTENSIONS lists.
class Extension {
 public:
  using Ptr = std::shared_ptr<Extension>;
  virtual ~Extension() = default;
  virtual graft::Definitions define() const = 0;
};

class BaseOpExtension : public Extension {};

// The operation T itself, as IRs name it.
template <class T>
class OpExtension : public BaseOpExtension {
 public:
  graft::Definitions define() const override { return graft::openvino::VisitedOp::of<T>(); }
};

// A constant value of an attribute.
class Any {
 public:
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Any> && std::is_constructible_v<graft::AttrValue, T>)
      Any(const T& value)
      : value_(value) {}
  const graft::AttrValue& value() const { return value_; }

 private:
  graft::AttrValue value_;
};

namespace frontend {

// Layer `fw_type` becomes the operation T; attributes keep their names unless a map says otherwise.
class OpExtensionBase : public Extension {
 public:
  using Names = std::map<std::string, std::string>;
  using Values = std::map<std::string, Any>;
  OpExtensionBase(std::string ov_type, std::string opset, std::string fw_type, std::string domain, Names names,
                  Values values)
      : ov_type_(std::move(ov_type)),
        opset_(std::move(opset)),
        fw_type_(std::move(fw_type)),
        domain_(std::move(domain)),
        names_(std::move(names)),
        values_(std::move(values)) {}

  graft::Definitions define() const override {
    graft::Definitions all;
    if (!domain_.empty()) return rule("onnx", domain_);
    all += rule("*", "");
    all += rule("onnx", "*");
    return all;
  }

 private:
  graft::Rule rule(std::string_view framework, std::string_view domain) const {
    using graft::openvino::kept;
    graft::Rule r(framework, kept(fw_type_));
    r.domain(kept(std::string(domain))).to(kept(ov_type_), opset_);
    for (const auto& [ours, theirs] : names_) r.attr(kept(ours), kept(theirs));
    for (const auto& [ours, value] : values_) r.attr(kept(ours), "", value.value());
    return r;
  }
  std::string ov_type_, opset_, fw_type_, domain_;
  Names names_;
  Values values_;
};

template <class T = void>
class OpExtension : public OpExtensionBase {
 public:
  explicit OpExtension(const Names& names = {}, const Values& values = {})
      : OpExtension(T::get_type_info_static().name, names, values) {}
  explicit OpExtension(const std::string& fw_type, const Names& names = {}, const Values& values = {})
      : OpExtension(fw_type, "", names, values) {}
  explicit OpExtension(const char* fw_type, const Names& names = {}, const Values& values = {})
      : OpExtension(std::string(fw_type), "", names, values) {}
  // With an ONNX domain.
  OpExtension(const std::string& fw_type, const std::string& domain, const Names& names = {}, const Values& values = {})
      : OpExtensionBase(T::get_type_info_static().name, T::get_type_info_static().version_id, fw_type, domain, names,
                        values) {}
};
// A standard operation by name: OpExtension<>("Relu", "MyRelu").
template <>
class OpExtension<void> : public OpExtensionBase {
 public:
  explicit OpExtension(const std::string& type, const Names& names = {}, const Values& values = {})
      : OpExtension(type, type, names, values) {}
  OpExtension(const std::string& ov_type, const std::string& fw_type, const Names& names = {},
              const Values& values = {})
      : OpExtensionBase(ov_type, "opset16", fw_type, "", names, values) {}
};

// A layer under import, in a conversion function.
class NodeContext {
 public:
  explicit NodeContext(graft::Builder& layer) : layer_(layer) {}
  Output<Node> get_input(int i) const {
    graft::Value v = layer_.input(static_cast<size_t>(i));
    auto node = std::make_shared<op::v0::Parameter>(element::Type(v.type()), PartialShape(v.shape()));
    node->graft_values = {v.ref()};
    return node;
  }
  size_t get_input_size() const { return layer_.inputs(); }
  std::string get_op_type() const { return std::string(layer_.type()); }
  std::string get_name() const { return std::string(layer_.name()); }
  bool has_attribute(const std::string& name) const { return layer_.has(name); }
  template <class T>
  T get_attribute(const std::string& name) const {
    if (!layer_.has(name)) throw Exception("required attribute '" + name + "' is missing");
    return read<T>(name);
  }
  template <class T>
  T get_attribute(const std::string& name, const T& fallback) const {
    return layer_.has(name) ? read<T>(name) : fallback;
  }

 private:
  template <class T>
  T read(const std::string& name) const {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string> ||
                  std::is_same_v<T, std::vector<std::string>>)
      return layer_.get<T>(name);
    else if constexpr (std::is_integral_v<T>) return graft::narrow<T>(layer_.get<int64_t>(name));
    else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(layer_.get<double>(name));
    else if constexpr (std::is_integral_v<typename T::value_type>) {
      T out;
      for (int64_t i : layer_.get<std::vector<int64_t>>(name)) out.push_back(graft::narrow<typename T::value_type>(i));
      return out;
    } else {
      std::vector<double> wide = layer_.get<std::vector<double>>(name);
      return T(wide.begin(), wide.end());
    }
  }
  graft::Builder& layer_;
};

using CreatorFunction = std::function<OutputVector(const NodeContext&)>;

// Layer `fw_type` becomes what the function builds.
class ConversionExtension : public Extension {
 public:
  ConversionExtension(const std::string& fw_type, const CreatorFunction& convert) : type_(fw_type), convert_(convert) {}
  ConversionExtension(const std::string& fw_type, const std::string& domain, const CreatorFunction& convert)
      : type_(fw_type), domain_(domain), convert_(convert) {}

  graft::Definitions define() const override {
    using graft::openvino::kept;
    functions()[type_] = convert_;
    graft::Definitions all;
    auto add = [&](std::string_view framework, const std::string& domain) {
      all += graft::Rule(framework, kept(type_)).domain(kept(domain)).expand(expand);
    };
    if (!domain_.empty()) return add("onnx", domain_), all;
    add("*", "");
    add("onnx", "*");
    return all;
  }

 private:
  [[gnu::visibility("hidden")]] static std::map<std::string, CreatorFunction>& functions() {
    static std::map<std::string, CreatorFunction> all;
    return all;
  }
  [[gnu::visibility("hidden")]] static void expand(graft::Builder& layer) {
    struct Restore {
      graft::Builder* outer = graft::openvino::current_layer;
      ~Restore() { graft::openvino::current_layer = outer; }
    } restore;
    graft::openvino::current_layer = &layer;
    graft::openvino::guard([&] {
      OutputVector made = functions().at(std::string(layer.type()))(NodeContext(layer));
      for (size_t i = 0; i < made.size() && i < std::max<size_t>(layer.outputs(), 1); ++i)
        layer.output(i, graft::openvino::value_of(made[i]));
    });
  }
  std::string type_, domain_;
  CreatorFunction convert_;
};

namespace onnx {
using frontend::ConversionExtension;
using frontend::OpExtension;
}  // namespace onnx
namespace tensorflow {
using frontend::ConversionExtension;
using frontend::OpExtension;
}  // namespace tensorflow

}  // namespace frontend

// ---- standard operations, for conversion functions ----
namespace op {

// Any standard operation: Standard("Relu", {x}), Standard("Softmax", {x}, {{"axis", 1}}).
class Standard : public Op {
 public:
  Standard(const char* type, const OutputVector& inputs, std::vector<std::pair<std::string, Any>> attributes = {})
      : Op(inputs), info_{type, "opset16"} {
    graft::Builder& layer = graft::openvino::layer_under_import();
    std::vector<graft::Value> values;
    for (const auto& in : inputs) values.push_back(graft::openvino::value_of(in));
    std::vector<graft::NamedAttr> attrs;
    for (const auto& [name, value] : attributes) attrs.push_back({name, value.value()});
    graft::Value made = layer.op(type, values, attrs);
    graft_values = {made.ref()};
    set_output_type(0, element::Type(made.type()), PartialShape(made.shape()));
  }
  const DiscreteTypeInfo& get_type_info() const override { return info_; }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector&) const override { OPENVINO_NOT_IMPLEMENTED; }

 private:
  DiscreteTypeInfo info_;
};

}  // namespace op

// The standard operations that take inputs alone, and the most frequent ones with attributes.
namespace opset8 {
using op::v0::Constant;
using op::v0::Parameter;
#define GRAFT_STANDARD_1(NAME)                                     \
  struct NAME : op::Standard {                                     \
    explicit NAME(const Output<Node>& x) : Standard(#NAME, {x}) {} \
  };
#define GRAFT_STANDARD_2(NAME)                                                      \
  struct NAME : op::Standard {                                                      \
    NAME(const Output<Node>& a, const Output<Node>& b) : Standard(#NAME, {a, b}) {} \
  };
GRAFT_STANDARD_1(Abs)
GRAFT_STANDARD_1(Ceiling)
GRAFT_STANDARD_1(Cos)
GRAFT_STANDARD_1(Cosh)
GRAFT_STANDARD_1(Erf)
GRAFT_STANDARD_1(Exp)
GRAFT_STANDARD_1(Floor)
GRAFT_STANDARD_1(HSwish)
GRAFT_STANDARD_1(Log)
GRAFT_STANDARD_1(LogicalNot)
GRAFT_STANDARD_1(Mish)
GRAFT_STANDARD_1(Negative)
GRAFT_STANDARD_1(Relu)
GRAFT_STANDARD_1(ShapeOf)
GRAFT_STANDARD_1(Sigmoid)
GRAFT_STANDARD_1(Sign)
GRAFT_STANDARD_1(Sin)
GRAFT_STANDARD_1(Sinh)
GRAFT_STANDARD_1(SoftPlus)
GRAFT_STANDARD_1(Sqrt)
GRAFT_STANDARD_1(Tanh)
GRAFT_STANDARD_2(Add)
GRAFT_STANDARD_2(Divide)
GRAFT_STANDARD_2(Equal)
GRAFT_STANDARD_2(FloorMod)
GRAFT_STANDARD_2(Greater)
GRAFT_STANDARD_2(GreaterEqual)
GRAFT_STANDARD_2(Less)
GRAFT_STANDARD_2(LessEqual)
GRAFT_STANDARD_2(LogicalAnd)
GRAFT_STANDARD_2(LogicalOr)
GRAFT_STANDARD_2(Maximum)
GRAFT_STANDARD_2(Minimum)
GRAFT_STANDARD_2(Multiply)
GRAFT_STANDARD_2(NotEqual)
GRAFT_STANDARD_2(Power)
GRAFT_STANDARD_2(PRelu)
GRAFT_STANDARD_2(Squeeze)
GRAFT_STANDARD_2(Subtract)
GRAFT_STANDARD_2(Tile)
GRAFT_STANDARD_2(Transpose)
GRAFT_STANDARD_2(Unsqueeze)
#undef GRAFT_STANDARD_1
#undef GRAFT_STANDARD_2
struct Clamp : op::Standard {
  Clamp(const Output<Node>& x, double low, double high) : Standard("Clamp", {x}, {{"min", low}, {"max", high}}) {}
};
struct Concat : op::Standard {
  Concat(const OutputVector& parts, int64_t axis) : Standard("Concat", parts, {{"axis", axis}}) {}
};
struct Convert : op::Standard {
  Convert(const Output<Node>& x, const element::Type& type)
      : Standard("Convert", {x}, {{"destination_type", type.dtype()}}) {}
};
struct Gather : op::Standard {
  Gather(const Output<Node>& x, const Output<Node>& at, const Output<Node>& axis) : Standard("Gather", {x, at, axis}) {}
};
struct MatMul : op::Standard {
  MatMul(const Output<Node>& a, const Output<Node>& b, bool transpose_a = false, bool transpose_b = false)
      : Standard("MatMul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}) {}
};
struct Reshape : op::Standard {
  Reshape(const Output<Node>& x, const Output<Node>& shape, bool special_zero)
      : Standard("Reshape", {x, shape}, {{"special_zero", special_zero}}) {}
};
struct Select : op::Standard {
  Select(const Output<Node>& c, const Output<Node>& a, const Output<Node>& b) : Standard("Select", {c, a, b}) {}
};
struct Softmax : op::Standard {
  explicit Softmax(const Output<Node>& x, int64_t axis = 1) : Standard("Softmax", {x}, {{"axis", axis}}) {}
};
}  // namespace opset8
namespace opset9 = opset8;
namespace opset10 = opset8;

}  // namespace ov

namespace graft {
namespace [[gnu::visibility("hidden")]] openvino {
inline Definitions define(const std::vector<ov::Extension::Ptr>& extensions) {
  Definitions all;
  for (const ov::Extension::Ptr& e : extensions) all += e->define();
  return all;
}
}  // namespace openvino
}  // namespace graft

// Makes this source part of the extension that its library is, as GRAFT_EXTENSION does. Use it at most once per source.
#define OPENVINO_CREATE_EXTENSIONS(...)                        \
  GRAFT_EXTENSION("openvino", "1.0") {                         \
    const std::vector<::ov::Extension::Ptr> all = __VA_ARGS__; \
    return graft::openvino::define(all);                       \
  }                                                            \
  static_assert(true, "")

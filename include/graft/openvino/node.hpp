// Operations with the names of OpenVINO: ov::op::Op and what its methods take.
#pragma once

#include "types.hpp"

#define OPENVINO_ASSERT(CONDITION, ...)                                                                 \
  do {                                                                                                  \
    if (!(CONDITION))                                                                                   \
      throw ::ov::AssertFailure(::ov::util::message("Check '" #CONDITION "' failed: ", ##__VA_ARGS__)); \
  } while (0)
#define OPENVINO_THROW(...) throw ::ov::Exception(::ov::util::message(__VA_ARGS__))
#define OPENVINO_NOT_IMPLEMENTED throw ::ov::NotImplemented("not implemented")
#define OPENVINO_UNREACHABLE(...) OPENVINO_THROW("unreachable: ", ##__VA_ARGS__)
#define NODE_VALIDATION_CHECK(NODE, CONDITION, ...)                                                             \
  do {                                                                                                          \
    if (!(CONDITION))                                                                                           \
      throw ::ov::NodeValidationFailure(::ov::util::message("Check '" #CONDITION "' failed: ", ##__VA_ARGS__)); \
  } while (0)

// OPENVINO_OP("Type"[, "opset"[, Parent]]), inside the class.
#define OPENVINO_OP(...)                                                                         \
  [[gnu::visibility("hidden")]] static const ::ov::DiscreteTypeInfo& get_type_info_static() {    \
    static const ::ov::DiscreteTypeInfo info{GRAFT_FIRST_TWO(__VA_ARGS__, "extension", "", "")}; \
    return info;                                                                                 \
  }                                                                                              \
  const ::ov::DiscreteTypeInfo& get_type_info() const override { return get_type_info_static(); }
#define GRAFT_FIRST_TWO(TYPE, OPSET, ...) TYPE, OPSET
#define OPENVINO_RTTI(...) OPENVINO_OP(__VA_ARGS__)
#define OPENVINO_API
#define OPENVINO_SUPPRESS_DEPRECATED_START
#define OPENVINO_SUPPRESS_DEPRECATED_END

namespace [[gnu::visibility("default")]] ov {

class NodeValidationFailure : public AssertFailure {
 public:
  using AssertFailure::AssertFailure;
};

struct DiscreteTypeInfo {
  const char* name;
  const char* version_id = "extension";
  std::string get_version() const { return version_id; }
  bool operator==(const DiscreteTypeInfo& o) const {
    return !std::strcmp(name, o.name) && !std::strcmp(version_id, o.version_id);
  }
};

// The names of an enum's values, for attributes: a specialization with
//   EnumNames<Mode> EnumNames<Mode>::get() { return {"Mode", {{"linear", Mode::linear}, ...}}; }
template <class E>
class EnumNames {
 public:
  EnumNames(const std::string&, std::vector<std::pair<std::string, E>> names) : names_(std::move(names)) {}
  static EnumNames& get();
  const std::vector<std::pair<std::string, E>>& names() const { return names_; }

 private:
  std::vector<std::pair<std::string, E>> names_;
};
template <class E>
std::string as_string(E value) {
  for (const auto& [name, v] : EnumNames<E>::get().names())
    if (v == value) return name;
  throw Exception("the value of an enum has no name");
}
template <class E>
E as_enum(const std::string& word) {
  for (const auto& [name, v] : EnumNames<E>::get().names())
    if (name == word) return v;
  throw Exception(util::message("'", word, "' is not the name of an enum's value"));
}
template <class T>
class AttributeAdapter;
template <class E>
class EnumAttributeAdapterBase {
 public:
  explicit EnumAttributeAdapterBase(E& value) : value_(value) {}
  E& get() { return value_; }

 private:
  E& value_;
};

// Sees every attribute of an operation: its name and a reference to the member.
class AttributeVisitor {
 public:
  virtual ~AttributeVisitor() = default;
  template <class T>
  void on_attribute(const std::string& name, T& member) {
    constexpr graft_kind kind = kind_of<T>();
    static_assert(kind != GRAFT_NONE, "attributes of this type are not supported");
    attribute(
        name, kind, std::is_same_v<T, float> || std::is_same_v<T, std::vector<float>>, [&] { return value_of(member); },
        [&](const graft_value& v) { assign(v, member); });
  }

 protected:
  using Get = std::function<graft::AttrValue()>;
  using Set = std::function<void(const graft_value&)>;
  virtual void attribute(const std::string& name, graft_kind kind, bool f32, const Get& get, const Set& set) = 0;

 private:
  template <class T>
  struct Item {
    using type = void;
  };
  template <class T>
  requires requires { typename T::value_type; }
  struct Item<T> {
    using type = typename T::value_type;
  };
  template <class T>
  static constexpr graft_kind kind_of() {
    using I = typename Item<T>::type;
    if (std::is_same_v<T, bool>) return GRAFT_BOOL;
    if (std::is_same_v<T, element::Type> || std::is_same_v<T, element::Type_t>) return GRAFT_DTYPE;
    if (std::is_same_v<T, PartialShape>) return GRAFT_SHAPE;
    if (std::is_same_v<T, std::string> || std::is_enum_v<T>) return GRAFT_TEXT;
    if (std::is_integral_v<T>) return GRAFT_INT;
    if (std::is_floating_point_v<T>) return GRAFT_FLOAT;
    if (std::is_same_v<I, element::Type>) return GRAFT_DTYPES;
    if (std::is_same_v<I, std::string>) return GRAFT_TEXTS;
    if (std::is_integral_v<I>) return GRAFT_INTS;
    if (std::is_floating_point_v<I>) return GRAFT_FLOATS;
    return GRAFT_NONE;
  }
  template <class T>
  static graft::AttrValue value_of(const T& member) {
    constexpr graft_kind kind = kind_of<T>();
    if constexpr (kind == GRAFT_DTYPE) return element::Type(member).dtype();
    else if constexpr (kind == GRAFT_SHAPE) return member.shape();
    else if constexpr (std::is_enum_v<T>) return as_string(member);
    else if constexpr (kind == GRAFT_INTS) return std::vector<int64_t>(member.begin(), member.end());
    else if constexpr (kind == GRAFT_FLOATS) return std::vector<double>(member.begin(), member.end());
    else if constexpr (kind == GRAFT_DTYPES) {
      std::vector<graft::DType> types;
      for (const element::Type& t : member) types.push_back(t.dtype());
      return types;
    } else return member;
  }
  template <class T>
  static void assign(const graft_value& v, T& member) {
    constexpr graft_kind kind = kind_of<T>();
    auto read = [&]<class V>(V value) {
      graft::read_value(v, value);
      return value;
    };
    if constexpr (kind == GRAFT_DTYPE) member = static_cast<element::Type_t>(read(graft::DType()));
    else if constexpr (kind == GRAFT_SHAPE) member = PartialShape(read(graft::Shape()));
    else if constexpr (std::is_enum_v<T>) member = as_enum<T>(read(std::string()));
    else if constexpr (kind == GRAFT_INT) member = graft::narrow<T>(read(int64_t{}));
    else if constexpr (kind == GRAFT_FLOAT) member = static_cast<T>(read(double{}));
    else if constexpr (kind == GRAFT_INTS) {
      member.clear();
      for (int64_t i : read(std::vector<int64_t>()))
        member.insert(member.end(), graft::narrow<typename T::value_type>(i));
    } else if constexpr (kind == GRAFT_FLOATS) {
      member.clear();
      for (double f : read(std::vector<double>())) member.push_back(static_cast<typename T::value_type>(f));
    } else if constexpr (kind == GRAFT_DTYPES) {
      member.clear();
      for (graft::DType t : read(std::vector<graft::DType>())) member.emplace_back(t);
    } else member = read(T());
  }
};

class Node;
// Output `index` of a node.
template <class N>
class Output {
 public:
  Output() = default;
  Output(std::shared_ptr<N> node, size_t index = 0) : node_(std::move(node)), index_(index) {}
  template <class D>
  requires std::is_base_of_v<N, D> Output(const std::shared_ptr<D>& node) : node_(node) {}
  N* get_node() const { return node_.get(); }
  std::shared_ptr<N> get_node_shared_ptr() const { return node_; }
  size_t get_index() const { return index_; }
  const element::Type& get_element_type() const { return node_->get_output_element_type(index_); }
  const PartialShape& get_partial_shape() const { return node_->get_output_partial_shape(index_); }
  Shape get_shape() const { return get_partial_shape().to_shape(); }
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Output& o) const { return node_ == o.node_ && index_ == o.index_; }

 private:
  std::shared_ptr<N> node_;
  size_t index_ = 0;
};
using OutputVector = std::vector<Output<Node>>;
using NodeVector = std::vector<std::shared_ptr<Node>>;
using EvaluationContext = std::map<std::string, int>;

class Node : public std::enable_shared_from_this<Node> {
 public:
  virtual ~Node() = default;
  virtual const DiscreteTypeInfo& get_type_info() const = 0;
  virtual void validate_and_infer_types() {}
  virtual bool visit_attributes(AttributeVisitor&) { return false; }
  virtual std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const = 0;
  virtual bool evaluate(TensorVector&, const TensorVector&) const { return false; }
  virtual bool evaluate(TensorVector& outputs, const TensorVector& inputs, const EvaluationContext&) const {
    return evaluate(outputs, inputs);
  }
  virtual bool has_evaluate() const { return false; }

  std::string get_friendly_name() const { return name_; }
  void set_friendly_name(const std::string& name) { name_ = name; }
  const std::string& get_name() const { return name_; }
  std::string description() const { return get_type_info().name; }
  const char* get_type_name() const { return get_type_info().name; }

  size_t get_input_size() const { return inputs_.size(); }
  const Output<Node>& input_value(size_t i) const { return inputs_.at(i); }
  const OutputVector& input_values() const { return inputs_; }
  const element::Type& get_input_element_type(size_t i) const { return inputs_.at(i).get_element_type(); }
  const PartialShape& get_input_partial_shape(size_t i) const { return inputs_.at(i).get_partial_shape(); }
  Shape get_input_shape(size_t i) const { return get_input_partial_shape(i).to_shape(); }
  std::shared_ptr<Node> get_input_node_shared_ptr(size_t i) const { return inputs_.at(i).get_node_shared_ptr(); }
  Node* get_input_node_ptr(size_t i) const { return inputs_.at(i).get_node(); }
  void set_arguments(const OutputVector& inputs) { inputs_ = inputs; }
  void set_argument(size_t i, const Output<Node>& input) { inputs_.at(i) = input; }

  size_t get_output_size() const { return outputs_.size(); }
  Output<Node> output(size_t i) { return {shared_from_this(), i}; }
  OutputVector outputs() {
    OutputVector all;
    for (size_t i = 0; i < outputs_.size(); ++i) all.push_back(output(i));
    return all;
  }
  const element::Type& get_output_element_type(size_t i) const { return outputs_.at(i).first; }
  const PartialShape& get_output_partial_shape(size_t i) const { return outputs_.at(i).second; }
  Shape get_output_shape(size_t i) const { return get_output_partial_shape(i).to_shape(); }
  const element::Type& get_element_type() const { return get_output_element_type(0); }
  Shape get_shape() const { return get_output_shape(0); }
  void set_output_size(size_t n) { outputs_.resize(n); }
  void set_output_type(size_t i, const element::Type& type, const PartialShape& shape) {
    if (i >= outputs_.size()) outputs_.resize(i + 1);
    outputs_[i] = {type, shape};
  }
  void constructor_validate_and_infer_types() { validate_and_infer_types(); }
  void check_new_args_count(const Node*, const OutputVector& inputs) const {
    if (inputs.size() != inputs_.size())
      throw Exception(
          util::message("expected ", inputs_.size(), " arguments of clone_with_new_inputs, got ", inputs.size()));
  }

  std::vector<int64_t> graft_values;  // in a conversion: what the outputs are in the graph under construction

 protected:
  Node() = default;
  explicit Node(const OutputVector& inputs) : inputs_(inputs) {}

 private:
  std::string name_;
  OutputVector inputs_;
  std::vector<std::pair<element::Type, PartialShape>> outputs_;
};
inline void check_new_args_count(const Node* node, const OutputVector& inputs) {
  node->check_new_args_count(node, inputs);
}

template <class T>
bool is_type(const Node* node) {
  return dynamic_cast<const T*>(node) != nullptr;
}
template <class T>
bool is_type(const std::shared_ptr<Node>& node) {
  return is_type<T>(node.get());
}
template <class T>
std::shared_ptr<T> as_type_ptr(const std::shared_ptr<Node>& node) {
  return std::dynamic_pointer_cast<T>(node);
}
template <class T>
T* as_type(Node* node) {
  return dynamic_cast<T*>(node);
}

namespace op {

class Op : public Node {
 protected:
  Op() = default;
  explicit Op(const OutputVector& inputs) : Node(inputs) {}
};

namespace v0 {
// An input that is not constant.
class Parameter : public Op {
 public:
  OPENVINO_OP("Parameter", "opset1");
  Parameter(const element::Type& type, const PartialShape& shape) { set_output_type(0, type, shape); }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector&) const override {
    return std::make_shared<Parameter>(get_output_element_type(0), get_output_partial_shape(0));
  }
};

// A constant with a copy of its values, or over a tensor.
class Constant : public Op {
 public:
  OPENVINO_OP("Constant", "opset1");
  explicit Constant(const Tensor& values) : values_(values) {
    set_output_type(0, values.get_element_type(), values.get_shape());
  }
  Constant(const element::Type& type, const Shape& shape, const void* data) : values_(type, shape) {
    if (data) std::memcpy(values_.data(), data, values_.get_byte_size());
    set_output_type(0, type, shape);
  }
  template <class T>
  Constant(const element::Type& type, const Shape& shape, const std::vector<T>& values)
      : Constant(type, shape, nullptr) {
    std::vector<double> wide(values.begin(), values.end());
    if (wide.size() == 1) wide.resize(shape_size(shape), wide[0]);
    std::vector<int64_t> dims(shape.begin(), shape.end());
    graft_tensor t{sizeof t,
                   static_cast<graft_type>(type.dtype()),
                   static_cast<int32_t>(dims.size()),
                   0,
                   dims.data(),
                   nullptr,
                   values_.data()};
    graft::OutputView(&t).assign(wide);
  }
  template <class T>
  static std::shared_ptr<Constant> create(const element::Type& type, const Shape& shape, const std::vector<T>& values) {
    return std::make_shared<Constant>(type, shape, values);
  }
  template <class T>
  static std::shared_ptr<Constant> create(const element::Type& type, const Shape& shape,
                                          std::initializer_list<T> values) {
    return std::make_shared<Constant>(type, shape, std::vector<T>(values));
  }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector&) const override {
    return std::make_shared<Constant>(values_);
  }
  const void* get_data_ptr() const { return values_.data(); }
  template <class T>
  const T* get_data_ptr() const {
    return values_.data<const T>();
  }
  // The values, converted.
  template <class T>
  std::vector<T> cast_vector() const {
    std::vector<int64_t> dims(values_.get_shape().begin(), values_.get_shape().end());
    graft_tensor t{sizeof t,
                   static_cast<graft_type>(values_.get_element_type().dtype()),
                   static_cast<int32_t>(dims.size()),
                   0,
                   dims.data(),
                   nullptr,
                   values_.data()};
    return graft::TensorView(&t).to<T>();
  }

 private:
  Tensor values_;
};
}  // namespace v0
using v0::Constant;
using v0::Parameter;

}  // namespace op

inline std::shared_ptr<op::v0::Constant> get_constant_from_source(const Output<Node>& source) {
  return as_type_ptr<op::v0::Constant>(source.get_node_shared_ptr());
}

}  // namespace ov

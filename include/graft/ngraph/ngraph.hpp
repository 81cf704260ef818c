// Operations with the names of nGraph (2020 to 2021), over those of OpenVINO. Included by
// inference_engine/extension.hpp.
#pragma once

#include "../openvino/extension.hpp"

// In the class, and once outside of it. The opset is that of IExtension::getOpSets.
#define NGRAPH_RTTI_DECLARATION                                                     \
  static const ::ngraph::NodeTypeInfo type_info;                                    \
  static const ::ngraph::NodeTypeInfo& get_type_info_static() { return type_info; } \
  const ::ngraph::NodeTypeInfo& get_type_info() const override
#define NGRAPH_RTTI_DEFINITION(CLASS, NAME, VERSION, ...)       \
  const ::ngraph::NodeTypeInfo CLASS::type_info{NAME, VERSION}; \
  const ::ngraph::NodeTypeInfo& CLASS::get_type_info() const { return type_info; }
#define NGRAPH_CHECK(...) OPENVINO_ASSERT(__VA_ARGS__)
#define NGRAPH_API
#define NGRAPH_OP_SCOPE(NAME)
#define NGRAPH_SUPPRESS_DEPRECATED_START
#define NGRAPH_SUPPRESS_DEPRECATED_END

namespace [[gnu::visibility("default")]] ngraph {

using namespace ov;
using ngraph_error = ov::Exception;
namespace element = ov::element;

struct DiscreteTypeInfo : ov::DiscreteTypeInfo {
  constexpr DiscreteTypeInfo(const char* type, uint64_t number, const DiscreteTypeInfo* = nullptr)
      : ov::DiscreteTypeInfo{type}, version(number) {}
  uint64_t version;
};
using NodeTypeInfo = DiscreteTypeInfo;

namespace runtime {

// A tensor of `evaluate`, over Graft's memory.
class HostTensor {
 public:
  explicit HostTensor(ov::Tensor tensor) : tensor_(std::move(tensor)) {}
  HostTensor(const element::Type& type, const Shape& shape) : tensor_(type, shape) {}

  element::Type get_element_type() const { return tensor_.get_element_type(); }
  const Shape& get_shape() const { return tensor_.get_shape(); }
  PartialShape get_partial_shape() const { return tensor_.get_shape(); }
  size_t get_element_count() const { return tensor_.get_size(); }
  size_t get_size_in_bytes() const { return tensor_.get_byte_size(); }
  void* get_data_ptr() { return tensor_.data(); }
  const void* get_data_ptr() const { return tensor_.data(); }
  template <class T>
  T* get_data_ptr() {
    return tensor_.data<T>();
  }
  template <class T>
  const T* get_data_ptr() const {
    return tensor_.data<const T>();
  }
  template <element::Type_t type>
  auto get_data_ptr() {
    return static_cast<typename Of<type>::Element*>(tensor_.data(element::Type(type)));
  }
  // Of an output: what validate_and_infer_types left open.
  void set_shape(const Shape& shape) { tensor_.set_shape(shape); }
  void set_unary(const std::shared_ptr<HostTensor>& like) {
    set_element_type(like->get_element_type());
    set_shape(like->get_shape());
  }
  void set_element_type(const element::Type& type) const {
    if (type != get_element_type())
      throw ov::Exception(ov::util::message("expected the element type ", get_element_type(),
                                            " that validate_and_infer_types gave, got ", type));
  }
  void read(void* to, size_t bytes) const { std::memcpy(to, tensor_.data(), checked(bytes)); }
  void write(const void* from, size_t bytes) { std::memcpy(tensor_.data(), from, checked(bytes)); }

 private:
  template <element::Type_t type, int = 0>
  struct Of;
  template <int n>
  struct Of<element::Type_t::boolean, n> {
    using Element = char;
  };
  template <int n>
  struct Of<element::Type_t::f64, n> {
    using Element = double;
  };
  template <int n>
  struct Of<element::Type_t::f32, n> {
    using Element = float;
  };
  template <int n>
  struct Of<element::Type_t::i64, n> {
    using Element = int64_t;
  };
  template <int n>
  struct Of<element::Type_t::i32, n> {
    using Element = int32_t;
  };
  template <int n>
  struct Of<element::Type_t::i16, n> {
    using Element = int16_t;
  };
  template <int n>
  struct Of<element::Type_t::i8, n> {
    using Element = int8_t;
  };
  template <int n>
  struct Of<element::Type_t::u64, n> {
    using Element = uint64_t;
  };
  template <int n>
  struct Of<element::Type_t::u32, n> {
    using Element = uint32_t;
  };
  template <int n>
  struct Of<element::Type_t::u16, n> {
    using Element = uint16_t;
  };
  template <int n>
  struct Of<element::Type_t::u8, n> {
    using Element = uint8_t;
  };
  size_t checked(size_t bytes) const {
    if (bytes > get_size_in_bytes())
      throw ov::Exception(ov::util::message("expected at most ", get_size_in_bytes(), " bytes, got ", bytes));
    return bytes;
  }
  ov::Tensor tensor_;
};

}  // namespace runtime

using runtime::HostTensor;
using HostTensorPtr = std::shared_ptr<HostTensor>;
using HostTensorVector = std::vector<HostTensorPtr>;

namespace op {

using namespace ov::op;

// The base class of operations. `evaluate` is the kernel, unless the extension has an implementation
// (IExtension::getImplementation).
class Op : public ov::op::Op {
 public:
  using type_info_t = NodeTypeInfo;
  using ov::op::Op::evaluate;
  virtual bool evaluate(const HostTensorVector&, const HostTensorVector&) const { return false; }
  bool evaluate(TensorVector& outputs, const TensorVector& inputs) const override {
    HostTensorVector in, out;
    for (const Tensor& t : inputs) in.push_back(std::make_shared<HostTensor>(t));
    for (const Tensor& t : outputs) out.push_back(std::make_shared<HostTensor>(t));
    return evaluate(out, in);
  }
  // Not known before 2021.4: an operation without a kernel says so when it runs.
  bool has_evaluate() const override { return true; }

 protected:
  Op() = default;
  explicit Op(const OutputVector& inputs) : ov::op::Op(inputs) {}
};

}  // namespace op

// The operations of an opset.
class OpSet {
 public:
  template <class T>
  void insert() {
    insert<T>(T::type_info.name);
  }
  template <class T>
  void insert(const std::string& name) {
    types_.push_back({name,
                      [](std::string_view type, std::string_view opset) -> graft::Op {
                        return graft::openvino::VisitedOp::of<T>(type, opset);
                      },
                      graft::openvino::make<T>});
  }
  size_t size() const { return types_.size(); }
  bool contains_type(const std::string& name) const {
    for (const Type& t : types_)
      if (t.name == name) return true;
    return false;
  }

  // Used by Graft.
  struct Type {
    std::string name;
    graft::Op (*define)(std::string_view type, std::string_view opset);
    graft::openvino::Make make;
  };
  const std::vector<Type>& graft_types() const { return types_; }

 private:
  std::vector<Type> types_;
};

// ---- layers of ONNX (onnx_import/onnx_utils.hpp) ----
namespace onnx_import {

// A layer under import, in a function of register_operator.
class Node {
 public:
  explicit Node(const ov::frontend::NodeContext& context) : context_(context) {}
  OutputVector get_ng_inputs() const {
    OutputVector all;
    for (size_t i = 0; i < context_.get_input_size(); ++i) all.push_back(context_.get_input(static_cast<int>(i)));
    return all;
  }
  std::string op_type() const { return context_.get_op_type(); }
  std::string get_name() const { return context_.get_name(); }
  bool has_attribute(const std::string& name) const { return context_.has_attribute(name); }
  template <class T>
  T get_attribute_value(const std::string& name) const {
    return context_.get_attribute<T>(name);
  }
  template <class T>
  T get_attribute_value(const std::string& name, T fallback) const {
    return context_.get_attribute<T>(name, fallback);
  }

 private:
  const ov::frontend::NodeContext& context_;
};
using Operator = std::function<OutputVector(const Node&)>;

// The rules of this library; read when it is loaded, after its extension is created.
[[gnu::visibility("hidden")]] inline std::vector<std::shared_ptr<ov::Extension>>& graft_registered() {
  static std::vector<std::shared_ptr<ov::Extension>> all;
  return all;
}
// A layer of a domain, of any version. Graft makes the rules of extensions once, so that they cannot be unregistered.
inline void register_operator(const std::string& name, int64_t, const std::string& domain, Operator convert) {
  auto f = [convert = std::move(convert)](const ov::frontend::NodeContext& context) { return convert(Node(context)); };
  graft_registered().push_back(std::make_shared<ov::frontend::ConversionExtension>(name, domain, f));
}
inline void unregister_operator(const std::string&, int64_t, const std::string&) {}

}  // namespace onnx_import

}  // namespace ngraph

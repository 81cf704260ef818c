// Turns classes derived from ov::op::Op into operations of Graft: used by openvino.hpp, not by users.
#pragma once

#include <deque>

#include "node.hpp"

namespace graft {
namespace [[gnu::visibility("hidden")]] openvino {

// Strings that definitions refer to.
inline std::string_view kept(std::string s) {
  static std::deque<std::string> all;
  return all.emplace_back(std::move(s));
}

// Runs code of the extension; its exceptions become errors.
template <class F>
auto guard(F&& f) {
  try {
    return f();
  } catch (const Failure&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    fail(e.what());
  }
}

// The attributes of a default-constructed operation: a schema.
class Schema : public ov::AttributeVisitor {
 public:
  struct Entry {
    std::string name;
    graft_kind kind;
    bool f32;
    AttrValue fallback;
  };
  std::vector<Entry> entries;

 protected:
  void attribute(const std::string& name, graft_kind kind, bool f32, const Get& get, const Set&) override {
    entries.push_back({name, kind, f32, get()});
  }
};

// Sets the members of an operation from a node's attributes.
class Reading : public ov::AttributeVisitor {
 public:
  explicit Reading(const NodeView& node) : node_(node) {
    for (const graft_named_value& a : node_.all_attributes()) values_[std::string(view(a.name))] = &a.value;
  }

 protected:
  void attribute(const std::string& name, graft_kind, bool, const Get&, const Set& set) override {
    auto it = values_.find(name);
    if (it == values_.end()) return;
    try {
      set(*it->second);
    } catch (Failure& f) {
      f.message = text("attribute '", name, "': ", f.message);
      throw;
    } catch (const std::exception& e) {
      fail("attribute '", name, "': ", e.what());
    }
  }

 private:
  const NodeView& node_;
  std::map<std::string, const graft_value*> values_;
};

inline ov::Shape plain_shape(std::span<const int64_t> dims) { return ov::Shape(dims.begin(), dims.end()); }
inline ov::Tensor tensor_over(TensorView t) {
  return {ov::element::Type(t.type()), plain_shape(t.dims()), const_cast<void*>(t.bytes())};
}

using Make = std::shared_ptr<ov::Node> (*)();

// An operation with the attributes and inputs of a node, validated.
inline std::shared_ptr<ov::Node> instance(const NodeView& ctx, Make make) {
  return guard([&] {
    std::shared_ptr<ov::Node> node = make();
    node->set_friendly_name(std::string(ctx.name()));
    ov::OutputVector inputs;
    for (size_t i = 0; i < ctx.inputs(); ++i) {
      if (!ctx.has_input(i)) fail("expected input ", i, ", but it is absent");
      if (TensorView t = ctx.constant(i)) inputs.push_back(std::make_shared<ov::op::v0::Constant>(tensor_over(t)));
      else
        inputs.push_back(
            std::make_shared<ov::op::v0::Parameter>(ov::element::Type(ctx.type(i)), ov::PartialShape(ctx.shape(i))));
    }
    node->set_arguments(inputs);
    Reading reading(ctx);
    node->visit_attributes(reading);
    node->validate_and_infer_types();
    return node;
  });
}

struct State {
  std::shared_ptr<ov::Node> node;
  std::vector<bool> known;  // outputs whose shape is known before the run
};

template <class T>
std::shared_ptr<ov::Node> make() {
  return std::make_shared<T>();
}
template <class T>
State prepare(Prepare& ctx) {
  State s{instance(ctx, make<T>), {}};
  if (!s.node->has_evaluate()) unsupported("has_evaluate returned false");
  for (size_t i = 0; i < ctx.outputs(); ++i) s.known.push_back(ctx.output(i).shape.is_static());
  return s;
}
inline void run(Run& ctx, const State& s) {
  ov::TensorVector inputs, outputs;
  for (size_t i = 0; i < ctx.inputs(); ++i) inputs.push_back(tensor_over(ctx.input(i)));
  for (size_t i = 0; i < ctx.outputs(); ++i) {
    OutputView y = ctx.output(i);
    if (s.known[i]) outputs.push_back(tensor_over(y));
    else
      outputs.emplace_back(ov::element::Type(y.type()), [&ctx, i](const ov::Shape& shape) -> void* {
        return ctx.allocate(i, std::vector<int64_t>(shape.begin(), shape.end())).bytes();
      });
  }
  bool done = guard([&] { return s.node->evaluate(outputs, inputs); });
  if (!done) fail("evaluate returned false");
  for (size_t i = 0; i < ctx.outputs(); ++i)
    if (s.known[i] && outputs[i].data() != ctx.output(i).bytes())
      fail("evaluate replaced output ", i, " by another tensor: write into the memory it was given");
}

// The definition of an operation class. The names of its ports are unknown, and so is their number.
class VisitedOp : public Op {
 public:
  template <class T>
  static VisitedOp of() {
    return of<T>(T::get_type_info_static().name, T::get_type_info_static().version_id);
  }
  // The same by another name; both must stay valid.
  template <class T>
  static VisitedOp of(std::string_view name, std::string_view opset) {
    VisitedOp op(name, opset);
    Schema schema;
    T example;
    example.visit_attributes(schema);
    for (Schema::Entry& e : schema.entries) op.add(std::move(e));
    op.op_.infer = [](graft_node* n, void*) {
      return guarded([&] {
        Infer ctx(n);
        auto node = instance(ctx, make<T>);
        for (size_t i = 0; i < node->get_output_size(); ++i)
          ctx.output(i, node->get_output_element_type(i).dtype(), node->get_output_partial_shape(i).shape());
      });
    };
    op.kernels.push_back(Kernel("REFERENCE", "evaluate").of(name, opset).run(prepare<T>, run));
    return op;
  }

 private:
  VisitedOp(std::string_view name, std::string_view opset) : Op(name, std::string(opset)) {
    op_.doc = str("an operation in OpenVINO's form");
    detail::parse_ports("inputs...", inputs_);
    detail::parse_ports("outputs...", outputs_);
  }
  void add(Schema::Entry e) {
    graft_attr a{};
    a.size = sizeof a;
    a.kind = e.kind;
    a.name = str(kept(std::move(e.name)));
    a.min = -std::numeric_limits<double>::infinity(), a.max = std::numeric_limits<double>::infinity();
    if (e.f32) a.flags |= GRAFT_ATTR_F32;
    attrs_.push_back(a);
    defaults_.push_back(std::make_shared<AttrValue>(std::move(e.fallback)));
  }
};

// ---- conversions: graphs of ov nodes become nodes of Graft ----

// The layer under import on this thread, while a conversion function runs.
inline thread_local Builder* current_layer = nullptr;

inline Builder& layer_under_import() {
  if (!current_layer) throw ov::Exception("standard operations can be created in a conversion function only");
  return *current_layer;
}
inline Value value_of(const ov::Output<ov::Node>& output);

// The opsets of operations whose class does not name one (nGraph).
inline std::map<std::string, std::string>& opsets_by_type() {
  static std::map<std::string, std::string> all;
  return all;
}
inline std::string opset_of(const ov::DiscreteTypeInfo& info) {
  auto it = opsets_by_type().find(info.name);
  return it == opsets_by_type().end() ? info.version_id : it->second;
}

// Adds the node, if it is not in the graph yet.
inline void emit(ov::Node& node) {
  if (!node.graft_values.empty()) return;
  Builder& layer = layer_under_import();
  if (auto* c = dynamic_cast<ov::op::v0::Constant*>(&node)) {
    std::vector<int64_t> dims;
    for (size_t d : c->get_output_shape(0)) dims.push_back(static_cast<int64_t>(d));
    graft_tensor t{sizeof t,
                   static_cast<graft_type>(c->get_output_element_type(0).dtype()),
                   static_cast<int32_t>(dims.size()),
                   0,
                   dims.data(),
                   nullptr,
                   const_cast<void*>(c->get_data_ptr())};
    node.graft_values = {layer.constant(TensorView(&t)).ref()};
    return;
  }
  std::vector<Value> inputs;
  for (const auto& in : node.input_values()) inputs.push_back(value_of(in));
  Schema schema;
  node.visit_attributes(schema);
  std::vector<NamedAttr> attrs;
  for (Schema::Entry& e : schema.entries) attrs.push_back({e.name, std::move(e.fallback)});
  size_t outputs = std::max<size_t>(node.get_output_size(), 1);
  std::vector<Value> made =
      layer.make(text(node.get_type_info().name, '@', opset_of(node.get_type_info())), inputs, attrs, outputs, {});
  for (const Value& v : made) node.graft_values.push_back(v.ref());
  for (size_t i = 0; i < outputs; ++i)
    node.set_output_type(i, ov::element::Type(made[i].type()), ov::PartialShape(made[i].shape()));
}
inline Value value_of(const ov::Output<ov::Node>& output) {
  if (!output) throw ov::Exception("a conversion used an output without a node");
  emit(*output.get_node());
  return {&layer_under_import(), output.get_node()->graft_values.at(output.get_index())};
}

}  // namespace openvino
}  // namespace graft

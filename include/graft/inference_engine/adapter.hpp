// Turns the layers of a classic extension into operations: included by extension.hpp, not by users.
//
// Each type that the library lists is an operation of opset "extension" with any attributes, any number of inputs and
// outputs, a kernel, and weak import rules for all frameworks. The operation is weak, too: if another extension defines
// it (with a shape function and a schema), this library only adds its kernel.
#pragma once

#include <deque>
#include <mutex>
#include <set>

#include "../extension.hpp"
#include "adapter_layer.hpp"

namespace graft {
namespace [[gnu::visibility("hidden")]] classic {

// Creates the extension of a library without CreateExtension; set by REG_FACTORY_FOR.
inline ie::IExtension* (*registered)() = nullptr;

struct Attributes {
  std::optional<std::vector<std::string>> blobs;
  static constexpr std::tuple schema{
      attr("blobs", &Attributes::blobs, "names of the last inputs, which the layer sees as weights")};
};

// ---- shapes ----

// Output shapes by the library's own shape function; none if it has none.
inline std::optional<std::vector<ie::SizeVector>> own_shapes(const LayerNode& node) {
  std::vector<ie::SizeVector> out;
  ie::ResponseDesc resp;
  ie::IShapeInferImpl::Ptr impl;
  if (library().getShapeInferImpl(impl, node.layer->type.c_str(), &resp) == ie::OK && impl) {
    std::vector<ie::Blob::CPtr> blobs;
    std::vector<ie::SizeVector> dims;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      blobs.push_back(node.input_blob(i)), dims.push_back(node.inputs[i]->getDims());
    ie::StatusCode status = impl->inferShapes(blobs, node.layer->params, node.layer->blobs, out, &resp);
    if (status == ie::NOT_IMPLEMENTED)
      out.clear(), status = impl->inferShapes(dims, node.layer->params, node.layer->blobs, out, &resp);
    if (status != ie::OK) fail(complaint("inferShapes", status, resp));
    return out;
  }
  auto factory = node.factory();
  std::vector<ie::TensorDesc> in, shapes;
  for (const ie::DataPtr& d : node.inputs) in.push_back(d->getTensorDesc());
  ie::StatusCode status = factory->getShapes(in, shapes, &resp);
  if (status == ie::NOT_IMPLEMENTED) return std::nullopt;
  if (status != ie::OK) fail(complaint("getShapes", status, resp));
  for (const ie::TensorDesc& s : shapes) out.push_back(s.getDims());
  return out;
}

// A note that appears once per layer, although shapes are inferred many times.
inline void note_assumed_shape(std::string_view name, std::string_view type) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> noted;
  std::lock_guard lock(mutex);
  if (name.empty() || !noted.emplace(name).second) return;  // a layer under import gets its name later
  log_message(Log::warning, "library '", library_name(), "' has no shape function for '", name, "' (", type,
              "): assuming that its output has the shape of its input");
}

inline Shape declared_shape(const Infer& ctx, size_t output, size_t flows, size_t outputs) {
  bool known = true;
  for (size_t i = 0; i < flows; ++i) known = known && ctx.shape(i).is_static();
  if (auto declared = ctx.declared(output); declared && (declared->shape.is_static() || !known)) return declared->shape;
  if (flows == 1 && outputs == 1) return note_assumed_shape(ctx.name(), ctx.op_type()), ctx.shape(0);
  if (!known) return Shape::unknown();
  throw Failure{GRAFT_USER,
                text("library '", library_name(), "' has no shape function for '", ctx.op_type(),
                     "', and the model does not declare the shape of output ", output),
                "register an IShapeInferImpl (REG_SHAPE_INFER_FOR_TYPE), override getShapes, or define the operation "
                "with its shape function in another extension"};
}

// The type that the kernel produces, which is that of the file if it declares one.
inline DType output_type(const Infer& ctx, size_t output, size_t flows, const LayerNode& node,
                         const std::optional<Chosen>& chosen) {
  if (auto declared = ctx.declared(output); declared && declared->type != DType::undefined) return declared->type;
  DType natural = flows ? ctx.type(0) : DType::f32;
  if (!chosen) return natural;
  ie::Precision made = chosen->config.outConfs[output].desc.getPrecision();
  return made == node.layer->outData[output]->getPrecision() ? natural : type_of(made);
}

inline void infer_layer(Infer& ctx, const Attributes& a) {
  size_t flows = flows_of(ctx.inputs(), a.blobs ? a.blobs->size() : 0), outputs = std::max<size_t>(ctx.outputs(), 1);
  bool known = true;
  for (size_t i = 0; i < flows; ++i) known = known && ctx.shape(i).is_static() && ctx.type(i) != DType::undefined;
  std::vector<Shape> shapes;
  std::optional<std::vector<ie::SizeVector>> own;
  NodeFacts facts = facts_of(ctx, a.blobs ? *a.blobs : std::vector<std::string>());
  facts.outputs.assign(outputs, Info{flows ? ctx.type(0) : DType::f32, flows ? ctx.shape(0) : Shape()});
  if (known) own = guard("shape inference", [&] { return own_shapes(LayerNode(facts, true)); });
  if (own && own->size() < outputs)
    fail("library '", library_name(), "': the shape function of ", ctx.op_type(), " gave ", own->size(),
         " shapes, expected ", outputs);
  for (size_t i = 0; i < outputs; ++i) {
    shapes.push_back(own ? shape_of_dims((*own)[i]) : declared_shape(ctx, i, flows, outputs));
    facts.outputs[i].shape = shapes[i];
  }
  auto [node, chosen] = choose(facts);
  for (size_t i = 0; i < outputs; ++i) ctx.output(i, output_type(ctx, i, flows, *node, chosen), shapes[i]);
}

// ---- kernel ----

// What all calls with the same shapes share.
struct State {
  NodeFacts facts;
  std::shared_ptr<LayerNode> node;
  std::vector<PortPlan> inputs, outputs;
  std::mutex mutex;
  std::vector<std::unique_ptr<Chosen>> idle;

  std::unique_ptr<Chosen> take() {
    std::lock_guard lock(mutex);
    if (idle.empty()) return nullptr;
    auto one = std::move(idle.back());
    idle.pop_back();
    return one;
  }
  void give(std::unique_ptr<Chosen> one) {
    std::lock_guard lock(mutex);
    idle.push_back(std::move(one));
  }
};

inline std::shared_ptr<State> prepare_facts(Prepare& ctx, NodeFacts facts) {
  auto s = std::make_shared<State>();
  s->facts = std::move(facts);
  for (size_t i = 0; i < ctx.outputs(); ++i) s->facts.outputs.push_back(ctx.output(i));
  for (const Info& i : s->facts.inputs)
    if (!i.shape.is_static()) unsupported("requires static shapes");
  for (const Info& o : s->facts.outputs)
    if (!o.shape.is_static()) unsupported("library '", library_name(), "' requires static output shapes, got ", o);
  auto [node, chosen] = choose(s->facts);
  if (!chosen) fail(node->reason);
  s->node = node;
  size_t bytes = 0;
  auto plan = [&](const ie::DataConfig& port, const Info& info) {
    PortPlan p(port, info, bytes);
    bytes = p.end;
    return p;
  };
  for (size_t i = 0; i < s->facts.inputs.size(); ++i)
    s->inputs.push_back(plan(chosen->config.inConfs[i], s->facts.inputs[i]));
  for (size_t i = 0; i < s->facts.outputs.size(); ++i)
    s->outputs.push_back(plan(chosen->config.outConfs[i], s->facts.outputs[i]));
  ctx.scratch(bytes);
  chosen->initialize();
  s->give(std::make_unique<Chosen>(std::move(*chosen)));
  return s;
}
inline std::shared_ptr<State> prepare_layer(Prepare& ctx) {
  auto blobs = ctx.attr<std::optional<std::vector<std::string>>>("blobs");
  return prepare_facts(ctx, facts_of(ctx, blobs ? *blobs : std::vector<std::string>()));
}

inline void run_layer(Run& ctx, const std::shared_ptr<State>& s) {
  std::unique_ptr<Chosen> one = s->take();
  if (!one) {
    auto made = LayerNode::choose(s->node);
    if (!made) fail(s->node->reason);
    made->initialize();
    one = std::make_unique<Chosen>(std::move(*made));
  }
  auto* scratch = static_cast<unsigned char*>(ctx.scratch());
  for (size_t i = 0; i < s->outputs.size(); ++i)
    one->outputs[i]->use_memory(s->outputs[i].memory(ctx.output(i).bytes(), scratch));
  for (size_t i = 0; i < s->inputs.size(); ++i) {
    one->inputs[i]->use_memory(s->inputs[i].load(ctx.input(i), scratch));
    // In place: both blobs are the memory of the output, with the input's values in it.
    for (size_t o = 0; o < s->outputs.size(); ++o)
      if (one->config.outConfs[o].inPlace == static_cast<int>(i) &&
          one->inputs[i]->byteSize() == one->outputs[o]->byteSize()) {
        void* shared = one->outputs[o]->buffer();
        std::memcpy(shared, one->inputs[i]->buffer(), one->inputs[i]->byteSize());
        one->inputs[i]->use_memory(shared);
        break;
      }
  }
  ie::ResponseDesc resp;
  ie::StatusCode status = guard("execute", [&] {
    Running running(&ctx);
    return one->impl->execute(one->inputs, one->outputs, &resp);
  });
  if (status != ie::OK) fail(complaint("execute", status, resp));
  for (size_t i = 0; i < s->outputs.size(); ++i) s->outputs[i].store(ctx.output(i), scratch);
  s->give(std::move(one));
}

// ---- import ----

// The name of a field as a parameter: without the message it is in, for Caffe.
inline std::string parameter(std::string_view path, bool caffe, const std::deque<std::string>& taken) {
  std::string last(caffe ? path.substr(path.rfind('.') + 1) : path);
  return std::find(taken.begin(), taken.end(), last) == taken.end() ? last : std::string(path);
}

// Every field becomes an attribute; tensors among them, and the weights of Caffe, become blobs.
inline void import_layer(Builder& layer) {
  std::deque<std::string> names;
  std::vector<NamedAttr> attrs;
  std::vector<Value> inputs, weights;
  for (const graft_named_value& f : layer.fields()) {
    if (f.value.kind == GRAFT_TENSOR) weights.push_back(layer.constant(TensorView(f.value.tensor)));
    else if (f.value.kind == GRAFT_GRAPH || f.value.kind == GRAFT_TENSORS)
      unsupported("field '", view(f.name), "' has a kind of value that parameters cannot have");
    else {
      names.push_back(
          parameter(view(f.name), layer.weights() || view(f.name).find("_param.") != std::string_view::npos, names));
      attrs.push_back({names.back(), AttrValue(f.value)});
    }
  }
  for (size_t i = 0; i < layer.inputs(); ++i)
    (i < layer.flows() ? inputs : weights).push_back(layer.has_input(i) ? layer.input(i) : Value());
  if (!weights.empty()) {
    std::vector<std::string> blobs;
    for (size_t i = 0; i < weights.size(); ++i)
      blobs.push_back(weights.size() > 2 ? text("custom_", i) : i == 0 ? "weights" : "biases");
    attrs.push_back({"blobs", blobs});
  }
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  size_t outputs = std::max<size_t>(layer.outputs(), 1);
  std::vector<Value> made = layer.make(text(layer.type(), "@extension"), inputs, attrs, outputs, {});
  for (size_t i = 0; i < layer.outputs(); ++i)
    if (layer.output_used(i)) layer.output(i, made[i]);
}

// ---- definitions ----

inline std::vector<std::string> primitive_types() {
  char** types = nullptr;
  unsigned int count = 0;
  ie::ResponseDesc resp;
  ie::StatusCode status = library().getPrimitiveTypes(types, count, &resp);
  if (status == ie::NOT_IMPLEMENTED) return {};
  if (status != ie::OK) fail(complaint("getPrimitiveTypes", status, resp));
  std::vector<std::string> out;
  for (unsigned int i = 0; i < count; ++i) {
    out.emplace_back(types[i]);
    delete[] types[i];
  }
  delete[] types;
  return out;
}

inline Definitions define_layers() {
  static std::vector<std::string> types = primitive_types();  // the records refer to them
  Definitions all;
  for (const std::string& type : types) {
    all += op<Attributes>(type, "extension")
               .doc("a layer of a CPU extension for the Inference Engine")
               .inputs("inputs...")
               .outputs("outputs...")
               .any_attributes()
               .weak()
               .infer(infer_layer)
               .kernel(Kernel("REFERENCE", "inference_engine").run(prepare_layer, run_layer));
    all += every_framework(type).weak().expand(import_layer);
    all += onnx(type).domain("*").weak().expand(import_layer);
  }
  return all;
}

// ---- operations of nGraph ----

// The classes of the operations that getOpSets lists, by type.
inline std::map<std::string, openvino::Make, std::less<>>& operation_classes() {
  static std::map<std::string, openvino::Make, std::less<>> all;
  return all;
}

// The kernel of an operation for which the extension has an implementation; others run its `evaluate`.
inline std::shared_ptr<State> prepare_operation(Prepare& ctx) {
  std::shared_ptr<ov::Node> node = openvino::instance(ctx, operation_classes().find(ctx.op_type())->second);
  auto types = guard("getImplTypes", [&] { return library().getImplTypes(node); });
  if (std::find(types.begin(), types.end(), "CPU") == types.end())
    unsupported("library '", library_name(), "' has no implementation for the CPU");
  NodeFacts facts = facts_of(ctx, {});
  facts.implementation = [node] {
    auto made = guard("getImplementation", [&] { return library().getImplementation(node, "CPU"); });
    if (!made) unsupported("library '", library_name(), "': getImplementation returned nothing");
    return made;
  };
  return prepare_facts(ctx, std::move(facts));
}

inline Definitions define_operations() {
  using openvino::kept;
  Definitions all;
  for (const auto& [opset, types] : guard("getOpSets", [] { return library().getOpSets(); }))
    for (const ngraph::OpSet::Type& t : types.graft_types()) {
      std::string_view name = kept(t.name), set = kept(opset);
      if (!operation_classes().emplace(t.name, t.make).second)
        fail("library '", library_name(), "': getOpSets lists the operation ", t.name, " twice");
      openvino::opsets_by_type()[t.name] = opset;
      all += t.define(name, set);
      all += Kernel("CPU", "inference_engine").of(name, set).run(prepare_operation, run_layer);
    }
  for (const auto& e : ngraph::onnx_import::graft_registered()) all += e->define();
  return all;
}

// Creates the library's extension once. Null: it has none, and the reason is in `why`.
inline ie::IExtension* create(std::string& why) {
  ie::IExtension* made = nullptr;
  ie::ResponseDesc resp;
  if (ie::CreateExtensionShared) {
    static auto* kept = new std::shared_ptr<ie::IExtension>;
    ie::CreateExtensionShared(*kept);
    made = kept->get();
  } else if (ie::CreateExtension) {
    ie::StatusCode status = ie::CreateExtension(made, &resp);
    if (status != ie::OK) why = text("CreateExtension returned ", status_name(status), ": ", resp.msg);
  } else if (registered) made = registered();
  if (!made && why.empty()) why = "the library defines no CreateExtension and registers no layer with REG_FACTORY_FOR";
  return made;
}

inline const graft_extension* enter_library(const graft_host* h) {
  if (!h || h->size < GRAFT_HOST_MIN_SIZE) return nullptr;
  static const Library* made = [&]() -> const Library* {
    set_host(h);
    const char *title = "inference_engine", *version = "1.0";
    Definitions all;
    graft_status status = guarded([&] {
      std::string why;
      the_library() = create(why);
      if (!the_library()) fail(why);
      const ie::Version* v = nullptr;
      library().GetVersion(v);
      if (v && v->description) title = v->description;
      if (v && v->buildNumber) version = v->buildNumber;
      all = {define_layers(), define_operations()};
    });
    return status == GRAFT_OK ? new Library(title, version, std::move(all)) : nullptr;
  }();
  return made ? made->record() : nullptr;
}

}  // namespace classic
}  // namespace graft

// In every source that includes this file; the linker keeps one.
extern "C" [[gnu::used, gnu::visibility("default")]] inline const graft_extension* graft_extension_entry(
    const graft_host* h) {
  return graft::classic::enter_library(h);
}

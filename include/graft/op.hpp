// Defining operations.
//
//   graft::Definitions define_elu() {
//     return graft::op<Elu>("Elu", 1)
//         .doc("x where x > 0, alpha * (e^x - 1) elsewhere")
//         .elementwise([](auto x, const Elu& a) { return x > 0 ? x : a.alpha * std::expm1(x); })
//         .import(graft::onnx("Elu"))
//         .import(graft::caffe("ELU").attr("alpha", "elu_param.alpha"));
//   }
//
// An operation that is not element-wise provides `infer` (types and shapes of the outputs) and `reference` (the kernel
// that defines the correct result: short, for every type and shape). Faster kernels for a device are added with
// `kernel`. Functions are plain functions or lambdas without captures; A is the attribute struct (attr.hpp):
//
//   infer      void(Infer&, const A&)
//   reference  void(Run&, const A&)            or, with state created once per compiled node:
//              S(Prepare&, const A&) and void(Run&, const A&, const S&)
//   expand     Value(Builder&) or std::vector<Value>(Builder&) or void(Builder&)
//
// They report errors by throwing (fail, unsupported) and may be called by several threads at once, so they must not
// keep mutable state of their own. Definitions are built once, when a library is loaded. Strings in them are
// referenced, not copied: use literals.
#pragma once

#include <memory>

#include "elementwise.hpp"
#include "kernel.hpp"
#include "pass.hpp"
#include "raw_pass.hpp"
#include "rule.hpp"
#include "shapes.hpp"
#include "trace.hpp"

namespace [[gnu::visibility("hidden")]] graft {

namespace detail {

// The shape that all inputs broadcast to. If the attributes have a member `auto_broadcast` that is "none" or
// "explicit", the shapes must be equal.
template <class A>
Shape broadcast_inputs(Infer& ctx, const A& a) {
  bool equal = false;
  if constexpr (requires { a.auto_broadcast == "none"; })
    equal = a.auto_broadcast == "none" || a.auto_broadcast == "explicit";
  Shape shape = ctx.shape(0);
  for (size_t i = 1; i < ctx.inputs(); ++i) shape = equal ? merge(shape, ctx.shape(i)) : broadcast(shape, ctx.shape(i));
  return shape;
}
// Shape functions of element-wise operations: the common type of the inputs, or boolean for comparisons.
template <class A>
void broadcast_infer(Infer& ctx, const A& a) {
  ctx.output(0, common_type(ctx), broadcast_inputs(ctx, a));
}
template <class A>
void compare_infer(Infer& ctx, const A& a) {
  common_type(ctx);
  ctx.output(0, DType::boolean, broadcast_inputs(ctx, a));
}

template <class Owner, class Member>
constexpr bool has_words(const AttrSpec<Owner, Member>& s) {
  return s.word_count > 0 || !std::is_enum_v<Member> || std::is_same_v<Member, DType>;
}
template <class... Specs>
constexpr bool enums_have_words(const std::tuple<Specs...>& schema) {
  return std::apply([](const auto&... s) { return (has_words(s) && ...); }, schema);
}

inline double linear_cost(const Accept& ctx) {
  double elements = 1;
  auto add = [&](const Info& i) {
    elements += i.shape.is_static() ? static_cast<double>(i.shape.elements().max()) : 0;
  };
  for (size_t i = 0; i < ctx.inputs(); ++i)
    if (ctx.has_input(i)) add(ctx.input(i));
  for (size_t i = 0; i < ctx.outputs(); ++i) add(ctx.output(i));
  return elements;
}

// "opset8"
inline std::string opset_name(int version) { return "opset" + text(version); }

// "data, indices, bias?, rest..." -> ports. The names refer to the list, which must be a literal.
inline void parse_ports(std::string_view list, std::vector<graft_port>& out) {
  while (!list.empty()) {
    size_t comma = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    graft_port p{sizeof(graft_port), 0, {}, {}};
    if (name.ends_with("...")) p.flags |= GRAFT_PORT_VARIADIC, name.remove_suffix(3);
    else if (name.ends_with("?")) p.flags |= GRAFT_PORT_OPTIONAL, name.remove_suffix(1);
    p.name = str(name);
    out.push_back(p);
  }
}

}  // namespace detail

// An operation with its kernels and import rules, without the type of its attributes. Created by `op<A>` below. Copies
// share nothing but the functions.
class Op {
 public:
  // The C record, which refers to this object: valid until it is moved or destroyed. Pointers between the parts are set
  // here, so that definitions can be copied and moved freely before.
  const graft_op* seal() {
    op_.opset = str(*opset_);
    attr_pointers_.clear(), input_pointers_.clear(), output_pointers_.clear();
    for (size_t i = 0; i < attrs_.size(); ++i) {
      if (defaults_[i]) attrs_[i].fallback = defaults_[i]->raw();
      attr_pointers_.push_back(&attrs_[i]);
    }
    for (const graft_port& p : inputs_) input_pointers_.push_back(&p);
    for (const graft_port& p : outputs_) output_pointers_.push_back(&p);
    op_.attrs = attr_pointers_.data(), op_.attr_count = attr_pointers_.size();
    op_.inputs = input_pointers_.data(), op_.input_count = input_pointers_.size();
    op_.outputs = output_pointers_.data(), op_.output_count = output_pointers_.size();
    op_.bodies = bodies_.data(), op_.body_count = bodies_.size();
    op_.cases = cases_.data(), op_.case_count = cases_.size();
    return &op_;
  }

  // In the order in which devices try them, and in which import rules are matched.
  std::vector<Kernel> kernels;
  std::vector<SourceKernel> source_kernels;
  std::vector<Rule> rules;
  std::vector<Pass> passes;

 protected:
  Op(std::string_view name, std::string opset) : opset_(std::make_shared<std::string>(std::move(opset))) {
    op_.size = sizeof op_;
    op_.name = str(name);
    op_.flags = GRAFT_OP_PURE;
  }
  graft_op op_{};
  std::shared_ptr<std::string> opset_;
  std::vector<graft_attr> attrs_;
  std::vector<std::shared_ptr<AttrValue>> defaults_;
  std::vector<graft_port> inputs_, outputs_;
  std::vector<graft_str> bodies_, cases_;
  std::vector<const graft_attr*> attr_pointers_;
  std::vector<const graft_port*> input_pointers_, output_pointers_;
};

// The builder of an operation with the attribute struct A. All functions change the definition and return it, so that
// calls can be chained:
//
//   op<Gather>("Gather", 8)
//       .doc("Gather slices of the data along an axis by index")
//       .inputs("data, indices, axis")
//       .infer(gather_infer)
//       .reference(gather_run)
//       .import(onnx("Gather").expand(import_gather));
template <class A>
class OpOf : public Op {
 public:
  OpOf(std::string_view name, std::string opset) : Op(name, std::move(opset)) {
    static_assert(detail::enums_have_words(A::schema),
                  "an enum attribute needs .one_of(...) with the name of every value, in numeric order");
    [[maybe_unused]] static const A fallback{};
    std::apply([&](const auto&... spec) { (add_attr(spec, fallback), ...); }, A::schema);
    detail::parse_ports("output", outputs_);
  }

  // What the operation computes, in one line without a full stop; shown by `graft ops`.
  OpOf& doc(std::string_view d) { return op_.doc = str(d), *this; }
  // The type name in the IR, if it differs.
  OpOf& ir_name(std::string_view n) { return op_.ir_name = str(n), *this; }
  // Names of the inputs: "data, indices, bias?, rest...". `?` marks an optional one, `...` any number of them at the
  // end. There is one output named "output" unless `outputs` is called.
  OpOf& inputs(std::string_view list) { return inputs_.clear(), detail::parse_ports(list, inputs_), *this; }
  OpOf& outputs(std::string_view list) { return outputs_.clear(), detail::parse_ports(list, outputs_), *this; }
  // What an input or output is, by its name, in a few words; shown by `graft ops NAME`.
  OpOf& port_doc(std::string_view name, std::string_view doc) {
    for (std::vector<graft_port>* ports : {&inputs_, &outputs_})
      for (graft_port& p : *ports)
        if (view(p.name) == name) return p.doc = str(doc), *this;
    fail("operation '", view(op_.name), "' has no input or output '", name, "'");
  }
  // Declares a body (sub-graph) by its section in the IR: "" for <body>, "then_" for <then_body>.
  OpOf& body(std::string_view prefix) { return bodies_.push_back(str(prefix)), *this; }

  // The shape function: sets type and shape of every output (context.hpp). Required unless the operation is
  // element-wise or has a decomposition.
  OpOf& infer(void (*f)(Infer&, const A&)) {
    op_.user = reinterpret_cast<void*>(f);
    op_.infer = [](graft_node* n, void* user) {
      return guarded([&] {
        Infer ctx(n);
        reinterpret_cast<void (*)(Infer&, const A&)>(user)(ctx, ctx.attributes<A>());
      });
    };
    return *this;
  }
  // The kernel that defines the correct result, used by device REFERENCE, for constant folding, as the oracle of
  // tests, and by any device without another kernel.
  OpOf& reference(void (*f)(Run&, const A&)) { return kernel(Kernel("REFERENCE", "reference").run(f)); }
  // The same with state that `prepare` creates once per compiled node.
  template <class S>
  OpOf& reference(S (*prepare)(Prepare&, const A&), void (*f)(Run&, const A&, const S&)) {
    return kernel(Kernel("REFERENCE", "reference").run(prepare, f));
  }
  // Adds a kernel of a device. Kernels are tried in the order in which they are added; one with the device and name of
  // an earlier one replaces it.
  OpOf& kernel(Kernel k) {
    k.of(view(op_.name), *opset_);
    for (Kernel& old : kernels)
      if (old.same_slot(k)) return old = std::move(k), *this;
    kernels.push_back(std::move(k));
    return *this;
  }
  // Adds a kernel as OpenCL source (source_kernel.hpp), in the same way.
  OpOf& opencl(SourceKernel k) {
    k.of(view(op_.name), *opset_);
    for (SourceKernel& old : source_kernels)
      if (old.same_slot(k)) return old = std::move(k), *this;
    // What the author wrote for the device comes before what is derived from the formula.
    bool last = source_kernels.empty() || !source_kernels.back().same_slot(detail::formula_kernel());
    source_kernels.insert(source_kernels.end() - (last ? 0 : 1), std::move(k));
    return *this;
  }
  // Adds an import rule (rule.hpp) with this operation as its target.
  OpOf& import(Rule r) {
    if (!r.has_target()) r.to(view(op_.name), *opset_);
    rules.push_back(std::move(r));
    return *this;
  }

  // y[i] = f(x[i], ..., attributes) for one to three inputs that broadcast. Defines the shape function and all kernels:
  //
  //   op("Cube", "acme").elementwise([](auto x) { return x * x * x; })
  //   op<Blend>("Blend", "acme").elementwise([](auto x, auto y, const Blend& a) { return x + a.share * (y - x); })
  //
  // x is a double, long long or unsigned long long; on the CPU a float, and a vector of floats (simd.hpp) if the
  // parameters are `auto`. Then it is also run once with a type that records what is computed (trace.hpp), from which
  // the kernel of the GPU is written. Write the formula so that it compiles for all of them, or wrap it in `scalar` to
  // do without vectors and the GPU. The number of inputs is that of the formula's parameters; elementwise<2> says it
  // where they do not tell, as for `[](auto... x)`.
  template <size_t written = 0, class F>
  OpOf& elementwise(F) {
    constexpr size_t n = detail::formula_inputs<written, F, A>();
    if constexpr (n > 0) {
      formula_ports(n);
      op_.flags |= GRAFT_OP_ELEMENTWISE | GRAFT_OP_IN_PLACE | GRAFT_OP_WIDENS;
      if (!op_.infer) infer(detail::broadcast_infer<A>);
      reference(detail::elementwise_reference<n, F, A>);
      if constexpr (detail::GenericFormula<F>) opencl(detail::traced_kernel<n, F, A>());
      if constexpr (detail::VectorFormula<F>)
        kernel(Kernel("CPU", "vector_f32")
                   .accept(detail::accept_f32)
                   .run(detail::vector_prepare<n, F, A>, detail::elementwise_run<n, A>)
                   .rows(detail::elementwise_rows<n, A>));
      kernel(Kernel("CPU", "elementwise_f32")
                 .accept(detail::accept_f32)
                 .run(detail::elementwise_prepare<n, F, A>, detail::elementwise_run<n, A>)
                 .rows(detail::elementwise_rows<n, A>));
    }
    return *this;
  }
  // The same with a boolean result:
  //
  //   op("Above", "acme").comparison([](auto a, auto b) { return a > b; })
  template <size_t written = 0, class F>
  OpOf& comparison(F) {
    constexpr size_t n = detail::formula_inputs<written, F, A>();
    if constexpr (n > 0) {
      formula_ports(n);
      op_.flags |= GRAFT_OP_ELEMENTWISE | GRAFT_OP_WIDENS;
      infer(detail::compare_infer<A>);
      if constexpr (detail::GenericFormula<F>) opencl(detail::traced_kernel<n, F, A>());
      reference(detail::elementwise_reference<n, F, A>);
    }
    return *this;
  }

  // About how many elements a call touches. Constant folding has a budget in this unit. By default an operation that is
  // neither element-wise nor a view is assumed to visit every input element for every output element.
  OpOf& cost(double (*f)(const Accept&)) {
    op_.cost_user = reinterpret_cast<void*>(f);
    op_.cost = [](graft_node* n, void* user, double* elements) {
      return guarded([&] { *elements = reinterpret_cast<double (*)(const Accept&)>(user)(Accept(n)); });
    };
    return *this;
  }
  // Each element of the inputs and outputs is touched a few times at most.
  OpOf& linear() { return cost(detail::linear_cost); }

  // What else passes may rely on; traits.hpp says what each of them promises:
  //
  //   op("Mirror", "acme").traits(Trait::moves_data, Trait::channelwise)
  template <class... Traits>
  OpOf& traits(Traits... list) {
    return op_.flags |= (static_cast<uint32_t>(list) | ...), *this;
  }
  // Output 0 has the elements of input 0 with another shape: no memory, no copy.
  OpOf& view_of_input() { return op_.flags |= GRAFT_OP_VIEW, *this; }
  // Output 0 may use the memory of input 0. The kernels must then read each element before they write it.
  OpOf& in_place() { return op_.flags |= GRAFT_OP_IN_PLACE, *this; }
  // Equal inputs may give different outputs (random numbers): never constant-folded.
  OpOf& impure() { return op_.flags &= ~static_cast<uint32_t>(GRAFT_OP_PURE), *this; }
  // Has a side effect, such as writing a variable: kept even if its outputs are unused. Implies impure.
  OpOf& sink() { return op_.flags |= GRAFT_OP_SINK, impure(); }
  // Attributes that the schema does not list are accepted and kept; NodeView::all_attributes has them.
  OpOf& any_attributes() { return op_.flags |= GRAFT_OP_ANY_ATTRIBUTES, *this; }
  // If another extension defines the operation too, its definition applies; the kernels of this one stay.
  OpOf& weak() { return op_.flags |= GRAFT_OP_WEAK, *this; }
  // An equivalent graph of other operations in the textual form, for devices without a kernel:
  //
  //   .decompose("graph (x: f32[...]) { return Clamp(Negative(x)) {min = $low, max = $high} }")   // $attribute
  OpOf& decompose(std::string_view graph) { return op_.decomposition = str(graph), *this; }
  // How to express the operation in an earlier opset, for runtimes without this one; graft convert does so wherever
  // it can. This form replaces it by the version of that opset, with the same inputs, outputs and attributes.
  // `implied` lists the attributes which that version lacks, with the value it implies; a node with a different value
  // is left unchanged.
  OpOf& earlier(std::string_view opset, std::vector<NamedAttr> implied = {}) {
    return earlier(
        [target = std::string(view(op_.name)) + "@" + std::string(opset), implied = std::move(implied)](Rewrite& at) {
          std::vector<std::string_view> without;
          for (const NamedAttr& a : implied) {
            if (!at.node().has(a)) return;
            without.push_back(a.name);
          }
          at.restate(target, at.all_inputs(), without);
        });
  }
  OpOf& earlier(int version, std::vector<NamedAttr> implied = {}) {
    return earlier(detail::opset_name(version), std::move(implied));
  }
  // This form calls a function that builds the replacement, usually with at.restate, or leaves the node unchanged.
  OpOf& earlier(std::function<void(Rewrite&)> f) {
    passes.push_back(
        Pass(lower_opsets).phase(Phase::write).visit_with(view(op_.name), [opset = *opset_, f](Rewrite& at) {
          if (at.node().opset() == opset) f(at);
        }));
    return *this;
  }
  // A test case in the format of tests/ops, for the conformance checker. It runs with every device.
  OpOf& example(std::string_view test) { return cases_.push_back(str(test)), *this; }

 private:
  void formula_ports(size_t n) {
    if (inputs_.empty()) inputs(n == 1 ? "x" : n == 2 ? "a, b" : "a, b, c");
  }
  template <class Spec>
  void add_attr(const Spec& s, const A& fallback) {
    using Member = std::remove_cvref_t<decltype(fallback.*(s.member))>;
    graft_attr a{};
    a.size = sizeof a;
    a.kind = kind_of<Member>();
    a.name = str(s.name), a.doc = str(s.doc);
    a.min = s.min, a.max = s.max;
    a.allowed = s.word_count ? s.words.data() : nullptr, a.allowed_count = s.word_count;
    std::shared_ptr<AttrValue> value;
    if constexpr (std::is_same_v<Member, float> || std::is_same_v<Member, std::vector<float>>)
      a.flags |= GRAFT_ATTR_F32;
    if constexpr (is_optional<Member>::value) {
      a.flags |= GRAFT_ATTR_OPTIONAL;
      if constexpr (std::is_same_v<typename is_optional<Member>::inner, float>) a.flags |= GRAFT_ATTR_F32;
    } else if (s.is_required || kind_of<Member>() == GRAFT_TENSOR) {
      a.flags |= GRAFT_ATTR_REQUIRED;
    } else {
      value = std::make_shared<AttrValue>(default_value(fallback.*(s.member), std::span(s.words.data(), s.word_count)));
    }
    attrs_.push_back(a);
    defaults_.push_back(std::move(value));
  }
};

// An operation of a numbered opset, as built-ins are: op<Elu>("Elu", 1) belongs to "opset1" ...
template <class A = NoAttributes>
OpOf<A> op(std::string_view name, int version) {
  return {name, detail::opset_name(version)};
}
// ... or of an opset of one's own. "extension" is the conventional name for an opset without a name. An extension may
// also define an operation of a numbered opset; it then takes the place of the built-in one.
template <class A = NoAttributes>
OpOf<A> op(std::string_view name, std::string_view opset = "extension") {
  return {name, std::string(opset)};
}

// A set of definitions: operations, kernels of operations defined elsewhere, rules that expand to other operations, and
// passes. All of them convert to Definitions, so a function can return any mixture:
//
//   return {define_twist(), Kernel("CPU", "fast").of("Elu", "opset1").run(prepare, run), Pass("fuse_twist")...};
class Definitions {
 public:
  Definitions() = default;
  Definitions(Op o) { ops.push_back(std::move(o)); }
  Definitions(Kernel k) { kernels.push_back(std::move(k)); }
  Definitions(SourceKernel k) { source_kernels.push_back(std::move(k)); }
  Definitions(Rule r) { rules.push_back(std::move(r)); }
  Definitions(Pass p) { passes.push_back(std::move(p)); }
  Definitions(RawPass p) { raw_passes.push_back(std::move(p)); }
  // A record and what keeps it; see reader.hpp.
  Definitions(std::shared_ptr<const graft_reader> r) { readers.push_back(std::move(r)); }
  Definitions(std::initializer_list<Definitions> parts) {
    for (const Definitions& p : parts) *this += p;
  }
  Definitions& operator+=(const Definitions& o) {
    ops.insert(ops.end(), o.ops.begin(), o.ops.end());
    kernels.insert(kernels.end(), o.kernels.begin(), o.kernels.end());
    source_kernels.insert(source_kernels.end(), o.source_kernels.begin(), o.source_kernels.end());
    rules.insert(rules.end(), o.rules.begin(), o.rules.end());
    passes.insert(passes.end(), o.passes.begin(), o.passes.end());
    raw_passes.insert(raw_passes.end(), o.raw_passes.begin(), o.raw_passes.end());
    readers.insert(readers.end(), o.readers.begin(), o.readers.end());
    return *this;
  }
  std::vector<Op> ops;
  std::vector<Kernel> kernels;
  std::vector<SourceKernel> source_kernels;
  std::vector<Rule> rules;
  std::vector<Pass> passes;
  std::vector<RawPass> raw_passes;
  std::vector<std::shared_ptr<const graft_reader>> readers;
};

}  // namespace graft

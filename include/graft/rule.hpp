// Import rules: which layer of a framework becomes which operation, and how its fields become attributes.
//
//   op<Elu>("Elu", 1)
//       .import(onnx("Elu"))                                                    // same names: nothing else to say
//       .import(caffe("ELU").attr("alpha", "elu_param.alpha"))                  // another name for the attribute
//       .import(mxnet("LeakyReLU").when("act_type", "elu").attr("alpha", "slope", 0.25));
//   onnx("Gemm").since(7).expand(import_gemm)                                   // several nodes: a function
//
// A rule without `expand` is pure data: one node of the target operation with the inputs of the layer, and every field
// with the name of an attribute becomes that attribute. Fields that no part of a rule mentions are reported as unused.
//
// If several rules match a layer, those of extensions come before built-in ones. Rules are registered once, when the
// library is loaded, and immutable afterwards.
#pragma once

#include <memory>

#include "builder.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// One import rule. The functions change the rule and return it, so that calls can be chained. Strings are referenced,
// not copied: use literals. Attribute values are copied.
//
// Errors: a rule with an unknown target, or with an attribute that the target does not have, is rejected when the
// library is loaded or, at the latest, when the rule is applied.
class Rule {
 public:
  // `type` is the framework's name for the layer, for example "Conv".
  Rule(std::string_view framework, std::string_view type) {
    r_.size = sizeof r_;
    r_.framework = str(framework), r_.type = str(type);
    r_.since = 0, r_.until = INT64_MAX;
  }
  // The ONNX domain of the layer type, for example "com.microsoft"; "*": any but the standard one, the default.
  Rule& domain(std::string_view d) { return r_.domain = str(d), *this; }
  // Restricts the rule to operator-set versions since <= v < until:
  //
  //   onnx("Clip").until(11)   // bounds are attributes
  //   onnx("Clip").since(11)   // bounds are inputs
  Rule& since(int64_t v) { return r_.since = v, *this; }
  Rule& until(int64_t v) { return r_.until = v, *this; }
  // Our attribute `name` is the framework's field `path` (dotted for nested fields). If the field is absent, our
  // default applies ...
  Rule& attr(std::string_view name, std::string_view path) {
    attrs_.push_back({str(name), str(path), {}});
    return *this;
  }
  // ... or this fallback, for frameworks whose default differs from ours.
  Rule& attr(std::string_view name, std::string_view path, AttrValue fallback) {
    values_.push_back(std::make_shared<AttrValue>(std::move(fallback)));
    attrs_.push_back({str(name), str(path), values_.back()->raw()});
    return *this;
  }
  // The rule applies only if the field has this value. Several conditions must all hold:
  //
  //   mxnet("Activation").when("act_type", "relu")
  //
  // A layer that no rule matches is reported as unknown, with all its fields.
  Rule& when(std::string_view path, AttrValue value) {
    values_.push_back(std::make_shared<AttrValue>(std::move(value)));
    conditions_.push_back({str(path), values_.back()->raw()});
    return *this;
  }
  // A field without effect here, which should not be reported as unused; "path.*" ignores all fields below the path.
  // Name only fields that are really irrelevant, such as hints for training or for memory.
  Rule& ignore(std::string_view path) { return ignored_.push_back(str(path)), *this; }
  // The ranks that input `i` may have. A layer whose input certainly has another rank is refused before the rule runs,
  // so that `expand` may index the shape. An absent input and an unknown rank pass.
  Rule& rank(size_t i, int min, int max = 64) {
    ranks_.push_back({static_cast<uint32_t>(i), min, max});
    return *this;
  }
  // Tried after the rules of other extensions, but before the built-in ones.
  Rule& weak() { return r_.flags |= GRAFT_RULE_WEAK, *this; }
  // The target operation; set by Op::import, so needed only for rules outside an operation.
  Rule& to(std::string_view op, std::string_view opset) {
    opset_ = std::make_shared<std::string>(opset);
    return r_.op = str(op), *this;
  }

  // A function that builds the nodes (import.hpp) and returns the only output, all outputs (an empty Value skips one),
  // or nothing if it sets them itself with layer.output(i, value). It takes the place of the attribute rules.
  Rule& expand(Value (*f)(Builder&)) {
    return set_expand(f, [](graft_builder* im, void* user) {
      return guarded([&] {
        Builder layer(im);
        layer.output(0, reinterpret_cast<Value (*)(Builder&)>(user)(layer));
      });
    });
  }
  Rule& expand(std::vector<Value> (*f)(Builder&)) {
    return set_expand(f, [](graft_builder* im, void* user) {
      return guarded([&] {
        Builder layer(im);
        std::vector<Value> out = reinterpret_cast<std::vector<Value> (*)(Builder&)>(user)(layer);
        for (size_t i = 0; i < out.size(); ++i)
          if (out[i]) layer.output(i, out[i]);
      });
    });
  }
  Rule& expand(void (*f)(Builder&)) {
    return set_expand(f, [](graft_builder* im, void* user) {
      return guarded([&] {
        Builder layer(im);
        reinterpret_cast<void (*)(Builder&)>(user)(layer);
      });
    });
  }

  // Whether the target operation is set.
  bool has_target() const { return r_.op.size != 0; }
  // The C record, which refers to this object: valid until it is moved or destroyed.
  const graft_rule* seal() {
    if (opset_) r_.opset = str(*opset_);
    r_.attrs = attrs_.data(), r_.attr_count = attrs_.size();
    r_.conditions = conditions_.data(), r_.condition_count = conditions_.size();
    r_.ignored = ignored_.data(), r_.ignored_count = ignored_.size();
    r_.ranks = ranks_.data(), r_.rank_count = ranks_.size();
    return &r_;
  }

 private:
  template <class F>
  Rule& set_expand(F f, graft_status (*call)(graft_builder*, void*)) {
    r_.user = reinterpret_cast<void*>(f);
    r_.expand = call;
    return *this;
  }
  graft_rule r_{};
  std::shared_ptr<std::string> opset_;
  std::vector<graft_attr_rule> attrs_;
  std::vector<graft_named_value> conditions_;
  std::vector<graft_str> ignored_;
  std::vector<graft_rank> ranks_;
  std::vector<std::shared_ptr<AttrValue>> values_;
};

// A rule for a layer type of the named framework; Rule("toy", "Conv") for one that an extension reads (reader.hpp).
inline Rule onnx(std::string_view type) { return {"onnx", type}; }
inline Rule caffe(std::string_view type) { return {"caffe", type}; }
inline Rule tensorflow(std::string_view type) { return {"tensorflow", type}; }
inline Rule tflite(std::string_view type) { return {"tflite", type}; }
inline Rule mxnet(std::string_view type) { return {"mxnet", type}; }
inline Rule kaldi(std::string_view type) { return {"kaldi", type}; }
// An operator of PyTorch, "aten::add"; with an overload, "aten::add.Tensor", only that one. Inputs are its tensors and
// sizes in the order of its arguments, fields its other arguments by name. "call.inputs" lists the names of the inputs.
inline Rule torch(std::string_view type) {
  size_t dot = type.find('.');
  Rule r("pytorch", type.substr(0, dot));
  r.ignore("call.inputs");
  return dot == type.npos ? r.ignore("call.overload") : r.when("call.overload", std::string(type.substr(dot + 1)));
}
// A rule for this layer type of every framework, those of extensions included. In a framework with domains, such as
// ONNX, it is for the type of its `domain`; in others the domain does not matter.
inline Rule every_framework(std::string_view type) { return {"*", type}; }
// A sub-graph matched by an entry of --transformations_config: its inputs and outputs are those of the layer; its
// fields are the custom_attributes of the entry and, as "nodes.<name>.<field>", the fields of the matched nodes.
inline Rule replacement(std::string_view id) { return {"replacement", id}; }

}  // namespace graft

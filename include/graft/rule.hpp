// Import rules: which layer of a framework becomes an operation, and how its fields become attributes.
#pragma once

#include <memory>

#include "import.hpp"

namespace [[gnu::visibility("hidden")]] graft {

class Rule {
 public:
  Rule(std::string_view framework, std::string_view type) {
    r_.size = sizeof r_;
    r_.framework = str(framework), r_.type = str(type);
    r_.since = 0, r_.until = INT64_MAX;
  }
  Rule& domain(std::string_view d) { return r_.domain = str(d), *this; }
  // For framework operator sets since <= v < until.
  Rule& since(int64_t v) { return r_.since = v, *this; }
  Rule& until(int64_t v) { return r_.until = v, *this; }
  // Our attribute `name` is the framework's field `path`; absent, our default.
  Rule& attr(std::string_view name, std::string_view path) {
    attrs_.push_back({str(name), str(path), {}});
    return *this;
  }
  // ... absent, the framework's own default.
  Rule& attr(std::string_view name, std::string_view path, AttrValue fallback) {
    values_.push_back(std::make_shared<AttrValue>(std::move(fallback)));
    attrs_.push_back({str(name), str(path), values_.back()->raw()});
    return *this;
  }
  // Applies only where the field has this value.
  Rule& when(std::string_view path, AttrValue value) {
    values_.push_back(std::make_shared<AttrValue>(std::move(value)));
    conditions_.push_back({str(path), values_.back()->raw()});
    return *this;
  }
  // A field that changes nothing here; "path.*": all fields below the path.
  Rule& ignore(std::string_view path) { return ignored_.push_back(str(path)), *this; }
  // The ranks that input `i` may have. A layer whose input certainly has another rank is refused before the rule runs,
  // so that `expand` may index the shape. An absent input and an unknown rank pass.
  Rule& rank(size_t i, int min, int max = 64) {
    ranks_.push_back({static_cast<uint32_t>(i), min, max});
    return *this;
  }
  Rule& to(std::string_view op, std::string_view opset) {
    opset_ = std::make_shared<std::string>(opset);
    return r_.op = str(op), *this;
  }

  Rule& expand(Value (*f)(Import&)) {
    return set_expand(f, [](graft_import* im, void* user) {
      return guarded([&] {
        Import layer(im);
        layer.output(0, reinterpret_cast<Value (*)(Import&)>(user)(layer));
      });
    });
  }
  Rule& expand(std::vector<Value> (*f)(Import&)) {
    return set_expand(f, [](graft_import* im, void* user) {
      return guarded([&] {
        Import layer(im);
        std::vector<Value> out = reinterpret_cast<std::vector<Value> (*)(Import&)>(user)(layer);
        for (size_t i = 0; i < out.size(); ++i)
          if (out[i]) layer.output(i, out[i]);
      });
    });
  }
  Rule& expand(void (*f)(Import&)) {
    return set_expand(f, [](graft_import* im, void* user) {
      return guarded([&] {
        Import layer(im);
        reinterpret_cast<void (*)(Import&)>(user)(layer);
      });
    });
  }

  bool has_target() const { return r_.op.size != 0; }
  // The record; valid while this object stays where it is.
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
  Rule& set_expand(F f, graft_status (*call)(graft_import*, void*)) {
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

inline Rule onnx(std::string_view type) { return {"onnx", type}; }
inline Rule caffe(std::string_view type) { return {"caffe", type}; }
inline Rule tensorflow(std::string_view type) { return {"tensorflow", type}; }
inline Rule mxnet(std::string_view type) { return {"mxnet", type}; }
inline Rule kaldi(std::string_view type) { return {"kaldi", type}; }
// A sub-graph that an entry of --transformations_config matched: its inputs and outputs are the layer's, its fields the
// entry's custom_attributes and, as "nodes.<name>.<field>", what the matched nodes hold.
inline Rule replacement(std::string_view id) { return {"replacement", id}; }

}  // namespace graft

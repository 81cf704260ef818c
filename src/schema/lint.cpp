#include "schema/lint.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "graph/text.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

class Linter {
 public:
  Linter(const Records& records, const Registry& registry, const std::vector<std::string>& devices,
         const std::vector<std::string>& passes)
      : records_(records), registry_(registry), devices_(devices), passes_(passes) {}

  std::vector<std::string> run() {
    for (const graft_op& op : records_.ops) check(op);
    for (const graft_kernel& k : records_.kernels) check(k);
    for (const graft_source_kernel& k : records_.source_kernels) check(k);
    for (const graft_rule& r : records_.rules) check(r);
    for (const graft_pass& p : records_.passes) check(p);
    for (const graft_raw_pass& p : records_.raw_passes)
      for (size_t i = 0; i < p.framework_count; ++i)
        if (!is_framework(view(p.frameworks[i])))
          warn("the raw pass '", p.name, "' is for the framework ", p.frameworks[i], ", which does not exist");
    return std::move(out_);
  }

 private:
  template <class... Parts>
  void warn(const Parts&... parts) {
    out_.push_back(text("'", records_.source.title(), "': ", parts...));
  }

  void check(const graft_op& op) {
    for (size_t i = 0; i < op.attr_count; ++i) {
      const graft_attr& a = *op.attrs[i];
      if (a.min > a.max) warn("attribute '", a.name, "' of ", op.name, " has the bounds ", a.min, " to ", a.max);
      if (a.fallback.kind == GRAFT_NONE) continue;
      try {
        check_attribute(Attribute::from(a.fallback), a);
      } catch (const Error& e) {
        warn("the default of attribute '", a.name, "' of ", op.name, " is not valid: ", e.message());
      }
    }
    if (op.decomposition.size) check_decomposition(op);
    if (!op.infer && !op.decomposition.size)
      warn(op.name, " of ", op.opset, " has neither a shape function nor a decomposition");
    bool runs = op.decomposition.size != 0;
    for (const graft_kernel& k : records_.kernels)
      runs |= view(k.op) == view(op.name) && view(k.opset) == view(op.opset);
    for (const graft_source_kernel& k : records_.source_kernels) runs |= view(k.op) == view(op.name);
    if (!runs) warn(op.name, " of ", op.opset, " has neither a kernel nor a decomposition");
  }

  void check_decomposition(const graft_op& op) {
    Attributes values;
    for (size_t i = 0; i < op.attr_count; ++i)
      if (op.attrs[i]->fallback.kind != GRAFT_NONE)
        values[std::string(view(op.attrs[i]->name))] = Attribute::from(op.attrs[i]->fallback);
    try {
      Graph g = parse_graph(view(op.decomposition), values);
      if (g.parameters().size() != op.input_count)
        warn("the decomposition of ", op.name, " has ", g.parameters().size(), " inputs, the operation has ",
             op.input_count);
      if (g.results().size() != op.output_count)
        warn("the decomposition of ", op.name, " has ", g.results().size(), " results, the operation has ",
             op.output_count, op.output_count == 1 ? " output" : " outputs");
      for (NodeId id : g.topological_order())
        if (const Node& n = g[id]; !registry_.find(n.type, n.opset) && !registry_.newest(n.type))
          warn("the decomposition of ", op.name, " uses ", n.type, ", which does not exist");
    } catch (const Error& e) {
      // An attribute without a default has no value here.
      if (e.code() != ErrorCode::missing_argument || values.size() == op.attr_count)
        warn("the decomposition of ", op.name, " is not valid: ", e.message());
    }
  }

  void check(const graft_source_kernel& k) {
    check_device(k);
    if (!k.opset.size && !registry_.newest(view(k.op)))
      warn("kernel '", k.name, "' is for the operation ", k.op, ", which does not exist");
    if (k.opset.size && !exists(view(k.op), view(k.opset)))
      warn("kernel '", k.name, "' is for ", missing(k.op, k.opset));
  }
  template <class Kernel>
  void check_device(const Kernel& k) {
    if (std::find(devices_.begin(), devices_.end(), view(k.device)) == devices_.end())
      warn("kernel '", k.name, "' of ", k.op, " is for the device ", k.device, ", which does not exist; there are ",
           join(devices_, ", "));
  }

  void check(const graft_kernel& k) {
    check_device(k);
    // Kernels belong to exactly one version of an operation.
    const OpDef* op = registry_.find(view(k.op), view(k.opset));
    if (!op || op->opset() != view(k.opset)) warn("kernel '", k.name, "' is for ", missing(k.op, k.opset));
  }

  void check(const graft_rule& r) {
    std::string rule = text("the rule for ", r.type, " of ", r.framework);
    std::string_view framework = view(r.framework);
    if (!is_framework(framework) && framework != every_framework_name && framework != replacement_framework) {
      std::vector<std::string> names;
      for (const FrameworkTraits* f : registry_.frameworks()) names.push_back(f->name);
      warn(rule, ": there is no such framework; there are ", join(names, ", "));
    }
    if (r.since >= r.until) warn(rule, " applies to no version: since ", r.since, ", until ", r.until);
    if (!r.op.size) {
      if (!r.expand) warn(rule, " has neither an operation nor a function");
      return;
    }
    if (!exists(view(r.op), view(r.opset))) return warn(rule, " creates ", missing(r.op, r.opset));
    const OpDef& op = *registry_.find(view(r.op), view(r.opset));
    for (size_t i = 0; i < r.attr_count; ++i) {
      bool known = false;
      for (const graft_attr* a : op.attrs()) known |= view(a->name) == view(r.attrs[i].name);
      if (!known) warn(rule, " sets the attribute '", r.attrs[i].name, "', which ", r.op, " does not have");
    }
  }

  void check(const graft_pass& p) {
    for (auto [names, count, word] :
         {std::tuple{p.before, p.before_count, "before"}, std::tuple{p.after, p.after_count, "after"}})
      for (size_t i = 0; i < count; ++i) {
        auto same = [&, name = view(names[i])](const PassDef& d) { return view(d.record->name) == name; };
        auto all = registry_.passes();
        bool elsewhere = std::find(passes_.begin(), passes_.end(), view(names[i])) != passes_.end();
        if (!elsewhere && std::none_of(all.begin(), all.end(), same))
          warn("the pass '", p.name, "' runs ", word, " '", names[i], "', which does not exist");
      }
  }

  bool is_framework(std::string_view name) const {
    auto all = registry_.frameworks();
    return std::any_of(all.begin(), all.end(), [&](const FrameworkTraits* f) { return f->name == name; });
  }
  bool exists(std::string_view type, std::string_view opset) const { return registry_.find(type, opset) != nullptr; }
  // "Elu of opset99, which does not exist; there is Elu of opset1"
  std::string missing(graft_str type, graft_str opset) const {
    std::vector<std::string> others;
    for (const OpDef* d : registry_.ops())
      if (d->name() == view(type)) others.emplace_back(d->opset());
    return text(type, " of ", opset, ", which does not exist",
                others.empty() ? "" : text("; there is ", type, " of ", join(others, ", ")));
  }

  const Records& records_;
  const Registry& registry_;
  const std::vector<std::string>& devices_;
  const std::vector<std::string>& passes_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> lint(const Records& records, const Registry& registry, const std::vector<std::string>& devices,
                              const std::vector<std::string>& passes) {
  return Linter(records, registry, devices, passes).run();
}

}  // namespace graft

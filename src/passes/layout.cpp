#include <algorithm>

#include "base/request.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "passes/insert.hpp"
#include "passes/preprocess.hpp"

namespace graft {

std::optional<std::vector<std::string>> layout_for(const std::vector<std::string>& layout, size_t rank) {
  std::vector<std::string> out;
  auto dots = std::find(layout.begin(), layout.end(), "...");
  if (dots == layout.end()) return layout.size() == rank ? std::optional(layout) : std::nullopt;
  if (layout.size() - 1 > rank) return std::nullopt;
  out.assign(layout.begin(), dots);
  // Dimensions without a name keep their order among themselves.
  for (size_t i = 0; i < rank - (layout.size() - 1); ++i) out.push_back(text("...", i));
  out.insert(out.end(), dots + 1, layout.end());
  return out;
}

namespace {

std::string layout_text(const std::vector<std::string>& layout) {
  std::string out;
  for (const std::string& l : layout)
    out += (out.empty() ? "[" : ",") + (l.starts_with("...") && l.size() > 3 ? "?" : l);
  return out + "]";
}

// Position of each entry of `wanted` in `have`.
std::vector<int64_t> positions(const std::vector<std::string>& have, const std::vector<std::string>& wanted) {
  std::vector<int64_t> out;
  for (const std::string& w : wanted) out.push_back(std::find(have.begin(), have.end(), w) - have.begin());
  return out;
}

bool is_in_order(const std::vector<int64_t>& p) { return std::is_sorted(p.begin(), p.end()); }

// The request for a value, with "..." in its layouts expanded.
struct Fitted {
  std::vector<std::string> source, target;
};
std::optional<Fitted> fitted(const LayoutRequest& l, const Shape& shape, const std::string& name) {
  auto refuse = [&](const std::vector<std::string>& layout) {
    throw RequestError(
        text("`layouts`: the layout ", layout_text(layout), " does not fit '", name, "' of shape ", shape));
  };
  auto source = shape.ranked() ? layout_for(l.source, shape.rank()) : std::nullopt;
  if (!source) {
    if (!l.name.empty()) refuse(l.source);
    return std::nullopt;
  }
  Fitted f{*source, *source};
  if (l.target.empty()) return f;
  auto target = layout_for(l.target, shape.rank());
  if (!target) refuse(l.target);
  f.target = *target;
  std::vector<std::string> a = f.source, b = f.target;
  std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
  if (a != b || std::adjacent_find(a.begin(), a.end()) != a.end())
    throw RequestError(text("`layouts`: cannot convert ", layout_text(f.source), " to ", layout_text(f.target)),
                       "both must name the same dimensions, each of them once");
  return f;
}

void note_layout(Output& output, const std::vector<std::string>& layout) {
  auto rt = std::make_shared<Xml>();
  if (output.rt_info) *rt = *output.rt_info;
  rt->name = "rt_info";
  std::erase_if(rt->children, [](const Xml& x) {
    return std::find(x.attributes.begin(), x.attributes.end(), std::pair<std::string, std::string>{"name", "layout"}) !=
           x.attributes.end();
  });
  rt->children.push_back(
      {"attribute", {{"name", "layout"}, {"version", "0"}, {"layout", layout_text(layout)}}, {}, {}});
  output.rt_info = rt;
}

ValueId turned(Editor& editor, ValueId v, const std::vector<int64_t>& order, const std::string& name) {
  Tensor list = make_tensor<int64_t>({static_cast<int64_t>(order.size())}, order);
  return insert(editor, "Transpose", "opset1", {v, editor.constant(std::move(list), name + "/layout/order")},
                name + "/layout");
}

void change_input(Editor& editor, NodeId id, const Fitted& f) {
  Graph& g = editor.graph();
  ValueId v{id, 0};
  std::vector<int64_t> outside = positions(f.source, f.target), back = positions(f.target, f.source);
  note_layout(g.output(v), f.target);
  if (is_in_order(outside)) return;
  Shape inner = g.info(v).shape, outer;
  for (int64_t p : outside) outer.push_back(inner[static_cast<size_t>(p)]);
  std::vector<Use> uses = editor.users().of(v);
  g[id].attrs["shape"] = outer;
  g.output(v).declared.reset();
  editor.inference().forget(id);
  editor.inference().infer(id);
  redirect(editor, uses, turned(editor, v, back, g[id].name));
}

void change_output(Editor& editor, NodeId result, const Fitted& f) {
  Graph& g = editor.graph();
  ValueId v = g[result].inputs[0];
  std::vector<int64_t> turn = positions(f.source, f.target);
  if (is_in_order(turn)) return;
  ValueId outside = turned(editor, v, turn, g[v.node].name);
  // The output keeps its name, except that of a Parameter, which stays with the input.
  if (!g[v.node].is("Parameter")) {
    for (const std::string& name : g.output(v).names) g.output(outside).add_name(name);
    g.output(v).names.clear();
  }
  redirect(editor, {{result, 0}}, outside);
}

}  // namespace

void change_layouts(Graph& g, const Registry& registry, const Preprocess& request) {
  Editor editor(g, registry);
  for (const LayoutRequest& l : request.layouts) {
    bool fits = false;
    if (!l.name.empty()) {
      if (auto id = find_result(g, l.name)) {
        Shape s = g.info(g[*id].inputs[0]).shape;
        change_output(editor, *id, *fitted(l, s, l.name));
      } else {
        NodeId input = find_input(g, request, l.name, "`layouts`");
        change_input(editor, input, *fitted(l, g.info({input, 0}).shape, l.name));
      }
      continue;
    }
    for (NodeId id : std::vector<NodeId>(g.parameters()))
      if (auto f = fitted(l, g.info({id, 0}).shape, g[id].name)) fits = true, change_input(editor, id, *f);
    if (!fits) throw RequestError(text("`layouts`: no input has the rank of ", layout_text(l.source)));
  }
}

}  // namespace graft

// The nodes of a Kaldi model as layers: every value has the frames that are needed of it, one per row.
#include <algorithm>
#include <map>
#include <set>

#include "readers/kaldi_model.hpp"

namespace graft {
namespace {

class GraphWriter {
 public:
  GraphWriter(const KaldiNet& net, const std::vector<std::vector<size_t>>& groups, const std::string& file)
      : net_(net), groups_(groups), file_(file), values_(net.nodes.size()) {}

  RawGraph run() {
    for (const KaldiNode& n : net_.nodes) taken_.insert(n.name);
    for (size_t i = 0; i < net_.nodes.size(); ++i)
      if (net_.nodes[i].kind == KaldiNode::input) input(i);
    for (const std::vector<size_t>& g : groups_) {
      if (!is_needed(g)) continue;
      if (is_kaldi_recurrence(net_, g)) recurrence(g);
      else node(g[0]);
    }
    for (const KaldiOutput& o : net_.outputs) g_.outputs.push_back({o.name, {}, {}});
    return std::move(g_);
  }

 private:
  bool is_needed(const std::vector<size_t>& group) const {
    return std::any_of(group.begin(), group.end(),
                       [&](size_t i) { return net_.nodes[i].needed.low < KaldiFrames::unbounded; });
  }

  std::string unused(const std::string& name) {
    std::string out = name;
    for (int& i = numbers_[name]; !taken_.insert(out).second;) out = text(name, '_', ++i);
    return out;
  }

  RawNode& add(RawGraph& g, std::string type, std::string name, size_t position, std::vector<std::string> inputs,
               std::vector<std::string> outputs) {
    RawNode& n = g.nodes.emplace_back();
    n.type = std::move(type), n.name = std::move(name), n.position = position;
    n.inputs = std::move(inputs), n.outputs = std::move(outputs);
    return n;
  }

  void input(size_t i) {
    const KaldiNode& n = net_.nodes[i];
    Shape shape{n.per_utterance ? Dim(1) : Dim(), n.dim > 0 ? Dim(n.dim) : Dim()};
    RawValue v;
    v.name = n.name, v.info = {DType::f32, shape}, v.also = n.type;
    g_.inputs.push_back(v);
    values_[i] = n.name;
    if (n.per_utterance) return;
    if (reference_.empty()) reference_ = n.name;
    if (n.needed == KaldiFrames{0, 0}) return;
    values_[i] = unused(n.name + "/context");
    RawNode& c = add(g_, "Context", values_[i], n.position, {n.name}, {values_[i]});
    c.fields = {{"left", kaldi_field(-n.needed.low)}, {"right", kaldi_field(n.needed.high)}};
  }

  // The value of the use for these frames; zeros where an optional one has none.
  std::string frames(const KaldiUse& u, const KaldiFrames& target, const std::string& owner) {
    const KaldiNode& source = net_.nodes[u.node];
    int64_t front = target.low + u.offset - source.needed.low, back = source.needed.high - target.high - u.offset;
    if (source.per_utterance) throw_internal("an input with one row per utterance is used for every frame");
    if (front == 0 && back == 0) return values_[u.node];
    std::string& known = shifts_[{u.node, front, back}];
    if (!known.empty()) return known;
    known = unused(text(source.name, "/", u.offset >= 0 ? "+" : "", u.offset));
    RawNode& n = add(g_, "Frames", known, source.position, {values_[u.node]}, {known});
    n.fields = {{"front", kaldi_field(front)}, {"back", kaldi_field(back)}};
    if ((front < 0 || back < 0) && !u.optional)
      throw_internal("the frames of '", source.name, "' for '", owner, "' are not computed");
    return known;
  }

  std::string reference(const KaldiNode& n) const {
    if (reference_.empty())
      throw_user(file_, ": node '", n.name, "' requires the number of frames, but no input has frames");
    return reference_;
  }

  void weights(RawGraph& g, const KaldiNode& n, RawNode& out, const std::string& prefix) {
    std::vector<std::string> names;
    for (const auto& [token, tensor] : n.weights) {
      std::string name = prefix.empty() ? unused(text(n.name, '/', token)) : text(prefix, n.name, '/', token);
      g.constants.emplace_back(name, tensor);
      out.inputs.push_back(name);
      names.push_back(token);
    }
    out.weights = names.size();
    if (!names.empty()) out.fields.emplace_back("weights", kaldi_field(names));
  }

  void node(size_t i) {
    const KaldiNode& n = net_.nodes[i];
    if (n.kind == KaldiNode::input) return;
    values_[i] = n.type == "output-node" || named_once(n.name) ? n.name : unused(n.name);
    int64_t low = n.needed.low, extra = n.needed.high - n.needed.low;
    RawNode out;
    out.type = n.type, out.name = values_[i], out.position = n.position;
    out.outputs = {values_[i]};
    out.fields = n.fields;
    auto set = [&](const char* name, int64_t v) { out.fields.emplace_back(name, kaldi_field(v)); };
    const KaldiNode* source = n.inputs.empty() ? nullptr : &net_.nodes[n.inputs[0].node];
    switch (n.kind) {
      case KaldiNode::input: return;
      case KaldiNode::constant:
        out.inputs = {reference(n)};
        set("extra", extra);
        break;
      case KaldiNode::fixed:
        out.inputs = {values_[n.inputs[0].node], reference(n)};
        set("row", source->per_utterance ? 0 : n.first + n.inputs[0].offset - source->needed.low);
        set("extra", extra);
        break;
      case KaldiNode::rounded:
      case KaldiNode::window:
        out.inputs = {values_[n.inputs[0].node]};
        set("input_start", source->needed.low - n.inputs[0].offset);
        set("start", low);
        set("extra", extra - (source->needed.high - source->needed.low));
        if (n.kind == KaldiNode::rounded) set("modulus", n.modulus);
        break;
      case KaldiNode::failover: {
        KaldiUse first = n.inputs[0], second = n.inputs[1];
        set("front", std::max<int64_t>(source->available.low - first.offset - low, 0));
        set("back", std::max<int64_t>(n.needed.high - (source->available.high - first.offset), 0));
        first.optional = second.optional = true;
        out.inputs = {frames(first, n.needed, n.name), frames(second, n.needed, n.name)};
        break;
      }
      case KaldiNode::switched: set("start", low); [[fallthrough]];
      case KaldiNode::layer:
        for (const KaldiUse& u : n.inputs) out.inputs.push_back(frames(u, n.needed, n.name));
    }
    weights(g_, n, out, "");
    if (n.steps) out.fields.emplace_back("body", step_body());
    g_.nodes.push_back(std::move(out));
  }

  // A graph that hands its values through: the rule for a component that runs frame by frame computes the step.
  static RawField step_body() {
    auto body = std::make_shared<RawGraph>();
    for (const char* name : {"x", "h", "c"}) {
      RawValue v;
      v.name = name;
      body->inputs.push_back(v), body->outputs.push_back(v);
    }
    RawField f;
    f.graphs = {body};
    return f;
  }

  bool named_once(const std::string& name) { return used_names_.insert(name).second; }

  // ---- recurrences ----

  struct Loop {
    std::shared_ptr<RawGraph> body = std::make_shared<RawGraph>();
    std::set<size_t> members;
    std::vector<std::string> externals;                   // values of the outer graph, one row of which each step gets
    std::map<std::pair<size_t, int64_t>, size_t> delays;  // node and delay -> state
    std::vector<std::pair<size_t, int64_t>> states;
    int direction = 0;
  };

  // The members in an order in which a step can compute them.
  std::vector<size_t> step_order(const std::vector<size_t>& group) const {
    std::set<size_t> members(group.begin(), group.end());
    std::vector<size_t> out;
    for (const std::vector<size_t>& g : mandatory())
      if (members.count(g[0])) out.push_back(g[0]);
    return out;
  }
  const std::vector<std::vector<size_t>>& mandatory() const {
    if (mandatory_.empty()) mandatory_ = kaldi_groups(net_, false);
    return mandatory_;
  }

  size_t state(Loop& loop, size_t node, int64_t delay) {
    auto [it, fresh] = loop.delays.emplace(std::pair{node, delay}, loop.states.size());
    if (fresh) {
      if (loop.states.size() > 4096) throw_unsupported(file_, ": a recurrence with more than 4096 states");
      loop.states.emplace_back(node, delay);
    }
    if (delay > 1) state(loop, node, delay - 1);
    return loop.delays.at({node, delay});
  }

  std::string step_input(Loop& loop, const KaldiUse& u, const KaldiNode& owner) {
    if (!loop.members.count(u.node)) {
      std::string outer = frames(u, owner.needed, owner.name);
      auto it = std::find(loop.externals.begin(), loop.externals.end(), outer);
      if (it == loop.externals.end()) it = loop.externals.insert(it, outer);
      return text("row of ", outer);
    }
    if (u.offset == 0) return step_name(u.node);
    int direction = u.offset < 0 ? 1 : -1;
    if (loop.direction && direction != loop.direction)
      throw_unsupported(file_, ": a recurrence in both directions of time, at node '", owner.name, "',");
    if (!u.optional || std::abs(u.offset) > 1024)
      throw_unsupported(file_, ": a recurrence over ", std::abs(u.offset), " frames",
                        u.optional ? "" : " without IfDefined", ", at node '", owner.name, "',");
    loop.direction = direction;
    state(loop, u.node, std::abs(u.offset));
    return state_name(u.node, std::abs(u.offset));
  }
  std::string step_name(size_t node) const { return text("step of ", net_.nodes[node].name); }
  std::string state_name(size_t node, int64_t delay) const { return text(net_.nodes[node].name, " before ", delay); }

  void step_node(Loop& loop, size_t i) {
    const KaldiNode& n = net_.nodes[i];
    if (n.kind != KaldiNode::layer || n.steps)
      throw_unsupported(file_, ": node '", n.name, "' (", n.type, ") in a recurrence");
    RawNode out;
    out.type = n.type, out.name = n.name, out.position = n.position;
    for (const KaldiUse& u : n.inputs) out.inputs.push_back(step_input(loop, u, n));
    out.outputs = {step_name(i)};
    out.fields = n.fields;
    weights(*loop.body, n, out, "step of ");
    loop.body->nodes.push_back(std::move(out));
  }

  bool is_used_outside(size_t node, const std::set<size_t>& members) const {
    if (consumers_.empty()) {
      consumers_.resize(net_.nodes.size());
      for (size_t i = 0; i < net_.nodes.size(); ++i)
        for (const KaldiUse& u : net_.nodes[i].inputs) consumers_[u.node].push_back(i);
    }
    for (size_t c : consumers_[node])
      if (!members.count(c) && net_.nodes[c].needed.low < KaldiFrames::unbounded) return true;
    return false;
  }

  void recurrence(const std::vector<size_t>& group) {
    Loop loop;
    loop.members.insert(group.begin(), group.end());
    for (size_t i : step_order(group)) step_node(loop, i);
    auto named = [](std::string name) {
      RawValue v;
      v.name = std::move(name);
      return v;
    };
    RawNode out;
    out.type = "Recurrence", out.name = unused(net_.nodes[group[0]].name + "/recurrence");
    out.position = net_.nodes[group[0]].position;
    out.inputs = loop.externals;
    if (out.inputs.empty())
      throw_unsupported(file_, ": a recurrence without inputs, at '", net_.nodes[group[0]].name, "',");
    for (const std::string& e : loop.externals) loop.body->inputs.push_back(named(text("row of ", e)));
    for (auto [node, delay] : loop.states) {
      loop.body->inputs.push_back(named(state_name(node, delay)));
      loop.body->outputs.push_back(named(delay > 1 ? state_name(node, delay - 1) : step_name(node)));
    }
    for (size_t i : group) {
      if (!is_used_outside(i, loop.members)) continue;
      values_[i] = net_.nodes[i].name;
      loop.body->outputs.push_back(named(step_name(i)));
      out.outputs.push_back(values_[i]);
    }
    RawField body;
    body.graphs = {loop.body};
    out.fields = {{"body", body},
                  {"states", kaldi_field(static_cast<int64_t>(loop.states.size()))},
                  {"backward", kaldi_field(loop.direction < 0)}};
    g_.nodes.push_back(std::move(out));
  }

  const KaldiNet& net_;
  const std::vector<std::vector<size_t>>& groups_;
  const std::string& file_;
  RawGraph g_;
  std::vector<std::string> values_;
  std::string reference_;
  std::set<std::string> taken_, used_names_;
  std::map<std::string, int> numbers_;
  std::map<std::tuple<size_t, int64_t, int64_t>, std::string> shifts_;
  mutable std::vector<std::vector<size_t>> mandatory_, consumers_;
};

}  // namespace

RawGraph kaldi_graph(const KaldiNet& net, const std::vector<std::vector<size_t>>& groups, const std::string& file) {
  return GraphWriter(net, groups, file).run();
}

}  // namespace graft

// The nodes of a Kaldi model as layers: every value has the frames that are needed of it, one per row.
#include <algorithm>
#include <map>
#include <set>

#include "readers/kaldi/model.hpp"

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
    if (n.needed == KaldiFrames{0, 0} || net_.streaming) return;
    values_[i] = unused(n.name + "/context");
    RawNode& c = add(g_, "Context", values_[i], n.position, {n.name}, {values_[i]});
    c.fields = {{"left", kaldi_field(-n.needed.low)}, {"right", kaldi_field(n.needed.high)}};
  }

  // The value of the use for the frames of its owner; zeros where an optional one has none.
  std::string frames(const KaldiUse& u, const KaldiNode& owner) {
    const KaldiNode& source = net_.nodes[u.node];
    const KaldiFrames& target = owner.needed;
    if (source.per_utterance) throw_internal("an input with one row per utterance is used for every frame");
    if (net_.streaming) return streamed(u, owner);
    int64_t front = target.low + u.offset - source.needed.low, back = source.needed.high - target.high - u.offset;
    if ((front < 0 || back < 0) && !u.optional)
      throw_internal("the frames of '", source.name, "' for '", owner.name, "' are not computed");
    return part(u, values_[u.node], front, back);
  }

  // A value without its first and last rows.
  std::string part(const KaldiUse& u, const std::string& value, int64_t front, int64_t back) {
    if (front == 0 && back == 0) return value;
    const KaldiNode& source = net_.nodes[u.node];
    std::string& known = shifts_[{u.node, front, back}];
    if (!known.empty()) return known;
    known = unused(text(source.name, "/", u.offset >= 0 ? "+" : "", u.offset));
    RawNode& n = add(g_, "Frames", known, source.position, {value}, {known});
    n.fields = {{"front", kaldi_field(front)}, {"back", kaldi_field(back)}};
    return known;
  }

  // ---- streaming ----

  // The rows of the chunk behind those that its consumers need of earlier chunks.
  std::string remembered(size_t i) {
    const KaldiNode& n = net_.nodes[i];
    if (!n.memory) return values_[i];
    std::string& known = memories_[i];
    if (!known.empty()) return known;
    known = unused(n.name + "/memory");
    RawNode& m = add(g_, "Memory", known, n.position, {values_[i]}, {known});
    m.fields = {{"rows", kaldi_field(n.memory)}, {"variable", kaldi_field(known)}};
    return known;
  }

  // `more`: rows before those of the use.
  std::string streamed(const KaldiUse& u, const KaldiNode& owner, int64_t more = 0) {
    const KaldiNode& source = net_.nodes[u.node];
    if (source.timeless) return values_[u.node];
    int64_t late = owner.delay - u.offset - source.delay;
    if (late < 0 || source.memory < late + more)
      throw_internal("the frames of '", source.name, "' for '", owner.name, "' are not remembered");
    std::string value = part(u, remembered(u.node), source.memory - late - more, late);
    if (!u.optional || owner.needed.low + u.offset - more >= source.available.low) return value;
    return if_defined(value, source.available.low - u.offset + owner.delay + more, "");
  }

  // The value from frame `first` of the input on; before it, another value or zeros.
  std::string if_defined(const std::string& value, int64_t first, const std::string& other) {
    if (first <= -net_.left) return value;
    std::string& known = defined_[{value, first, other}];
    if (!known.empty()) return known;
    std::vector<std::string> inputs{value, clock()};
    if (!other.empty()) inputs.push_back(other);
    known = unused(value + "/defined");
    add(g_, "IfDefined", known, 0, inputs, {known}).fields = {{"first", kaldi_field(first)}};
    return known;
  }

  // For each row 1 from frame `first` of the input on, 0 before; none if there is nothing before.
  std::string started(int64_t first) {
    if (first <= -net_.left) return {};
    std::string& known = started_[first];
    if (!known.empty()) return known;
    std::vector<std::string> inputs{reference_, clock()};
    known = unused("started");
    add(g_, "Started", known, 0, inputs, {known}).fields = {{"first", kaldi_field(first)}};
    return known;
  }

  // The number of the first frame of the chunk.
  std::string clock() {
    if (!clock_.empty()) return clock_;
    clock_ = unused("clock");
    add(g_, "Clock", clock_, 0, {reference_}, {clock_}).fields = {{"left", kaldi_field(net_.left)},
                                                                  {"variable", kaldi_field(clock_)}};
    return clock_;
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
    bool streaming = net_.streaming;
    int64_t low = streaming ? -n.delay : n.needed.low, extra = streaming ? 0 : n.needed.high - n.needed.low;
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
        if (streaming) {
          round_streamed(n, out);
          break;
        }
        out.inputs = {values_[n.inputs[0].node]};
        set("input_start", source->needed.low - n.inputs[0].offset);
        set("start", low);
        set("extra", extra - (source->needed.high - source->needed.low));
        if (n.kind == KaldiNode::rounded) set("modulus", n.modulus);
        break;
      case KaldiNode::failover: failover(n, out); break;
      case KaldiNode::switched: set("start", low); [[fallthrough]];
      case KaldiNode::layer:
        for (const KaldiUse& u : n.inputs) out.inputs.push_back(frames(u, n));
        if (n.kind == KaldiNode::switched && streaming) add_clock(out);
    }
    if (n.steps) add_steps(n, out);
    weights(g_, n, out, "");
    g_.nodes.push_back(std::move(out));
  }

  void add_clock(RawNode& out) {
    out.inputs.push_back(clock());
    out.fields.emplace_back("clock", kaldi_field(true));
  }

  void round_streamed(const KaldiNode& n, RawNode& out) {
    out.inputs = {streamed(n.inputs[0], n, n.modulus - 1)};
    if (n.timeless) {
      out.type = "NoOpComponent";
      return;
    }
    out.fields = {{"input_start", kaldi_field(1 - n.delay - n.modulus)},
                  {"start", kaldi_field(-n.delay)},
                  {"extra", kaldi_field(1 - n.modulus)},
                  {"modulus", kaldi_field(n.modulus)}};
    add_clock(out);
  }

  void failover(const KaldiNode& n, RawNode& out) {
    KaldiUse first = n.inputs[0], second = n.inputs[1];
    const KaldiFrames& available = net_.nodes[first.node].available;
    int64_t front = std::max<int64_t>(available.low - first.offset - n.needed.low, 0),
            back = std::max<int64_t>(n.needed.high - (available.high - first.offset), 0);
    first.optional = second.optional = true;
    if (net_.streaming) {
      first.optional = false;
      out.type = "NoOpComponent";
      std::string value = streamed(first, n);
      if (front) value = if_defined(value, available.low - first.offset + n.delay, streamed(second, n));
      out.inputs = {value};
      return;
    }
    out.fields.emplace_back("front", kaldi_field(front));
    out.fields.emplace_back("back", kaldi_field(back));
    out.inputs = {frames(first, n), frames(second, n)};
  }

  // A component that runs frame by frame has a body that hands its values through: the rule computes the step. For
  // streaming it keeps its states in variables, from the first frame of the utterance on.
  void add_steps(const KaldiNode& n, RawNode& out) {
    if (std::string mask = net_.streaming ? started(n.delay) : ""; !mask.empty()) out.inputs.push_back(mask);
    auto body = std::make_shared<RawGraph>();
    for (const char* name : {"x", "h", "c"}) {
      RawValue v;
      v.name = name;
      if (v.name == "c" && n.type == "RecurrentComponent") continue;
      body->inputs.push_back(v), body->outputs.push_back(v);
    }
    RawField f;
    f.graphs = {body};
    out.fields.emplace_back("body", f);
    if (net_.streaming) out.fields.emplace_back("variable", kaldi_field(out.name));
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

  std::string row(Loop& loop, const std::string& outer) {
    auto it = std::find(loop.externals.begin(), loop.externals.end(), outer);
    if (it == loop.externals.end()) loop.externals.push_back(outer);
    return text("row of ", outer);
  }

  std::string step_input(Loop& loop, const KaldiUse& u, const KaldiNode& owner) {
    if (!loop.members.count(u.node)) return row(loop, frames(u, owner));
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
    if (loop.externals.empty())
      throw_unsupported(file_, ": a recurrence without inputs, at '", net_.nodes[group[0]].name, "',");
    std::map<size_t, std::string> kept = net_.streaming ? hold_states(loop, group) : std::map<size_t, std::string>();
    out.inputs = loop.externals;
    for (const std::string& e : loop.externals) loop.body->inputs.push_back(named(text("row of ", e)));
    std::vector<std::string> variables;
    for (auto [node, delay] : loop.states) {
      loop.body->inputs.push_back(named(state_name(node, delay)));
      std::string next = kept.count(node) ? kept[node] : step_name(node);
      loop.body->outputs.push_back(named(delay > 1 ? state_name(node, delay - 1) : next));
      variables.push_back(text(net_.nodes[node].name, "/", delay, " before"));
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
    if (net_.streaming) out.fields.emplace_back("variables", kaldi_field(variables));
    g_.nodes.push_back(std::move(out));
  }

  // The states stay zero up to the first frame of the recurrence: what is computed before it is not part of the
  // utterance. Gives the next values of states by node.
  std::map<size_t, std::string> hold_states(Loop& loop, const std::vector<size_t>& group) {
    std::map<size_t, std::string> out;
    const KaldiNode& first = net_.nodes[group[0]];
    std::string mask = started(first.needed.low + first.delay);
    if (mask.empty()) return out;
    std::string mask_row = row(loop, mask);
    for (auto [node, delay] : loop.states) {
      if (out.count(node)) continue;
      std::string name = text("held ", net_.nodes[node].name);
      add(*loop.body, "Hold", name, net_.nodes[node].position, {mask_row, step_name(node)}, {name});
      out[node] = name;
    }
    return out;
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
  std::map<size_t, std::string> memories_;
  std::map<std::tuple<std::string, int64_t, std::string>, std::string> defined_;
  std::map<int64_t, std::string> started_;
  std::string clock_;
  mutable std::vector<std::vector<size_t>> mandatory_, consumers_;
};

}  // namespace

RawGraph kaldi_graph(const KaldiNet& net, const std::vector<std::vector<size_t>>& groups, const std::string& file) {
  return GraphWriter(net, groups, file).run();
}

}  // namespace graft

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "graph/verify.hpp"
#include "passes/passes.hpp"
#include "schema/host.hpp"

namespace graft {
namespace {

// Every built-in pass, in the order they run; some run twice. Those without a function are rewrites, which bring their
// own documentation.
struct Place {
  std::string_view name;
  void (*run)(Editor&, Changes&);
  std::string_view doc;
  int32_t phase = GRAFT_MIDDLE;
};
constexpr Place places[] = {
    {"remove_dead", remove_dead, "removes nodes that no output depends on"},
    {"decompose_attention", nullptr, {}},  // first: its parts are optimized like any other
    {"inline_bodies", inline_bodies, "inlines bodies that run exactly once into the enclosing graph"},
    {"sink_transposes", sink_transposes, "moves transposes past operations until they cancel out"},
    {"fold_constants", fold_constants, "computes values that depend only on constants"},
    {"remove_noops", nullptr, {}},
    {"merge_rows", nullptr, {}},
    // Formulas, longer ones before those that are a part of them.
    {"fuse_mvn", nullptr, {}},
    {"fuse_normalize_l2", nullptr, {}},
    {"fuse_softmax", nullptr, {}},
    {"fuse_softplus", nullptr, {}},
    {"fuse_mish", nullptr, {}},
    {"fuse_gelu", nullptr, {}},
    {"fuse_swish", nullptr, {}},
    {"fuse_leaky_relu", nullptr, {}},
    {"fuse_clamp", nullptr, {}},
    {"fuse_hsigmoid", nullptr, {}},
    {"fuse_hswish", nullptr, {}},
    {"fuse_quantized_bounds", nullptr, {}},
    // Convolutions and the linear operations around them.
    {"fuse_dilation", nullptr, {}},
    {"raise_transposes", nullptr, {}},
    {"fuse_pads", nullptr, {}},
    {"fuse_batch_norm", nullptr, {}},
    {"subtract_to_add", nullptr, {}},
    {"divide_to_multiply", nullptr, {}},
    {"fuse_multiply_add", nullptr, {}},
    {"fuse_linear", nullptr, {}},
    {"fuse_multiply_add", nullptr, {}},  // an addition moved after a layer meets its bias
    {"group_convolutions", nullptr, {}},
    {"move_strides", nullptr, {}},
    // Operations that only move elements; a block is three steps, which merging would break up.
    {"fuse_depth_to_space", nullptr, {}},
    {"fuse_shuffle_channels", nullptr, {}},
    {"fuse_interpolate", nullptr, {}},
    {"slices_to_split", nullptr, {}},
    {"merge_transposes", nullptr, {}},
    {"merge_reshapes", nullptr, {}},
    {"transpose_matmul", nullptr, {}},
    {"merge_reduces", nullptr, {}},
    {"reuse_concats", nullptr, {}},
    {"compress_quantized_weights", nullptr, {}},
    // When an IR is written: declared by the operations themselves.
    {"lower_opsets", nullptr, "expresses operations in the earliest opset that has them"},
    // When a model is compiled: first, so that the passes of a device meet plain weights where they left any.
    {"fold_quantized_weights", fold_quantized_weights, "dequantizes the weights of layers that compute with numbers",
     GRAFT_COMPILE},
};

constexpr std::string_view phase_names[] = {"front", "middle", "back", "write", "compile"};

// A pass with its place in the order.
struct Entry {
  std::string name, doc;
  int32_t phase = GRAFT_MIDDLE;
  int32_t place = GRAFT_MIDDLE;  // the phase that it runs among
  void (*run)(Editor&, Changes&) = nullptr;
  std::vector<const PassDef*> rewrites;  // several only in phase "write", where those of one name are one pass
  std::vector<size_t> first;             // entries that run before
  bool has(uint32_t flag) const { return !rewrites.empty() && rewrites[0]->record->flags & flag; }
  bool runs_in(const PassOptions& o) const {
    if (o.phases == PassPhases::front) return phase == GRAFT_FRONT;
    if (phase == GRAFT_WRITE) return o.phases == PassPhases::writing;
    if (phase == GRAFT_COMPILE) {
      std::string_view device = rewrites.empty() ? "" : view(rewrites[0]->record->device);
      return o.phases == PassPhases::compiling && (device.empty() || device == o.device);
    }
    return phase == GRAFT_MIDDLE || phase == GRAFT_BACK;
  }
};

// A pass of a device that names a pass of an earlier phase in `before` runs in that phase, when a model is compiled.
void place_device_passes(std::vector<Entry>& entries) {
  std::map<std::string_view, int32_t> phases;
  for (const Entry& e : entries) phases.emplace(e.name, e.phase);
  for (Entry& e : entries) {
    e.place = e.phase;
    if (e.phase != GRAFT_COMPILE || e.run) continue;
    const graft_pass& r = *e.rewrites[0]->record;
    for (size_t k = 0; k < r.before_count; ++k)
      if (auto it = phases.find(view(r.before[k])); it != phases.end() && it->second != GRAFT_WRITE)
        e.place = std::min(e.place, it->second);
  }
}

// A constraint on a pass that does not exist or is of another phase has no effect; on one that runs twice, it applies
// to both.
void add_constraints(std::vector<Entry>& entries) {
  std::multimap<std::string_view, size_t> index;
  for (size_t i = 0; i < entries.size(); ++i) index.emplace(entries[i].name, i);
  auto each = [&](size_t of, const graft_str* names, size_t count, auto&& constrain) {
    for (size_t k = 0; k < count; ++k)
      for (auto [it, end] = index.equal_range(view(names[k])); it != end; ++it)
        if (entries[it->second].place == entries[of].place) constrain(it->second);
  };
  for (size_t i = 0; i < entries.size(); ++i) {
    for (const PassDef* d : entries[i].rewrites) {
      const graft_pass& r = *d->record;
      each(i, r.after, r.after_count, [&](size_t other) { entries[i].first.push_back(other); });
      each(i, r.before, r.before_count, [&](size_t other) { entries[other].first.push_back(i); });
    }
  }
}

// The listed order, changed only where `before` and `after` require it.
std::vector<Entry> ordered(std::vector<Entry> entries) {
  place_device_passes(entries);
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.place < b.place; });
  add_constraints(entries);
  enum : uint8_t { fresh, open, done };
  std::vector<uint8_t> state(entries.size(), fresh);
  std::vector<size_t> order, way;
  std::function<void(size_t)> place = [&](size_t i) {
    if (state[i] == done) return;
    way.push_back(i);
    if (state[i] == open) {
      std::string cycle;
      for (auto it = std::find(way.begin(), way.end(), i); it != way.end(); ++it)
        cycle += (cycle.empty() ? "" : " after ") + entries[*it].name;
      throw Error(ErrorKind::user, text("the order of passes is cyclic: ", cycle),
                  "remove before() or after() from one of them");
    }
    state[i] = open;
    for (size_t other : entries[i].first) place(other);
    state[i] = done;
    way.pop_back();
    order.push_back(i);
  };
  for (size_t i = 0; i < entries.size(); ++i) place(i);
  std::vector<Entry> out;
  for (size_t i : order) out.push_back(entries[i]);
  return out;
}

// Adds a pass that is a record; to the entry of its name, where several are one.
void enter(std::vector<Entry>& entries, const PassDef& d, std::string_view doc) {
  std::string name(view(d.record->name));
  auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == name; });
  if (d.record->phase == GRAFT_WRITE && same != entries.end()) return same->rewrites.push_back(&d);
  Entry e;
  e.name = name, e.doc = std::string(doc.empty() ? view(d.record->doc) : doc), e.phase = d.record->phase;
  e.rewrites = {&d};
  entries.push_back(std::move(e));
}

std::vector<Entry> all_passes(const Registry& registry) {
  std::vector<Entry> entries;
  for (const Place& p : places) {
    if (p.run) {
      Entry e;
      e.name = p.name, e.doc = p.doc, e.run = p.run, e.phase = p.phase;
      entries.push_back(std::move(e));
      continue;
    }
    for (const PassDef& d : registry.passes())
      if (view(d.record->name) == p.name) enter(entries, d, p.doc);
  }
  auto is_placed = [&](const PassDef& d) {
    return std::any_of(entries.begin(), entries.end(), [&](const Entry& e) {
      return std::find(e.rewrites.begin(), e.rewrites.end(), &d) != e.rewrites.end();
    });
  };
  for (const PassDef& d : registry.passes()) {
    if (is_placed(d)) continue;
    if (d.source->built_in() && d.record->phase != GRAFT_COMPILE)
      throw_internal("the pass '", d.record->name, "' is missing from the pipeline");
    for (const Place& p : places)
      if (p.name == view(d.record->name))
        throw Error(ErrorKind::user, text("duplicate pass '", p.name, "'"), "choose a name that no other pass has");
    enter(entries, d, {});
  }
  return ordered(std::move(entries));
}

// If several records form one pass, the result of one may be a match for another.
void run_records(Editor& editor, const Entry& e, const PassOptions& options, const PassCall* call, Changes& changes) {
  constexpr int most = 64;
  for (int round = 0;; ++round) {
    size_t before = changes.places.size();
    for (const PassDef* d : e.rewrites) run_rewrite(editor, *d, options, call, changes);
    if (e.rewrites.size() == 1 || changes.places.size() == before) return;
    if (round == most) throw_user("the pass '", e.name, "' does not reach a fixed point");
  }
}

// Runs the passes in one graph and its bodies, and merges the effects of the same pass in several graphs.
class Runner {
 public:
  Runner(const Registry& registry, const std::vector<Entry>& entries, const PassOptions& options,
         std::shared_ptr<Budget> budget, std::vector<PassEffect>& effects)
      : registry_(registry), entries_(entries), options_(options), budget_(std::move(budget)), effects_(effects) {}

  void run(Graph& graph) {
    Editor editor(graph, registry_, budget_);
    for (NodeId id = 0; id < graph.end_id(); ++id)
      for (Body& b : graph[id].bodies) run(*b.graph);
    if (options_.phases != PassPhases::compiling) return (void)run_all(editor, [](const Entry&) { return true; });
    // A model that was converted before has been through the passes of every device already. One that was not goes
    // through them first too, so that those of the device start from the same graph: equal bits in both ways.
    auto general = [](const Entry& e) { return e.phase != GRAFT_COMPILE; };
    auto early = [](const Entry& e) { return e.phase == GRAFT_COMPILE && e.place != GRAFT_COMPILE; };
    run_all(editor, general);
    if (run_all(editor, early)) run_all(editor, general);
    run_all(editor, [](const Entry& e) { return e.place == GRAFT_COMPILE; });
  }

 private:
  // Returns the number of changes.
  template <class Takes>
  size_t run_all(Editor& editor, Takes&& takes) {
    size_t changes = 0;
    for (size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].runs_in(options_) && takes(entries_[i]) && is_on(entries_[i]))
        changes += run_one(editor, entries_[i], effects_[i]);
    return changes;
  }

  bool is_on(const Entry& e) const {
    auto contains = [](const std::vector<std::string>& list, const std::string& name) {
      return std::find(list.begin(), list.end(), name) != list.end();
    };
    if (contains(options_.disabled, e.name) || contains(options_.disabled, "all")) return false;
    return !e.has(GRAFT_PASS_ON_REQUEST) || contains(options_.enabled, e.name);
  }

  size_t run_one(Editor& editor, const Entry& e, PassEffect& effect) {
    Graph& graph = editor.graph();
    Changes changes;
    size_t before = graph.node_count();
    with_context(
        [&] {
          if (e.run) e.run(editor, changes);
          else if (!e.has(GRAFT_PASS_CONFIGURED)) run_records(editor, e, options_, nullptr, changes);
          else
            for (const PassCall& call : options_.calls)
              if (call.pass == e.name) run_records(editor, e, options_, &call, changes);
#ifndef NDEBUG
          verify(graph);
#endif
        },
        [&] { return text("running the pass '", e.name, "'"); });
    effect.name = e.name;
    effect.changes += changes.places.size();
    effect.nodes_before += before, effect.nodes_after += graph.node_count();
    effect.places.insert(effect.places.end(), changes.places.begin(), changes.places.end());
    return changes.places.size();
  }

  const Registry& registry_;
  const std::vector<Entry>& entries_;
  const PassOptions& options_;
  std::shared_ptr<Budget> budget_;
  std::vector<PassEffect>& effects_;
};

// Of the nodes that were too expensive to compute, those that no pass has removed since.
void collect_unfolded(const Graph& g, const Budget& budget, Unfolded& out) {
  out.limit = limit_info(budget.reached).name;
  for (NodeId id = 0; id < g.end_id(); ++id) {
    if (!g[id].alive) continue;
    if (budget.unfolded.count(g[id].name)) out.nodes.push_back(g[id].name);
    for (const Body& b : g[id].bodies) collect_unfolded(*b.graph, budget, out);
  }
}

}  // namespace

std::string Unfolded::to_text() const {
  if (nodes.empty()) return {};
  constexpr size_t shown = 3;
  std::string names;
  for (size_t i = 0; i < std::min(nodes.size(), shown); ++i) names += (i ? ", '" : "'") + nodes[i] + "'";
  return text("left ", nodes.size(), nodes.size() == 1 ? " node" : " nodes", " unfolded for lack of budget (", names,
              nodes.size() > shown ? ", ..." : "", "); ", Remedy{"limits", limit, "VALUE"}, " raises it");
}

std::vector<std::string> built_in_passes() {
  std::vector<std::string> out;
  for (const Place& p : places) out.emplace_back(p.name);
  return out;
}

std::vector<PassInfo> list_passes(const Registry& registry) {
  std::vector<PassInfo> out;
  for (const Entry& e : all_passes(registry)) {
    const Source* source = e.rewrites.empty() ? nullptr : e.rewrites[0]->source;
    std::string by = !source || source->built_in() ? "built-in" : source->name;
    out.push_back({e.name, e.doc, std::string(phase_names[e.phase]), by, e.has(GRAFT_PASS_ON_REQUEST),
                   e.has(GRAFT_PASS_CONFIGURED)});
  }
  return out;
}

void check_pass_names(const Registry& registry, const std::vector<std::string>& given) {
  std::vector<std::string> names{"all"};
  for (const PassInfo& p : list_passes(registry)) names.push_back(p.name);
  for (const RawPassDef& p : registry.raw_passes()) names.emplace_back(view(p.record->name));
  for (const std::string& d : given)
    if (std::find(names.begin(), names.end(), d) == names.end()) {
      auto close = nearest(d, names);
      throw Error(ErrorKind::user, text("unknown pass '", d, "'"),
                  close ? text("did you mean ", *close, "?") : "`Core::passes` shows all passes");
    }
}

std::vector<PassEffect> run_passes(Graph& graph, const Registry& registry, const PassOptions& options) {
  check_pass_names(registry, options.disabled);
  check_pass_names(registry, options.enabled);
  std::vector<Entry> entries = all_passes(registry);
  for (const PassCall& c : options.calls) {
    auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.name == c.pass; });
    if (found == entries.end() || !found->has(GRAFT_PASS_CONFIGURED))
      throw Error(ErrorKind::unsupported,
                  text("replacement '", c.pass, "' of ", c.file, " is of kind general, but no pass handles it"),
                  "load the extension that defines a pass of this name, or skip the entry with `allow_unmatched`");
  }
  StepTime time;
  std::vector<PassEffect> effects(entries.size());
  bool any = std::any_of(entries.begin(), entries.end(), [&](const Entry& e) { return e.runs_in(options); });
  if (!any) return {};
  size_t nodes = graph.node_count();
  auto budget = pass_budget(graph, options.limits);
  Runner(registry, entries, options, budget, effects).run(graph);
  Unfolded unfolded;
  if (budget->reached) collect_unfolded(graph, *budget, unfolded);
  std::erase_if(effects, [](const PassEffect& e) { return e.name.empty(); });
  size_t changes = 0;
  for (const PassEffect& e : effects) {
    changes += e.changes;
    log_debug("pass ", e.name, ": ", e.changes, e.changes == 1 ? " change, " : " changes, ", e.nodes_before, " -> ",
              e.nodes_after, " nodes");
  }
  log_info("ran ", effects.size(), options.phases == PassPhases::front ? " front passes: " : " passes: ", changes,
           changes == 1 ? " change, " : " changes, ", nodes, " -> ", graph.node_count(), " nodes", time.text());
  if (!unfolded.nodes.empty()) log_info(unfolded.to_text());
  if (options.unfolded) *options.unfolded = std::move(unfolded);
  return effects;
}

}  // namespace graft

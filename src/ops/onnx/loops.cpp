// Loop and Scan of ONNX; loops of TensorFlow, which its reader brings into the same form.
#include "building.hpp"
#include "sequence.hpp"

namespace graft {
namespace {

graft_port_map plain(int64_t external, int64_t internal) { return {external, internal, 0, 0, 0, 0, 0, 0, 0}; }
graft_port_map stacked(int64_t external, int64_t internal, int64_t axis, bool backwards) {
  return {external, internal, 1, 0, axis, backwards ? -1 : 0, backwards ? 0 : -1, backwards ? -1 : 1, 1};
}

// Imports the body anew with less certain shapes until values that are fed back keep theirs. `states` are pairs of
// parameter and result.
template <class Prologue, class Epilogue>
ImportedBody stable_body(Import& layer, std::vector<Info>& parameters,
                         const std::vector<std::pair<size_t, size_t>>& states, Prologue prologue, Epilogue epilogue) {
  for (int round = 0;; ++round) {
    ImportedBody body = layer.body("body", parameters, prologue, epilogue);
    bool changed = false;
    for (auto [parameter, result] : states) {
      Shape& p = parameters[parameter].shape;
      const Shape& r = body.results.at(result).shape;
      if (p == r) continue;
      Shape next = round < 1                                                       ? either(p, r)
                   : round < 2 && p.ranked() && r.ranked() && p.rank() == r.rank() ? Shape::of_rank(p.rank())
                                                                                   : Shape::unknown();
      if (!(next == p)) p = next, changed = true;
    }
    if (!changed || round >= 3) return body;
  }
}

// A state of a loop: one tensor; a sequence of fixed length, item by item; or a sequence that was empty or otherwise
// grows, whose new items are collected.
struct LoopState {
  enum Kind { tensor, items, growing } kind = tensor;
  size_t first = 0, count = 1;  // parameters
  std::vector<Value> before;    // of a sequence
};
std::vector<LoopState> loop_states(Import& layer, std::vector<Value>& inputs, std::vector<Info>& parameters) {
  std::vector<LoopState> states;
  for (size_t i = 2; i < layer.inputs(); ++i) {
    Value v = layer.input(i);
    LoopState s{LoopState::tensor, parameters.size(), 1, {v}};
    if (auto list = v.items()) {
      bool runs = std::any_of(list->begin(), list->end(), [](const Value& item) { return item.items().has_value(); });
      s.kind = list->empty() || runs ? LoopState::growing : LoopState::items;
      s.count = s.kind == LoopState::items ? list->size() : 0;
      s.before = *list;
    }
    if (s.kind != LoopState::growing)
      for (const Value& item : s.before) inputs.push_back(item), parameters.push_back(item.info());
    states.push_back(std::move(s));
  }
  return states;
}

// A list of TensorFlow that the loop fills begins with the shape its elements will have, as far as one pass through the
// body tells, so that it need not change on the way.
void shape_lists(Import& layer, std::vector<Value>& inputs, std::vector<Info>& parameters) {
  std::vector<int64_t> lists = layer.get<std::vector<int64_t>>("lists", {});
  if (lists.empty()) return;
  std::vector<Info> results = layer.body("body", parameters).results;
  for (int64_t i : lists) {
    auto state = static_cast<size_t>(i);
    Value& list = inputs.at(state + 3);
    Shape before = parameters.at(state + 2).shape, after = results.at(state + 1).shape;
    if (before == after || !before.ranked() || !after.ranked() || after.rank() < 2) continue;
    if (before.rank() != 1 && before.rank() != after.rank()) continue;
    std::vector<int64_t> dims, ones(after.rank(), 1);
    for (size_t k = 1; k < after.rank(); ++k) dims.push_back(after[k].known() ? after[k].value() : 1);
    ones[0] = -1;
    Value ranked = before.rank() == 1 ? reshape(list, ones) : list;
    Value target = build::concat({build::dims(list, {0}), layer.ints(dims)}, 0);
    list = layer.op("Broadcast@3", {ranked, target}, {{"mode", "bidirectional"}});
    parameters[state + 2] = list.info();
  }
}

std::vector<Value> import_loop(Import& layer) {
  Value trips = layer.has_input(0) ? convert(layer.input(0), DType::i64) : layer.scalar(int64_t{-1});
  Value condition = layer.has_input(1) ? layer.input(1) : layer.truth(true);
  std::vector<Info> parameters{{DType::i64, Shape()}, {DType::boolean, Shape()}};
  std::vector<Value> inputs{trips, condition, condition};
  std::vector<LoopState> states = loop_states(layer, inputs, parameters);
  size_t given = parameters.size();
  shape_lists(layer, inputs, parameters);

  auto prologue = [&](Import& body) {
    body.output(0, body.input(0));
    body.output(1, body.input(1));
    for (size_t i = 0; i < states.size(); ++i) {
      const LoopState& s = states[i];
      std::vector<Value> items;
      for (size_t k = 0; k < s.count; ++k) items.push_back(body.input(s.first + k));
      if (s.kind == LoopState::growing) items.push_back(sequence_so_far(body));
      body.output(2 + i, s.kind == LoopState::tensor ? items[0] : body.list(items));
    }
  };
  // Values collected over the iterations get an axis of their own to be joined along.
  auto epilogue = [&](Import& body) {
    if (body.inputs() < 1 + states.size())
      fail("the body has ", body.inputs(), " outputs, at least ", 1 + states.size(), " are wanted");
    for (size_t i = 0; i < body.inputs(); ++i) {
      Value v = body.input(i);
      const LoopState* s = i > 0 && i <= states.size() ? &states[i - 1] : nullptr;
      if (s && s->kind == LoopState::items && (!v.items() || v.items()->size() != s->count))
        unsupported("a sequence of ", s->count, " items whose length changes in a loop");
      if (s && s->kind == LoopState::growing) body.output(i, unsqueeze(sequence_growth(v), {0}));
      else body.output(i, i <= states.size() ? v : unsqueeze(v, {0}));
    }
  };
  // Results follow the body's outputs: the condition, the states, what is collected.
  std::vector<std::pair<size_t, size_t>> fed;
  std::vector<bool> collected{false};
  for (const LoopState& s : states) {
    if (s.kind == LoopState::growing) collected.push_back(true);
    for (size_t k = 0; k < s.count; ++k) fed.emplace_back(s.first + k, collected.size()), collected.push_back(false);
  }
  bool plain_states = given == 2 + states.size() && fed.size() == states.size();
  ImportedBody body = plain_states ? stable_body(layer, parameters, fed, nullptr, epilogue)
                                   : stable_body(layer, parameters, fed, prologue, epilogue);
  collected.resize(body.results.size(), true);

  BodyUse use{body.id, {}, {}, {}};
  graft_port_map iteration = plain(-1, 0);
  iteration.purpose = GRAFT_CURRENT_ITERATION;
  for (size_t i = 1; i < given; ++i) use.inputs.push_back(plain(static_cast<int64_t>(i + 1), static_cast<int64_t>(i)));
  for (size_t i = 0; i < body.captured.size(); ++i) {
    use.inputs.push_back(plain(static_cast<int64_t>(inputs.size()), static_cast<int64_t>(given + i)));
    inputs.push_back(body.captured[i]);
  }
  use.inputs.push_back(iteration);
  for (size_t i = 1; i < body.results.size(); ++i) {
    auto external = static_cast<int64_t>(i - 1), internal = static_cast<int64_t>(i);
    use.outputs.push_back(collected[i] ? stacked(external, internal, 0, false) : plain(external, internal));
  }
  graft_port_map going = plain(-1, 0);
  going.purpose = GRAFT_EXECUTION_CONDITION;
  use.outputs.push_back(going);
  use.back_edges.push_back({0, 1});
  for (auto [parameter, result] : fed)
    use.back_edges.push_back({static_cast<int64_t>(result), static_cast<int64_t>(parameter)});
  std::vector<Value> results = layer.make("Loop", inputs, {}, body.results.size() - 1, {use}), outputs;

  auto next = results.begin();
  for (const LoopState& s : states) {
    if (s.kind == LoopState::tensor) {
      outputs.push_back(*next++);
      continue;
    }
    std::vector<Value> items = s.kind == LoopState::growing ? s.before : std::vector<Value>();
    for (size_t k = 0; k < s.count; ++k) items.push_back(*next++);
    if (s.kind == LoopState::growing) items.push_back(sequence_run(*next++));
    outputs.push_back(layer.list(items));
  }
  outputs.insert(outputs.end(), next, results.end());
  return outputs;
}

// Scan: states go round, scan inputs are cut and scan outputs stacked, each along its own axis and in its own
// direction.
std::vector<Value> import_scan(Import& layer) {
  bool old = layer.version() < 9;  // with a batch in front, and sequence lengths as input 0
  size_t skip = old ? 1 : 0, given = layer.inputs() - skip;
  auto scans = static_cast<size_t>(layer.get<int64_t>("num_scan_inputs"));
  if (old && layer.has_input(0)) unsupported("Scan with sequence lengths");
  if (scans == 0 || scans > given) fail("num_scan_inputs is ", scans, " with ", given, " inputs");
  size_t states = given - scans;
  auto list = [&](const char* name) { return layer.get<std::vector<int64_t>>(name, {}); };
  std::vector<int64_t> in_axes = list("scan_input_axes"),
                       in_directions = list(old ? "directions" : "scan_input_directions");
  std::vector<int64_t> out_axes = list("scan_output_axes"), out_directions = list("scan_output_directions");
  auto pick = [](const std::vector<int64_t>& v, size_t i) { return i < v.size() ? v[i] : 0; };

  std::vector<Value> inputs;
  std::vector<Info> parameters;
  std::vector<int64_t> axes(scans);
  for (size_t i = 0; i < given; ++i) {
    Value v = layer.input(skip + i);
    if (old) {
      if (!v.shape()[0].can_be(1)) unsupported("Scan of opset 8 over a batch of ", v.shape()[0]);
      v = squeeze(v, {0});
    }
    inputs.push_back(v);
    Info info = v.info();
    if (i >= states) {
      size_t axis = normalize_axis(pick(in_axes, i - states), v.rank());
      axes[i - states] = static_cast<int64_t>(axis);
      info.shape[axis] = Dim(1);
    }
    parameters.push_back(info);
  }
  auto prologue = [&](Import& body) {
    for (size_t i = 0; i < given; ++i)
      body.output(i, i < states ? body.input(i) : squeeze(body.input(i), {axes[i - states]}));
  };
  auto epilogue = [&](Import& body) {
    for (size_t i = 0; i < body.inputs(); ++i) {
      if (i < states) body.output(i, body.input(i));
      else body.output(i, unsqueeze(body.input(i), {pick(out_axes, i - states)}));
    }
  };
  std::vector<std::pair<size_t, size_t>> fed;
  for (size_t i = 0; i < states; ++i) fed.emplace_back(i, i);
  ImportedBody body = stable_body(layer, parameters, fed, prologue, epilogue);
  BodyUse use{body.id, {}, {}, {}};
  for (size_t i = 0; i < given; ++i) {
    auto k = static_cast<int64_t>(i);
    use.inputs.push_back(i < states ? plain(k, k)
                                    : stacked(k, k, axes[i - states], pick(in_directions, i - states) == 1));
    if (i < states) use.back_edges.push_back({k, k});
  }
  for (size_t i = 0; i < body.captured.size(); ++i) {
    use.inputs.push_back(plain(static_cast<int64_t>(inputs.size()), static_cast<int64_t>(given + i)));
    inputs.push_back(body.captured[i]);
  }
  for (size_t i = 0; i < body.results.size(); ++i) {
    auto k = static_cast<int64_t>(i);
    // An axis counted from the end counts in the stacked result.
    use.outputs.push_back(
        i < states ? plain(k, k) : stacked(k, k, pick(out_axes, i - states), pick(out_directions, i - states) == 1));
  }
  std::vector<Value> out = layer.make("TensorIterator", inputs, {}, body.results.size(), {use});
  if (old)
    for (Value& v : out) v = unsqueeze(v, {0});
  return out;
}

}  // namespace

Ops define_onnx_loops() {
  return {
      onnx("Loop").expand(import_loop),
      onnx("Scan").expand(import_scan),
      tensorflow("Loop").domain("graft").expand(import_loop),
  };
}

}  // namespace graft

// Loop of ONNX; loops of TensorFlow, which its reader brings into the same form.
#include "building.hpp"
#include "loop_body.hpp"
#include "sequence.hpp"

namespace graft {
namespace {

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

constexpr int64_t most_unrolled = 64;

// How often a loop runs that carries sequences: their items need not be alike then. Nothing when it is not certain.
std::optional<int64_t> certain_trips(Import& layer) {
  bool sequences = false;
  for (size_t i = 2; i < layer.inputs(); ++i) sequences = sequences || layer.input(i).items();
  if (!sequences || !layer.has_input(0)) return std::nullopt;
  auto trips = layer.input(0).values<int64_t>();
  if (!trips || trips->size() != 1 || (*trips)[0] < 1 || (*trips)[0] > most_unrolled) return std::nullopt;
  if (layer.has_input(1)) {
    TensorView going = layer.input(1).constant();
    if (!going || !going.scalar<bool>()) return std::nullopt;
  }
  return (*trips)[0];
}

// All items of sequences, and everything else as it is.
std::vector<Value> without_lists(const std::vector<Value>& values) {
  std::vector<Value> flat;
  for (const Value& v : values) {
    auto items = v.items();
    if (!items) flat.push_back(v);
    else
      for (const Value& item : without_lists(*items)) flat.push_back(item);
  }
  return flat;
}
// The same values with the lists they had.
Value with_lists(Import& in, const Value& like, std::vector<Value>::const_iterator& next) {
  auto items = like.items();
  if (!items) return *next++;
  std::vector<Value> list;
  for (const Value& item : *items) list.push_back(with_lists(in, item, next));
  return in.list(list);
}

// Iteration `number` as a loop of its own that runs once. Gives the body's outputs without its condition, or nothing
// where that may end the loop.
std::optional<std::vector<Value>> single_iteration(Import& layer, int64_t number, const std::vector<Value>& states) {
  std::vector<Value> given = without_lists(states);
  std::vector<Info> parameters;
  for (const Value& v : given) parameters.push_back(v.info());
  bool goes_on = false;
  struct Results {
    bool list;
    size_t count;
  };
  std::vector<Results> kinds;  // of the body's outputs
  auto prologue = [&](Import& body) {
    std::vector<Value> inside;
    for (size_t i = 0; i < given.size(); ++i) inside.push_back(body.input(i));
    body.output(0, body.scalar(number));
    body.output(1, body.truth(true));
    auto next = inside.cbegin();
    for (size_t i = 0; i < states.size(); ++i) body.output(2 + i, with_lists(body, states[i], next));
  };
  auto epilogue = [&](Import& body) {
    for (size_t i = 0; i < body.inputs(); ++i) {
      Value v = body.input(i);
      auto items = v.items();
      if (items &&
          std::any_of(items->begin(), items->end(), [](const Value& item) { return item.items().has_value(); }))
        unsupported("a sequence of unknown length inside a loop");
      if (i == 0) goes_on = v.constant() && v.constant().scalar<bool>();
      kinds.push_back({items.has_value(), items ? items->size() : 1});
      body.output(i, v);
    }
  };
  ImportedBody body = layer.body("body", parameters, prologue, epilogue);
  if (!goes_on) return std::nullopt;
  BodyUse use{body.id, {}, {}, {}};
  std::vector<Value> inputs{layer.scalar(int64_t{1}), layer.truth(true)};
  given.insert(given.end(), body.captured.begin(), body.captured.end());
  for (size_t i = 0; i < given.size(); ++i) {
    use.inputs.push_back(plain(static_cast<int64_t>(inputs.size()), static_cast<int64_t>(i)));
    inputs.push_back(given[i]);
  }
  for (size_t i = 1; i < body.results.size(); ++i)
    use.outputs.push_back(plain(static_cast<int64_t>(i - 1), static_cast<int64_t>(i)));
  graft_port_map going = plain(-1, 0);
  going.purpose = GRAFT_EXECUTION_CONDITION;
  use.outputs.push_back(going);
  std::vector<Value> results = layer.make("Loop", inputs, {}, body.results.size() - 1, {use}), outputs;
  auto next = results.begin();
  for (size_t i = 1; i < kinds.size(); ++i) {
    std::vector<Value> items(next, next + static_cast<ptrdiff_t>(kinds[i].count));
    next += static_cast<ptrdiff_t>(items.size());
    outputs.push_back(kinds[i].list ? layer.list(items) : items[0]);
  }
  return outputs;
}
std::optional<std::vector<Value>> unrolled_loop(Import& layer) {
  auto trips = certain_trips(layer);
  if (!trips) return std::nullopt;
  std::vector<Value> states;
  for (size_t i = 2; i < layer.inputs(); ++i) states.push_back(layer.input(i));
  std::vector<std::vector<Value>> collected;
  for (int64_t k = 0; k < *trips; ++k) {
    auto outputs = single_iteration(layer, k, states);
    if (!outputs) return std::nullopt;
    if (outputs->size() < states.size())
      fail("the body has ", outputs->size() + 1, " outputs, expected at least ", 1 + states.size());
    collected.resize(outputs->size() - states.size());
    for (size_t i = states.size(); i < outputs->size(); ++i)
      collected[i - states.size()].push_back(unsqueeze((*outputs)[i], {0}));
    states.assign(outputs->begin(), outputs->begin() + static_cast<ptrdiff_t>(states.size()));
  }
  for (const std::vector<Value>& parts : collected) states.push_back(build::concat(parts, 0));
  return states;
}

std::vector<Value> import_loop(Import& layer) {
  if (auto outputs = unrolled_loop(layer)) return *outputs;
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
  graft_port_map iteration = plain_port(-1, 0);
  iteration.purpose = GRAFT_CURRENT_ITERATION;
  for (size_t i = 1; i < given; ++i)
    use.inputs.push_back(plain_port(static_cast<int64_t>(i + 1), static_cast<int64_t>(i)));
  for (size_t i = 0; i < body.captured.size(); ++i) {
    use.inputs.push_back(plain_port(static_cast<int64_t>(inputs.size()), static_cast<int64_t>(given + i)));
    inputs.push_back(body.captured[i]);
  }
  use.inputs.push_back(iteration);
  for (size_t i = 1; i < body.results.size(); ++i) {
    auto external = static_cast<int64_t>(i - 1), internal = static_cast<int64_t>(i);
    use.outputs.push_back(collected[i] ? stacked_port(external, internal, 0, false) : plain_port(external, internal));
  }
  graft_port_map going = plain_port(-1, 0);
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

}  // namespace

Ops define_onnx_loops() {
  return {
      onnx("Loop").expand(import_loop),
      tensorflow("Loop").domain("graft").expand(import_loop),
  };
}

}  // namespace graft

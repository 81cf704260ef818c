// Loop of ONNX; TensorFlow loops, which its reader rewrites into the same form.
#include "loops.hpp"

#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

#include "loop_body.hpp"
#include "sequence.hpp"

namespace graft {
namespace {

// A loop state: a single tensor; a sequence of fixed length, item by item; or a growing sequence (empty at first),
// whose new items are concatenated.
struct LoopState {
  enum Kind { tensor, items, growing } kind = tensor;
  size_t first = 0, count = 1;  // body parameters
  std::vector<Value> before;    // of a sequence
};
std::vector<LoopState> loop_states(Builder& layer, std::vector<Value>& inputs, std::vector<Info>& parameters) {
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

// A TensorFlow tensor list that the loop fills starts out with the element shape that one pass through the body yields,
// as far as known, so that its type does not change between iterations.
void shape_lists(Builder& layer, std::vector<Value>& inputs, std::vector<Info>& parameters) {
  std::vector<int64_t> lists = layer.get<std::vector<int64_t>>("lists", {});
  if (lists.empty()) return;
  std::vector<Info> results = layer.body("body", parameters).results;
  for (int64_t i : lists) {
    auto state = static_cast<size_t>(i);
    if (i < 0 || state >= 65'536 || state + 3 >= inputs.size() || state + 2 >= parameters.size() ||
        state + 1 >= results.size())
      fail("expected 'lists' with numbers of states, got ", i);
    Value& list = inputs[state + 3];
    Shape before = parameters[state + 2].shape, after = results[state + 1].shape;
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

// Unrolls a loop whose states are not all tensors if its trip count is known: sequences and optionals may then change
// in any way. None if the trip count is unknown or too large.
std::optional<std::vector<Value>> written_out(Builder& layer) {
  constexpr int64_t longest = 256;
  std::vector<Value> states;
  bool tensors = true;
  for (size_t i = 2; i < layer.inputs(); ++i) {
    tensors &= layer.has_input(i) && !layer.input(i).items();
    states.push_back(layer.input_or_nothing(i));
  }
  if (tensors || !layer.has_input(0)) return std::nullopt;
  auto trips = layer.input(0).values<int64_t>();
  auto condition = layer.has_input(1) ? layer.input(1).values<double>() : std::vector<double>{1};
  if (!trips || trips->size() != 1 || (*trips)[0] > longest || !condition || condition->size() != 1)
    return std::nullopt;
  bool going = (*condition)[0] != 0;
  std::vector<std::vector<Value>> collected(layer.outputs() > states.size() ? layer.outputs() - states.size() : 0);
  for (int64_t i = 0; going && i < (*trips)[0]; ++i) {
    std::vector<Value> inputs{layer.scalar(i), layer.truth(true)};
    inputs.insert(inputs.end(), states.begin(), states.end());
    std::vector<Value> out = layer.inlined("body", inputs);
    if (out.size() < 1 + states.size() + collected.size())
      fail("expected a body with at least ", 1 + states.size() + collected.size(), " outputs, got ", out.size());
    auto next = out[0].values<double>();
    if (!next && i == 0) return std::nullopt;
    if (!next || next->size() != 1)
      unsupported("a loop over a sequence with a data-dependent exit condition is not supported");
    going = (*next)[0] != 0;
    std::copy_n(out.begin() + 1, states.size(), states.begin());
    for (size_t k = 0; k < collected.size(); ++k) collected[k].push_back(unsqueeze(out[1 + states.size() + k], {0}));
  }
  for (const std::vector<Value>& parts : collected) {
    if (parts.empty())
      unsupported("a loop over a sequence that collects values but has no iterations is not supported");
    states.push_back(build::concat(parts, 0));
  }
  return states;
}

std::vector<Value> import_loop(Builder& layer) {
  if (auto out = written_out(layer)) return *out;
  for (size_t i = 2; i < layer.inputs(); ++i)
    if (!layer.has_input(i))
      unsupported("a loop with an empty optional as its initial state requires a known trip count");
  return make_loop(layer, layer.has_input(0) ? convert(layer.input(0), DType::i64) : layer.scalar(int64_t{-1}));
}

}  // namespace

std::vector<Value> make_loop(Builder& layer, const Value& trips) {
  Value condition = layer.has_input(1) ? layer.input(1) : layer.truth(true);
  std::vector<Info> parameters{{DType::i64, Shape()}, {DType::boolean, Shape()}};
  std::vector<Value> inputs{trips, condition, condition};
  std::vector<LoopState> states = loop_states(layer, inputs, parameters);
  size_t given = parameters.size();
  shape_lists(layer, inputs, parameters);

  auto prologue = [&](Builder& body) {
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
  // Scan outputs get a new axis to be concatenated along.
  auto epilogue = [&](Builder& body) {
    if (body.inputs() < 1 + states.size())
      fail("expected at least ", 1 + states.size(), " outputs of the body, got ", body.inputs());
    for (size_t i = 0; i < body.inputs(); ++i) {
      Value v = body.input(i);
      const LoopState* s = i > 0 && i <= states.size() ? &states[i - 1] : nullptr;
      if (s && s->kind == LoopState::items && (!v.items() || v.items()->size() != s->count))
        unsupported("a sequence of ", s->count, " items whose length changes in a loop is not supported");
      if (s && s->kind == LoopState::growing) body.output(i, unsqueeze(sequence_growth(v), {0}));
      else body.output(i, i <= states.size() ? v : unsqueeze(v, {0}));
    }
  };
  // The results follow the outputs of the body: condition, states, scan outputs.
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

Definitions define_onnx_loops() {
  return {
      onnx("Loop").expand(import_loop),
      tensorflow("Loop").domain("graft").expand(import_loop),
      tflite("Loop").domain("graft").expand(import_loop),
  };
}

}  // namespace graft

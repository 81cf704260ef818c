// Scan of ONNX; MXNet's _foreach, which its reader rewrites into the same form.
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

#include "loop_body.hpp"

namespace graft {
namespace {

struct ScanInputs {
  size_t skip, given, scans;  // inputs before the states; states and scan inputs; scan inputs alone
};
ScanInputs scan_inputs(Builder& layer) {
  size_t skip = layer.version() < 9 ? 1 : 0, given = layer.inputs() - std::min(skip, layer.inputs());
  auto scans = layer.get<int64_t>("num_scan_inputs");
  if (scans < 1 || static_cast<uint64_t>(scans) > given)
    fail("expected num_scan_inputs of 1 to ", given, ", the number of inputs, got ", scans);
  return {skip, given, static_cast<size_t>(scans)};
}

// ---- opset 8: a batch of sequences, each as long as input 0 says ----

bool scan_of_one(Builder& layer) {
  for (size_t i = 1; i < layer.inputs(); ++i) {
    Shape s = layer.input(i).shape();
    if (!s.ranked() || s.rank() == 0 || !s[0].known() || s[0].value() != 1) return false;
  }
  return true;
}

// All steps of all sequences form one loop, in which the states are reset at the start of each sequence. States and
// outputs of every step are stacked; afterwards the last state of each sequence is selected, and outputs past its end
// are set to zero.
class BatchedScan {
 public:
  explicit BatchedScan(Builder& layer) : layer_(layer) {
    auto [skip, given, scans] = scan_inputs(layer);
    states_ = given - scans;
    for (size_t i = 0; i < given; ++i) given_.push_back(layer.input(skip + i));
    batch_ = build::dim(given_.back(), 0), length_ = build::dim(given_.back(), 1), steps_ = batch_ * length_;
    if (layer.has_input(0)) lengths_ = reshape(convert(layer.input(0), DType::i64), {-1});
  }

  std::vector<Value> run() {
    std::vector<Value> inputs = loop_inputs();
    ImportedBody body = import_body(inputs);
    BodyUse use{body.id, {}, {}, {}};
    size_t declared = inputs.size();
    for (size_t i = 0; i < declared; ++i) {
      auto k = static_cast<int64_t>(i);
      use.inputs.push_back(i < states_ ? plain_port(k, k) : stacked_port(k, k, 0, false));
      if (i < states_) use.back_edges.push_back({2 * k, k});
    }
    for (size_t i = 0; i < body.captured.size(); ++i) {
      use.inputs.push_back(plain_port(static_cast<int64_t>(inputs.size()), static_cast<int64_t>(declared + i)));
      inputs.push_back(body.captured[i]);
    }
    size_t outputs = body.results.size() - states_;
    for (size_t i = 0; i < outputs; ++i) {
      auto internal = static_cast<int64_t>(i < states_ ? 2 * i + 1 : states_ + i);
      use.outputs.push_back(stacked_port(static_cast<int64_t>(i), internal, 0, false));
    }
    std::vector<Value> out = layer_.make("TensorIterator", inputs, {}, outputs, {use});
    for (size_t i = 0; i < outputs; ++i) out[i] = i < states_ ? last_state(out[i], given_[i]) : whole_output(out[i]);
    return out;
  }

 private:
  // [batch, length, ...] -> [batch * length, ...]
  Value by_step(const Value& v) {
    auto rank = static_cast<int64_t>(v.rank());
    std::vector<Value> target{steps_};
    for (int64_t i = 2; i < rank; ++i) target.push_back(build::dim(v, i));
    return build::reshape(v, target);
  }
  // The states, then the inputs of each step: scan inputs, the initial states, and whether it is the first step.
  std::vector<Value> loop_inputs() {
    std::vector<Value> inputs, fresh;
    for (size_t i = 0; i < states_; ++i) {
      inputs.push_back(squeeze(build::slice(given_[i], 0, 0, 1), {0}));
      std::vector<Value> target{batch_, length_};
      for (size_t k = 1; k < given_[i].rank(); ++k) target.push_back(build::dim(given_[i], static_cast<int64_t>(k)));
      fresh.push_back(by_step(build::broadcast(unsqueeze(given_[i], {1}), build::concat(target, 0))));
    }
    auto directions = layer_.get<std::vector<int64_t>>("directions", {});
    for (size_t i = states_; i < given_.size(); ++i) {
      bool backwards = i - states_ < directions.size() && directions[i - states_] == 1;
      inputs.push_back(by_step(backwards ? reversed(given_[i]) : given_[i]));
    }
    inputs.insert(inputs.end(), fresh.begin(), fresh.end());
    Value step = build::range(layer_.scalar(int64_t{0}), squeeze(steps_, {0}), DType::i64);
    inputs.push_back(layer_.op("Equal", {layer_.op("FloorMod", {step, length_}), layer_.ints({0})}));
    return inputs;
  }
  Value reversed(const Value& v) {
    if (!lengths_) return layer_.op("Reverse", {v, layer_.ints({1})}, {{"mode", "index"}});
    return layer_.op("ReverseSequence", {v, lengths_}, {{"batch_axis", 0}, {"seq_axis", 1}});
  }
  ImportedBody import_body(const std::vector<Value>& inputs) {
    std::vector<Info> parameters;
    for (size_t i = 0; i < inputs.size(); ++i) {
      parameters.push_back(inputs[i].info());
      if (i >= states_) parameters.back().shape[0] = Dim(1);
    }
    size_t given = given_.size();
    auto prologue = [&](Builder& body) {
      Value first = squeeze(body.input(given + states_), {0});
      for (size_t i = 0; i < given; ++i) {
        Value v = i < states_ ? body.input(i) : squeeze(body.input(i), {0});
        body.output(i, i < states_ ? build::select(first, squeeze(body.input(given + i), {0}), v) : v);
      }
    };
    auto epilogue = [&](Builder& body) {
      for (size_t i = 0; i < body.inputs(); ++i) {
        Value v = body.input(i), item = unsqueeze(v, {0});
        body.output(i, i < states_ ? body.list({v, item}) : item);
      }
    };
    std::vector<std::pair<size_t, size_t>> fed;
    for (size_t i = 0; i < states_; ++i) fed.emplace_back(i, 2 * i);
    return stable_body(layer_, parameters, fed, prologue, epilogue);
  }

  // One value per sequence, reshaped to broadcast against [batch, ...].
  static Value by_sequence(const Value& v, size_t rank) {
    std::vector<int64_t> more;
    for (size_t i = 1; i < rank; ++i) more.push_back(static_cast<int64_t>(i));
    return more.empty() ? v : unsqueeze(v, more);
  }
  Value last_state(const Value& all, const Value& initial) {
    Value zero = layer_.ints({0}), sequence = build::range(layer_.scalar(int64_t{0}), squeeze(batch_, {0}), DType::i64);
    Value length = lengths_ ? lengths_ : build::broadcast(length_, batch_);
    Value last = layer_.op("Maximum", {length - layer_.ints({1}), zero});
    Value state = build::gather(all, sequence * length_ + last, 0);
    return build::select(by_sequence(layer_.op("Greater", {length, zero}), state.rank()), state, initial);
  }
  Value whole_output(const Value& all) {
    auto rank = static_cast<int64_t>(all.rank());
    std::vector<Value> target{batch_, length_};
    for (int64_t i = 1; i < rank; ++i) target.push_back(build::dim(all, i));
    Value out = build::reshape(all, target);
    if (!lengths_) return out;
    Value step = build::range(layer_.scalar(int64_t{0}), squeeze(length_, {0}), DType::i64);
    Value inside = layer_.op("Less", {step, unsqueeze(lengths_, {1})});
    std::vector<int64_t> more;
    for (int64_t i = 2; i <= rank; ++i) more.push_back(i);
    return build::select(more.empty() ? inside : unsqueeze(inside, more), out, like(out, 0));
  }

  Builder& layer_;
  size_t states_ = 0;
  std::vector<Value> given_;                // states, then scan inputs
  Value batch_, length_, steps_, lengths_;  // 1-D of one element; sequence lengths, if they differ
};
std::vector<Value> import_batched_scan(Builder& layer) { return BatchedScan(layer).run(); }

// ---- all opsets ----

// Scan: states are fed back, scan inputs sliced and scan outputs stacked, each along its own axis and direction.
std::vector<Value> import_scan(Builder& layer) {
  auto [skip, given, scans] = scan_inputs(layer);
  size_t states = given - scans;
  bool old = layer.version() < 9;
  if (old && (layer.has_input(0) || !scan_of_one(layer))) return import_batched_scan(layer);
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
    if (old) v = squeeze(v, {0});
    inputs.push_back(v);
    Info info = v.info();
    if (i >= states) {
      int64_t& axis = axes[i - states];
      axis = pick(in_axes, i - states);
      // If the rank is unknown, an axis can only be counted from the front.
      if (info.shape.ranked() || axis < 0) axis = static_cast<int64_t>(normalize_axis(axis, v.rank()));
      if (info.shape.ranked()) info.shape[static_cast<size_t>(axis)] = Dim(1);
    }
    parameters.push_back(info);
  }
  auto prologue = [&](Builder& body) {
    for (size_t i = 0; i < given; ++i)
      body.output(i, i < states ? body.input(i) : squeeze(body.input(i), {axes[i - states]}));
  };
  auto epilogue = [&](Builder& body) {
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
    use.inputs.push_back(i < states ? plain_port(k, k)
                                    : stacked_port(k, k, axes[i - states], pick(in_directions, i - states) == 1));
    if (i < states) use.back_edges.push_back({k, k});
  }
  for (size_t i = 0; i < body.captured.size(); ++i) {
    use.inputs.push_back(plain_port(static_cast<int64_t>(inputs.size()), static_cast<int64_t>(given + i)));
    inputs.push_back(body.captured[i]);
  }
  for (size_t i = 0; i < body.results.size(); ++i) {
    auto k = static_cast<int64_t>(i);
    // A negative axis refers to the stacked result.
    use.outputs.push_back(i < states
                              ? plain_port(k, k)
                              : stacked_port(k, k, pick(out_axes, i - states), pick(out_directions, i - states) == 1));
  }
  std::vector<Value> out = layer.make("TensorIterator", inputs, {}, body.results.size(), {use});
  if (old)
    for (Value& v : out) v = unsqueeze(v, {0});
  return out;
}

}  // namespace

Definitions define_onnx_scan() {
  return {
      onnx("Scan").expand(import_scan),
      mxnet("Scan").domain("graft").expand(import_scan),
      torch("Scan").domain("graft").expand(import_scan),
  };
}

}  // namespace graft

// RNN, GRU and LSTM of ONNX, and DynamicQuantizeLSTM of ONNX Runtime: reorders gates and layouts, and fills in omitted
// inputs.
#include "../recurrent.hpp"

#include <cstring>
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

#include "quantize.hpp"

namespace graft {
namespace {

// Permutes equal parts along axis 1; constants are permuted right away.
Value reorder_gates(const Value& v, const std::vector<int64_t>& order) {
  TensorView t = v.constant();
  auto n = static_cast<int64_t>(order.size());
  if (!t || is_packed(t.type()) || t.rank() < 2 || t.dim(1) % n != 0) {
    std::vector<Value> parts = build::split(v, 1, n), sorted;
    for (int64_t i : order) sorted.push_back(parts[static_cast<size_t>(i)]);
    return build::concat(sorted, 1);
  }
  size_t row = static_cast<size_t>(count_of(t.dims().subspan(1)) * bits_of(t.type()) / 8), part = row / order.size();
  std::vector<unsigned char> bytes(static_cast<size_t>(t.dim(0)) * row + 1);
  auto from = static_cast<const unsigned char*>(t.bytes());
  for (size_t r = 0; r < static_cast<size_t>(t.dim(0)); ++r)
    for (size_t i = 0; i < order.size() && part; ++i)
      std::memcpy(bytes.data() + r * row + i * part, from + r * row + static_cast<size_t>(order[i]) * part, part);
  graft_tensor sorted = *t.raw();
  sorted.data = bytes.data();
  return v.in().constant(TensorView(&sorted));
}

class RecurrentImport {
 public:
  RecurrentImport(Builder& layer, CellKind kind)
      : RecurrentImport(layer, kind, layer.input(0), layer.input(1), layer.input(2)) {}
  RecurrentImport(Builder& layer, CellKind kind, Value x, Value w, Value r)
      : layer_(layer), kind_(kind), x_(std::move(x)), w_(std::move(w)), r_(std::move(r)) {}

  std::vector<Value> run() {
    read_attributes();
    std::vector<int64_t> gates;  // of ONNX, in our order
    if (kind_ == CellKind::lstm) gates = {2, 0, 3, 1};
    Value x = with_rank(x_, 3);
    Shape weights = w_.shape();
    bare_ = weights.ranked() && weights.rank() == 2;
    if (bare_ && directions_ == 2) fail("expected weights of rank 3 for two directions, got rank 2");
    Value w = with_rank(w_, 3), r = with_rank(r_, 3);
    if (!gates.empty()) w = reorder_gates(w, gates), r = reorder_gates(r, gates);
    if (!batch_first_) x = transpose(x, {1, 0, 2});
    batch_ = build::dim(x, 0), hidden_ = build::dim(r, 2);
    Shape r_shape = r.shape();
    if (!attributes_.hidden_size && r_shape.ranked() && r_shape[2].known())
      attributes_.hidden_size = r_shape[2].value();

    std::vector<Value> inputs{x, state(5, x.type())};
    if (kind_ == CellKind::lstm) inputs.push_back(state(6, x.type()));
    inputs.push_back(lengths(x));
    inputs.insert(inputs.end(), {w, r, bias(x.type(), gates)});
    bool peepholes = kind_ == CellKind::lstm && layer_.has_input(7);
    if (peepholes) inputs.push_back(reorder_gates(with_rank(layer_.input(7), 2), {2, 0, 1}));
    bool own = peepholes || input_forget_ || attributes_.activations.size() > activations_of(kind_);
    for (const std::string& a : attributes_.activations) own |= !gate_function(a).common;
    std::vector<Value> y = layer_.make(name(own), inputs, attributes(own), 1 + states_of(kind_), {});
    if (bare_)
      for (Value& v : y) v = squeeze(v, {1});
    if (bare_) {
      if (!batch_first_) y[0] = transpose(y[0], {1, 0, 2});
      return y;
    }
    y[0] = transpose(y[0], batch_first_ ? std::vector<int64_t>{0, 2, 1, 3} : std::vector<int64_t>{2, 1, 0, 3});
    if (!batch_first_)
      for (size_t i = 1; i < y.size(); ++i) y[i] = transpose(y[i], {1, 0, 2});
    return y;
  }

 private:
  void read_attributes() {
    layer_.has("output_sequence");  // opset 1; all outputs are always produced
    direction_ = layer_.get<std::string>("direction", "forward");
    directions_ = direction_ == "bidirectional" ? 2 : 1;
    batch_first_ = layer_.get<bool>("layout", false);
    input_forget_ = layer_.get<bool>("input_forget", false);
    linear_before_reset_ = layer_.get<bool>("linear_before_reset", false);
    attributes_.hidden_size = layer_.get<int64_t>("hidden_size", 0);
    attributes_.clip = std::fabs(layer_.get<float>("clip", 0));
    std::vector<std::string> defaults = kind_ == CellKind::rnn   ? std::vector<std::string>{"tanh"}
                                        : kind_ == CellKind::gru ? std::vector<std::string>{"sigmoid", "tanh"}
                                                                 : std::vector<std::string>{"sigmoid", "tanh", "tanh"};
    std::vector<std::string> names = layer_.get<std::vector<std::string>>("activations", {});
    if (names.empty()) names = defaults;
    // ONNX lists parameters only for the activations that take some, in order; ours has a slot for every activation.
    auto alphas = layer_.get<std::vector<float>>("activation_alpha", {}),
         betas = layer_.get<std::vector<float>>("activation_beta", {});
    size_t next_alpha = 0, next_beta = 0;
    bool any = false;
    for (const std::string& n : names) {
      const GateFunctionRow& row = gate_function(n);
      attributes_.activations.emplace_back(row.name);
      auto take = [](const std::vector<float>& list, size_t& next, bool takes, double fallback) {
        return static_cast<float>(takes && next < list.size() ? list[next++] : fallback);
      };
      attributes_.activations_alpha.push_back(take(alphas, next_alpha, row.takes_alpha, row.alpha));
      attributes_.activations_beta.push_back(take(betas, next_beta, row.takes_beta, row.beta));
      any |= row.takes_alpha || row.takes_beta;
    }
    if (!any) attributes_.activations_alpha.clear(), attributes_.activations_beta.clear();
    same_for_both_directions();
  }
  void same_for_both_directions() {
    size_t n = activations_of(kind_);
    auto halves_agree = [n](const auto& list) {
      return list.empty() || std::equal(list.begin(), list.begin() + static_cast<ptrdiff_t>(n),
                                        list.begin() + static_cast<ptrdiff_t>(n), list.end());
    };
    if (attributes_.activations.size() != 2 * n || !halves_agree(attributes_.activations) ||
        !halves_agree(attributes_.activations_alpha) || !halves_agree(attributes_.activations_beta))
      return;
    attributes_.activations.resize(n);
    if (!attributes_.activations_alpha.empty()) attributes_.activations_alpha.resize(n);
    if (!attributes_.activations_beta.empty()) attributes_.activations_beta.resize(n);
  }

  // Some models omit the axis of a single direction, or have an extra leading axis.
  static Value with_rank(const Value& v, size_t rank) {
    Shape s = v.shape();
    if (!s.ranked()) return v;
    size_t has = s.rank();
    if (has + 1 == rank) return unsqueeze(v, {0});
    std::vector<int64_t> extra;
    for (size_t i = rank; i < has; ++i) extra.push_back(static_cast<int64_t>(i - rank));
    return extra.empty() ? v : squeeze(v, extra);
  }

  Value state(size_t input, DType type) {
    if (!layer_.has_input(input))
      return build::fill(layer_, 0, type, build::concat({batch_, layer_.ints({directions_}), hidden_}, 0));
    Value v = with_rank(layer_.input(input), 3);
    return batch_first_ ? v : transpose(v, {1, 0, 2});
  }

  Value lengths(const Value& x) {
    return layer_.has_input(4) ? layer_.input(4) : build::broadcast(build::dim(x, 1), batch_);
  }

  // ONNX stores the biases of W and R separately.
  Value bias(DType type, const std::vector<int64_t>& gates) {
    int64_t n = gates_of(kind_);
    if (!layer_.has_input(3)) {
      int64_t parts = linear_before_reset_ ? n + 1 : n;
      Value rows = hidden_ * layer_.ints({parts});
      return build::fill(layer_, 0, type, build::concat({layer_.ints({directions_}), rows}, 0));
    }
    Value b = with_rank(layer_.input(3), 2), sum;
    if (linear_before_reset_) {
      std::vector<Value> p = build::split(b, 1, 6);
      sum = build::concat({p[0] + p[3], p[1] + p[4], p[2], p[5]}, 1);
    } else {
      std::vector<Value> p = build::split(b, 1, 2);
      sum = p[0] + p[1];
    }
    return gates.empty() ? sum : reorder_gates(sum, gates);
  }

  std::string name(bool own) const {
    std::string type = kind_ == CellKind::rnn ? "RNN" : kind_ == CellKind::gru ? "GRU" : "LSTM";
    return type + "Sequence@" + (own ? "graft" : "5");
  }
  std::vector<NamedAttr> attributes(bool own) const {
    std::vector<NamedAttr> out{{"direction", direction_},
                               {"hidden_size", attributes_.hidden_size},
                               {"activations", attributes_.activations},
                               {"activations_alpha", attributes_.activations_alpha},
                               {"activations_beta", attributes_.activations_beta},
                               {"clip", attributes_.clip}};
    if (kind_ == CellKind::gru) out.push_back({"linear_before_reset", linear_before_reset_});
    if (kind_ == CellKind::lstm && own) out.push_back({"input_forget", input_forget_});
    return out;
  }

  Builder& layer_;
  CellKind kind_;
  Value x_, w_, r_;
  RecurrentAttributes attributes_;
  std::string direction_;
  int64_t directions_ = 1;
  bool batch_first_ = false, input_forget_ = false, linear_before_reset_ = false, bare_ = false;
  Value batch_, hidden_;  // 1-D tensors of one element
};

template <CellKind kind>
std::vector<Value> import_recurrent(Builder& layer) {
  return RecurrentImport(layer, kind).run();
}

// Quantized weights [directions, input, gates], with scales and zero points per direction or per gate row. The input is
// quantized per tensor like that of DynamicQuantizeMatMul; the state, which ONNX Runtime quantizes again in every step,
// stays in floating point.
std::vector<Value> import_dynamic_quantize_lstm(Builder& layer) {
  auto weights = [&](size_t input, size_t scale) {
    auto aligned = [](const Value& v) { return v.rank() == 1 ? unsqueeze(v, {1, 2}) : unsqueeze(v, {1}); };
    Value zero = optional_input(layer, scale + 1);
    Value real = dequantize(layer.input(input), aligned(layer.input(scale)), zero ? aligned(zero) : zero);
    return transpose(real, {0, 2, 1});
  };
  DynamicallyQuantized x = dynamically_quantized(layer, layer.input(0));
  Value real = dequantize(x.values, x.scale, x.zero_point);
  return RecurrentImport(layer, CellKind::lstm, real, weights(1, 8), weights(2, 10)).run();
}

}  // namespace

Definitions define_onnx_recurrent() {
  return {
      onnx("RNN").rank(0, 3, 4).rank(1, 2, 3).rank(2, 2, 3).expand(import_recurrent<CellKind::rnn>),
      onnx("GRU").rank(0, 3, 4).rank(1, 2, 3).rank(2, 2, 3).expand(import_recurrent<CellKind::gru>),
      onnx("LSTM").rank(0, 3, 4).rank(1, 2, 3).rank(2, 2, 3).expand(import_recurrent<CellKind::lstm>),
      onnx("DynamicQuantizeLSTM").domain("com.microsoft").expand(import_dynamic_quantize_lstm),
  };
}

}  // namespace graft

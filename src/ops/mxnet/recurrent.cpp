// The fused operator RNN: layers of LSTM, GRU or plain cells, in one or two directions.
#include "mxnet/building.hpp"

namespace graft {
namespace {

class MxnetRnn {
 public:
  explicit MxnetRnn(Builder& layer) : layer_(layer), x_(layer.input(0)), parameters_(layer.input(1)) {
    auto mode = layer.get<std::string>("mode");
    if (mode == "lstm") gates_ = 4;
    else if (mode == "gru") gates_ = 3;
    else if (mode != "rnn_relu" && mode != "rnn_tanh")
      fail("expected 'mode' lstm, gru, rnn_relu or rnn_tanh, got '", mode, "'");
    if (gates_ == 1) activation_ = mode.substr(4);
    hidden_ = layer.get<int64_t>("state_size");
    layers_ = layer.get<int64_t>("num_layers");
    if (hidden_ < 1 || hidden_ > 1 << 20) fail("expected 'state_size' of 1 to ", 1 << 20, ", got ", hidden_);
    if (layers_ < 1 || layers_ > 1024) fail("expected 'num_layers' of 1 to 1024, got ", layers_);
    directions_ = mx::bool_or(layer, "bidirectional", false) ? 2 : 1;
    for (std::string_view path : {"lstm_state_clip_min", "lstm_state_clip_max"})
      if (!mx::is_none(layer, path))
        unsupported(
            "RNN with '", path,
            "' is not supported: no operation of the IR clips the cell states of an LSTM; remove "
            "'lstm_state_clip_min' and 'lstm_state_clip_max' from the symbol if the states stay between them, or "
            "import RNN with an extension");
    projected_ = mx::int_or(layer, "projection_size", 0);
    if (projected_ == 0) return;
    if (gates_ != 4) fail("'projection_size' is for the mode lstm, got '", mode, "'");
    if (projected_ < 1 || projected_ > hidden_)
      fail("expected 'projection_size' of 1 to ", hidden_, ", the size of the state, got ", projected_);
    if (mx::bool_or(layer, "use_sequence_length", false))
      unsupported("RNN with 'projection_size' and 'use_sequence_length' is not supported");
  }

  std::vector<Value> run() {
    Shape s = x_.shape();
    if (!s.ranked() || s.rank() != 3 || !s[2].known())
      needs_shape("the size of the elements must be known, got an input of shape ", s);
    cut_parameters(s[2].value());
    bool lstm = gates_ == 4;
    size_t lengths_input = lstm ? 4 : 3;
    x_ = transpose(x_, {1, 0, 2});  // [batch, steps, elements]
    Value lengths = mx::bool_or(layer_, "use_sequence_length", false)
                        ? mx::to_indices(layer_.input(lengths_input))
                        : build::broadcast(build::dim(x_, 1), build::dim(x_, 0));
    std::vector<Value> hidden, cells;
    for (int64_t l = 0; l < layers_; ++l) {
      std::vector<Value> inputs{x_, projected_ ? zeros(hidden_) : state(2, l, hidden_)};
      if (projected_) inputs[0] = with_first_state(l);
      if (lstm) inputs.push_back(state(3, l, hidden_));
      inputs.push_back(lengths);
      for (Value& w : weights_of(l)) inputs.push_back(w);
      std::vector<Value> y = layer_.make(operation(), inputs, attributes(), lstm ? 3 : 2, {});
      if (projected_) y[0] = projected(y[0], l), y[1] = projected(y[1], l);
      x_ = build::reshape_keeping(transpose(y[0], {0, 2, 1, 3}), {0, 0, -1});
      hidden.push_back(transpose(y[1], {1, 0, 2}));
      if (lstm) cells.push_back(transpose(y[2], {1, 0, 2}));
    }
    std::vector<Value> out{transpose(x_, {1, 0, 2}), build::concat(hidden, 0)};
    if (lstm) out.push_back(build::concat(cells, 0));
    out.resize(std::max<size_t>(std::min(out.size(), layer_.outputs()), 1));
    return out;
  }

 private:
  struct Cell {
    Value w, r, p, bw, br;  // of one direction; p: the projection
  };

  // All weights, layer by layer and direction by direction, then all biases.
  void cut_parameters(int64_t elements) {
    int64_t rows = gates_ * hidden_, at = 0;
    auto take = [&](const std::vector<int64_t>& dims) {
      int64_t size = 1;
      for (int64_t d : dims)
        if (__builtin_mul_overflow(size, d, &size)) fail("the weights are larger than a tensor can be");
      Value v = reshape(build::slice(parameters_, 0, at, at + size), dims);
      at += size;
      return v;
    };
    if (parameters_.rank() != 1) parameters_ = reshape(parameters_, {-1});
    cells_.resize(static_cast<size_t>(layers_ * directions_));
    check_size(elements);
    for (size_t i = 0; i < cells_.size(); ++i) {
      int64_t width = i < static_cast<size_t>(directions_) ? elements : fed_back() * directions_;
      cells_[i].w = take({rows, width});
      cells_[i].r = take({rows, fed_back()});
      if (projected_) cells_[i].p = take({projected_, hidden_});
    }
    for (Cell& c : cells_) c.bw = take({rows}), c.br = take({rows});
  }
  void check_size(int64_t elements) const {
    Shape s = parameters_.shape();
    if (!s.is_static()) return;
    double rows = static_cast<double>(gates_) * static_cast<double>(hidden_), h = static_cast<double>(fed_back()),
           d = static_cast<double>(directions_);
    double projection = static_cast<double>(projected_) * static_cast<double>(hidden_);
    double first = rows * (static_cast<double>(elements) + h + 2) + projection,
           other = rows * (h * d + h + 2) + projection;
    double want = d * (first + static_cast<double>(layers_ - 1) * other);
    if (want != static_cast<double>(s[0].value()))
      fail("expected ", static_cast<int64_t>(want), " parameters for ", layers_, " layers of ", hidden_,
           " with elements of size ", elements, ", got ", s[0]);
  }

  // Ours: LSTM forget, input, cell, output; GRU update, reset, new.
  Value reordered(const Value& v) const {
    if (gates_ == 1) return v;
    std::vector<Value> g = build::split(v, 0, gates_);
    std::swap(g[0], g[1]);
    return build::concat(g, 0);
  }
  Value bias_of(const Cell& c) const {
    if (gates_ != 3) return reordered(c.bw + c.br);
    std::vector<Value> w = build::split(c.bw, 0, 3), r = build::split(c.br, 0, 3);
    return build::concat({w[1] + r[1], w[0] + r[0], w[2], r[2]}, 0);
  }
  std::vector<Value> weights_of(int64_t l) {
    std::vector<Value> w, r, b;
    for (int64_t d = 0; d < directions_; ++d) {
      const Cell& c = cells_[static_cast<size_t>(l * directions_ + d)];
      w.push_back(unsqueeze(reordered(projected_ ? with_first_weights(c, d) : c.w), {0}));
      r.push_back(unsqueeze(reordered(projected_ ? build::matmul(c.r, c.p) : c.r), {0}));
      b.push_back(unsqueeze(bias_of(c), {0}));
    }
    return {build::concat(w, 0), build::concat(r, 0), build::concat(b, 0)};
  }

  // [layers * directions, batch, size] -> [batch, directions, size]; zeros if absent.
  Value state(size_t input, int64_t l, int64_t size) {
    if (!layer_.has_input(input)) return zeros(size);
    Value v = build::slice(layer_.input(input), 0, l * directions_, (l + 1) * directions_);
    // A state of batch 1 stands for any batch.
    Shape s = v.shape();
    bool one = s.ranked() && s.rank() == 3 && s[1].known() && s[1].value() == 1;
    if (one && !x_.shape()[0].same(Dim(1)))
      v = build::broadcast(v, build::concat({layer_.ints({directions_}), build::dim(x_, 0), layer_.ints({size})}, 0));
    return transpose(v, {1, 0, 2});
  }
  Value zeros(int64_t size) {
    return build::fill(layer_, 0, x_.type(), build::concat({build::dim(x_, 0), layer_.ints({directions_, size})}, 0));
  }

  // ---- projections ----

  // With a projection P, a cell gets P h instead of h: (R P) takes the place of R. A first state has no h, it is an
  // input of the first step; at the others, and for the other direction, its columns are zeros.
  int64_t fed_back() const { return projected_ ? projected_ : hidden_; }
  bool has_first_state() const { return layer_.has_input(2); }

  Value with_first_state(int64_t l) {
    if (!has_first_state()) return x_;
    std::vector<Value> parts{x_}, states = build::split(state(2, l, projected_), 1, directions_);
    Value steps = dimension_of(x_, 1), last = steps - layer_.scalar(int64_t{1});
    for (int64_t d = 0; d < directions_; ++d) {
      Value is_first = layer_.op("Equal", {counting(steps, DType::i64), d == 0 ? layer_.scalar(int64_t{0}) : last});
      parts.push_back(states[static_cast<size_t>(d)] * unsqueeze(convert(is_first, x_.type()), {0, 2}));
    }
    return build::concat(parts, 2);
  }
  Value with_first_weights(const Cell& c, int64_t direction) {
    if (!has_first_state()) return c.w;
    std::vector<Value> parts{c.w};
    for (int64_t d = 0; d < directions_; ++d) parts.push_back(d == direction ? c.r : c.r * 0.0);
    return build::concat(parts, 1);
  }
  // Along the last axis, [batch, directions, ...].
  Value projected(const Value& v, int64_t l) {
    std::vector<Value> parts = build::split(v, 1, directions_);
    for (int64_t d = 0; d < directions_; ++d) {
      auto k = static_cast<size_t>(d);
      parts[k] = build::matmul(parts[k], cells_[static_cast<size_t>(l * directions_ + d)].p, false, true);
    }
    return build::concat(parts, 1);
  }

  std::string_view operation() const {
    return gates_ == 4 ? "LSTMSequence@5" : gates_ == 3 ? "GRUSequence@5" : "RNNSequence@5";
  }
  std::vector<NamedAttr> attributes() const {
    std::vector<NamedAttr> out{{"direction", directions_ == 2 ? "bidirectional" : "forward"}, {"hidden_size", hidden_}};
    if (gates_ == 3) out.push_back({"linear_before_reset", true});
    if (gates_ == 1) out.push_back({"activations", std::vector<std::string>{activation_}});
    return out;
  }

  Builder& layer_;
  Value x_, parameters_;
  std::string activation_;
  int64_t gates_ = 1, hidden_ = 0, layers_ = 0, directions_ = 1, projected_ = 0;
  std::vector<Cell> cells_;
};

std::vector<Value> import_mxnet_rnn(Builder& layer) { return MxnetRnn(layer).run(); }

}  // namespace

Definitions define_mxnet_recurrent() {
  return mx::rules({"RNN"}, import_mxnet_rnn, {"p", "state_outputs", "lstm_state_clip_nan"});
}

}  // namespace graft

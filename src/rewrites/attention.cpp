// Expresses GroupQueryAttention by operations of numbered opsets, for runtimes that do not have it.
#include <graft/formula.hpp>
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// The inputs of GroupQueryAttention that are used here, by position.
enum GroupedInput : size_t {
  in_query,
  in_key,
  in_value,
  in_past_key,
  in_past_value,
  in_seqlens,
  in_total,
  in_cos,
  in_sin,
  in_positions,
  in_bias,
  in_sink,
  in_q_norm = 14,
  in_k_norm = 15
};

// [batch B, tokens S, heads N, size D] everywhere, until the heads are moved before the tokens.
class GroupedAttention {
 public:
  explicit GroupedAttention(Rewrite& at)
      : at_(at), heads_(at.get<int64_t>("num_heads")), kv_heads_(at.get<int64_t>("kv_num_heads")) {}

  // Whether sizes and options are such that it can be expressed.
  bool fits() {
    Value q = at_.input(in_query);
    Shape s = q.shape();
    if (!s.ranked() || s.rank() != 3 || !s[2].known() || !is_real(q.type())) return false;
    if (at_.get<int64_t>("kv_cache_bit_width") != 0 || (at_.node().outputs() > 3 && at_.output_used(3))) return false;
    size_ = s[2].value() / (heads_ + (has(in_key) ? 0 : 2 * kv_heads_));
    for (size_t i : {in_past_key, in_past_value})
      if (has(i) && at_.input(i).type() != q.type()) return false;
    if (has(in_past_key) != has(in_past_value) || has(in_key) != has(in_value)) return false;
    if (!at_.get<bool>("do_rotary")) return true;
    if (!has(in_cos) || !has(in_sin)) return false;
    Shape table = at_.input(in_cos).shape();
    return table.ranked() && table.rank() == 2 && table[1].known();
  }

  void build() {
    count();
    auto [q, k, v] = parts();
    q = rotated(normalized(q, in_q_norm)), k = rotated(normalized(k, in_k_norm));
    Value keys = present(k, in_past_key), values = present(v, in_past_value);
    Value scores = build::matmul(transpose(q, {0, 2, 1, 3}), for_heads(keys), false, true) * scale();
    if (double cap = at_.get<double>("softcap"); cap > 0) scores = at_.op("Tanh", {scores / cap}) * cap;
    if (has(in_bias)) scores = scores + bias();
    Value y = build::matmul(weights(scores), for_heads(values));
    y = build::reshape_keeping(transpose(y, {0, 2, 1, 3}), {0, 0, heads_ * size_});
    at_.output(0, y), at_.output(1, keys), at_.output(2, values);
  }

 private:
  bool has(size_t i) { return i < at_.inputs() && at_.has_input(i); }
  Value number(double v) { return at_.scalar(v, DType::i64); }
  Value compare(std::string_view how, const Value& a, const Value& b) { return at_.op(how, {a, b}); }
  Value both(const Value& a, const Value& b) { return at_.op("LogicalAnd", {a, b}); }

  // Lengths, in i64: of each sequence [B,1], and those that all share, as scalars.
  void count() {
    Value q = at_.input(in_query);
    Value ends = convert(reshape(at_.input(in_seqlens), {-1, 1}), DType::i64) + 1.0;
    tokens_ = dimension_of(q, 1);
    used_ = ends;
    before_ = at_.op("Maximum", {ends - tokens_, number(0)});
    past_ = has(in_past_key) ? dimension_of(at_.input(in_past_key), 2) : number(0);
    total_ = has(in_total) ? as_scalar(convert(at_.input(in_total), DType::i64))
                           : at_.op("ReduceMax", {ends, at_.ints({0, 1})}, {{"keep_dims", false}});
    places_ = before_ + unsqueeze(counting(tokens_, DType::i64), {0});  // [B,S]
  }

  struct Parts {
    Value q, k, v;
  };
  Parts parts() {
    Value q = at_.input(in_query), k, v;
    if (has(in_key)) {
      k = at_.input(in_key), v = at_.input(in_value);
    } else {
      std::vector<Value> all = build::split(q, 2, {heads_ * size_, kv_heads_ * size_, kv_heads_ * size_});
      q = all[0], k = all[1], v = all[2];
    }
    return {build::reshape_keeping(q, {0, 0, heads_, size_}), build::reshape_keeping(k, {0, 0, kv_heads_, size_}),
            build::reshape_keeping(v, {0, 0, kv_heads_, size_})};
  }

  Value normalized(const Value& x, size_t weight) {
    if (!has(weight)) return x;
    Value mean = build::reduce_mean(x * x, {-1});
    return x * reshape(at_.input(weight), {-1}) / at_.op("Sqrt", {mean + at_.get<double>("qk_norm_epsilon")});
  }

  Value rotated(const Value& x) {
    if (!at_.get<bool>("do_rotary")) return x;
    int64_t half = at_.input(in_cos).shape()[1].value();
    auto row = [&](size_t table) {  // [B,S,1,half]
      return unsqueeze(convert(build::gather(at_.input(table), positions(), 0), x.type()), {2});
    };
    Value cos = row(in_cos), sin = row(in_sin), a, b, y;
    if (at_.get<bool>("rotary_interleaved")) {
      Value pairs = reshape_last(build::slice(x, 3, 0, 2 * half), {half, 2});
      a = squeeze(build::slice(pairs, 4, 0, 1), {4}), b = squeeze(build::slice(pairs, 4, 1, 2), {4});
      y = build::concat({unsqueeze(a * cos - b * sin, {4}), unsqueeze(a * sin + b * cos, {4})}, 4);
      y = build::reshape_keeping(y, {0, 0, 0, 2 * half});
    } else {
      a = build::slice(x, 3, 0, half), b = build::slice(x, 3, half, 2 * half);
      y = build::concat({a * cos - b * sin, a * sin + b * cos}, 3);
    }
    return 2 * half < size_ ? build::concat({y, build::slice(x, 3, 2 * half, size_)}, 3) : y;
  }
  static Value reshape_last(const Value& x, std::vector<int64_t> last) {
    last.insert(last.begin(), {0, 0, 0});
    return build::reshape_keeping(x, last);
  }
  // [B,S], or [1,S] where the model gives the position of the first token only.
  Value positions() {
    if (!has(in_positions)) return places_;
    Value given = convert(at_.input(in_positions), DType::i64);
    Shape s = given.shape();
    bool first_only = s.is_static() && s.elements().value() == 1;
    if (first_only) return reshape(given, {1, 1}) + unsqueeze(counting(tokens_, DType::i64), {0});
    return build::reshape(given, {at_.ints({-1}), unsqueeze(tokens_, {0})});
  }

  // The cache with the new tokens at their places, [B,K,T,D]: rows of past, new ones, and a row of zeros.
  Value present(const Value& added, size_t past) {
    Value zeros =
        build::fill(at_, 0, added.type(), build::concat({build::dim(added, 0), at_.ints({1, kv_heads_, size_})}, 0));
    std::vector<Value> rows{added, zeros};
    if (has(past)) rows.insert(rows.begin(), transpose(at_.input(past), {0, 2, 1, 3}));
    Value length = has(past) ? at_.op("Maximum", {past_, total_}) : total_;
    Value t = unsqueeze(counting(length, DType::i64), {0}), at = t - before_;
    Value is_new = both(compare("GreaterEqual", at, number(0)), compare("Less", at, tokens_));
    Value is_old = compare("Less", t, at_.op("Minimum", {before_, past_}));
    Value from = build::select(is_old, t, build::select(is_new, at + past_, past_ + tokens_));
    Value found = at_.op("Gather@8", {build::concat(rows, 1), from, at_.scalar(int64_t{1})}, {{"batch_dims", 1}});
    return transpose(found, {0, 2, 1, 3});
  }

  // What the queries look at: the keys or values of a head for each of its queries, without spare capacity.
  Value for_heads(const Value& cache) {
    Value used = build::slice(cache, 2, at_.ints({0}), unsqueeze(total_, {0}));
    int64_t group = heads_ / kv_heads_;
    std::vector<int64_t> from;
    for (int64_t h = 0; h < heads_; ++h) from.push_back(h / group);
    return group == 1 ? used : build::gather(used, at_.ints(from), 1);
  }

  double scale() {
    auto given = at_.get<double>("scale");
    return given != 0 ? given : 1 / std::sqrt(static_cast<double>(size_));
  }

  Value bias() {
    Value b = convert(at_.input(in_bias), at_.input(in_query).type());
    b = build::slice(b, 2, at_.ints({0}), unsqueeze(tokens_, {0}));
    return build::slice(b, 3, at_.ints({0}), unsqueeze(total_, {0}));
  }

  // Which keys a query sees, [B,1,S,U].
  Value mask() {
    Value t = unsqueeze(counting(total_, DType::i64), {0, 1, 2});  // [1,1,1,U]
    Value own = unsqueeze(places_, {1, 3}), end = unsqueeze(used_, {1, 3});
    Value seen = compare("Less", t, end);
    if (at_.get<bool>("causal")) seen = both(seen, compare("LessEqual", t, own));
    auto window = at_.get<int64_t>("local_window_size");
    if (window >= 0) seen = both(seen, compare("Greater", t, own - static_cast<double>(window)));
    return seen;
  }

  // Softmax over the keys that are seen. Rows without any are 0.
  Value weights(const Value& scores) {
    Value seen = mask();
    double lowest = scores.type() == DType::f16 ? -65504 : -3e38;
    Value masked = build::select(seen, scores, like(scores, lowest));
    bool smooth = at_.get<bool>("smooth_softmax"), sink = has(in_sink);
    Value all = masked;
    if (smooth || sink) {  // one more score, which attracts attention and has no value
      Value extra = sink ? reshape(convert(at_.input(in_sink), scores.type()), {1, heads_, 1, 1}) : like(scores, 0);
      Value target = build::concat({build::dims(scores, {0, 1, 2}), at_.ints({1})}, 0);
      all = build::concat({masked, build::broadcast(extra, target)}, 3);
    }
    Value w = build::softmax(all, 3);
    if (smooth || sink) w = build::slice(w, 3, at_.ints({0}), unsqueeze(total_, {0}));
    return w * convert(seen, scores.type());
  }

  Rewrite& at_;
  int64_t heads_, kv_heads_, size_ = 0;
  Value tokens_, past_, total_, used_, before_, places_;
};

void decompose_attention(Rewrite& at) {
  GroupedAttention parts(at);
  if (parts.fits()) parts.build();
}

}  // namespace

Definitions rewrite_attention() {
  return Pass("decompose_attention")
      .doc("express GroupQueryAttention by operations of numbered opsets")
      .on_request()
      .visit({"GroupQueryAttention"}, decompose_attention);
}

}  // namespace graft

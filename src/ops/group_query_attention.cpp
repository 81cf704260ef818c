// GroupQueryAttention of ONNX Runtime (com.microsoft): grouped-query attention (several query heads share a key/value
// head) with a KV cache that may have spare capacity, rotary position embedding and cache quantization.
#include <graft/kit/known.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct GroupQueryAttention {
  int64_t num_heads = 1, kv_num_heads = 1;
  float scale = 0, softcap = 0;
  bool causal = true;
  int64_t local_window_size = -1;
  bool do_rotary = false, rotary_interleaved = false, smooth_softmax = false;
  enum Seen { none, before_softmax, after_softmax } qk_output = none;
  int64_t kv_cache_bit_width = 0;
  float qk_norm_epsilon = 1e-6f;
  static constexpr std::tuple schema{
      attr("num_heads", &GroupQueryAttention::num_heads, "number of query heads").between(1, 1 << 20).required(),
      attr("kv_num_heads", &GroupQueryAttention::kv_num_heads, "number of key and value heads")
          .between(1, 1 << 20)
          .required(),
      attr("scale", &GroupQueryAttention::scale, "scale of the attention scores; 0: 1 / sqrt(head size)"),
      attr("softcap", &GroupQueryAttention::softcap, "squash scores to -softcap..softcap with tanh; 0: disabled"),
      attr("causal", &GroupQueryAttention::causal, "mask out keys after the query position"),
      attr("local_window_size", &GroupQueryAttention::local_window_size,
           "number of most recent keys that a query attends to, including its own; -1: all"),
      attr("do_rotary", &GroupQueryAttention::do_rotary, "apply rotary position embedding to queries and keys"),
      attr("rotary_interleaved", &GroupQueryAttention::rotary_interleaved,
           "rotate adjacent elements instead of the two halves of a head"),
      attr("smooth_softmax", &GroupQueryAttention::smooth_softmax,
           "add a score of 0 to the softmax denominator (attention sink)"),
      attr("qk_output", &GroupQueryAttention::qk_output, "contents of the fourth output")
          .one_of("none", "before_softmax", "after_softmax"),
      attr("kv_cache_bit_width", &GroupQueryAttention::kv_cache_bit_width,
           "bits per element of a quantized cache; 0: not quantized"),
      attr("qk_norm_epsilon", &GroupQueryAttention::qk_norm_epsilon,
           "epsilon of the RMS normalization of queries and keys")};
};

struct Gqa {
  enum Input : size_t {
    query,
    key,
    value,
    past_key,
    past_value,
    seqlens_k,
    total_length,
    cos_cache,
    sin_cache,
    position_ids,
    attention_bias,
    head_sink,
    k_scale,
    v_scale,
    q_norm,
    k_norm
  };
};

void gqa_infer(Infer& ctx, const GroupQueryAttention& a) {
  using enum Gqa::Input;
  if (a.num_heads % a.kv_num_heads != 0)
    fail("expected num_heads to be a multiple of kv_num_heads ", a.kv_num_heads, ", got ", a.num_heads);
  if (a.kv_cache_bit_width != 0 && a.kv_cache_bit_width != 4 && a.kv_cache_bit_width != 8)
    fail("expected kv_cache_bit_width 4 or 8, got ", a.kv_cache_bit_width);
  Shape q = ctx.shape(query);
  Dim batch, length, hidden, size;
  if (q.ranked()) {
    if (q.rank() != 3) fail("expected a query of rank 3, got shape ", q);
    batch = q[0], length = q[1], hidden = q[2];
  }
  int64_t heads = a.num_heads + (ctx.has_input(key) ? 0 : 2 * a.kv_num_heads);
  if (hidden.known()) {
    if (hidden.value() % heads != 0) fail("expected a query size divisible into ", heads, " heads, got ", hidden);
    size = Dim(hidden.value() / heads);
  }
  Dim past = Dim(0), total;
  DType cache = ctx.type(query);
  if (ctx.has_input(past_key)) {
    Shape p = ctx.shape(past_key);
    if (p.ranked() && p.rank() != 4) fail("expected past keys of rank 4, got shape ", p);
    past = p.ranked() ? p[2] : Dim();
    cache = ctx.type(past_key);
  }
  // The cache has the length of the longest sequence, or more if its buffer is reused.
  if (ctx.has_input(total_length)) {
    if (auto n = numbers_of(ctx, total_length); n && n->rank() == 1) total = (*n)[0];
  } else if (auto n = ctx.values<int64_t>(seqlens_k)) {
    int64_t most = 0;
    for (int64_t v : *n) most = std::max(most, v < INT64_MAX ? v + 1 : v);
    total = Dim(most);
  }
  if (total.known() && total.min() < 0) fail("expected a non-negative total_sequence_length, got ", total.min());
  Dim both = past.known() && total.known()
                 ? Dim(std::max(past.value(), total.value()))
                 : Dim::between(std::max<int64_t>(past.min(), std::max<int64_t>(total.min(), 0)), Dim::unbounded);
  Dim stored = a.kv_cache_bit_width == 4 ? Dim::divide_up(size, 2) : size;
  ctx.output(0, ctx.type(query), Shape{batch, length, size * Dim(a.num_heads)});
  for (size_t i : {1, 2}) ctx.output(i, cache, Shape{batch, Dim(a.kv_num_heads), both, stored});
  if (a.qk_output != GroupQueryAttention::none)
    ctx.output(3, ctx.type(query), Shape{batch, Dim(a.num_heads), length, total.min() < 0 ? Dim() : total});
}

// One head at one position.
using GqaRow = std::vector<double>;

// A cache whose elements may be quantized, in rows of `size` numbers.
class GqaCache {
 public:
  GqaCache(OutputView out, int64_t size, int64_t bits, std::vector<double> scale)
      : out_(out), heads_(out.dim(1)), length_(out.dim(2)), size_(size), bits_(bits), scale_(std::move(scale)) {
    values_.resize(static_cast<size_t>(out.dim(0) * heads_ * length_ * size_), 0);
    if (bits_ && scale_.empty()) fail("a quantized cache requires k_scale and v_scale");
    if (bits_ && scale_.size() != 1 && static_cast<int64_t>(scale_.size()) != heads_ * size_)
      fail("expected one scale per tensor or per channel of ", heads_, " heads of ", size_, ", got ", scale_.size());
  }
  // Copies the valid rows of each sequence; the rest of the past cache is not kept.
  void load(TensorView past, const std::vector<int64_t>& rows) {
    int64_t length = past.dim(2), stored = past.dim(3);
    if (past.dim(0) != out_.dim(0) || past.dim(1) != heads_ || stored != out_.dim(3))
      fail("expected a cache of shape ", out_.info().shape, " (up to the length), got ", past.info().shape);
    std::vector<double> v = past.to<double>();
    for (int64_t r = 0; r < past.dim(0) * heads_; ++r)
      for (int64_t t = 0; t < std::min({length, length_, rows[static_cast<size_t>(r / heads_)]}); ++t)
        for (int64_t i = 0; i < size_; ++i) {
          double code = v[static_cast<size_t>((r * length + t) * stored + (bits_ == 4 ? i / 2 : i))];
          if (bits_ == 4) code = static_cast<double>((static_cast<int64_t>(code) >> (i % 2 * 4) & 15) - 8);
          values_[at(r / heads_, r % heads_, t) + static_cast<size_t>(i)] = code;
        }
  }
  void store(int64_t b, int64_t head, int64_t t, const GqaRow& row) {
    for (int64_t i = 0; i < size_; ++i) {
      double v = row[static_cast<size_t>(i)];
      if (bits_) {
        double most = bits_ == 4 ? 7 : 127;
        v = std::min(std::max(std::nearbyint(v / scale(head, i)), -most - 1), most);
      }
      values_[at(b, head, t) + static_cast<size_t>(i)] = v;
    }
  }
  GqaRow row(int64_t b, int64_t head, int64_t t) const {
    auto first = values_.begin() + static_cast<ptrdiff_t>(at(b, head, t));
    GqaRow r(first, first + size_);
    for (int64_t i = 0; bits_ && i < size_; ++i) r[static_cast<size_t>(i)] *= scale(head, i);
    return r;
  }
  void write() const {
    if (bits_ != 4) return out_.assign(values_);
    std::vector<double> bytes(static_cast<size_t>(out_.size()), 0);
    int64_t stored = out_.dim(3);
    for (size_t i = 0; i < values_.size(); ++i) {
      auto row = static_cast<int64_t>(i) / size_, column = static_cast<int64_t>(i) % size_;
      bytes[static_cast<size_t>(row * stored + column / 2)] += (values_[i] + 8) * (column % 2 ? 16 : 1);
    }
    out_.assign(bytes);
  }

 private:
  size_t at(int64_t b, int64_t head, int64_t t) const {
    return static_cast<size_t>(((b * heads_ + head) * length_ + t) * size_);
  }
  double scale(int64_t head, int64_t i) const {
    return scale_[scale_.size() == 1 ? 0 : static_cast<size_t>(head * size_ + i)];
  }
  OutputView out_;
  int64_t heads_, length_, size_, bits_;
  std::vector<double> scale_, values_;
};

class GqaRun {
  using enum Gqa::Input;

 public:
  GqaRun(Run& ctx, const GroupQueryAttention& a)
      : ctx_(ctx),
        a_(a),
        q_(ctx.input(query).to<double>()),
        k_(values(key)),
        v_(values(value)),
        cos_(values(cos_cache)),
        sin_(values(sin_cache)),
        bias_(values(attention_bias)),
        sink_(values(head_sink)),
        batch_(ctx.input(query).dim(0)),
        length_(ctx.input(query).dim(1)),
        width_(ctx.input(query).dim(2)),
        size_(ctx.output(0).dim(2) / a.num_heads),
        keys_(ctx.output(1), size_, a.kv_cache_bit_width, values(k_scale)),
        contents_(ctx.output(2), size_, a.kv_cache_bit_width, values(v_scale)) {
    if (ctx.has_input(position_ids)) positions_ = ctx.input(position_ids).to<int64_t>();
    if (a.do_rotary && (cos_.empty() || cos_.size() != sin_.size())) fail("do_rotary requires cos_cache and sin_cache");
    for (size_t i : {size_t{key}, size_t{value}})
      if (ctx.has_input(i) && ctx.input(i).size() != batch_ * length_ * a.kv_num_heads * size_)
        fail("expected ", a.kv_num_heads, " heads of ", size_, " in input ", i, ", got shape ",
             ctx.input(i).info().shape);
    if (ctx.has_input(key) != ctx.has_input(value)) fail("expected key and value together, got only one of them");
    if (!sink_.empty() && static_cast<int64_t>(sink_.size()) != a.num_heads)
      fail("expected one head_sink per query head, got ", sink_.size());
  }

  void run() {
    std::vector<int64_t> lengths = ctx_.input(seqlens_k).to<int64_t>();
    if (static_cast<int64_t>(lengths.size()) != batch_)
      fail("expected ", batch_, " values in seqlens_k, one per sequence, got ", lengths.size());
    int64_t capacity = ctx_.output(1).dim(2);
    std::vector<int64_t> pasts;
    for (int64_t last : lengths) {
      if (last < 0 || last >= capacity)
        fail("a sequence ends at position ", last, ", beyond the cache capacity of ", capacity);
      pasts.push_back(std::max<int64_t>(0, last + 1 - length_));
    }
    if (ctx_.has_input(past_key)) keys_.load(ctx_.input(past_key), pasts);
    if (ctx_.has_input(past_value)) contents_.load(ctx_.input(past_value), pasts);
    std::vector<double> out(static_cast<size_t>(ctx_.output(0).size()), 0);
    if (ctx_.output_used(3)) seen_.resize(static_cast<size_t>(ctx_.output(3).size()), 0);
    for (int64_t b = 0; b < batch_; ++b) {
      int64_t last = lengths[static_cast<size_t>(b)], past = pasts[static_cast<size_t>(b)];
      for (int64_t s = 0; s < length_ && past + s < capacity; ++s)
        for (int64_t h = 0; h < a_.kv_num_heads; ++h) {
          keys_.store(b, h, past + s, prepared(new_row(key, b, s, h), b, s, past, k_norm));
          contents_.store(b, h, past + s, new_row(value, b, s, h));
        }
      for (int64_t s = 0; s < length_ && past + s < capacity; ++s)
        for (int64_t h = 0; h < a_.num_heads; ++h) {
          GqaRow y = attend(prepared(new_row(query, b, s, h), b, s, past, q_norm), b, s, h, past, last + 1);
          std::copy(y.begin(), y.end(), out.begin() + ((b * length_ + s) * a_.num_heads + h) * size_);
        }
    }
    ctx_.output(0).assign(out);
    keys_.write();
    contents_.write();
    if (ctx_.output_used(3)) ctx_.output(3).assign(seen_);
  }

 private:
  std::vector<double> values(size_t input) {
    return ctx_.has_input(input) ? ctx_.input(input).to<double>() : std::vector<double>();
  }
  // Keys and values may be packed after the queries in the same tensor.
  GqaRow new_row(Gqa::Input which, int64_t b, int64_t s, int64_t head) const {
    const std::vector<double>& from = which == query || k_.empty() ? q_ : which == key ? k_ : v_;
    int64_t width = &from == &q_ ? width_ : a_.kv_num_heads * size_, column = head * size_;
    if (&from == &q_ && which != query) column += (a_.num_heads + (which == value ? a_.kv_num_heads : 0)) * size_;
    auto first = from.begin() + (b * length_ + s) * width + column;
    return {first, first + size_};
  }
  GqaRow prepared(GqaRow row, int64_t b, int64_t s, int64_t past, Gqa::Input norm) const {
    if (ctx_.has_input(norm)) {
      std::vector<double> weight = ctx_.input(norm).to<double>();
      if (weight.size() != row.size())
        fail("expected ", row.size(), " normalization weights, the head size, got ", weight.size());
      double sum = 0;
      for (double v : row) sum += v * v;
      double root = std::sqrt(sum / static_cast<double>(row.size()) + a_.qk_norm_epsilon);
      for (size_t i = 0; i < row.size(); ++i) row[i] *= weight[i] / root;
    }
    if (!a_.do_rotary) return row;
    int64_t position = past + s, rows = ctx_.input(cos_cache).dim(0), half = ctx_.input(cos_cache).dim(1);
    if (!positions_.empty()) {
      auto at = static_cast<size_t>(b * length_ + s);
      // For the first prompt, the position of its start is sufficient.
      if (at >= positions_.size() && positions_.size() != 1)
        fail("expected position_ids with one value per token, got ", positions_.size());
      position = positions_.size() == 1 ? positions_[0] + s : positions_[at];
    }
    if (position < 0 || position >= rows)
      fail("position ", position, " is out of range for a cos/sin table of ", rows, " rows");
    if (2 * half > size_) fail("a cos/sin table for ", 2 * half, " elements exceeds the head size ", size_);
    for (int64_t i = 0; i < half; ++i) {
      auto x = static_cast<size_t>(a_.rotary_interleaved ? 2 * i : i),
           y = static_cast<size_t>(a_.rotary_interleaved ? 2 * i + 1 : i + half),
           at = static_cast<size_t>(position * half + i);
      double p = row[x], q = row[y];
      row[x] = cos_[at] * p - sin_[at] * q;
      row[y] = sin_[at] * p + cos_[at] * q;
    }
    return row;
  }

  GqaRow attend(const GqaRow& q, int64_t b, int64_t s, int64_t head, int64_t past, int64_t total) {
    int64_t kv_head = head / (a_.num_heads / a_.kv_num_heads), end = a_.causal ? std::min(past + s + 1, total) : total,
            begin = 0;
    if (a_.local_window_size >= 0) begin = std::max<int64_t>(0, past + s + 1 - a_.local_window_size);
    double scale = a_.scale != 0 ? a_.scale : 1 / std::sqrt(static_cast<double>(size_));
    std::vector<double> scores;
    for (int64_t t = begin; t < end; ++t) {
      GqaRow k = keys_.row(b, kv_head, t);
      double score = 0;
      for (size_t i = 0; i < k.size(); ++i) score += q[i] * k[i];
      score *= scale;
      if (a_.softcap > 0) score = a_.softcap * std::tanh(score / a_.softcap);
      scores.push_back(score + bias(b, head, s, t));
    }
    show(GroupQueryAttention::before_softmax, scores, b, head, s, begin);
    double most = a_.smooth_softmax ? 0 : -INFINITY, sum = 0;
    if (!sink_.empty()) most = sink_[static_cast<size_t>(head)];
    double extra = most;
    for (double v : scores) most = std::max(most, v);
    if (extra != -INFINITY) sum = std::exp(extra - most);
    for (double& v : scores) sum += v = std::exp(v - most);
    for (double& v : scores) v /= sum;
    show(GroupQueryAttention::after_softmax, scores, b, head, s, begin);
    GqaRow y(static_cast<size_t>(size_), 0);
    for (int64_t t = begin; t < end; ++t) {
      GqaRow v = contents_.row(b, kv_head, t);
      for (size_t i = 0; i < y.size(); ++i) y[i] += scores[static_cast<size_t>(t - begin)] * v[i];
    }
    return y;
  }

  double bias(int64_t b, int64_t head, int64_t s, int64_t t) const {
    if (bias_.empty()) return 0;
    TensorView v = ctx_.input(attention_bias);
    if (v.rank() != 4) fail("expected an attention bias of rank 4, got shape ", v.info().shape);
    int64_t want[] = {b, head, s, t}, at = 0;
    for (size_t i = 0; i < 4; ++i) {
      int64_t place = v.dim(i) == 1 ? 0 : want[i];
      if (place >= v.dim(i))
        fail("position ", place, " is out of range for axis ", i, " of an attention bias of shape ", v.info().shape);
      at = at * v.dim(i) + place;
    }
    return bias_[static_cast<size_t>(at)];
  }

  void show(GroupQueryAttention::Seen what, const std::vector<double>& scores, int64_t b, int64_t head, int64_t s,
            int64_t begin) {
    if (seen_.empty() || a_.qk_output != what) return;
    int64_t total = ctx_.output(3).dim(3), row = ((b * a_.num_heads + head) * length_ + s) * total;
    for (size_t i = 0; i < scores.size(); ++i)
      if (int64_t t = begin + static_cast<int64_t>(i); t < total) seen_[static_cast<size_t>(row + t)] = scores[i];
  }

  Run& ctx_;
  const GroupQueryAttention& a_;
  std::vector<double> q_, k_, v_, cos_, sin_, bias_, sink_, seen_;
  std::vector<int64_t> positions_;
  int64_t batch_, length_, width_, size_;
  GqaCache keys_, contents_;
};
void gqa_run(Run& ctx, const GroupQueryAttention& a) { GqaRun(ctx, a).run(); }

std::vector<Value> import_group_query_attention(Builder& layer) {
  if (layer.get<bool>("sliding_window_cache", false)) unsupported("a cache that evicts entries is not supported");
  std::vector<Value> inputs;
  for (size_t i = 0; i < layer.inputs(); ++i) inputs.push_back(layer.has_input(i) ? layer.input(i) : Value());
  if (inputs.size() > Gqa::k_norm + 1)
    fail("expected at most ", size_t{Gqa::k_norm} + 1, " inputs, got ", inputs.size());
  std::string kinds[] = {layer.get<std::string>("k_quant_type", "NONE"),
                         layer.get<std::string>("v_quant_type", "NONE")};
  int64_t bits = layer.get<int64_t>("kv_cache_bit_width", 0);
  if ((kinds[0] == "NONE") != (kinds[1] == "NONE"))
    unsupported("a cache with different quantization of keys and values is not supported");
  if (kinds[0] == "NONE") bits = 0;
  else if (bits == 0) bits = 8;
  int64_t seen = layer.get<int64_t>("qk_output", 0);
  if (seen < 0 || seen > 2) fail("expected qk_output 0, 1 or 2, got ", seen);
  constexpr const char* words[] = {"none", "before_softmax", "after_softmax"};
  return layer.make("GroupQueryAttention@graft", inputs,
                    {{"num_heads", layer.get<int64_t>("num_heads")},
                     {"kv_num_heads", layer.get<int64_t>("kv_num_heads")},
                     {"scale", layer.get<float>("scale", 0)},
                     {"softcap", layer.get<float>("softcap", 0)},
                     {"causal", layer.get<bool>("causal", true)},
                     {"local_window_size", layer.get<int64_t>("local_window_size", -1)},
                     {"do_rotary", layer.get<bool>("do_rotary", false)},
                     {"rotary_interleaved", layer.get<bool>("rotary_interleaved", false)},
                     {"smooth_softmax", layer.get<int64_t>("smooth_softmax", 0) > 0},
                     {"qk_output", words[seen]},
                     {"kv_cache_bit_width", bits},
                     {"qk_norm_epsilon", layer.get<float>("qk_norm_epsilon", 1e-6f)}},
                    seen ? 4 : 3, {});
}

}  // namespace

Definitions define_group_query_attention() {
  return op<GroupQueryAttention>("GroupQueryAttention", "graft")
      .doc("Grouped-query attention with a KV cache")
      .inputs(
          "query, key?, value?, past_key?, past_value?, seqlens_k, total_sequence_length?, cos_cache?, sin_cache?, "
          "position_ids?, attention_bias?, head_sink?, k_scale?, v_scale?, q_norm_weight?, k_norm_weight?")
      .outputs("output, present_key, present_value, output_qk?")
      .infer(gqa_infer)
      .reference(gqa_run)
      .import(onnx("GroupQueryAttention").domain("com.microsoft").expand(import_group_query_attention));
}

}  // namespace graft

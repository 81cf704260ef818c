#include <graft/op.hpp>
#include <map>

#include "texts.hpp"

namespace graft {
namespace {

struct TfIdf {
  int64_t min_gram_length = 1, max_gram_length = 1, max_skip_count = 0;
  enum Mode { tf, idf, tfidf } mode = tf;
  std::vector<int64_t> ngram_counts, ngram_indexes;
  static constexpr std::tuple schema{
      attr("min_gram_length", &TfIdf::min_gram_length, "minimum n-gram length").at_least(1),
      attr("max_gram_length", &TfIdf::max_gram_length, "maximum n-gram length").at_least(1),
      attr("max_skip_count", &TfIdf::max_skip_count, "maximum number of items skipped between two items of an n-gram")
          .at_least(0),
      attr("mode", &TfIdf::mode, "TF: counts; IDF: weights of the n-grams present; TFIDF: weighted counts")
          .one_of("TF", "IDF", "TFIDF"),
      attr("ngram_counts", &TfIdf::ngram_counts, "positions in the pool where the 1-grams, 2-grams, ... begin")
          .at_least(0),
      attr("ngram_indexes", &TfIdf::ngram_indexes, "output column of each n-gram").between(0, INT32_MAX).required()};
  int64_t width() const {
    int64_t last = -1;
    for (int64_t i : ngram_indexes) last = std::max(last, i);
    return last + 1;
  }
};

void tfidf_infer(Infer& ctx, const TfIdf& a) {
  Shape in = ctx.shape(0), out = Shape::unknown();
  DType items = ctx.type(0), pool = ctx.type(1);
  bool known = items != DType::undefined && pool != DType::undefined;
  if (known && (items == DType::string) != (pool == DType::string))
    fail("expected items and pool of the same type, got ", items, " and ", pool);
  if (in.ranked()) {
    if (in.rank() > 2) fail("expected data of shape [C] or [N,C], got ", in);
    out = in.rank() == 2 ? Shape{in[0], Dim(a.width())} : Shape{Dim(a.width())};
  }
  ctx.output(0, DType::f32, out);
}

// Items as numbers: strings are numbered by their position in the pool, -1 if they are not in it.
struct TfIdfItems {
  std::vector<int64_t> pool, data;
};
TfIdfItems tfidf_items(TensorView data, TensorView pool) {
  if (pool.type() != DType::string) return {pool.to<int64_t>(), data.to<int64_t>()};
  TfIdfItems items;
  std::map<std::string_view, int64_t> numbers;
  for (int64_t i = 0; i < pool.size(); ++i)
    items.pool.push_back(
        numbers.emplace(view(pool.data<graft_str>()[i]), static_cast<int64_t>(numbers.size())).first->second);
  for (int64_t i = 0; i < data.size(); ++i) {
    auto it = numbers.find(view(data.data<graft_str>()[i]));
    items.data.push_back(it == numbers.end() ? -1 : it->second);
  }
  return items;
}

using TfIdfGrams = std::map<std::vector<int64_t>, size_t>;  // from n-gram to column

// The n-grams of one length; `next` counts those of all lengths.
TfIdfGrams tfidf_grams(const TfIdf& a, const std::vector<int64_t>& pool, size_t length, size_t& next) {
  TfIdfGrams grams;
  if (length > a.ngram_counts.size()) return grams;
  int64_t size = static_cast<int64_t>(pool.size()), begin = a.ngram_counts[length - 1];
  int64_t end = length < a.ngram_counts.size() ? a.ngram_counts[length] : size;
  if (begin < 0 || begin > size || end < 0 || end > size)
    fail("ngram_counts ", a.ngram_counts, " exceed a pool of ", size);
  auto n = static_cast<int64_t>(length);
  for (int64_t i = begin; end - i >= n; i += n, ++next) {
    if (next >= a.ngram_indexes.size())
      fail("expected one value in ngram_indexes per n-gram of the pool, got only ", next);
    grams[{pool.begin() + i, pool.begin() + i + n}] = static_cast<size_t>(a.ngram_indexes[next]);
  }
  return grams;
}

void tfidf_run(Run& ctx, const TfIdf& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  TfIdfItems items = tfidf_items(x, ctx.input(1));
  auto width = static_cast<size_t>(a.width());
  size_t rows = x.rank() == 2 ? static_cast<size_t>(x.dim(0)) : 1, columns = rows ? items.data.size() / rows : 0;
  std::vector<double> out(rows * width, 0);
  size_t next = 0;
  for (size_t n = 1; n <= a.ngram_counts.size(); ++n) {
    TfIdfGrams grams = tfidf_grams(a, items.pool, n, next);
    if (static_cast<int64_t>(n) < a.min_gram_length || static_cast<int64_t>(n) > a.max_gram_length) continue;
    // Skips do not apply to 1-grams.
    auto skips = n == 1 ? 0 : std::min<int64_t>(a.max_skip_count, static_cast<int64_t>(columns));
    for (size_t step = 1; step <= static_cast<size_t>(skips) + 1; ++step)
      for (size_t r = 0; r < rows; ++r)
        for (size_t first = 0; first + (n - 1) * step < columns; ++first) {
          std::vector<int64_t> gram;
          for (size_t k = 0; k < n; ++k) gram.push_back(items.data[r * columns + first + k * step]);
          if (auto it = grams.find(gram); it != grams.end()) ++out[r * width + it->second];
        }
  }
  std::vector<double> weights(width, 1);
  if (ctx.has_input(2)) weights = ctx.input(2).to<double>();
  if (weights.size() < width) fail("expected ", width, " weights, one per column, got ", weights.size());
  for (size_t i = 0; a.mode != TfIdf::tf && i < out.size(); ++i)
    out[i] = (a.mode == TfIdf::idf ? std::min(out[i], 1.0) : out[i]) * weights[i % width];
  y.assign(out);
}

Value import_tfidf(Builder& layer) {
  Value pool = layer.has("pool_strings") ? text_list(layer, layer.get<std::vector<std::string>>("pool_strings"))
                                         : layer.ints(layer.get<std::vector<int64_t>>("pool_int64s"));
  std::vector<Value> inputs{layer.input(0), pool};
  if (auto weights = layer.get<std::vector<float>>("weights", {}); !weights.empty()) {
    auto n = static_cast<int64_t>(weights.size());
    inputs.push_back(layer.constant(std::move(weights), {n}));
  }
  return layer.op("TfIdfVectorizer@graft", inputs,
                  {{"min_gram_length", layer.get<int64_t>("min_gram_length")},
                   {"max_gram_length", layer.get<int64_t>("max_gram_length")},
                   {"max_skip_count", layer.get<int64_t>("max_skip_count")},
                   {"mode", layer.get<std::string>("mode")},
                   {"ngram_counts", layer.get<std::vector<int64_t>>("ngram_counts")},
                   {"ngram_indexes", layer.get<std::vector<int64_t>>("ngram_indexes")}});
}

}  // namespace

Definitions define_tfidf_vectorizer() {
  return op<TfIdf>("TfIdfVectorizer", "graft")
      .doc("Count the n-grams of a pool in each row, optionally weighted (TF-IDF)")
      .inputs("data, pool, weights?")
      .infer(tfidf_infer)
      .reference(tfidf_run)
      .import(onnx("TfIdfVectorizer").expand(import_tfidf));
}

}  // namespace graft

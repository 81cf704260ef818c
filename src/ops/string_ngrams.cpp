#include "splits.hpp"
#include "strings.hpp"

namespace graft {
namespace {

struct StringNGrams {
  std::string separator, left_pad, right_pad;
  std::vector<int64_t> ngram_widths;
  int64_t pad_width = 0;
  bool preserve_short_sequences = false;
  static constexpr std::tuple schema{
      attr("separator", &StringNGrams::separator, "text between two words"),
      attr("ngram_widths", &StringNGrams::ngram_widths, "numbers of words in an n-gram").between(1, 1 << 20),
      attr("left_pad", &StringNGrams::left_pad, "word in front of each row"),
      attr("right_pad", &StringNGrams::right_pad, "word behind each row"),
      attr("pad_width", &StringNGrams::pad_width,
           "how often the words in front and behind are repeated, at most one less than the width; -1: as often as "
           "possible")
          .between(-1, 1 << 20),
      attr("preserve_short_sequences", &StringNGrams::preserve_short_sequences,
           "give a row that is too short for any n-gram as one")};
};

void ngrams_infer(Infer& ctx, const StringNGrams&) {
  strings_expect(ctx);
  merge(ctx.shape(0), Shape::of_rank(1));
  rows_of_splits(ctx, 1);
  ctx.output(0, DType::string, Shape{Dim()});
  ctx.output(1, ctx.type(1), ctx.shape(1));
}

constexpr int64_t ngram_budget = 1 << 26;

// The n-grams of one row. `budget` is how many words those of all rows may still have.
class NGramRow {
 public:
  NGramRow(const StringNGrams& a, const TensorView& words, int64_t begin, int64_t end, int64_t& budget)
      : a_(a), words_(words), begin_(begin), size_(end - begin), budget_(budget) {}
  std::vector<std::string> all() const {
    std::vector<std::string> out;
    for (int64_t width : a_.ngram_widths) {
      int64_t pad = a_.pad_width < 0 ? width - 1 : std::min(a_.pad_width, width - 1);
      for (int64_t first = -pad; first + width <= size_ + pad; ++first) out.push_back(joined(first, width));
    }
    if (out.empty() && a_.preserve_short_sequences && size_ > 0) {
      int64_t pad = std::max<int64_t>(a_.pad_width, 0);
      out.push_back(joined(-pad, size_ + 2 * pad));
    }
    return out;
  }

 private:
  std::string joined(int64_t first, int64_t width) const {
    std::string out;
    if ((budget_ -= width) < 0) fail("expected n-grams of at most ", ngram_budget, " words in all, got more");
    for (int64_t i = first; i < first + width; ++i) {
      if (i > first) out += a_.separator;
      out += i < 0        ? std::string_view(a_.left_pad)
             : i >= size_ ? std::string_view(a_.right_pad)
                          : string_of(words_, begin_ + i);
    }
    return out;
  }
  const StringNGrams& a_;
  const TensorView& words_;
  int64_t begin_, size_;
  int64_t& budget_;
};

void ngrams_run(Run& ctx, const StringNGrams& a) {
  TensorView words = ctx.input(0);
  std::vector<int64_t> splits, out_splits;
  if (ctx.input(1).size() > 0) splits = splits_of(ctx.input(1), words.size()), out_splits = {0};
  std::vector<std::string> out;
  int64_t budget = ngram_budget;
  for (size_t row = 0; row + 1 < splits.size(); ++row) {
    for (std::string& s : NGramRow(a, words, splits[row], splits[row + 1], budget).all()) out.push_back(std::move(s));
    out_splits.push_back(static_cast<int64_t>(out.size()));
  }
  store_strings(ctx, 0, out);
  ctx.output(1).assign(out_splits);
}

}  // namespace

Definitions define_string_ngrams() {
  return op<StringNGrams>("StringNGrams", "graft")
      .doc("The n-grams of each row of words, joined, of one width after the other")
      .inputs("data, splits")
      .outputs("ngrams, ngrams_splits")
      .infer(ngrams_infer)
      .reference(ngrams_run)
      .import(tensorflow("StringNGrams").ignore("Tsplits"));
}

}  // namespace graft

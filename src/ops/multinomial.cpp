#include <graft/kit/known.hpp>
#include <graft/op.hpp>

#include "philox.hpp"

namespace graft {
namespace {

struct Multinomial {
  DType convert_type = DType::i64;
  bool with_replacement = false, log_probs = false;
  int64_t global_seed = 0, op_seed = 0;
  static constexpr std::tuple schema{
      attr("convert_type", &Multinomial::convert_type, "element type of the result, i64 or i32").required(),
      attr("with_replacement", &Multinomial::with_replacement, "sample with replacement").required(),
      attr("log_probs", &Multinomial::log_probs, "the input holds log-probabilities").required(),
      attr("global_seed", &Multinomial::global_seed,
           "seed of the model; if both seeds are 0, results differ between runs"),
      attr("op_seed", &Multinomial::op_seed, "seed of this operation")};
};

void multinomial_infer(Infer& ctx, const Multinomial& a) {
  Shape probs = ctx.shape(0);
  if (probs.ranked() && probs.rank() != 2) fail("expected probabilities of rank 2, got shape ", probs);
  if (a.convert_type != DType::i64 && a.convert_type != DType::i32)
    fail("expected convert_type i64 or i32, got ", a.convert_type);
  Dim samples;
  if (auto n = numbers_of(ctx, 1)) {
    if (n->rank() != 1) fail("expected a single number of samples, got ", n->rank());
    samples = (*n)[0];
    if (samples.max() < 0) fail("expected a non-negative number of samples, got ", samples.min());
    if (samples.min() < 0) samples = Dim();
  }
  if (!a.with_replacement && probs.ranked() && samples.min() > probs[1].max())
    fail("cannot draw ", samples, " samples from ", probs[1], " classes without replacement");
  ctx.output(0, a.convert_type, Shape{probs.ranked() ? probs[0] : Dim(), samples});
}

// The first class whose cumulative probability reaches the drawn number. T is the type of the arithmetic.
template <class T>
void multinomial_draw(Run& ctx, const Multinomial& a) {
  TensorView probs = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<T> p = probs.to<T>();
  auto batch = static_cast<size_t>(probs.dim(0)), classes = static_cast<size_t>(probs.dim(1)),
       samples = static_cast<size_t>(y.dim(1));
  if (classes == 0 && y.size() > 0) fail("expected at least one class, got none");
  RandomSeeds seeds = RandomSeeds::of(a.global_seed, a.op_seed);
  RandomWords words(RandomAlignment::tensorflow, seeds.global_seed, seeds.op_seed);
  std::vector<int64_t> out;
  for (size_t b = 0; b < batch; ++b) {
    std::vector<T> cumulated(p.begin() + static_cast<ptrdiff_t>(b * classes),
                             p.begin() + static_cast<ptrdiff_t>((b + 1) * classes));
    T sum = 0;
    for (T& v : cumulated) v = sum += a.log_probs ? std::exp(v) : v;
    for (T& v : cumulated) v /= sum;
    for (size_t s = 0; s < samples; ++s) {
      auto drawn = static_cast<T>(random_fraction(words, probs.type(), RandomAlignment::tensorflow));
      size_t chosen = 0;
      // A draw of exactly 0 must not select a class of probability 0.
      while (chosen + 1 < classes && (!(drawn <= cumulated[chosen]) || cumulated[chosen] == 0)) ++chosen;
      out.push_back(static_cast<int64_t>(chosen));
      if (a.with_replacement) continue;
      T gone = chosen ? cumulated[chosen] - cumulated[chosen - 1] : cumulated[0], rest = 1 - gone;
      for (size_t k = 0; k < classes; ++k) cumulated[k] = (k >= chosen ? cumulated[k] - gone : cumulated[k]) / rest;
    }
  }
  y.assign(out);
}
void multinomial_run(Run& ctx, const Multinomial& a) {
  if (ctx.input(0).type() == DType::f64) multinomial_draw<double>(ctx, a);
  else multinomial_draw<float>(ctx, a);
}

}  // namespace

Definitions define_multinomial() {
  return op<Multinomial>("Multinomial", 13)
      .doc("Random class indices drawn from a multinomial distribution, row by row")
      .inputs("probs, num_samples")
      .infer(multinomial_infer)
      .reference(multinomial_run)
      .impure();
}

}  // namespace graft

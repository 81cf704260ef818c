#include <graft/kit/known.hpp>
#include <graft/op.hpp>

#include "philox.hpp"

namespace graft {
namespace {

struct RandomUniform {
  DType output_type = DType::undefined;
  int64_t op_seed = 0, global_seed = 0;
  RandomAlignment alignment = RandomAlignment::tensorflow;
  static constexpr std::tuple schema{
      attr("output_type", &RandomUniform::output_type, "element type of the result").required(),
      attr("op_seed", &RandomUniform::op_seed,
           "seed of this operation; if both seeds are 0, results differ between runs"),
      attr("global_seed", &RandomUniform::global_seed, "seed of the model"),
      attr("alignment", &RandomUniform::alignment, "framework whose random numbers are reproduced")
          .one_of("tensorflow", "pytorch")};
};

bool is_random_type(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16 || t == DType::f64 || t == DType::i32 ||
         t == DType::i64;
}

void random_uniform_infer(Infer& ctx, const RandomUniform& a) {
  if (!is_random_type(a.output_type)) fail("random numbers of type ", a.output_type, " are not supported");
  for (size_t i : {1, 2}) {
    DType t = ctx.type(i);
    if (t != DType::undefined && t != a.output_type)
      fail("expected input ", i, " of type ", a.output_type, " like the result, got ", t);
    Dim n = ctx.shape(i).elements();
    if (!n.can_be(1)) fail("expected a single number in input ", i, ", got ", n);
  }
  if (auto low = ctx.values<double>(1), high = ctx.values<double>(2); low && high && !((*low)[0] < (*high)[0]))
    fail("expected maxval above minval, got minval ", (*low)[0], " and maxval ", (*high)[0]);
  if (auto dims = numbers_of(ctx, 0)) {
    for (Dim& d : *dims) {
      if (d.max() < 0) fail("expected non-negative dimensions, got ", d.min());
      if (d.min() < 0) d = Dim::between(0, d.max());
    }
    return ctx.output(0, a.output_type, *dims);
  }
  Shape s = ctx.shape(0);
  bool rank = s.ranked() && s.rank() == 1 && s[0].known() && s[0].value() <= 64;
  ctx.output(0, a.output_type, rank ? Shape::of_rank(static_cast<size_t>(s[0].value())) : Shape::unknown());
}

// The elements after a round trip through the element type.
std::vector<float> random_stored_as(OutputView like, std::vector<float> v) {
  like.assign(v);
  return like.to<float>();
}

// Each step is rounded to the element type, as arithmetic in that type would.
void random_reals(OutputView y, RandomWords& words, RandomAlignment alignment, double low, double high) {
  auto n = static_cast<size_t>(y.size());
  if (y.type() == DType::f64) {
    std::vector<double> v(n);
    for (double& x : v) x = random_fraction(words, DType::f64, alignment) * (high - low) + low;
    return y.assign(v);
  }
  auto first = static_cast<float>(low), span = static_cast<float>(high) - first;
  bool narrow = y.type() != DType::f32 && alignment == RandomAlignment::tensorflow;
  std::vector<float> v(n, span);
  if (y.type() != DType::f32) v = random_stored_as(y, v);
  for (float& x : v) x = static_cast<float>(random_fraction(words, y.type(), alignment)) * x;
  if (narrow) v = random_stored_as(y, v);
  for (float& x : v) x += first;
  y.assign(v);
}

void random_integers(OutputView y, RandomWords& words, RandomAlignment alignment, int64_t low, int64_t high) {
  auto span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  constexpr int64_t one_word = UINT32_MAX;
  bool pytorch = alignment == RandomAlignment::pytorch,
       narrow = y.type() == DType::i32 || (pytorch && low <= one_word && high <= one_word);
  std::vector<int64_t> v;
  for (int64_t i = 0; i < y.size(); ++i) {
    uint64_t word = words.next();
    if (!narrow) {
      uint64_t more = words.next();
      word = pytorch ? word << 32 | more : more << 32 | word;
    }
    v.push_back(static_cast<int64_t>(word % span + static_cast<uint64_t>(low)));
  }
  y.assign(v);
}

void random_uniform_run(Run& ctx, const RandomUniform& a) {
  OutputView y = ctx.output(0);
  RandomSeeds seeds = RandomSeeds::of(a.global_seed, a.op_seed);
  RandomWords words(a.alignment, seeds.global_seed, seeds.op_seed);
  if (is_real(y.type())) {
    random_reals(y, words, a.alignment, ctx.input(1).scalar<double>(), ctx.input(2).scalar<double>());
  } else {
    auto low = ctx.input(1).scalar<int64_t>(), high = ctx.input(2).scalar<int64_t>();
    if (low >= high) fail("expected maxval above minval, got minval ", low, " and maxval ", high);
    random_integers(y, words, a.alignment, low, high);
  }
}

}  // namespace

Definitions define_random_uniform() {
  return op<RandomUniform>("RandomUniform", 8)
      .doc("Uniform random numbers in [minval, maxval); reproducible if a seed is given")
      .inputs("shape, minval, maxval")
      .infer(random_uniform_infer)
      .reference(random_uniform_run)
      .impure();
}

}  // namespace graft

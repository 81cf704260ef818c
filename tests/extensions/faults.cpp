// Operations with one fault each, for graft check. tests/cli/test_check.py says what it must find in each of them.
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>
#include <graft/extension.hpp>

namespace {

using namespace graft;

// ---- what is right: y = 2 * x ----

void same(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
void twice(Run& ctx, const NoAttributes&) {
  std::vector<double> v = ctx.input(0).to<double>();
  for (double& x : v) x *= 2;
  ctx.output(0).assign(v);
}
void only_f32(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
}

struct Memory {
  explicit Memory(Run& ctx) : x(ctx.input(0).data<float>()), y(ctx.output(0).data<float>()), n(ctx.output(0).size()) {}
  const float* x;
  float* y;
  int64_t n;
  void fill() const {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
  }
};

// The operation that computes 2 * x, with a CPU kernel of its own.
Op doubled(std::string_view name, void (*run)(Run&, const NoAttributes&)) {
  return op(name, "faults")
      .inputs("x")
      .infer(same)
      .reference(twice)
      .kernel(Kernel("CPU", "planted").accept(only_f32).run(run));
}

// ---- memory ----

void past_the_end(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  m.fill();
  if (m.n % 4) m.y[m.n] = 0;
}
void before_the_start(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  m.fill();
  m.y[-1] = 1;
}
void past_the_input(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  m.fill();
  const_cast<float*>(m.x)[m.n] = 0;  // a sentinel
}
void unwritten(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  for (int64_t i = 0; i + 1 < m.n; i += 2) m.y[i] = 2 * m.x[i], m.y[i + 1] = 2 * m.x[i + 1];
}
void no_scalars(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  if (ctx.input(0).rank() > 0) m.fill();
}
void input_modified(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  auto* x = const_cast<float*>(m.x);
  for (int64_t i = 0; i < m.n; ++i) x[i] *= 2, m.y[i] = x[i];
}
void input_restored_wrongly(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  m.fill();
  if (m.n) const_cast<float*>(m.x)[m.n - 1] += 1;
}
void stencil(Run& ctx, const NoAttributes&) {  // reads one element too many
  Memory m(ctx);
  for (int64_t i = 0; i < m.n; ++i) m.y[i] = m.x[i] + m.x[i + 1] - m.x[i + 1] + m.x[i];
}
size_t scratch_for_all(Prepare& ctx, const NoAttributes&) {
  auto bytes = static_cast<size_t>(ctx.shape(0).elements().value()) * sizeof(float);
  ctx.scratch(bytes + 1);
  return bytes;
}
void scratch_taken_as_zero(Run& ctx, const NoAttributes&, const size_t&) {
  Memory m(ctx);
  auto* sum = static_cast<float*>(ctx.scratch());
  for (int64_t i = 0; i < m.n; ++i) sum[i] += 2 * m.x[i], m.y[i] = sum[i];
}
size_t scratch_for_fewer(Prepare& ctx, const NoAttributes&) {
  ctx.scratch(static_cast<size_t>(ctx.shape(0).elements().value()) * sizeof(float) / 2 + 1);
  return 0;
}
void scratch_overrun(Run& ctx, const NoAttributes&, const size_t&) {
  Memory m(ctx);
  auto* copy = static_cast<float*>(ctx.scratch());
  for (int64_t i = 0; i < m.n; ++i) copy[i] = 2 * m.x[i];
  for (int64_t i = 0; i < m.n; ++i) m.y[i] = copy[i];
}

// ---- state ----

void accumulates(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  for (int64_t i = 0; i < m.n; ++i) m.y[i] += 2 * m.x[i];
}
std::atomic<int> calls{0};
void counts_calls(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  float more = static_cast<float>(calls++);
  for (int64_t i = 0; i < m.n; ++i) m.y[i] = 2 * m.x[i] + more;
}
void allocates(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  std::vector<float> copy(m.x, m.x + m.n);
  for (int64_t i = 0; i < m.n; ++i) m.y[i] = 2 * copy[static_cast<size_t>(i)];
}

// ---- threads ----

void count_elements(Run& ctx, const NoAttributes&) {
  ctx.output(0).assign(std::vector<double>{double(ctx.input(0).size())});
}
void one_number(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), Shape{1}); }
void racing_sum(Run& ctx, const NoAttributes&) {
  float* y = ctx.output(0).data<float>();
  y[0] = 0;
  ctx.parallel_for(ctx.input(0).size(), 1,
                   [&](int64_t begin, int64_t end) { y[0] += static_cast<float>(end - begin); });
}
float shared_buffer[1 << 17];
void shares_a_buffer(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  for (int64_t i = 0; i < m.n; ++i) *const_cast<volatile float*>(&shared_buffer[i]) = 2 * m.x[i];
  std::this_thread::yield();  // so that a busy machine interleaves the calls, too
  for (int64_t i = 0; i < m.n; ++i) m.y[i] = *const_cast<volatile float*>(&shared_buffer[i]);
  // Another call writes other elements meanwhile, unless none runs.
  for (int64_t i = 0; i < m.n; ++i) *const_cast<volatile float*>(&shared_buffer[i]) = -1;
}
void overlapping_pieces(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  ctx.parallel_for(m.n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) m.y[i] = 2 * m.x[i];
    if (end < m.n) m.y[end] = 0;  // the neighbor's
  });
}

// ---- values ----

void nan_lost(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  for (int64_t i = 0; i < m.n; ++i) m.y[i] = m.x[i] == m.x[i] ? 2 * m.x[i] : 0;
}
void infinity_clamped(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  for (int64_t i = 0; i < m.n; ++i) m.y[i] = std::isinf(m.x[i]) ? 3e38f : 2 * m.x[i];
}
void wrong_tail(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  m.fill();
  for (int64_t i = m.n / 8 * 8; i < m.n; ++i) m.y[i] = m.x[i];
}
void only_bf16(Accept& ctx) {
  if (ctx.type(0) != DType::bf16) unsupported("expected bf16, got ", ctx.type(0));
}
void truncates_bf16(Run& ctx, const NoAttributes&) {
  const auto* x = static_cast<const uint16_t*>(ctx.input(0).bytes());
  auto* y = static_cast<uint16_t*>(ctx.output(0).raw()->data);
  for (int64_t i = 0, n = ctx.output(0).size(); i < n; ++i)
    y[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(std::bit_cast<float>(uint32_t{x[i]} << 16) * 1.1f) >> 16);
}
void only_f16(Accept& ctx) {
  if (ctx.type(0) != DType::f16) unsupported("expected f16, got ", ctx.type(0));
}
void truncates_f16(Run& ctx, const NoAttributes&) {
  const auto* x = static_cast<const uint16_t*>(ctx.input(0).bytes());
  auto* y = static_cast<uint16_t*>(ctx.output(0).raw()->data);
  for (int64_t i = 0, n = ctx.output(0).size(); i < n; ++i) {
    uint32_t sign = x[i] & 0x8000u, exponent = x[i] >> 10 & 31, mantissa = x[i] & 0x3ff;
    if (exponent == 31) {
      y[i] = x[i];
      continue;
    }
    float v = exponent ? std::ldexp(static_cast<float>(mantissa | 0x400), static_cast<int>(exponent) - 25)
                       : std::ldexp(static_cast<float>(mantissa), -24);
    uint32_t bits = std::bit_cast<uint32_t>(v * 1.1f);
    int e = static_cast<int>(bits >> 23 & 255) - 112;
    uint32_t normal = (static_cast<uint32_t>(e) << 10) | (bits >> 13 & 0x3ff);
    y[i] = static_cast<uint16_t>(sign | (e >= 31 ? 0x7c00u
                                         : e > 0 ? normal
                                                 : static_cast<uint32_t>(v * 1.1f * 0x1p24f)));
  }
}
void kernel_fails(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  if (m.n == 1) fail("a single element is not supported");
  m.fill();
}
void crashes(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  m.fill();
  if (m.n > 30) *const_cast<volatile float*>(static_cast<float*>(nullptr)) = 1;
}
void reversed(Run& ctx, const NoAttributes&) {
  std::vector<double> v = ctx.input(0).to<double>();
  ctx.output(0).assign(std::vector<double>(v.rbegin(), v.rend()));
}
void reversed_f32(Run& ctx, const NoAttributes&) {  // reads what it has overwritten, if in place
  Memory m(ctx);
  for (int64_t i = 0; i < m.n; ++i) m.y[i] = m.x[m.n - 1 - i];
}
void as_boolean(Infer& ctx, const NoAttributes&) { ctx.output(0, DType::boolean, ctx.shape(0)); }
void nonzero(Run& ctx, const NoAttributes&) {
  std::vector<double> v = ctx.input(0).to<double>();
  for (double& x : v) x = x != 0;
  ctx.output(0).assign(v);
}
void invalid_boolean(Run& ctx, const NoAttributes&) {
  const float* x = ctx.input(0).data<float>();
  auto* y = static_cast<uint8_t*>(ctx.output(0).raw()->data);
  for (int64_t i = 0, n = ctx.output(0).size(); i < n; ++i) y[i] = x[i] != 0 ? 255 : 0;
}

// ---- shapes ----

void at_most_two(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), Shape{Dim::between(0, 2)}); }
void flat(Run& ctx, const NoAttributes&) {
  int64_t n = ctx.input(0).size();
  ctx.allocate(0, {n}).assign(ctx.input(0).to<double>());
}
void one_more(Infer& ctx, const NoAttributes&) {
  Shape s = ctx.shape(0);
  if (s.ranked() && s.rank() == 3) s[0] = s[0] + 1;
  ctx.output(0, ctx.type(0), s);
}
void any_length(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), Shape{Dim()}); }
void flat_unless_even(Run& ctx, const NoAttributes& a) {
  if (ctx.input(0).size() % 2) flat(ctx, a);
}
void needs_rank(Infer& ctx, const NoAttributes&) {
  Shape s = ctx.shape(0);
  if (s.rank() > 8) fail("expected a rank of at most 8");
  ctx.output(0, ctx.type(0), s);
}
void guesses_dimensions(Infer& ctx, const NoAttributes&) {
  Shape s = ctx.shape(0);
  if (s.ranked())
    for (Dim& d : s)
      if (!d.known()) d = 1;
  ctx.output(0, ctx.type(0), s);
}

struct Outside {
  int64_t size = 0;
  static constexpr std::tuple schema{attr("size", &Outside::size, "a size").at_least(1)};
};
void same_outside(Infer& ctx, const Outside&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
void copy_outside(Run& ctx, const Outside&) { ctx.output(0).assign(ctx.input(0)); }

}  // namespace

GRAFT_EXTENSION("faults", "1.0") {
  return {
      doubled("Sound", [](Run& ctx, const NoAttributes&) { Memory(ctx).fill(); }),
      doubled("PastTheEnd", past_the_end),
      doubled("BeforeTheStart", before_the_start),
      doubled("PastTheInput", past_the_input),
      doubled("Unwritten", unwritten),
      doubled("NoScalars", no_scalars),
      doubled("InputModified", input_modified),
      doubled("InputRestoredWrongly", input_restored_wrongly),
      doubled("Stencil", stencil),
      op("ScratchTakenAsZero", "faults")
          .inputs("x")
          .infer(same)
          .reference(twice)
          .kernel(Kernel("CPU", "planted").accept(only_f32).run(scratch_for_all, scratch_taken_as_zero)),
      op("ScratchOverrun", "faults")
          .inputs("x")
          .infer(same)
          .reference(twice)
          .kernel(Kernel("CPU", "planted").accept(only_f32).run(scratch_for_fewer, scratch_overrun)),
      doubled("Accumulates", accumulates),
      doubled("CountsCalls", counts_calls),
      doubled("Allocates", allocates),
      op("RacingSum", "faults")
          .inputs("x")
          .infer(one_number)
          .reference(count_elements)
          .kernel(Kernel("CPU", "planted").accept(only_f32).run(racing_sum)),
      doubled("SharesABuffer", shares_a_buffer),
      doubled("OverlappingPieces", overlapping_pieces),
      doubled("NanLost", nan_lost),
      doubled("InfinityClamped", infinity_clamped),
      doubled("WrongTail", wrong_tail),
      op("TruncatesBf16", "faults")
          .elementwise([](auto x) { return x * 1.1; })
          .kernel(Kernel("CPU", "planted").accept(only_bf16).run(truncates_bf16)),
      op("TruncatesF16", "faults")
          .elementwise([](auto x) { return x * 1.1; })
          .kernel(Kernel("CPU", "planted").accept(only_f16).run(truncates_f16)),
      doubled("KernelFails", kernel_fails),
      doubled("Crashes", crashes),
      op("Reversed", "faults")
          .inputs("x")
          .infer(same)
          .reference(reversed)
          .in_place()
          .kernel(Kernel("CPU", "planted").accept(only_f32).run(reversed_f32)),
      op("InvalidBoolean", "faults")
          .inputs("x")
          .infer(as_boolean)
          .reference(nonzero)
          .kernel(Kernel("CPU", "planted").accept(only_f32).run(invalid_boolean)),
      op("AtMostTwo", "faults").inputs("x").infer(at_most_two).reference(flat),
      op("OneMore", "faults").inputs("x").infer(one_more).reference(twice),
      op("NotAllocated", "faults").inputs("x").infer(any_length).reference(flat_unless_even),
      op("NeedsRank", "faults").inputs("x").infer(needs_rank).reference(twice),
      op("GuessesDimensions", "faults").inputs("x").infer(guesses_dimensions).reference(twice),
      op<Outside>("Outside", "faults").inputs("x").infer(same_outside).reference(copy_outside),
      op("WrongExample", "faults")
          .inputs("x")
          .infer(same)
          .reference(twice)
          .example("graph (x: f32[1]) { return WrongExample@faults(x) }\nx = {1}\n-> {3}\n"),
  };
}

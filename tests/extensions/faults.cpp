// Operations with one fault each, for graft check. tests/cli/test_check.py says what it must find in each of them.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <graft/extension.hpp>
#include <mutex>
#include <thread>

namespace {

using namespace graft;

// ---- what is right: y = 2 * x ----

void same(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
void slope_infer(Infer& ctx, const NoAttributes&) {
  Shape x = ctx.shape(0), slope = ctx.shape(1);
  if (ctx.type(1) != ctx.type(0)) fail("expected a slope of type ", ctx.type(0), ", got ", ctx.type(1));
  if (x.ranked() && x.rank() < 2) fail("expected channels, got shape ", x);
  if (x.is_static() && slope.is_static() && slope.elements().value() != 1 && slope.elements().value() != x[1].value())
    fail("expected a slope per channel, got shape ", slope);
  ctx.output(0, ctx.type(0), x);
}
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

void sound(Run& ctx, const NoAttributes&) { Memory(ctx).fill(); }

// The operation that computes 2 * x, with a CPU kernel of its own: run, or prepare and run.
template <class... Functions>
Op doubled(std::string_view name, Functions... functions) {
  return op(name, "faults")
      .inputs("x")
      .infer(same)
      .reference(twice)
      .kernel(Kernel("CPU", "planted").accept(only_f32).run(functions...));
}

// ---- traits ----

void times_index(Run& ctx, const NoAttributes&) {
  std::vector<double> v = ctx.input(0).to<double>();
  for (size_t i = 0; i < v.size(); ++i) v[i] *= static_cast<double>(i);
  ctx.output(0).assign(v);
}
void bits_of_type(Run& ctx, const NoAttributes&) {
  std::vector<double> v = ctx.input(0).to<double>();
  for (double& x : v) x = bits_of(ctx.input(0).type());
  ctx.output(0).assign(v);
}

// These commute with reversing and transposing.
void less_mean_of_channels(Run& ctx, const NoAttributes&) {
  std::vector<double> v = ctx.input(0).to<double>();
  int64_t channels = ctx.input(0).rank() > 1 ? ctx.input(0).dim(1) : 1;
  int64_t plane = ctx.input(0).rank() > 2 ? count_of(ctx.input(0).dims().subspan(2)) : 1;
  for (int64_t begin = 0; begin < ctx.input(0).size(); begin += channels * plane)
    for (int64_t i = begin; i < begin + plane; ++i) {
      double sum = 0;
      for (int64_t c = 0; c < channels; ++c) sum += v[static_cast<size_t>(i + c * plane)];
      for (int64_t c = 0; c < channels; ++c)
        v[static_cast<size_t>(i + c * plane)] -= sum / static_cast<double>(channels);
    }
  ctx.output(0).assign(v);
}
void less_largest(Run& ctx, const NoAttributes&) {
  std::vector<double> v = ctx.input(0).to<double>();
  double largest = v.empty() ? 0 : *std::max_element(v.begin(), v.end());
  for (double& x : v) x -= largest;
  ctx.output(0).assign(v);
}
void sorted(Run& ctx, const NoAttributes&) {
  std::vector<double> v = ctx.input(0).to<double>();
  std::sort(v.begin(), v.end());
  ctx.output(0).assign(v);
}
// Takes the elements of a slope with several dimensions along dimension 1, too.
void slope_of_one_dimension(Run& ctx, const NoAttributes&) {
  std::vector<double> v = ctx.input(0).to<double>(), slope = ctx.input(1).to<double>();
  int64_t plane = ctx.input(0).rank() > 2 ? count_of(ctx.input(0).dims().subspan(2)) : 1;
  for (size_t i = 0; i < v.size(); ++i) v[i] *= slope[i / static_cast<size_t>(plane) % slope.size()];
  ctx.output(0).assign(v);
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
void reads_past_the_end(Run& ctx, const NoAttributes&) {  // and does nothing with it
  Memory m(ctx);
  m.fill();
  (void)*const_cast<volatile const float*>(m.x + m.n);
}
void reads_before_the_start(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  m.fill();
  (void)*const_cast<volatile const float*>(m.x - 1);
}
void assumes_alignment(Run& ctx, const NoAttributes&) {  // whole vectors of 16 bytes
  Memory m(ctx);
  if (m.n % 4) return m.fill();
  if (reinterpret_cast<uintptr_t>(m.y) % 16) std::abort();
  m.fill();
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
Op counted(std::string_view name, void (*run)(Run&, const NoAttributes&)) {
  return op(name, "faults")
      .inputs("x")
      .infer(one_number)
      .reference(count_elements)
      .kernel(Kernel("CPU", "planted").accept(only_f32).run(run));
}
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

void overlapping_with_the_same_value(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  ctx.parallel_for((m.n + 6) / 7, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * 7; i < std::min(m.n, end * 7 + 1); ++i) m.y[i] = 2 * m.x[i];
  });
}
void every_piece_writes_all(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  ctx.parallel_for(m.n, 1, [&](int64_t, int64_t) { m.fill(); });
}
// Through a static buffer of this size, which is only correct without concurrent calls.
void through(float* buffer, const Memory& m, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) buffer[(i - begin) % 64] = 2 * m.x[i], m.y[i] = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  for (int64_t i = begin; i < end; ++i) m.y[i] = end - begin > 64 ? 2 * m.x[i] : buffer[(i - begin) % 64];
}
float small_buffer[64];
void pieces_share_a_buffer(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  ctx.parallel_for(m.n, 8, [&](int64_t begin, int64_t end) { through(small_buffer, m, begin, end); });
}
std::mutex small_buffer_mutex;
void locked_buffer(Run& ctx, const NoAttributes&) {  // sound
  Memory m(ctx);
  ctx.parallel_for(m.n, 8, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(small_buffer_mutex);
    through(small_buffer, m, begin, end);
  });
}
size_t scratch_of_threads(Prepare& ctx, const NoAttributes&) {
  ctx.scratch(64 * sizeof(float) * 1024);  // more threads than any machine of the tests has
  return 0;
}
void pieces_share_scratch(Run& ctx, const NoAttributes&, const size_t&) {
  Memory m(ctx);
  auto* scratch = static_cast<float*>(ctx.scratch());
  ctx.parallel_for(m.n, 8, [&](int64_t begin, int64_t end) { through(scratch, m, begin, end); });
}
void scratch_per_thread(Run& ctx, const NoAttributes&, const size_t&) {  // sound
  Memory m(ctx);
  auto* scratch = static_cast<float*>(ctx.scratch());
  ctx.parallel_for(m.n, 8,
                   [&](int64_t begin, int64_t end, int thread) { through(scratch + thread * 64, m, begin, end); });
}
void adds_to_a_local(Run& ctx, const NoAttributes&) {
  int64_t sum = 0;
  ctx.parallel_for(ctx.input(0).size(), 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  ctx.output(0).data<float>()[0] = static_cast<float>(sum);
}
void adds_atomically(Run& ctx, const NoAttributes&) {  // sound
  std::atomic<int64_t> sum = 0;
  ctx.parallel_for(ctx.input(0).size(), 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  ctx.output(0).data<float>()[0] = static_cast<float>(sum);
}

// ---- leaks and loops ----

void keep(const void* p) { asm volatile("" ::"r"(p) : "memory"); }
struct Leaked {
  float* two;
};
Leaked leaks_in_prepare(Prepare&, const NoAttributes&) { return {new float[16]{2}}; }
void use_leaked(Run& ctx, const NoAttributes&, const Leaked& s) {
  Memory m(ctx);
  for (int64_t i = 0; i < m.n; ++i) m.y[i] = m.x[i] * s.two[0];
}
struct Owned {
  std::vector<float> two;
};
Owned allocates_in_prepare(Prepare&, const NoAttributes&) { return {{2}}; }
void use_owned(Run& ctx, const NoAttributes&, const Owned& s) {
  Memory m(ctx);
  for (int64_t i = 0; i < m.n; ++i) m.y[i] = m.x[i] * s.two[0];
}
void leaks_in_reference(Run& ctx, const NoAttributes& a) {
  keep(new double[16]);
  twice(ctx, a);
}
void leaks_in_infer(Infer& ctx, const NoAttributes& a) {
  keep(new double[16]);
  same(ctx, a);
}
void hangs_when_empty(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  m.fill();
  volatile bool forever = m.n == 0;
  while (forever) {
  }
}
void divides_by_the_size(Run& ctx, const NoAttributes&) {  // sound: requests do not call it without elements
  Memory m(ctx);
  volatile int64_t share = 100 / m.n;
  (void)share;
  m.fill();
}
void first_of_none(Run& ctx, const NoAttributes&) {
  Memory m(ctx);
  m.fill();
  m.y[0] = 2 * m.x[0];
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
void flat_twice(Run& ctx, const NoAttributes& a) {
  ctx.allocate(0, {1});
  flat(ctx, a);
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
      doubled("Sound", sound),
      doubled("PastTheEnd", past_the_end),
      doubled("BeforeTheStart", before_the_start),
      doubled("PastTheInput", past_the_input),
      doubled("Unwritten", unwritten),
      doubled("NoScalars", no_scalars),
      doubled("InputModified", input_modified),
      doubled("InputRestoredWrongly", input_restored_wrongly),
      doubled("Stencil", stencil),
      doubled("ReadsPastTheEnd", reads_past_the_end),
      doubled("ReadsBeforeTheStart", reads_before_the_start),
      doubled("AssumesAlignment", assumes_alignment),
      doubled("ScratchTakenAsZero", scratch_for_all, scratch_taken_as_zero),
      doubled("ScratchOverrun", scratch_for_fewer, scratch_overrun),
      doubled("Accumulates", accumulates),
      doubled("CountsCalls", counts_calls),
      doubled("Allocates", allocates),
      counted("RacingSum", racing_sum),
      doubled("SharesABuffer", shares_a_buffer),
      doubled("OverlappingPieces", overlapping_pieces),
      doubled("OverlappingWithTheSameValue", overlapping_with_the_same_value),
      doubled("EveryPieceWritesAll", every_piece_writes_all),
      doubled("PiecesShareABuffer", pieces_share_a_buffer),
      doubled("LockedBuffer", locked_buffer),
      doubled("PiecesShareScratch", scratch_of_threads, pieces_share_scratch),
      doubled("ScratchPerThread", scratch_of_threads, scratch_per_thread),
      counted("AddsToALocal", adds_to_a_local),
      counted("AddsAtomically", adds_atomically),
      doubled("LeaksInPrepare", leaks_in_prepare, use_leaked),
      doubled("AllocatesInPrepare", allocates_in_prepare, use_owned),
      op("LeaksInReference", "faults").inputs("x").infer(same).reference(leaks_in_reference),
      op("LeaksInInfer", "faults").inputs("x").infer(leaks_in_infer).reference(twice),
      doubled("HangsWhenEmpty", hangs_when_empty),
      doubled("DividesByTheSize", divides_by_the_size),
      doubled("FirstOfNone", first_of_none),
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
      op("NotAView", "faults").inputs("x").traits(Trait::view).infer(same).reference(times_index),
      op("NotElementwise", "faults").inputs("x").traits(Trait::elementwise).infer(same).reference(times_index),
      op("NotChannelwise", "faults").inputs("x").traits(Trait::channelwise).infer(same).reference(times_index),
      op("NotOnlyMoved", "faults").inputs("x").traits(Trait::moves_data).infer(same).reference(twice),
      op("MixesChannels", "faults").inputs("x").traits(Trait::channelwise).infer(same).reference(less_mean_of_channels),
      op("MixesElements", "faults").inputs("x").traits(Trait::elementwise).infer(same).reference(less_largest),
      op("Sorts", "faults").inputs("x").traits(Trait::moves_data).infer(same).reference(sorted),
      op("SlopeOfOneDimension", "faults")
          .inputs("x, slope")
          .traits(Trait::per_channel)
          .infer(slope_infer)
          .reference(slope_of_one_dimension),
      op("NotWidening", "faults").inputs("x").traits(Trait::widens).infer(same).reference(bits_of_type),
      op("InvalidBoolean", "faults")
          .inputs("x")
          .infer(as_boolean)
          .reference(nonzero)
          .kernel(Kernel("CPU", "planted").accept(only_f32).run(invalid_boolean)),
      op("AtMostTwo", "faults").inputs("x").infer(at_most_two).reference(flat),
      op("OneMore", "faults").inputs("x").infer(one_more).reference(twice),
      op("NotAllocated", "faults").inputs("x").infer(any_length).reference(flat_unless_even),
      op("AllocatedTwice", "faults").inputs("x").infer(any_length).reference(flat_twice),
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

// Mistakes that an author can make, each in an operation of its own. Cases with the messages are in slips.test.
#include <graft/extension.hpp>
#include <stdexcept>
#include <thread>

namespace {

using namespace graft;

struct Narrow {
  int8_t small = 1;
  uint8_t level = 0;
  static constexpr std::tuple schema{attr("small", &Narrow::small, "an integer of 8 bits"),
                                     attr("level", &Narrow::level, "one without a sign")};
};

void same(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
void same_narrow(Infer& ctx, const Narrow&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
void unknown_count(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), Shape{Dim()}); }
void unknown_texts(Infer& ctx, const NoAttributes&) { ctx.output(0, DType::string, Shape{Dim()}); }
void second_output(Infer& ctx, const NoAttributes&) {
  ctx.output(0, ctx.type(0), ctx.shape(0));
  ctx.output(1, ctx.type(0), ctx.shape(0));
}
void no_output(Infer&, const NoAttributes&) {}
void count_outputs(Infer& ctx, const NoAttributes&) {
  if (ctx.outputs() != 2) fail("expected 2 outputs, got ", ctx.outputs());
  for (size_t i = 0; i < ctx.outputs(); ++i) ctx.output(i, ctx.type(0), ctx.shape(0));
}

void input_five(Run& ctx, const NoAttributes&) { ctx.output(0).assign(ctx.input(5)); }
void absent_input(Run& ctx, const NoAttributes&) { ctx.output(0).assign(ctx.input(1)); }
void output_three(Run& ctx, const NoAttributes&) { ctx.output(3).assign(ctx.input(0)); }
void not_allocated(Run& ctx, const NoAttributes&) { ctx.output(0).data<float>()[0] = 1; }
void assigned(Run& ctx, const NoAttributes&) { ctx.output(0).assign(std::vector<float>{1}); }
void stored(Run& ctx, const NoAttributes&) { ctx.store(ctx.output(0), 0, "text"); }
void forgotten(Run&, const NoAttributes&) {}
void wrong_type(Run& ctx, const NoAttributes&) { ctx.output(0).data<double>()[0] = 1; }
void wrong_count(Run& ctx, const NoAttributes&) { ctx.output(0).assign(std::vector<float>(7)); }
void axis_nine(Run& ctx, const NoAttributes&) { ctx.output(0).assign(std::vector<int64_t>(1, ctx.input(0).dim(9))); }
void crash(Run& ctx, const NoAttributes&) {
  ctx.parallel_for(1000, 1, [&](int64_t, int64_t) { *const_cast<volatile int*>(static_cast<int*>(nullptr)) = 1; });
}
// Not a loop: each frame is used after the call.
int deeper(int depth) {
  volatile char frame[4096];
  frame[depth % 4096] = 1;
  return depth < 0 ? 0 : deeper(depth + 1) + frame[0];
}
void stack_overflow(Run& ctx, const NoAttributes&) { ctx.output(0).data<float>()[0] = static_cast<float>(deeper(0)); }
void overflow_in_pieces(Run& ctx, const NoAttributes&) {
  ctx.parallel_for(1000, 1, [&](int64_t, int64_t) { (void)deeper(0); });
}
void own_thread_throws(Run&, const NoAttributes&) {
  std::thread([] { throw std::runtime_error("no such table"); }).join();
}
void exits(Run&, const NoAttributes&) { std::exit(0); }
void own_thread_crashes(Run&, const NoAttributes&) {
  std::thread([] { *const_cast<volatile int*>(static_cast<int*>(nullptr)) = 1; }).join();
}
void write_outside(Run& ctx, const NoAttributes&) {
  for (int64_t i = 0; i < 32; ++i) ctx.output(0).data<float>()[i] = 1;
}
void write_far_outside(Run& ctx, const NoAttributes&) {
  for (int64_t i = 0; i < 1 << 20; ++i) ctx.output(0).data<float>()[i] = 1;
}
void up_to_100(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), Shape{Dim::between(0, 100)}); }
void allocate_200(Run& ctx, const NoAttributes&) { ctx.allocate(0, {200}); }
void allocate_a_matrix(Run& ctx, const NoAttributes&) { ctx.allocate(0, {2, 2}); }
void allocate_twice(Run& ctx, const NoAttributes&) {
  ctx.allocate(0, {1}).assign(std::vector<float>{1});
  ctx.allocate(0, {1}).assign(std::vector<float>{1});
}
void allocate_other(Run& ctx, const NoAttributes&) { ctx.allocate(0, {3}); }
void copy(Run& ctx, const NoAttributes&) { ctx.output(0).assign(ctx.input(0)); }
void copy_narrow(Run& ctx, const Narrow&) { ctx.output(0).assign(ctx.input(0)); }
void copy_both(Run& ctx, const NoAttributes&) {
  for (size_t i = 0; i < ctx.outputs(); ++i) ctx.output(i).assign(ctx.input(0));
}

Value whole(Builder& layer) { return layer.input(0) + static_cast<double>(layer.get<int64_t>("number")); }
Value eight_bits(Builder& layer) { return layer.input(0) + static_cast<double>(layer.get<int8_t>("number")); }

Op slip(std::string_view name, void (*infer)(Infer&, const NoAttributes&), void (*run)(Run&, const NoAttributes&)) {
  return op(name, "slips").inputs("x, y?").infer(infer).reference(run).impure();
}

}  // namespace

GRAFT_EXTENSION("slips", "1.0") {
  return {slip("InputFive", same, input_five),
          slip("AbsentInput", same, absent_input),
          slip("OutputThree", same, output_three),
          slip("NotAllocated", unknown_count, not_allocated),
          slip("Assigned", unknown_count, assigned),
          slip("Stored", unknown_texts, stored),
          slip("Forgotten", unknown_count, forgotten),
          slip("WrongType", same, wrong_type),
          slip("WrongCount", same, wrong_count),
          slip("AxisNine", same, axis_nine),
          slip("Crash", same, crash),
          slip("StackOverflow", same, stack_overflow),
          slip("OverflowInPieces", same, overflow_in_pieces),
          slip("OwnThreadThrows", same, own_thread_throws),
          slip("OwnThreadCrashes", same, own_thread_crashes),
          slip("Exits", same, exits),
          slip("WriteOutside", same, write_outside),
          slip("WriteFarOutside", same, write_far_outside),
          slip("TooMany", up_to_100, allocate_200),
          slip("OtherRank", up_to_100, allocate_a_matrix),
          slip("AllocateTwice", up_to_100, allocate_twice),
          slip("OtherSize", same, allocate_other),
          slip("SecondOutput", second_output, copy),
          slip("NoOutput", no_output, copy),
          op("TwoOutputs", "slips").inputs("x").outputs("a, b").infer(count_outputs).reference(copy_both),
          op<Narrow>("Narrow", "slips").inputs("x").infer(same_narrow).reference(copy_narrow),
          caffe("Whole").expand(whole),
          caffe("EightBits").expand(eight_bits)};
}

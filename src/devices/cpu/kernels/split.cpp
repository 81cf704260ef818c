// Split and VariadicSplit: copies runs of consecutive elements, distributed among the threads.
#include <cstring>
#include <graft/op.hpp>

namespace graft {
namespace {

struct SplitState {
  int64_t outer = 1;
  std::vector<size_t> parts;  // bytes of a run of each output
  size_t row = 0;             // bytes of a run of the input
};

void split_accept(Accept& ctx) {
  if (!ctx.shape(0).is_static()) unsupported("requires static shapes");
  if (bits_of(ctx.type(0)) < 8 || ctx.type(0) == DType::string) unsupported("expected whole bytes, got ", ctx.type(0));
  if (!ctx.constant(1)) unsupported("requires a constant axis");
  for (size_t i = 0; i < ctx.outputs(); ++i)
    if (!ctx.output(i).shape.is_static()) unsupported("requires static shapes");
}

SplitState split_prepare(Prepare& ctx) {
  SplitState s;
  std::vector<int64_t> dims = ctx.shape(0).values();
  size_t axis = normalize_axis((*ctx.values<int64_t>(1))[0], dims.size());
  auto cell = static_cast<size_t>(bits_of(ctx.type(0))) / 8;
  s.outer = count_of(std::span(dims).first(axis));
  s.row = static_cast<size_t>(count_of(std::span(dims).subspan(axis))) * cell;
  for (size_t i = 0; i < ctx.outputs(); ++i) {
    std::vector<int64_t> part = ctx.output(i).shape.values();
    s.parts.push_back(static_cast<size_t>(count_of(std::span(part).subspan(axis))) * cell);
  }
  return s;
}

void split_run(Run& ctx, const SplitState& s) {
  const auto* from = static_cast<const unsigned char*>(ctx.input(0).raw()->data);
  if (s.row == 0) return;
  constexpr size_t piece = 1 << 15;
  ctx.parallel_for(s.outer, static_cast<int64_t>(std::max<size_t>(1, piece / s.row)), [&](int64_t begin, int64_t end) {
    size_t done = 0;
    for (size_t i = 0; i < s.parts.size(); ++i) {
      size_t part = s.parts[i];
      auto* to = part ? static_cast<unsigned char*>(ctx.output(i).raw()->data) : nullptr;
      for (auto o = static_cast<size_t>(begin); part && o < static_cast<size_t>(end); ++o)
        std::memcpy(to + o * part, from + o * s.row + done, part);
      done += part;
    }
  });
}

}  // namespace

Definitions cpu_split() {
  Definitions all;
  for (std::string_view type : {"Split", "VariadicSplit"})
    all += Kernel("CPU", "copy").of(type, "opset1").accept(split_accept).run(split_prepare, split_run);
  return all;
}

}  // namespace graft

// Pad: each axis has a table of source positions; rows are copied in one piece, and what surrounds them is filled in.
// Trailing axes without padding belong to the element.
#include "indices.hpp"

namespace graft {
namespace {

struct PadPlan {
  std::vector<std::vector<int64_t>> sources;  // per axis: where each position comes from, -1 for the padding value
  std::vector<int64_t> strides;               // of the data, in runs
  int64_t rows = 1;
  int64_t first = 0, last = 0;  // positions of the last axis that are consecutive in the data
  size_t cell = 4, run = 4;     // bytes of an element, and of the elements that move together
};

void pad_accept(Accept& ctx) {
  DType type = ctx.type(0);
  if (bits_of(type) < 8 || bits_of(type) > 64 || type == DType::string)
    unsupported("expected elements of whole bytes, got ", type);
  if (!ctx.shape(0).is_static() || !ctx.output(0).shape.is_static()) unsupported("requires static shapes");
  if (!ctx.constant(1) || !ctx.constant(2)) unsupported("requires constant pads");
}

std::vector<int64_t> pad_sources(std::string_view mode, int64_t n, int64_t begin, int64_t total) {
  std::vector<int64_t> out;
  int64_t seam = mode == "symmetric" ? 1 : 0;
  for (int64_t i = 0; i < total; ++i) {
    int64_t at = i - begin;
    if (mode == "constant") at = at >= 0 && at < n ? at : -1;
    else if (mode == "edge") at = std::clamp<int64_t>(at, 0, n - 1);
    else at = at < 0 ? -at - seam : at >= n ? 2 * (n - 1) + seam - at : at;
    if (mode != "constant" && (at < 0 || at >= n)) unsupported("the padding exceeds an axis of ", n);
    out.push_back(at);
  }
  return out;
}

PadPlan pad_prepare(Prepare& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), y = ctx.output(0).shape.values();
  std::vector<int64_t> begin = ctx.constant(1).to<int64_t>(), end = ctx.constant(2).to<int64_t>();
  auto mode = ctx.attr<std::string>("pad_mode");
  PadPlan p;
  p.cell = p.run = static_cast<size_t>(bits_of(ctx.type(0))) / 8;
  if (begin.size() != x.size() || end.size() != x.size() || x.empty() || count_of(x) == 0 || count_of(y) == 0)
    unsupported("expected data with elements, got shape ", ctx.shape(0));
  // Beyond the ends there is nothing to copy, however far; reflections are within bounds.
  for (size_t i = 0; i < x.size() && (mode == "constant" || mode == "edge"); ++i)
    begin[i] = std::clamp(begin[i], -x[i], y[i]);
  while (x.size() > 1 && begin.back() == 0 && end.back() == 0) {
    p.run *= static_cast<size_t>(x.back());
    x.pop_back(), y.pop_back(), begin.pop_back(), end.pop_back();
  }
  p.strides = strides_of(x);
  for (size_t i = 0; i < x.size(); ++i) p.sources.push_back(pad_sources(mode, x[i], begin[i], y[i]));
  p.rows = count_of(std::span(y).first(y.size() - 1));
  p.first = std::clamp<int64_t>(begin.back(), 0, y.back());
  p.last = std::clamp<int64_t>(begin.back() + x.back(), p.first, y.back());
  return p;
}

// Repeats an element.
void pad_fill(unsigned char* to, size_t bytes, const unsigned char* value, size_t cell) {
  with_cell(cell, [&]<class T>(T v) {
    std::memcpy(&v, value, cell);
    std::fill_n(reinterpret_cast<T*>(to), bytes / cell, v);
  });
}

void pad_row(const PadPlan& p, const unsigned char* from, int64_t row, const unsigned char* value, unsigned char* to) {
  const std::vector<int64_t>& last = p.sources.back();
  int64_t at = 0, width = static_cast<int64_t>(last.size());
  bool inside = true;
  for (size_t i = p.sources.size() - 1; i-- > 0;) {
    auto n = static_cast<int64_t>(p.sources[i].size());
    int64_t source = p.sources[i][static_cast<size_t>(row % n)];
    inside = inside && source >= 0;
    at += source * p.strides[i];
    row /= n;
  }
  auto bytes = [&](int64_t runs) { return static_cast<size_t>(runs) * p.run; };
  if (!inside) return pad_fill(to, bytes(width), value, p.cell);
  auto border = [&](int64_t begin, int64_t end) {
    if (begin < end && last[static_cast<size_t>(begin)] < 0)
      return pad_fill(to + bytes(begin), bytes(end - begin), value, p.cell);
    for (int64_t i = begin; i < end; ++i)
      copy_run(to + bytes(i), from + bytes(at + last[static_cast<size_t>(i)]), p.run);
  };
  border(0, p.first);
  if (p.first < p.last)
    std::memcpy(to + bytes(p.first), from + bytes(at + last[static_cast<size_t>(p.first)]), bytes(p.last - p.first));
  border(p.last, width);
}

void pad_run(Run& ctx, const PadPlan& p) {
  const auto* from = static_cast<const unsigned char*>(ctx.input(0).raw()->data);
  auto* to = static_cast<unsigned char*>(ctx.output(0).raw()->data);
  static constexpr uint64_t zero = 0;
  const void* value = &zero;
  if (ctx.has_input(3)) {
    if (ctx.input(3).size() != 1) fail("expected a scalar pad_value");
    value = ctx.input(3).raw()->data;
  }
  size_t row = p.sources.back().size() * p.run;
  auto grain = static_cast<int64_t>(std::max<size_t>(1, (1 << 15) / row));
  ctx.parallel_for(p.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      pad_row(p, from, r, static_cast<const unsigned char*>(value), to + static_cast<size_t>(r) * row);
  });
}

}  // namespace

Definitions cpu_pad() { return Kernel("CPU", "rows").of("Pad", since(1)).accept(pad_accept).run(pad_prepare, pad_run); }

}  // namespace graft

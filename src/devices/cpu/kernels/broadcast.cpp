// Broadcast: rows of the result are copies of a run of the data, or of one element; in either layout.
#include <graft/kit/broadcast.hpp>

#include "indices.hpp"
#include "rows.hpp"

namespace graft {
namespace {

struct BroadcastPlan {
  RowPlan<1> rows;
  size_t cell = 4;  // bytes of an element
};

void broadcast_accept(Accept& ctx) {
  DType type = ctx.type(0);
  if (bits_of(type) < 8 || bits_of(type) > 64 || type == DType::string)
    unsupported("expected elements of whole bytes, got ", type);
  if (!ctx.shape(0).is_static() || !ctx.output(0).shape.is_static()) unsupported("requires static shapes");
  if (ctx.has_input(2) && !ctx.constant(2)) unsupported("requires constant axes");
}

// One value per channel is in the order of either layout. Those that scale the channels of images go with them.
void channels_accept(Accept& ctx) {
  broadcast_accept(ctx);
  std::vector<int64_t> x = ctx.shape(0).values();
  if (x.size() < 3 || x.size() != ctx.output(0).shape.rank() || x[1] == 1 || count_of(std::span(x).subspan(2)) != 1)
    unsupported("expected one value per channel, got shape ", ctx.shape(0));
}

// The second dimension varies fastest.
template <class T>
void to_last(std::vector<T>& list) {
  std::rotate(list.begin() + 1, list.begin() + 2, list.end());
}

template <class A>
BroadcastPlan broadcast_prepare(Prepare& ctx) {
  BroadcastRule rule(ctx.attributes<A>());
  std::vector<int64_t> x = ctx.shape(0).values(), y = ctx.output(0).shape.values(), steps = strides_of(x);
  std::vector<size_t> axes =
      rule.axes(x.size(), y.size(), rule.is_mapped() ? ctx.constant(2).to<int64_t>() : std::vector<int64_t>());
  if (ctx.input_layout(0) == Layout::channels_last) {
    std::vector<int64_t> order = x;
    to_last(order);
    steps = strides_of(order);
    std::rotate(steps.begin() + 1, steps.end() - 1, steps.end());
  }
  std::vector<int64_t> strides(y.size(), 0);
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] != 1 && x[i] != y[axes[i]])
      unsupported("the data of shape ", ctx.shape(0), " does not broadcast to ", ctx.output(0).shape);
    if (x[i] != 1) strides[axes[i]] = steps[i];
  }
  if (ctx.output_layout(0) == Layout::channels_last) to_last(y), to_last(strides);
  return {plan_strides<1>({strides}, y), static_cast<size_t>(bits_of(ctx.type(0))) / 8};
}

void broadcast_run(Run& ctx, const BroadcastPlan& p) {
  with_cell(p.cell, [&]<class T>(T) {
    const auto* x = static_cast<const T*>(ctx.input(0).raw()->data);
    auto* y = static_cast<T*>(ctx.output(0).raw()->data);
    const int64_t step = p.rows.step[0];
    for_rows(ctx, p.rows, [&](const std::array<int64_t, 1>& from, int64_t to, int64_t n) {
      const T* run = x + from[0];
      if (step == 0) std::fill_n(y + to, n, *run);
      else if (step == 1) std::copy_n(run, n, y + to);
      else
        for (int64_t i = 0; i < n; ++i) y[to + i] = run[i * step];
    });
  });
}

}  // namespace

Definitions cpu_broadcast() {
  using Forms = std::vector<Kernel::Ports>;
  constexpr Layout last = Layout::channels_last, plain = Layout::plain;
  const Kernel::Ports in_plain{{plain}, {plain}}, in_last{{last, plain}, {last}};
  auto kernel = [](std::string_view name, void (*accept)(Accept&), Versions versions, const Forms& forms) {
    return Kernel("CPU", name).of("Broadcast", versions).accept(accept).layouts(forms);
  };
  auto first = since(1).until(3), later = since(3);
  const Forms channels{in_last, in_plain}, any{in_plain, in_last};
  return {kernel("channels", channels_accept, first, channels).run(broadcast_prepare<Broadcast1>, broadcast_run),
          kernel("channels", channels_accept, later, channels).run(broadcast_prepare<Broadcast3>, broadcast_run),
          kernel("rows", broadcast_accept, first, any).run(broadcast_prepare<Broadcast1>, broadcast_run),
          kernel("rows", broadcast_accept, later, any).run(broadcast_prepare<Broadcast3>, broadcast_run)};
}

}  // namespace graft

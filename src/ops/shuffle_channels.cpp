#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct ShuffleChannels {
  int64_t axis = 1, group = 1;
  static constexpr std::tuple schema{attr("axis", &ShuffleChannels::axis, "axis to shuffle"),
                                     attr("group", &ShuffleChannels::group, "number of groups").at_least(1)};
};

void shuffle_channels_infer(Infer& ctx, const ShuffleChannels& a) {
  Shape in = ctx.shape(0);
  if (in.ranked()) {
    size_t axis = normalize_axis(a.axis, in.rank());
    if (in[axis].known() && in[axis].value() % a.group != 0)
      fail("expected a dimension divisible by group ", a.group, ", got ", in[axis]);
  }
  ctx.output(0, ctx.type(0), in);
}

void shuffle_channels_run(Run& ctx, const ShuffleChannels& a) {
  TensorView x = ctx.input(0);
  size_t axis = normalize_axis(a.axis, x.rank());
  int64_t outer = count_of(x.dims().first(axis)), inner = count_of(x.dims().subspan(axis + 1));
  move_reordered(ctx.output(0), x, {outer, a.group, x.dim(axis) / a.group, inner}, {0, 2, 1, 3});
}

}  // namespace

Definitions define_shuffle_channels() {
  return op<ShuffleChannels>("ShuffleChannels", 1)
      .doc("Shuffle channels between groups: transpose [group, n] to [n, group]")
      .traits(Trait::moves_data)
      .inputs("data")
      .infer(shuffle_channels_infer)
      .linear()
      .reference(shuffle_channels_run);
}

}  // namespace graft

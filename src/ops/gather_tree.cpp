#include <graft/kit/known.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

void gather_tree_infer(Infer& ctx, const NoAttributes&) {
  Shape out = merge(merge(ctx.shape(0), ctx.shape(1)), Shape::of_rank(3));
  Shape lengths = merge(ctx.shape(2), Shape{out[1]});
  out[1] = lengths[0];
  if (Shape end = ctx.shape(3); end.ranked() && end.rank() != 0) fail("expected a scalar end_token, got shape ", end);
  ctx.output(0, common_type(ctx), out);
}

void gather_tree_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  int64_t times = x.dim(0), batches = x.dim(1), beams = x.dim(2);
  std::vector<int64_t> parents = ctx.input(1).to<int64_t>(), lengths = ctx.input(2).to<int64_t>();
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> ids = x.to<T>();
    T end = ctx.input(3).scalar<T>();
    std::vector<T> out(ids.size(), end);
    for (int64_t b = 0; b < batches; ++b) {
      int64_t last = std::clamp(lengths[static_cast<size_t>(b)], int64_t{0}, times) - 1;
      for (int64_t k = 0; k < beams; ++k) {
        auto place = [&](int64_t time, int64_t beam) {
          return static_cast<size_t>((time * batches + b) * beams + beam);
        };
        // Follows the parents back from the last step, then replaces everything after the first end token by end
        // tokens.
        for (int64_t t = last, beam = k; t >= 0; --t) {
          if (beam < 0 || beam >= beams) fail("expected parent beams of 0 to ", beams, " (exclusive), got ", beam);
          out[place(t, k)] = ids[place(t, beam)];
          beam = parents[place(t, beam)];
        }
        bool finished = false;
        for (int64_t t = 0; t <= last; ++t) {
          if (finished) out[place(t, k)] = end;
          else finished = out[place(t, k)] == end;
        }
      }
    }
    ctx.output(0).assign(out);
  });
}

}  // namespace

Definitions define_gather_tree() {
  return op("GatherTree", 1)
      .doc("Assemble the full beams of a beam search from the ids of each step and their parent beams")
      .inputs("step_ids, parent_ids, max_seq_len, end_token")
      .infer(gather_tree_infer)
      .reference(gather_tree_run);
}

}  // namespace graft

#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct Gather {
  int64_t batch_dims = 0;
  static constexpr std::tuple schema{
      attr("batch_dims", &Gather::batch_dims, "number of leading axes shared by data and indices")};
};

size_t gather_batch_dims(int64_t batch_dims, size_t indices_rank) {
  auto r = static_cast<int64_t>(indices_rank);
  if (batch_dims < -r || batch_dims > r)
    fail("expected batch_dims of ", -r, " to ", r, " for indices of rank ", r, ", got ", batch_dims);
  return static_cast<size_t>(batch_dims < 0 ? batch_dims + r : batch_dims);
}

// An out-of-range index yields zeros.
void gather_any_run(Run& ctx, int64_t batch_dims) {
  TensorView x = ctx.input(0), where = ctx.input(1);
  OutputView y = ctx.output(0);
  size_t axis = normalize_axis(ctx.input(2).scalar<int64_t>(), x.rank());
  size_t batch = gather_batch_dims(batch_dims, where.rank());
  if (batch > axis) fail("expected batch_dims of at most axis ", axis, ", got ", batch);
  for (size_t i = 0; i < batch; ++i)
    if (x.dim(i) != where.dim(i))
      fail("expected equal batch dimensions in data and indices, got ", x.dim(i), " and ", where.dim(i));
  std::vector<int64_t> indices = where.to<int64_t>();
  int64_t batches = count_of(x.dims().first(batch)), outer = count_of(x.dims().subspan(batch, axis - batch)),
          inner = count_of(x.dims().subspan(axis + 1)), n = x.dim(axis), picks = count_of(where.dims().subspan(batch));
  Cells from(x);
  OutputCells to(y);
  size_t run = static_cast<size_t>(inner) * to.cell_size();
  if (y.size() == 0) return;
  unsigned char* target = to.data();
  const unsigned char* source = from.data();
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t p = 0; p < picks; ++p, target += run) {
        int64_t i = indices[static_cast<size_t>(b * picks + p)];
        if (i < 0) i += n;
        if (i < 0 || i >= n) std::memset(target, 0, run);
        else std::memcpy(target, source + static_cast<size_t>((b * outer + o) * n + i) * run, run);
      }
  to.write_back();
}
void gather_run(Run& ctx, const Gather& a) { gather_any_run(ctx, a.batch_dims); }
void gather1_run(Run& ctx, const NoAttributes&) { gather_any_run(ctx, 0); }

Shape gather_shape(Infer& ctx, int64_t batch_dims) {
  Shape data = ctx.shape(0), indices = ctx.shape(1), out = Shape::unknown();
  if (data.ranked() && data.rank() == 0) fail("expected data of rank 1 or more, got a scalar");
  if (data.ranked() && indices.ranked()) {
    size_t batch = gather_batch_dims(batch_dims, indices.rank());
    if (batch >= data.rank()) fail("expected batch_dims below ", data.rank(), ", the rank of the data, got ", batch);
    auto axis = certain_axis(ctx, 2, data.rank());
    if (!axis) {
      out = Shape::of_rank(data.rank() + indices.rank() - 1 - batch);
    } else {
      if (batch > *axis) fail("expected batch_dims of at most axis ", *axis, ", got ", batch);
      out = Shape();
      for (size_t i = 0; i < *axis; ++i) out.push_back(i < batch ? merge(data[i], indices[i]) : data[i]);
      for (size_t i = batch; i < indices.rank(); ++i) out.push_back(indices[i]);
      for (size_t i = *axis + 1; i < data.rank(); ++i) out.push_back(data[i]);
    }
  }
  ctx.output(0, ctx.type(0), out);
  return out;
}
void gather_infer(Infer& ctx, const Gather& a) {
  follow_moves(ctx, a, gather_run, {0}, {gather_shape(ctx, a.batch_dims)});
}
void gather1_infer(Infer& ctx, const NoAttributes& a) {
  follow_moves(ctx, a, gather1_run, {0}, {gather_shape(ctx, 0)});
}

Value import_gather(Builder& layer) {
  Value axis = layer.scalar(layer.get<int64_t>("axis", 0));
  return layer.op("Gather", {layer.input(0), layer.input(1), axis}, {{"batch_dims", 0}});
}

// ---- earlier opsets ----

// Only the newest version accepts negative indices.
void gather_as_7(Rewrite& at) {
  auto indices = at.input(1).values<int64_t>();
  if (indices && std::all_of(indices->begin(), indices->end(), [](int64_t i) { return i >= 0; }))
    at.restate("Gather@7", at.all_inputs());
}
// Runtimes do not accept a data-dependent axis in the first version.
void gather_as_1(Rewrite& at) {
  if (at.node().has({"batch_dims", int64_t{0}}) && at.input(2).constant())
    at.restate("Gather@1", at.all_inputs(), {"batch_dims"});
}

}  // namespace

Definitions define_gather() {
  auto newer = [](int version) {
    return op<Gather>("Gather", version)
        .doc("Gather slices of the data along an axis by index; negative indices count from the end")
        .traits(Trait::moves_data)
        .inputs("data, indices, axis")
        .infer(gather_infer)
        .linear()
        .reference(gather_run);
  };
  return {
      op("Gather", 1)
          .doc("Gather slices of the data along an axis by index")
          .traits(Trait::moves_data)
          .inputs("data, indices, axis")
          .infer(gather1_infer)
          .linear()
          .reference(gather1_run),
      newer(7).earlier(gather_as_1),
      newer(8).import(onnx("Gather").expand(import_gather)).earlier(gather_as_7),
  };
}

}  // namespace graft

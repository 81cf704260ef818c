#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct GatherND {
  int64_t batch_dims = 0;
  static constexpr std::tuple schema{
      attr("batch_dims", &GatherND::batch_dims, "number of leading axes shared by data and indices").at_least(0)};
};

void gather_nd_run(Run& ctx, const GatherND& a) {
  TensorView x = ctx.input(0), where = ctx.input(1);
  OutputView y = ctx.output(0);
  auto batch = static_cast<size_t>(a.batch_dims);
  if (x.rank() <= batch || where.rank() <= batch) fail("batch_dims ", batch, " is too large for the rank of an input");
  auto tuple = static_cast<size_t>(where.dim(where.rank() - 1));
  if (tuple > x.rank() - batch) fail("index tuples of ", tuple, " exceed data of rank ", x.rank());
  for (size_t i = 0; i < batch; ++i)
    if (x.dim(i) != where.dim(i))
      fail("expected equal batch dimensions in data and indices, got ", x.dim(i), " and ", where.dim(i));
  std::vector<int64_t> indices = where.to<int64_t>(), strides = strides_of(x.dims());
  int64_t batches = count_of(x.dims().first(batch)), whole = count_of(x.dims().subspan(batch)),
          picks = count_of(where.dims().subspan(batch, where.rank() - 1 - batch));
  Cells from(x);
  OutputCells to(y);
  size_t run = static_cast<size_t>(count_of(x.dims().subspan(batch + tuple))) * to.cell_size();
  if (y.size() == 0) return;
  unsigned char* target = to.data();
  const unsigned char* source = from.data();
  const int64_t* next = indices.data();
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t p = 0; p < picks; ++p, target += run) {
      int64_t at = b * whole;
      for (size_t i = 0; i < tuple; ++i) at += checked_index(*next++, x.dim(batch + i)) * strides[batch + i];
      std::memcpy(target, source + static_cast<size_t>(at) * to.cell_size(), run);
    }
  to.write_back();
}

// Version 5 merges the batch axes of the result into one.
template <bool joined>
void gather_nd_infer(Infer& ctx, const GatherND& a) {
  Shape data = ctx.shape(0), indices = ctx.shape(1), out = Shape::unknown();
  auto batch = static_cast<size_t>(a.batch_dims);
  for (const Shape& s : {data, indices})
    if (s.ranked() && s.rank() <= batch) fail("batch_dims ", batch, " is too large for an input of shape ", s);
  if (data.ranked() && indices.ranked() && indices[indices.rank() - 1].known()) {
    auto tuple = static_cast<size_t>(indices[indices.rank() - 1].value());
    if (tuple > data.rank() - batch)
      fail("index tuples of ", tuple, " exceed data of shape ", data, " with ", batch, " batch axes");
    out = Shape();
    Dim batches = 1;
    for (size_t i = 0; i < batch; ++i) {
      Dim d = merge(data[i], indices[i]);
      batches = batches * d;
      if (!joined) out.push_back(d);
    }
    if (joined && batch) out.push_back(batches);
    for (size_t i = batch; i + 1 < indices.rank(); ++i) out.push_back(indices[i]);
    for (size_t i = batch + tuple; i < data.rank(); ++i) out.push_back(data[i]);
  }
  ctx.output(0, ctx.type(0), out);
  follow_moves(ctx, a, gather_nd_run, {0}, {out});
}

// A batch of one on either side is broadcast.
Value import_gather_nd(Builder& layer) {
  Value data = layer.input(0), indices = layer.input(1);
  auto batch = layer.get<int64_t>("batch_dims", 0);
  Shape x = data.shape(), i = indices.shape();
  auto stretch = [&](const Value& v, const Shape& own, const Shape& other) {
    std::vector<int64_t> target(own.rank(), 1);
    bool needed = false;
    for (size_t k = 0; k < static_cast<size_t>(batch) && k < std::min(own.rank(), other.rank()); ++k) {
      if (!own[k].known() || own[k].value() != 1 || !other[k].known() || other[k].value() == 1) continue;
      target[k] = other[k].value();
      needed = true;
    }
    return needed ? layer.op("Broadcast", {v, layer.ints(target)}, {{"mode", "bidirectional"}}) : v;
  };
  if (batch > 0 && x.ranked() && i.ranked()) data = stretch(data, x, i), indices = stretch(indices, i, x);
  return layer.op("GatherND", {data, indices}, {{"batch_dims", batch}});
}

// Version 5 merges the batch axes, which makes no difference for a single one.
void gather_nd_as_5(Rewrite& at) {
  if (at.get<int64_t>("batch_dims") <= 1) at.restate("GatherND@5", at.all_inputs());
}

}  // namespace

Definitions define_gather_nd() {
  return {
      op<GatherND>("GatherND", 5)
          .doc("Gather slices of the data by tuples of indices; the batch axes are merged into one")
          .inputs("data, indices")
          .infer(gather_nd_infer<true>)
          .linear()
          .reference(gather_nd_run),
      op<GatherND>("GatherND", 8)
          .doc("Gather slices of the data by tuples of indices")
          .inputs("data, indices")
          .infer(gather_nd_infer<false>)
          .linear()
          .reference(gather_nd_run)
          .import(onnx("GatherND").expand(import_gather_nd))
          .import(onnx("GatherND").domain("com.microsoft").expand(import_gather_nd))
          .earlier(gather_nd_as_5),
  };
}

}  // namespace graft

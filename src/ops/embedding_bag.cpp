// Sums and means over bags of embedding rows. The operations differ in how they define the contents of a bag.
#include <graft/kit/known.hpp>
#include <graft/numeric.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct EmbeddingBag {
  enum Reduction { sum, mean } reduction = sum;
  static constexpr std::tuple schema{
      attr("reduction", &EmbeddingBag::reduction, "reduction of the rows in a bag").one_of("sum", "mean")};
};

// One output row per bag.
void embedding_output(Infer& ctx, const Dim& bags) {
  Shape table = ctx.shape(0), out = table;
  if (table.ranked() && table.rank() == 0) fail("expected an embedding table of rank 1 or more, got a scalar");
  if (table.ranked()) out[0] = bags;
  ctx.output(0, ctx.type(0), out);
}
void embedding_check_weights(Infer& ctx, size_t input, bool mean) {
  if (!ctx.has_input(input)) return;
  if (mean) fail("per_sample_weights require reduction 'sum', got 'mean'");
  common_type(ctx, {0, input});
  merge(ctx.shape(1), ctx.shape(input));
}

// `bags[i]` are positions in `indices`; an empty bag yields row `fallback`, or zeros if that is -1.
void embedding_reduce(Run& ctx, const std::vector<std::vector<size_t>>& bags, int64_t fallback, TensorView weights,
                      bool mean) {
  TensorView table = ctx.input(0);
  std::vector<int64_t> indices = ctx.input(1).to<int64_t>();
  int64_t rows = table.dim(0);
  auto width = static_cast<size_t>(count_of(table.dims().subspan(1)));
  auto row_of = [&](int64_t index) {
    if (index < 0 || index >= rows) fail("index ", index, " is out of range for an embedding table of ", rows, " rows");
    return static_cast<size_t>(index) * width;
  };
  with_number_type(table.type(), [&]<class T>(T) {
    std::vector<T> in = table.to<T>(), weight, out(bags.size() * width, T{});
    if (weights) weight = weights.to<T>();
    if (weights && weight.size() != indices.size())
      fail("expected ", indices.size(), " weights, one per index, got ", weight.size());
    for (size_t b = 0; b < bags.size(); ++b) {
      T* sum = out.data() + b * width;
      for (size_t place : bags[b]) {
        const T* row = in.data() + row_of(indices[place]);
        for (size_t k = 0; k < width; ++k)
          sum[k] = wrap_add(sum[k], weights ? wrap_mul(row[k], weight[place]) : row[k]);
      }
      if (bags[b].empty() && fallback != -1) std::copy_n(in.data() + row_of(fallback), width, sum);
      if (mean && !bags[b].empty())
        for (size_t k = 0; k < width; ++k) sum[k] = safe_div(sum[k], static_cast<T>(bags[b].size()));
    }
    ctx.output(0).assign(out);
  });
}
TensorView embedding_optional(Run& ctx, size_t input) { return ctx.has_input(input) ? ctx.input(input) : TensorView(); }
int64_t embedding_default(Run& ctx, size_t input) {
  return ctx.has_input(input) ? ctx.input(input).scalar<int64_t>() : -1;
}

void bag_offsets_infer(Infer& ctx, const EmbeddingBag& a) {
  length_of(ctx, 1);
  embedding_check_weights(ctx, 4, a.reduction == EmbeddingBag::mean);
  embedding_output(ctx, length_of(ctx, 2));
}
void bag_offsets_run(Run& ctx, const EmbeddingBag& a) {
  std::vector<int64_t> offsets = ctx.input(2).to<int64_t>();
  int64_t count = ctx.input(1).size();
  offsets.push_back(count);
  std::vector<std::vector<size_t>> bags(offsets.size() - 1);
  for (size_t b = 0; b < bags.size(); ++b) {
    if (offsets[b] < 0 || offsets[b] > offsets[b + 1] || offsets[b + 1] > count)
      fail("expected offsets in ascending order of 0 to ", count, ", got ", offsets[b], " and ", offsets[b + 1]);
    for (int64_t i = offsets[b]; i < offsets[b + 1]; ++i) bags[b].push_back(static_cast<size_t>(i));
  }
  embedding_reduce(ctx, bags, embedding_default(ctx, 3), embedding_optional(ctx, 4), a.reduction == EmbeddingBag::mean);
}

void bag_packed_infer(Infer& ctx, const EmbeddingBag& a) {
  Shape indices = merge(ctx.shape(1), Shape::of_rank(2));
  embedding_check_weights(ctx, 2, a.reduction == EmbeddingBag::mean);
  embedding_output(ctx, indices[0]);
}
void bag_packed_run(Run& ctx, const EmbeddingBag& a) {
  TensorView indices = ctx.input(1);
  auto each = static_cast<size_t>(indices.dim(1));
  std::vector<std::vector<size_t>> bags(static_cast<size_t>(indices.dim(0)));
  for (size_t b = 0; b < bags.size(); ++b)
    for (size_t i = 0; i < each; ++i) bags[b].push_back(b * each + i);
  embedding_reduce(ctx, bags, -1, embedding_optional(ctx, 2), a.reduction == EmbeddingBag::mean);
}

void segments_sum_infer(Infer& ctx, const NoAttributes&) {
  merge(ctx.shape(1), ctx.shape(2));
  embedding_check_weights(ctx, 5, false);
  Dim segments;
  if (auto n = certain_number(ctx, 3)) {
    if (*n < 0) fail("expected a non-negative num_segments, got ", *n);
    segments = Dim(*n);
  }
  embedding_output(ctx, segments);
}
void segments_sum_run(Run& ctx, const NoAttributes&) {
  std::vector<int64_t> ids = ctx.input(2).to<int64_t>();
  if (static_cast<int64_t>(ids.size()) != ctx.input(1).size())
    fail("expected ", ctx.input(1).size(), " segment_ids, one per index, got ", ids.size());
  std::vector<std::vector<size_t>> bags(static_cast<size_t>(ctx.output(0).dim(0)));
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= static_cast<int64_t>(bags.size()))
      fail("expected segment_ids of 0 to ", bags.size(), " (exclusive), got ", ids[i]);
    bags[static_cast<size_t>(ids[i])].push_back(i);
  }
  embedding_reduce(ctx, bags, embedding_default(ctx, 4), embedding_optional(ctx, 5), false);
}

// The versions without a reduction attribute compute sums.
template <void (*f)(Infer&, const EmbeddingBag&)>
void bag_sum_infer(Infer& ctx, const NoAttributes&) {
  f(ctx, EmbeddingBag{});
}
template <void (*f)(Run&, const EmbeddingBag&)>
void bag_sum_run(Run& ctx, const NoAttributes&) {
  f(ctx, EmbeddingBag{});
}

}  // namespace

Definitions define_embedding_bag() {
  constexpr std::string_view by_offsets = "emb_table, indices, offsets, default_index?, per_sample_weights?";
  constexpr std::string_view packed = "emb_table, indices, per_sample_weights?";
  return {
      op<EmbeddingBag>("EmbeddingBagOffsets", 15)
          .doc("Sum or mean of embedding rows per bag; offsets mark where bags begin")
          .inputs(by_offsets)
          .infer(bag_offsets_infer)
          .reference(bag_offsets_run),
      op("EmbeddingBagOffsetsSum", 3)
          .doc("Sum of embedding rows per bag; offsets mark where bags begin")
          .inputs(by_offsets)
          .infer(bag_sum_infer<bag_offsets_infer>)
          .reference(bag_sum_run<bag_offsets_run>),
      op<EmbeddingBag>("EmbeddingBagPacked", 15)
          .doc("Sum or mean of embedding rows per bag; each row of indices is a bag")
          .inputs(packed)
          .infer(bag_packed_infer)
          .reference(bag_packed_run),
      op("EmbeddingBagPackedSum", 3)
          .doc("Sum of embedding rows per bag; each row of indices is a bag")
          .inputs(packed)
          .infer(bag_sum_infer<bag_packed_infer>)
          .reference(bag_sum_run<bag_packed_run>),
      op("EmbeddingSegmentsSum", 3)
          .doc("Sum of embedding rows per segment; segment_ids assigns each index to a segment")
          .inputs("emb_table, indices, segment_ids, num_segments, default_index?, per_sample_weights?")
          .infer(segments_sum_infer)
          .reference(segments_sum_run),
  };
}

}  // namespace graft

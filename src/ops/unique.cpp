#include <graft/kit/known.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct Unique {
  bool sorted = true;
  DType index_element_type = DType::i64, count_element_type = DType::i64;
  static constexpr std::tuple schema{
      attr("sorted", &Unique::sorted, "sort in ascending order instead of the order of first occurrence"),
      attr("index_element_type", &Unique::index_element_type, "element type of the indices, i64 or i32"),
      attr("count_element_type", &Unique::count_element_type, "element type of the counts, i64 or i32")};
};

void unique_infer(Infer& ctx, const Unique& a) {
  Shape in = ctx.shape(0), out = Shape{Dim()};
  Dim all = in.elements();
  if (ctx.has_input(1)) {
    out = all_unknown(in), all = Dim();
    if (auto axis = in.ranked() ? certain_axis(ctx, 1, in.rank()) : std::nullopt) {
      out = in, all = in[*axis];
      out[*axis] = Dim::between(std::min<int64_t>(all.min(), 1), all.max());
    }
  } else {
    out[0] = Dim::between(std::min<int64_t>(all.min(), 1), all.max());
  }
  Dim found = Dim::between(std::min<int64_t>(all.min(), 1), all.max());
  ctx.output(0, ctx.type(0), out);
  ctx.output(1, a.index_element_type, Shape{found});
  ctx.output(2, a.index_element_type, Shape{all});
  ctx.output(3, a.count_element_type, Shape{found});
}

// Equal parts form a group: the index of the first part, and their number.
struct UniqueGroups {
  std::vector<int64_t> first, count, of;  // `of`: the group of each part
};
// compare(i, j) of two parts returns a negative number, zero or a positive number.
template <class Compare>
UniqueGroups unique_groups(int64_t parts, bool sorted, Compare compare) {
  std::vector<int64_t> order(static_cast<size_t>(parts));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return compare(i, j) < 0; });
  // Groups in ascending order; the sort is stable, so each begins with its first occurrence.
  std::vector<std::vector<int64_t>> groups;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) groups.emplace_back();
    groups.back().push_back(order[i]);
  }
  if (!sorted) std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a[0] < b[0]; });
  UniqueGroups out;
  out.of.resize(static_cast<size_t>(parts));
  for (size_t g = 0; g < groups.size(); ++g) {
    out.first.push_back(groups[g][0]);
    out.count.push_back(static_cast<int64_t>(groups[g].size()));
    for (int64_t p : groups[g]) out.of[static_cast<size_t>(p)] = static_cast<int64_t>(g);
  }
  return out;
}

int unique_compare(std::string_view a, std::string_view b) { return a.compare(b); }
template <class T>
int unique_compare(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    // NaN equals itself and sorts last.
    if (std::isnan(a) || std::isnan(b)) return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

void unique_run(Run& ctx, const Unique& a) {
  TensorView x = ctx.input(0);
  int64_t outer = 1, parts = x.size(), inner = 1;
  std::vector<int64_t> dims{0};
  size_t axis = 0;
  if (ctx.has_input(1)) {
    axis = normalize_axis(ctx.input(1).scalar<int64_t>(), x.rank());
    outer = count_of(x.dims().first(axis)), parts = x.dim(axis), inner = count_of(x.dims().subspan(axis + 1));
    dims.assign(x.dims().begin(), x.dims().end());
  }
  auto groups_of = [&](const auto& values) {
    return unique_groups(parts, a.sorted, [&](int64_t i, int64_t j) {
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t k = 0; k < inner; ++k) {
          auto at = [&](int64_t part) { return values[static_cast<size_t>((o * parts + part) * inner + k)]; };
          if (int c = unique_compare(at(i), at(j)); c != 0) return c;
        }
      return 0;
    });
  };
  UniqueGroups groups;
  if (x.type() == DType::string) {
    std::vector<std::string_view> texts;
    for (int64_t i = 0; i < x.size(); ++i) texts.push_back(view(x.data<graft_str>()[i]));
    groups = groups_of(texts);
  } else {
    with_number_type(x.type(), [&]<class T>(T) { groups = groups_of(x.to<T>()); });
  }
  auto found = static_cast<int64_t>(groups.first.size());
  dims[axis] = found;
  if (ctx.output_used(0)) {
    OutputView y = ctx.allocate(0, dims);
    Cells from(x);
    OutputCells to(y);
    std::vector<int64_t> part{outer, 1, inner};
    Strided source{0, {parts * inner, inner, 1}}, target{0, {found * inner, inner, 1}};
    for (int64_t g = 0; g < found; ++g) {
      source.offset = groups.first[static_cast<size_t>(g)] * inner;
      target.offset = g * inner;
      copy_box(part, to.cell_size(), to.data(), target, from.data(), source);
    }
    to.write_back();
  }
  if (ctx.output_used(1)) ctx.allocate(1, {found}).assign(groups.first);
  if (ctx.output_used(2)) ctx.allocate(2, {parts}).assign(groups.of);
  if (ctx.output_used(3)) ctx.allocate(3, {found}).assign(groups.count);
}

std::vector<Value> import_unique(Builder& layer) {
  std::vector<Value> inputs{layer.input(0)};
  if (layer.has("axis")) inputs.push_back(layer.scalar(layer.get<int64_t>("axis")));
  std::vector<Value> out = layer.make("Unique", inputs,
                                      {{"sorted", layer.get<bool>("sorted", true)},
                                       {"index_element_type", DType::i64},
                                       {"count_element_type", DType::i64}},
                                      4, {});
  out.resize(layer.outputs());
  return out;
}

}  // namespace

Definitions define_unique() {
  return op<Unique>("Unique", 10)
      .doc(
          "Unique elements, or unique slices along an axis, with the index of their first occurrence, the inverse "
          "mapping and their counts")
      .inputs("data, axis?")
      .outputs("output, indices, reverse_indices, counts")
      .infer(unique_infer)
      .reference(unique_run)
      .import(onnx("Unique").expand(import_unique));
}

}  // namespace graft

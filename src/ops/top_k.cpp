#include <graft/kit/known.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

enum class TopKMode { max, min };
enum class TopKSort { none, index, value };

struct TopK {
  int64_t axis = 0;
  TopKMode mode = TopKMode::max;
  TopKSort sort = TopKSort::none;
  DType index_element_type = DType::i32;
  static constexpr std::tuple schema{
      attr("axis", &TopK::axis, "axis to search").required(),
      attr("mode", &TopK::mode, "whether to select the largest or the smallest elements")
          .one_of("max", "min")
          .required(),
      attr("sort", &TopK::sort, "order of the result: by value, by index, or unspecified")
          .one_of("none", "index", "value")
          .required(),
      attr("index_element_type", &TopK::index_element_type, "element type of the indices, i32 or i64")};
};
struct TopKStable : TopK {
  bool stable = false;
  static constexpr std::tuple schema = std::tuple_cat(
      TopK::schema, std::tuple{attr("stable", &TopKStable::stable, "keep equal elements in their original order")});
};

template <class A>
void top_k_infer(Infer& ctx, const A& a) {
  Shape out = ctx.shape(0);
  if (out.ranked()) {
    size_t axis = normalize_axis(a.axis, out.rank());
    if (auto k = certain_number(ctx, 1)) {
      if (*k < 0 || *k > out[axis].max()) fail("expected k of 0 to ", out[axis], ", the size of the axis, got ", *k);
      out[axis] = Dim(*k);
    } else {
      out[axis] = at_most(out[axis]);
    }
  }
  ctx.output(0, ctx.type(0), out);
  ctx.output(1, a.index_element_type, out);
}

// A total order: NaN is the largest value, and equal elements keep their order.
template <class T>
bool top_k_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
  }
  return a < b;
}

template <class A>
void top_k_run(Run& ctx, const A& a) {
  TensorView x = ctx.input(0);
  size_t axis = normalize_axis(a.axis, x.rank());
  int64_t n = x.dim(axis), k = ctx.input(1).scalar<int64_t>();
  if (k < 0 || k > n) fail("expected k of 0 to ", n, ", the size of the axis, got ", k);
  int64_t outer = count_of(x.dims().first(axis)), inner = count_of(x.dims().subspan(axis + 1));
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> in = x.to<T>(), values(static_cast<size_t>(outer * k * inner));
    std::vector<int64_t> indices(values.size()), order(static_cast<size_t>(n));
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        auto at = [&](int64_t place) { return in[static_cast<size_t>((o * n + place) * inner + i)]; };
        auto before = [&](int64_t p, int64_t q) {
          T first = at(p), second = at(q);
          if (top_k_less(first, second)) return a.mode == TopKMode::min;
          if (top_k_less(second, first)) return a.mode == TopKMode::max;
          return p < q;
        };
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
        if (a.sort == TopKSort::index) std::sort(order.begin(), order.begin() + k);
        for (int64_t j = 0; j < k; ++j) {
          auto to = static_cast<size_t>((o * k + j) * inner + i);
          indices[to] = order[static_cast<size_t>(j)];
          values[to] = at(indices[to]);
        }
      }
    if (ctx.output_used(0)) ctx.output(0).assign(values);
    if (ctx.output_used(1)) ctx.output(1).assign(indices);
  });
}

// ---- ONNX ----

std::vector<Value> top_k_node(Builder& layer, Value x, Value k, int64_t axis, bool largest, bool sorted) {
  return layer.ops("TopK", {x, k},
                   {{"axis", axis},
                    {"mode", largest ? "max" : "min"},
                    {"sort", sorted ? "value" : "none"},
                    {"index_element_type", DType::i64},
                    {"stable", true}},
                   2);
}
std::vector<Value> import_top_k(Builder& layer) {
  Value k = layer.version() < 10 ? layer.scalar(layer.get<int64_t>("k")) : layer.input(1);
  Shape s = k.shape();
  if (!s.ranked() || s.rank() != 0) k = reshape(k, {});
  return top_k_node(layer, layer.input(0), k, layer.get<int64_t>("axis", -1), layer.get<bool>("largest", true),
                    layer.get<bool>("sorted", true));
}

// The last of equal elements is the first one of the reversed axis.
template <bool largest>
Value import_arg_extreme(Builder& layer) {
  Value x = layer.input(0);
  int64_t axis = layer.get<int64_t>("axis", 0);
  bool last = layer.get<bool>("select_last_index", false);
  Value searched = last ? layer.op("Reverse", {x, layer.ints({axis})}, {{"mode", "index"}}) : x;
  Value index = top_k_node(layer, searched, layer.scalar(int64_t{1}), axis, largest, true)[1];
  if (last) {
    Value size = layer.op("Gather", {shape_of(x), layer.ints({axis}), layer.scalar(int64_t{0})});
    index = size - 1.0 - index;
  }
  return layer.get<bool>("keepdims", true) ? index : squeeze(index, {axis});
}

// The indices of TopK-1 are i32.
void top_k_as_1(Rewrite& at) {
  if (at.node().has({"index_element_type", DType::i32})) at.restate("TopK@1", at.all_inputs());
}

}  // namespace

Definitions define_top_k() {
  auto old = [](int version) {
    return op<TopK>("TopK", version)
        .doc("The k largest or smallest elements along an axis, with their indices")
        .inputs("data, k")
        .outputs("values, indices")
        .infer(top_k_infer<TopK>)
        .reference(top_k_run<TopK>);
  };
  return {
      old(1),
      old(3).earlier(top_k_as_1),
      op<TopKStable>("TopK", 11)
          .doc("The k largest or smallest elements along an axis, with their indices")
          .inputs("data, k")
          .outputs("values, indices")
          .infer(top_k_infer<TopKStable>)
          .reference(top_k_run<TopKStable>)
          .import(onnx("TopK").expand(import_top_k))
          .earlier(3, {{"stable", false}}),
      onnx("ArgMax").expand(import_arg_extreme<true>),
      onnx("ArgMin").expand(import_arg_extreme<false>),
  };
}

}  // namespace graft

// ParseExample: the features of serialized tf.Examples as tensors.
#include "example_fields.hpp"
#include "splits.hpp"
#include "strings.hpp"

namespace graft {
namespace {

struct ParseExample {
  std::vector<std::string> sparse_keys, dense_keys, ragged_keys;
  std::vector<DType> sparse_types, ragged_types, ragged_split_types;
  std::vector<int64_t> dense_ranks, dense_shapes;
  static constexpr std::tuple schema{
      attr("sparse_keys", &ParseExample::sparse_keys, "features that are given as indices, values and shape"),
      attr("sparse_types", &ParseExample::sparse_types, "their element types: f32, i64 or string"),
      attr("dense_keys", &ParseExample::dense_keys,
           "features with one shape in all examples; their types are those of the defaults"),
      attr("dense_ranks", &ParseExample::dense_ranks, "the ranks of their shapes").between(0, 64),
      attr("dense_shapes", &ParseExample::dense_shapes,
           "their shapes, one behind the other; a first dimension of -1: as many as the longest example has")
          .at_least(-1),
      attr("ragged_keys", &ParseExample::ragged_keys, "features that are given as values and splits"),
      attr("ragged_types", &ParseExample::ragged_types, "their element types"),
      attr("ragged_split_types", &ParseExample::ragged_split_types, "the element types of the splits, i32 or i64")};

  size_t sparse() const { return sparse_keys.size(); }
  size_t dense() const { return dense_keys.size(); }
  size_t ragged() const { return ragged_keys.size(); }
  size_t first_dense() const { return 3 * sparse(); }
  size_t first_ragged() const { return first_dense() + dense(); }
  size_t outputs() const { return first_ragged() + 2 * ragged(); }
};

// The shape of each dense feature.
std::vector<std::vector<int64_t>> dense_shapes_of(const ParseExample& a) {
  std::vector<std::vector<int64_t>> out;
  auto at = a.dense_shapes.begin();
  for (int64_t rank : a.dense_ranks) {
    if (rank > a.dense_shapes.end() - at)
      fail("expected dimensions for ranks ", a.dense_ranks, ", got ", a.dense_shapes.size());
    out.emplace_back(at, at + rank);
    at += rank;
    for (size_t i = 1; i < out.back().size(); ++i)
      if (out.back()[i] < 0) fail("expected a negative dimension only as the first, got shape ", out.back());
  }
  if (at != a.dense_shapes.end() || out.size() != a.dense())
    fail("expected one shape per dense feature (", a.dense(), "), got ", out.size());
  return out;
}

void parse_example_infer(Infer& ctx, const ParseExample& a) {
  strings_expect(ctx);
  Shape batch = ctx.shape(0);
  if (batch.ranked() && batch.rank() > 1) fail("expected one example or a list of them, got shape ", batch);
  if (batch.ranked() && batch.rank() == 0 && a.ragged() > 0)
    fail("expected a list of examples for ragged features, got one example");
  if (a.sparse_types.size() != a.sparse() || a.ragged_types.size() != a.ragged() ||
      a.ragged_split_types.size() != a.ragged())
    fail("expected one type per feature");
  if (ctx.inputs() != a.dense() + 1)
    fail("expected one default per dense feature (", a.dense(), "), got ", ctx.inputs() - 1);
  if (ctx.outputs() != a.outputs()) fail("expected ", a.outputs(), " outputs, got ", ctx.outputs());
  Dim rank = batch.ranked() ? Dim(static_cast<int64_t>(batch.rank()) + 1) : Dim::between(1, 2);
  for (size_t i = 0; i < a.sparse(); ++i) {
    ExampleColumn::check_type(a.sparse_types[i]);
    ctx.output(i, DType::i64, Shape{Dim(), rank});
    ctx.output(a.sparse() + i, a.sparse_types[i], Shape{Dim()});
    ctx.output(2 * a.sparse() + i, DType::i64, Shape{rank});
  }
  std::vector<std::vector<int64_t>> shapes = dense_shapes_of(a);
  for (size_t i = 0; i < a.dense(); ++i) {
    ExampleColumn::check_type(ctx.type(i + 1));
    Shape out = batch;
    for (int64_t d : shapes[i])
      if (out.ranked()) out.push_back(d < 0 ? Dim() : Dim(d));
    ctx.output(a.first_dense() + i, ctx.type(i + 1), out);
  }
  for (size_t i = 0; i < a.ragged(); ++i) {
    ExampleColumn::check_type(a.ragged_types[i]), check_splits_type(a.ragged_split_types[i]);
    ctx.output(a.first_ragged() + i, a.ragged_types[i], Shape{Dim()});
    ctx.output(a.first_ragged() + a.ragged() + i, a.ragged_split_types[i],
               Shape{batch.ranked() ? batch[0] + 1 : Dim()});
  }
}

// All examples of a call.
class Examples {
 public:
  Examples(Run& ctx, const ParseExample& a) : ctx_(ctx), a_(a), single_(ctx.input(0).rank() == 0) {
    for (int64_t i = 0; i < ctx.input(0).size(); ++i) all_.push_back(example_features(string_of(ctx.input(0), i)));
  }

  // The values of a feature, and where those of each example begin; without a value an example has none.
  struct Rows {
    ExampleColumn values;
    std::vector<int64_t> splits;
  };
  Rows rows(const std::string& name, DType type) const {
    Rows out{{type, {}, {}, {}}, {0}};
    for (const ExampleFeatures& e : all_) {
      if (const ExampleFeature* f = feature(e, name)) out.values.append(*f, name);
      out.splits.push_back(out.values.size());
    }
    return out;
  }
  void sparse(size_t i) const {
    Rows r = rows(a_.sparse_keys[i], a_.sparse_types[i]);
    std::vector<int64_t> places;
    int64_t most = 0, rank = single_ ? 1 : 2;
    for (size_t row = 0; row < all_.size(); ++row) {
      int64_t n = r.splits[row + 1] - r.splits[row];
      most = std::max(most, n);
      for (int64_t k = 0; k < n; ++k) {
        if (!single_) places.push_back(static_cast<int64_t>(row));
        places.push_back(k);
      }
    }
    int64_t n = r.values.size();
    if (ctx_.output_used(i)) ctx_.allocate(i, {n, rank}).assign(places);
    r.values.store(ctx_, a_.sparse() + i, std::span<const int64_t>(&n, 1));
    std::vector<int64_t> shape{most};
    if (!single_) shape.insert(shape.begin(), static_cast<int64_t>(all_.size()));
    store_list(ctx_, 2 * a_.sparse() + i, shape);
  }
  void dense(size_t i, std::vector<int64_t> shape) const {
    const std::string& name = a_.dense_keys[i];
    TensorView fallback = ctx_.input(i + 1);
    ExampleColumn out{fallback.type(), {}, {}, {}};
    bool open = !shape.empty() && shape[0] < 0;
    if (open) shape[0] = longest(name, out.type, std::span<const int64_t>(shape).subspan(1));
    int64_t size = count_of(shape);
    std::vector<int64_t> dims = std::move(shape);
    if (!single_) dims.insert(dims.begin(), static_cast<int64_t>(all_.size()));
    // Within the host's limits, before memory is filled that examples of different lengths multiply.
    OutputView y = ctx_.allocate(a_.first_dense() + i, dims);
    for (size_t row = 0; row < all_.size(); ++row) {
      int64_t before = out.size();
      const ExampleFeature* f = feature(all_[row], name);
      if (f) out.append(*f, name);
      else if (!open && fallback.size() == size) out.append(fallback);
      else if (!open) fail("expected a value of feature '", name, "', which has no default, in example ", row);
      while (open && out.size() - before < size) {
        if (fallback.size() > 0) out.append(fallback, 0);
        else out.append_blank();
      }
      if (out.size() - before != size)
        fail("expected ", size, " values of feature '", name, "' in example ", row, ", got ", out.size() - before);
    }
    out.fill(ctx_, y);
  }
  void ragged(size_t i) const {
    Rows r = rows(a_.ragged_keys[i], a_.ragged_types[i]);
    int64_t n = r.values.size();
    r.values.store(ctx_, a_.first_ragged() + i, std::span<const int64_t>(&n, 1));
    store_list(ctx_, a_.first_ragged() + a_.ragged() + i, r.splits);
  }

 private:
  static const ExampleFeature* feature(const ExampleFeatures& e, const std::string& name) {
    auto it = e.find(name);
    return it == e.end() || it->second.kind == 0 ? nullptr : &it->second;
  }
  // How many parts of this shape the longest example has.
  int64_t longest(const std::string& name, DType type, std::span<const int64_t> part) const {
    Rows r = rows(name, type);
    int64_t most = 0, size = count_of(part);
    for (size_t row = 0; row < all_.size(); ++row) {
      int64_t n = r.splits[row + 1] - r.splits[row];
      if (size == 0 ? n != 0 : n % size != 0)
        fail("expected a multiple of ", size, " values of feature '", name, "' in example ", row, ", got ", n);
      most = size == 0 ? 0 : std::max(most, n / size);
    }
    return most;
  }
  Run& ctx_;
  const ParseExample& a_;
  bool single_;
  std::vector<ExampleFeatures> all_;
};

void parse_example_run(Run& ctx, const ParseExample& a) {
  Examples examples(ctx, a);
  std::vector<std::vector<int64_t>> shapes = dense_shapes_of(a);
  for (size_t i = 0; i < a.sparse(); ++i) examples.sparse(i);
  for (size_t i = 0; i < a.dense(); ++i) examples.dense(i, shapes[i]);
  for (size_t i = 0; i < a.ragged(); ++i) examples.ragged(i);
}

// ---- TensorFlow ----

// A list of types or strings; without elements it looks like one of numbers.
template <class T>
std::vector<T> example_list(Builder& layer, std::string_view name) {
  const graft_value* v = layer.field(name);
  if (!v || (v->kind == GRAFT_INTS && v->count == 0)) return {};
  return field_as<std::vector<T>>(name, *v);
}
std::vector<std::string> constant_texts(const Value& v) {
  TensorView t = v.constant();
  if (!t) unsupported("expected constant names of features, got computed ones");
  std::vector<std::string> out;
  for (int64_t i = 0; i < t.size(); ++i) out.emplace_back(string_of(t, i));
  return out;
}
std::vector<std::string> texts_from(Builder& layer, size_t first, int64_t count) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<std::string> one = constant_texts(layer.input(first + static_cast<size_t>(i)));
    out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}
// Shapes as the reader prints them: "[2,?]".
void add_dense_shape(ParseExample& a, std::string_view shape) {
  if (shape == "[...]") unsupported("expected dense features of known rank, got shape ", shape);
  int64_t rank = 0;
  for (size_t at = 1; at + 1 < shape.size(); ++rank) {
    size_t end = std::min(shape.find_first_of(",]", at), shape.size());
    std::string_view d = shape.substr(at, end - at);
    int64_t v = -1;
    if (auto [p, error] = std::from_chars(d.data(), d.data() + d.size(), v); error != std::errc()) v = -1;
    a.dense_shapes.push_back(v), at = end + 1;
  }
  a.dense_ranks.push_back(rank);
}
// What all versions share; `defaults` is the first input with a default.
void tf_parsed(Builder& layer, ParseExample a, size_t defaults) {
  for (const std::string& s : example_list<std::string>(layer, "dense_shapes")) add_dense_shape(a, s);
  layer.has("Tdense");  // the types of the defaults
  std::vector<Value> inputs{layer.input(0)};
  for (size_t i = 0; i < a.dense(); ++i) inputs.push_back(layer.input(defaults + i));
  if (a.outputs() == 0) fail("expected at least one feature, got none");
  std::vector<Value> out = layer.make("ParseExample@graft", inputs,
                                      {{"sparse_keys", a.sparse_keys},
                                       {"sparse_types", a.sparse_types},
                                       {"dense_keys", a.dense_keys},
                                       {"dense_ranks", a.dense_ranks},
                                       {"dense_shapes", a.dense_shapes},
                                       {"ragged_keys", a.ragged_keys},
                                       {"ragged_types", a.ragged_types},
                                       {"ragged_split_types", a.ragged_split_types}},
                                      a.outputs(), {});
  for (size_t i = 0; i < out.size(); ++i) layer.output(i, out[i]);
}
// Inputs: serialized, names, sparse keys, dense keys, defaults.
void tf_parse_example(Builder& layer) {
  ParseExample a;
  int64_t sparse = layer.get<int64_t>("Nsparse", 0), dense = layer.get<int64_t>("Ndense", 0);
  if (sparse < 0 || dense < 0 || sparse > 1 << 16 || dense > 1 << 16)
    fail("expected 0 to 65536 features, got ", sparse, " and ", dense);
  a.sparse_keys = texts_from(layer, 2, sparse),
  a.dense_keys = texts_from(layer, 2 + static_cast<size_t>(sparse), dense);
  a.sparse_types = example_list<DType>(layer, "sparse_types");
  tf_parsed(layer, std::move(a), 2 + static_cast<size_t>(sparse + dense));
}
// Inputs: serialized, names, lists of sparse, dense and ragged keys, defaults.
void tf_parse_example_v2(Builder& layer) {
  ParseExample a;
  layer.has("num_sparse");
  a.sparse_keys = constant_texts(layer.input(2)), a.dense_keys = constant_texts(layer.input(3)),
  a.ragged_keys = constant_texts(layer.input(4));
  a.sparse_types = example_list<DType>(layer, "sparse_types");
  a.ragged_types = example_list<DType>(layer, "ragged_value_types");
  a.ragged_split_types = example_list<DType>(layer, "ragged_split_types");
  tf_parsed(layer, std::move(a), 5);
}
void tf_parse_single_example(Builder& layer) {
  ParseExample a;
  layer.has("num_sparse");
  a.sparse_keys = example_list<std::string>(layer, "sparse_keys");
  a.dense_keys = example_list<std::string>(layer, "dense_keys");
  a.sparse_types = example_list<DType>(layer, "sparse_types");
  tf_parsed(layer, std::move(a), 1);
}

}  // namespace

Definitions define_parse_example() {
  return op<ParseExample>("ParseExample", "graft")
      .doc(
          "The features of serialized tf.Examples: first all indices, values and shapes of sparse ones, then dense "
          "ones, then values "
          "and splits of ragged ones")
      .inputs("serialized, dense_defaults...")
      .outputs("features...")
      .infer(parse_example_infer)
      .linear()
      .reference(parse_example_run)
      .import(tensorflow("ParseExample").expand(tf_parse_example))
      .import(tensorflow("ParseExampleV2").expand(tf_parse_example_v2))
      .import(tensorflow("ParseSingleExample").expand(tf_parse_single_example));
}

}  // namespace graft

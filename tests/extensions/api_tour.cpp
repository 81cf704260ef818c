// Everything an operation may ask for, each in the smallest operation that shows it. Cases are in api_tour.test.
#include <algorithm>
#include <graft/extension.hpp>

namespace {

using namespace graft;

// ---- attributes of every kind, also left out ----

struct Kinds {
  bool flag = true;
  int64_t whole = 3;
  double wide = 0.1;
  float narrow = 0.1f;
  std::string word = "north";
  enum Direction { up, down } direction = down;
  DType type = DType::i32;
  Shape shape{1, Dim(), Dim::between(2, 5)};
  std::vector<int64_t> wholes{1, 2};
  std::vector<float> numbers{0.5f};
  std::vector<std::string> words{"a", "b"};
  std::vector<DType> types{DType::f16};
  std::optional<int64_t> maybe;
  std::optional<std::vector<int64_t>> maybe_list;
  static constexpr std::tuple schema{attr("flag", &Kinds::flag, "a boolean"),
                                     attr("whole", &Kinds::whole, "a whole number").between(-10, 10),
                                     attr("wide", &Kinds::wide, "64 bits"),
                                     attr("narrow", &Kinds::narrow, "32 bits"),
                                     attr("word", &Kinds::word, "any text"),
                                     attr("direction", &Kinds::direction, "one of two").one_of("up", "down"),
                                     attr("type", &Kinds::type, "an element type"),
                                     attr("shape", &Kinds::shape, "a shape, dimensions may be unknown"),
                                     attr("wholes", &Kinds::wholes, "a list").at_least(0),
                                     attr("numbers", &Kinds::numbers, "a list"),
                                     attr("words", &Kinds::words, "a list"),
                                     attr("types", &Kinds::types, "a list"),
                                     attr("maybe", &Kinds::maybe, "may be absent"),
                                     attr("maybe_list", &Kinds::maybe_list, "may be absent")};
};
std::string said(const Kinds& a) {
  std::string out =
      text(a.flag, ' ', a.whole, ' ', a.wide, ' ', a.narrow, ' ', a.word, ' ', a.direction == Kinds::up ? "up" : "down",
           ' ', a.type, ' ', a.shape, ' ', a.wholes, ' ', a.numbers);
  for (const std::string& w : a.words) out += ' ' + w;
  for (DType t : a.types) out += text(' ', t);
  return out + (a.maybe ? text(' ', *a.maybe) : " -") + (a.maybe_list ? text(' ', *a.maybe_list) : " -");
}
void kinds_infer(Infer& ctx, const Kinds&) { ctx.output(0, DType::string, Shape{}); }
void kinds_run(Run& ctx, const Kinds& a) { ctx.store(ctx.output(0), 0, said(a)); }

// ---- a tensor as attribute ----

struct Table {
  TensorView table;
  static constexpr std::tuple schema{attr("table", &Table::table, "what indices are looked up in")};
};
void table_infer(Infer& ctx, const Table& a) { ctx.output(0, a.table.type(), ctx.shape(0)); }
void table_run(Run& ctx, const Table& a) {
  std::vector<double> table = a.table.to<double>(), out;
  for (int64_t i : ctx.input(0).to<int64_t>()) {
    if (i < 0 || i >= static_cast<int64_t>(table.size())) fail("index ", i, " is outside the table of ", table.size());
    out.push_back(table[static_cast<size_t>(i)]);
  }
  ctx.output(0).assign(out);
}

// ---- a constant input packed once, state, scratch, the shared threads ----

struct Packed {
  std::vector<float> columns;  // the weights, column after column
  int64_t rows, count;
};
void product_infer(Infer& ctx, const NoAttributes&) {
  Shape a = ctx.shape(0), b = ctx.shape(1);
  if (a.ranked() && a.rank() != 2) fail("expected a matrix in input 0, got shape ", a);
  if (!a.ranked() || !b.ranked()) return ctx.output(0, ctx.type(0), Shape::of_rank(2));
  merge(a[1], b[0]);
  ctx.output(0, ctx.type(0), Shape{a[0], b[1]});
}
Packed product_prepare(Prepare& ctx, const NoAttributes&) {
  TensorView w = ctx.constant(1);
  if (!w) unsupported("requires constant weights");
  Packed p{{}, w.dim(0), w.dim(1)};
  std::vector<float> v = w.to<float>();
  for (int64_t c = 0; c < p.count; ++c)
    for (int64_t r = 0; r < p.rows; ++r) p.columns.push_back(v[static_cast<size_t>(r * p.count + c)]);
  ctx.scratch(static_cast<size_t>(p.count) * sizeof(float));
  return p;
}
void product_packed_run(Run& ctx, const NoAttributes&, const Packed& p) {
  const float* x = ctx.input(0).data<const float>();
  float* y = ctx.output(0).data<float>();
  auto* sums = static_cast<float*>(ctx.scratch());
  for (int64_t row = 0; row < ctx.input(0).dim(0); ++row) {
    ctx.parallel_for(p.count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        sums[c] = 0;
        for (int64_t r = 0; r < p.rows; ++r)
          sums[c] += x[row * p.rows + r] * p.columns[static_cast<size_t>(c * p.rows + r)];
      }
    });
    std::copy(sums, sums + p.count, y + row * p.count);
  }
}
void product_accept(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  if (!ctx.constant(1)) unsupported("requires constant weights");
}
void product_run(Run& ctx, const NoAttributes&) {
  std::vector<double> a = ctx.input(0).to<double>(), b = ctx.input(1).to<double>(), y;
  int64_t n = ctx.input(0).dim(0), k = ctx.input(0).dim(1), m = ctx.input(1).dim(1);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      double sum = 0;
      for (int64_t r = 0; r < k; ++r) sum += a[static_cast<size_t>(i * k + r)] * b[static_cast<size_t>(r * m + j)];
      y.push_back(sum);
    }
  ctx.output(0).assign(y);
}

// ---- optional and variadic inputs, several outputs, some of them unused ----

void spread_infer(Infer& ctx, const NoAttributes&) {
  Shape s = ctx.shape(0);
  ctx.output(0, DType::i64, Shape{});
  ctx.output(1, ctx.type(0), s);
}
void spread_run(Run& ctx, const NoAttributes&) {
  int64_t present = 0;
  for (size_t i = 0; i < ctx.inputs(); ++i) present += ctx.has_input(i);
  if (ctx.output_used(0)) ctx.output(0).assign(std::vector<int64_t>{present});
  if (ctx.output_used(1)) ctx.output(1).assign(ctx.input(0));
}

// ---- sizes that only the data tells ----

void positive_infer(Infer& ctx, const NoAttributes&) {
  ctx.output(0, ctx.type(0), Shape{Dim::between(0, ctx.shape(0).elements().max())});
}
void positive_run(Run& ctx, const NoAttributes&) {
  std::vector<double> out;
  for (double v : ctx.input(0).to<double>())
    if (v > 0) out.push_back(v);
  ctx.allocate(0, {static_cast<int64_t>(out.size())}).assign(out);
}

// ---- in place ----

void count_infer(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.input(0)); }
void count_up_run(Run& ctx, const NoAttributes&) {
  // Reads each element before it writes it: right whether or not the two lie in the same memory.
  const float* x = ctx.input(0).data<const float>();
  float* y = ctx.output(0).data<float>();
  for (int64_t i = 0; i < ctx.output(0).size(); ++i) y[i] = x[i] + 1;
}

// ---- versions side by side ----

template <int version>
void version_run(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>();
  for (double& v : x) v = v * 10 + version;
  ctx.output(0).assign(x);
}

// ---- errors ----

struct Boom {
  std::string how = "fail";
  static constexpr std::tuple schema{
      attr("how", &Boom::how, "what goes wrong").one_of("fail", "throw", "parallel", "infer", "nothing")};
};
void boom_infer(Infer& ctx, const Boom& a) {
  if (a.how == "infer") throw Failure{GRAFT_USER, "the shapes do not please me", "try others"};
  ctx.output(0, ctx.input(0));
}
void boom_run(Run& ctx, const Boom& a) {
  log_message(Log::debug, "about to go wrong");
  if (a.how == "fail") fail("element 0 is ", ctx.input(0).to<double>()[0]);
  if (a.how == "throw") throw std::runtime_error("a standard exception");
  if (a.how == "parallel")
    ctx.parallel_for(1000, 1, [](int64_t, int64_t end) {
      if (end > 10) fail("one of many pieces failed");
    });
}

// ---- memory of each thread ----

void thread_sums_infer(Infer& ctx, const NoAttributes&) { ctx.output(0, DType::f32, Shape{}); }
void thread_sums_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  const float* from = x.data<float>();
  std::vector<double> sums(static_cast<size_t>(ctx.threads()), 0);
  ctx.parallel_for(x.size(), 64, [&](int64_t begin, int64_t end, int thread) {
    for (int64_t i = begin; i < end; ++i) sums.at(static_cast<size_t>(thread)) += from[i];
  });
  double sum = 0;
  for (double s : sums) sum += s;
  ctx.output(0).assign(std::vector<double>{sum});
}

// The median of each row: rows are sorted in scratch memory, of which each thread has a part.
void median_infer(Infer& ctx, const NoAttributes&) {
  Shape x = ctx.shape(0);
  if (x.ranked() && x.rank() != 2) fail("expected a matrix, got shape ", x);
  ctx.output(0, ctx.type(0), Shape{x.ranked() ? x[0] : Dim()});
}
void median_run(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>(), y;
  int64_t width = ctx.input(0).dim(1);
  if (width == 0) fail("expected rows with elements");
  for (auto row = x.begin(); row != x.end(); row += width) {
    std::sort(row, row + width);
    y.push_back(row[width / 2]);
  }
  ctx.output(0).assign(y);
}
struct MedianRows {
  int64_t width;
  int threads;
};
MedianRows median_prepare(Prepare& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  int64_t width = ctx.shape(0)[1].value();
  if (width == 0) unsupported("expected rows with elements");
  ctx.scratch(static_cast<size_t>(ctx.threads()) * static_cast<size_t>(width) * sizeof(float));
  return {width, ctx.threads()};
}
void median_rows_run(Run& ctx, const MedianRows& m) {
  if (ctx.threads() != m.threads) fail("expected ", m.threads, " threads, got ", ctx.threads());
  const float* x = ctx.input(0).data<float>();
  float* y = ctx.output(0).data<float>();
  ctx.parallel_for(ctx.input(0).dim(0), 1, [&](int64_t begin, int64_t end, int thread) {
    float* mine = static_cast<float*>(ctx.scratch()) + thread * m.width;
    for (int64_t row = begin; row < end; ++row) {
      std::copy_n(x + row * m.width, m.width, mine);
      std::nth_element(mine, mine + m.width / 2, mine + m.width);
      y[row] = mine[m.width / 2];
    }
  });
}

// ---- a decomposition alone: shapes and results follow from it ----

struct Affine {
  float scale = 2, shift = 1;
  static constexpr std::tuple schema{attr("scale", &Affine::scale, ""), attr("shift", &Affine::shift, "")};
};

// ---- layers of Caffe: fields that only a fork knows, blobs, layers in Python ----

Value import_twirl(Builder& layer) {
  if (layer.flows() != 1 || layer.inputs() != 1 + layer.weights())
    fail("expected 1 input and ", layer.weights(), " weights, got ", layer.inputs());
  Value y = layer.input(0) * layer.weight(0);
  for (double factor : layer.get<std::vector<double>>("twirl_param.inner.factor")) y = y * factor;
  if (layer.get<std::string>("twirl_param.mode") == "MINUS") y = -y;
  if (layer.get<bool>("twirl_param.on")) y = y + layer.get<double>("twirl_param.offset");
  for (const std::string& word : layer.get<std::vector<std::string>>("twirl_param.words"))
    y = y + static_cast<double>(word.size());
  return y * layer.get<double>("twirl_param.inner.1.factor", 1);
}
// The fields of a layer are listed in the order of the file, and all of them count as used.
Value import_sum_of_fields(Builder& layer) {
  double sum = 0, weight = 1;
  for (const graft_named_value& f : layer.fields()) {
    if (f.value.kind == GRAFT_INT) sum += weight * static_cast<double>(f.value.i);
    if (f.value.kind == GRAFT_TEXT) sum += weight * static_cast<double>(f.name.size);
    weight *= 100;
  }
  return layer.input(0) + sum;
}
Value import_part_layer(Builder& layer) {
  if (layer.get<std::string>("python_param.module") != "parts") fail("a layer of another module");
  return layer.input(0) / layer.get<double>("python_param.param_str.by") +
         static_cast<double>(layer.get<std::vector<int64_t>>("python_param.param_str.more").size());
}

}  // namespace

GRAFT_EXTENSION("tour", "1.0") {
  return {
      caffe("Twirl").expand(import_twirl),
      caffe("SumOfFields").expand(import_sum_of_fields),
      caffe("PartLayer").ignore("python_param.*").expand(import_part_layer),
      op<Kinds>("Kinds", "tour").inputs("").infer(kinds_infer).reference(kinds_run),
      op<Table>("LookUp", "tour").inputs("index").infer(table_infer).reference(table_run),
      op("Product", "tour")
          .inputs("a, b")
          .infer(product_infer)
          .reference(product_run)
          .import(caffe("Product"))  // the second input is the layer's blob
          .kernel(Kernel("CPU", "packed_f32").accept(product_accept).run(product_prepare, product_packed_run)),
      op("Median", "tour")
          .inputs("rows")
          .infer(median_infer)
          .reference(median_run)
          .kernel(Kernel("CPU", "rows_f32").run(median_prepare, median_rows_run)),
      op("Spread", "tour").inputs("a, b?, rest...").outputs("count, copy").infer(spread_infer).reference(spread_run),
      op("Positive", "tour").inputs("x").infer(positive_infer).reference(positive_run),
      op("CountUp", "tour").inputs("x").infer(count_infer).reference(count_up_run).in_place(),
      op("Version", "tour1").inputs("x").infer(count_infer).reference(version_run<1>),
      op("Version", "tour2").inputs("x").infer(count_infer).reference(version_run<2>),
      op<Boom>("Boom", "tour").inputs("x").infer(boom_infer).reference(boom_run),
      op<Affine>("Affine", "tour").inputs("x").decompose(R"(
        graph (x: f32[...]) {
          low = Clamp(x) {min = $shift, max = 1000.0}
          return Elu(Negative(low)) {alpha = $scale}
        })"),
      op<Affine>("AffineSum", "tour")
          .inputs("x")
          .port_doc("x", "what is scaled and shifted")
          .decompose("graph (x: f32[...]) { return Add(Multiply(x, f32[] {$scale}), f32[1] {$shift}) }")
          .import(mxnet("affine"))                                            // op: "affine"
          .import(mxnet("affine").domain("Custom").attr("shift", "offset")),  // op: "Custom", op_type: "affine"
      op("ThreadSums", "tour").inputs("x").infer(thread_sums_infer).reference(thread_sums_run),
  };
}

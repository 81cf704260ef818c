// The user-defined operations of the recorded custom-ops cases, each from its description there.
#include <algorithm>
#include <cmath>
#include <graft/extension.hpp>

namespace {

using graft::attr;
using graft::Infer;
using graft::NoAttributes;
using graft::Run;
using graft::TensorView;

// A sum over any number of inputs, of which some may be left out.
void sum_infer(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
void sum_run(Run& ctx, const NoAttributes&) {
  std::vector<double> sum(static_cast<size_t>(ctx.output(0).size()), 0.0);
  for (size_t i = 0; i < ctx.inputs(); ++i) {
    if (!ctx.has_input(i)) continue;
    std::vector<double> x = ctx.input(i).to<double>();
    for (size_t k = 0; k < sum.size(); ++k) sum[k] += x.size() == 1 ? x[0] : x.at(k);
  }
  ctx.output(0).assign(sum);
}

struct AllKinds {
  float float_attr = 0;
  std::vector<float> floats_attr;
  int64_t int_attr = 0;
  std::vector<int64_t> ints_attr;
  std::string string_attr;
  static constexpr std::tuple schema{attr("float_attr", &AllKinds::float_attr, "").required(),
                                     attr("floats_attr", &AllKinds::floats_attr, "").required(),
                                     attr("int_attr", &AllKinds::int_attr, "").required(),
                                     attr("ints_attr", &AllKinds::ints_attr, "").required(),
                                     attr("string_attr", &AllKinds::string_attr, "").required().one_of("add", "sub")};
};

struct Numbers {
  int64_t a_int = 0;
  float a_float = 0;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  static constexpr std::tuple schema{
      attr("a_int", &Numbers::a_int, "").required(), attr("a_float", &Numbers::a_float, "").required(),
      attr("ints", &Numbers::ints, "").required(), attr("floats", &Numbers::floats, "").required()};
};
struct Texts {
  std::string a_string;
  std::vector<std::string> strings;
  static constexpr std::tuple schema{attr("a_string", &Texts::a_string, "").required(),
                                     attr("strings", &Texts::strings, "").required()};
};

// The case says that the attributes must be readable with exactly these values.
void numbers_run(Run& ctx, const Numbers& a) {
  if (a.a_int != 1 || a.a_float != 2 || a.ints != std::vector<int64_t>{3, 4, 5} ||
      a.floats != std::vector<float>{6, 7, 8})
    graft::fail("attributes did not arrive");
  std::vector<double> x = ctx.input(0).to<double>();
  for (double& v : x) v *= 2;
  ctx.output(0).assign(x);
}
void numbers_infer(Infer& ctx, const Numbers&) { ctx.output(0, ctx.input(0)); }
void texts_run(Run& ctx, const Texts& a) {
  if (a.a_string != "iamastring" || a.strings != std::vector<std::string>{"more", "strings"})
    graft::fail("attributes did not arrive");
  std::vector<double> x = ctx.input(0).to<double>();
  for (double& v : x) v *= 3;
  ctx.output(0).assign(x);
}
void texts_infer(Infer& ctx, const Texts&) { ctx.output(0, ctx.input(0)); }

void copy_infer(Infer& ctx, const NoAttributes&) {
  for (size_t i = 0; i < ctx.inputs(); ++i) ctx.output(i, ctx.input(i));
}
void copy_run(Run& ctx, const NoAttributes&) {
  for (size_t i = 0; i < ctx.outputs(); ++i)
    if (ctx.output_used(i)) ctx.output(i).assign(ctx.input(i));
}

void round_infer(Infer& ctx, const NoAttributes&) { ctx.output(0, graft::DType::i32, ctx.shape(0)); }
void round_run(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>();
  for (double& v : x) v = std::round(v);
  ctx.output(0).assign(x);
}

void split_infer(Infer& ctx, const NoAttributes&) {
  ctx.output(0, ctx.input(0));
  ctx.output(1, ctx.input(0));
}
void split_run(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>(), negative = x, positive = x;
  for (size_t i = 0; i < x.size(); ++i) negative[i] = std::min(x[i], 0.0), positive[i] = std::max(x[i], 0.0);
  if (ctx.output_used(0)) ctx.output(0).assign(negative);
  if (ctx.output_used(1)) ctx.output(1).assign(positive);
}

// X[from:to]: how much it is, only the data tells.
void slice_infer(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), graft::Shape{graft::Dim()}); }
void slice_run(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>();
  auto n = static_cast<int64_t>(x.size());
  int64_t from = std::min(std::max<int64_t>(ctx.input(1).scalar<int64_t>(), 0), n),
          to = std::min(std::max(ctx.input(2).scalar<int64_t>(), from), n);
  graft::OutputView y = ctx.allocate(0, {to - from});
  y.assign(std::vector<double>(x.begin() + from, x.begin() + to));
}

struct ScaleBias {
  float scale = 1, bias = 0;
  static constexpr std::tuple schema{attr("scale", &ScaleBias::scale, ""), attr("bias", &ScaleBias::bias, "")};
};

// Caffe's Interp as a layer of the user's: aligned corners, to a size or by a factor.
struct Interp {
  int64_t height = 0, width = 0, zoom_factor = 0;
  static constexpr std::tuple schema{attr("height", &Interp::height, "").between(0, 1 << 15),
                                     attr("width", &Interp::width, "").between(0, 1 << 15),
                                     attr("zoom_factor", &Interp::zoom_factor, "").between(0, 1 << 10)};
  graft::Dim size(const graft::Dim& in, int64_t given) const {
    if (!zoom_factor) return given;
    return in.known() ? graft::Dim(in.value() + (in.value() - 1) * (zoom_factor - 1)) : graft::Dim();
  }
};
void interp_infer(Infer& ctx, const Interp& a) {
  graft::Shape s = ctx.shape(0);
  if (!s.ranked() || s.rank() != 4) graft::fail("expected an input of rank 4");
  ctx.output(0, ctx.type(0), {s[0], s[1], a.size(s[2], a.height), a.size(s[3], a.width)});
}
void interp_run(Run& ctx, const Interp&) {
  graft::TensorView in = ctx.input(0);
  graft::OutputView out = ctx.output(0);
  std::vector<double> x = in.to<double>(), y;
  int64_t h = in.dim(2), w = in.dim(3), rows = out.dim(2), columns = out.dim(3);
  double down = rows > 1 ? static_cast<double>(h - 1) / static_cast<double>(rows - 1) : 0,
         right = columns > 1 ? static_cast<double>(w - 1) / static_cast<double>(columns - 1) : 0;
  for (int64_t p = 0; p < in.dim(0) * in.dim(1) && h && w; ++p)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double fy = down * static_cast<double>(i), fx = right * static_cast<double>(j);
        auto y0 = std::min(static_cast<int64_t>(fy), h - 1), x0 = std::min(static_cast<int64_t>(fx), w - 1),
             y1 = std::min(y0 + 1, h - 1), x1 = std::min(x0 + 1, w - 1);
        auto at = [&](int64_t row, int64_t column) { return x[static_cast<size_t>((p * h + row) * w + column)]; };
        double b = fy - static_cast<double>(y0), a = fx - static_cast<double>(x0);
        y.push_back((1 - b) * ((1 - a) * at(y0, x0) + a * at(y0, x1)) + b * ((1 - a) * at(y1, x0) + a * at(y1, x1)));
      }
  out.assign(y);
}

graft::OpOf<NoAttributes> sum(std::string_view name, std::string_view domain, std::string_view inputs) {
  return graft::op(name, domain)
      .inputs(inputs)
      .infer(sum_infer)
      .reference(sum_run)
      .import(graft::onnx(name).domain(domain));
}

// ---- custom operators of TensorFlow Lite ----

struct SwishBeta {
  float beta = 1;
  bool inplace = false;
  int64_t n = 1;
  static constexpr std::tuple schema{attr("beta", &SwishBeta::beta, "").required(),
                                     attr("inplace", &SwishBeta::inplace, "").required(),
                                     attr("n", &SwishBeta::n, "").required()};
};
struct Cube {
  float k = 1;
  static constexpr std::tuple schema{attr("k", &Cube::k, "").required()};
};
struct Huber {
  float delta = 1;
  static constexpr std::tuple schema{attr("delta", &Huber::delta, "").required()};
};
void huber_infer(Infer& ctx, const Huber&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
// The target is a row that all rows have in common.
void huber_run(Run& ctx, const Huber& a) {
  std::vector<double> x = ctx.input(0).to<double>(), target = ctx.input(1).to<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    double d = std::fabs(x[i] - target.at(i % target.size()));
    x[i] = d <= a.delta ? d * d / 2 : a.delta * (d - a.delta / 2);
  }
  ctx.output(0).assign(x);
}
struct Smallest {
  int64_t k = 1;
  static constexpr std::tuple schema{attr("k", &Smallest::k, "").required()};
};
void smallest_infer(Infer& ctx, const Smallest& a) {
  graft::Shape s = ctx.shape(0);
  graft::Shape y;
  for (size_t i = 0; i + 1 < s.rank(); ++i) y.push_back(s[i]);
  y.push_back(graft::Dim(a.k));
  ctx.output(0, ctx.type(0), y);
  ctx.output(1, graft::DType::i32, y);
}
void smallest_run(Run& ctx, const Smallest& a) {
  std::vector<double> x = ctx.input(0).to<double>(), values, places;
  auto length = static_cast<size_t>(ctx.input(0).dims().back()), k = static_cast<size_t>(a.k);
  for (size_t row = 0; row < x.size(); row += length) {
    std::vector<size_t> order(length);
    for (size_t i = 0; i < length; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return x[row + i] < x[row + j]; });
    for (size_t i = 0; i < k; ++i)
      values.push_back(x.at(row + order.at(i))), places.push_back(static_cast<double>(order.at(i)));
  }
  ctx.output(0).assign(values), ctx.output(1).assign(places);
}
struct GatherScale {
  float scale = 1;
  static constexpr std::tuple schema{attr("scale", &GatherScale::scale, "").required()};
};
void gather_scale_infer(Infer& ctx, const GatherScale&) {
  ctx.output(0, ctx.type(0), graft::Shape{ctx.shape(1)[0], ctx.shape(0)[1]});
}
void gather_scale_run(Run& ctx, const GatherScale& a) {
  std::vector<double> x = ctx.input(0).to<double>(), y;
  auto width = static_cast<size_t>(ctx.input(0).dim(1));
  for (auto row : ctx.input(1).to<int64_t>())
    for (size_t i = 0; i < width; ++i) y.push_back(a.scale * x.at(static_cast<size_t>(row) * width + i));
  ctx.output(0).assign(y);
}

}  // namespace

GRAFT_EXTENSION("recorded", "1.0") {
  return {
      graft::op<SwishBeta>("SwishBeta", "acme")
          .elementwise([](auto x, const SwishBeta& a) {
            double v = static_cast<double>(x);
            return static_cast<double>(a.n) * v / (1 + std::exp(-a.beta * v));
          })
          .import(graft::tflite("acme.SwishBeta")),
      graft::op<Cube>("AcmeCube", "acme")
          .elementwise([](auto x, const Cube& a) { return a.k * x * x * x; })
          .import(graft::tflite("AcmeCube")),
      graft::op<Huber>("AcmeHuber", "acme")
          .inputs("x, target")
          .infer(huber_infer)
          .reference(huber_run)
          .import(graft::tflite("AcmeHuber")),
      graft::op<Smallest>("AcmeMinMaxK", "acme")
          .inputs("x, k")
          .outputs("values, places")
          .infer(smallest_infer)
          .reference(smallest_run)
          .import(graft::tflite("AcmeMinMaxK")),
      graft::op<GatherScale>("AcmeGatherScale", "acme")
          .inputs("x, rows")
          .infer(gather_scale_infer)
          .reference(gather_scale_run)
          .import(graft::tflite("AcmeGatherScale")),
      sum("Foo", "test", "a, b"),
      sum("FooBar", "test", "a, b?, c"),
      sum("CustomOpOne", "test.customop", "a, b"),
      sum("AddQ", "com.intel.ai", "a, b"),
      graft::op<AllKinds>("FooBar_Attr", "test")
          .elementwise([](auto x, const AllKinds& a) {
            double sum = a.float_attr + static_cast<double>(a.int_attr);
            for (float f : a.floats_attr) sum += f;
            for (int64_t i : a.ints_attr) sum += static_cast<double>(i);
            return a.string_attr == "add" ? x + sum : x - sum;
          })
          .import(graft::onnx("FooBar_Attr").domain("test")),
      graft::op<Numbers>("AttrTesterIntFloat", "test.customop")
          .inputs("x")
          .infer(numbers_infer)
          .reference(numbers_run)
          .import(graft::onnx("AttrTesterIntFloat").domain("test.customop")),
      graft::op<Texts>("AttrTesterString", "test.customop")
          .inputs("x")
          .infer(texts_infer)
          .reference(texts_run)
          .import(graft::onnx("AttrTesterString").domain("test.customop")),
      graft::op("CopyTensorArrayAllVariadic", "test.customop")
          .inputs("inputs...")
          .outputs("outputs...")
          .infer(copy_infer)
          .reference(copy_run)
          .import(graft::onnx("CopyTensorArrayAllVariadic").domain("test.customop")),
      graft::op("CustomOpTwo", "test.customop")
          .inputs("x")
          .infer(round_infer)
          .reference(round_run)
          .import(graft::onnx("CustomOpTwo").domain("test.customop")),
      graft::op("NegPos", "ai.onnx.contrib")
          .inputs("x")
          .outputs("negative, positive")
          .infer(split_infer)
          .reference(split_run)
          .import(graft::onnx("NegPos").domain("ai.onnx.contrib")),
      graft::op("Slice", "abc")
          .inputs("x, from, to")
          .infer(slice_infer)
          .reference(slice_run)
          .import(graft::onnx("Slice").domain("abc")),
      graft::op<ScaleBias>("MyCustomOp")
          .elementwise([](auto x, const ScaleBias& a) { return a.scale * x + a.bias; })
          .import(graft::onnx("MyCustomOp")),
      graft::op<Interp>("Interp")
          .inputs("x")
          .infer(interp_infer)
          .reference(interp_run)
          .import(graft::caffe("Interp")
                      .attr("height", "interp_param.height")
                      .attr("width", "interp_param.width")
                      .attr("zoom_factor", "interp_param.zoom_factor")),
      // Mapped to a built-in operation: a rule without an operation of its own.
      graft::onnx("CustomRelu").domain("my_custom_domain").to("Relu", "opset1"),
  };
}

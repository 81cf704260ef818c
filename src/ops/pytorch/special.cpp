// Fourier transforms, polynomials, Bessel functions, segments.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- Fourier transforms to real numbers ----

struct PtFourier {
  Ints axes, sizes;
  std::string norm;
};
PtFourier pt_fourier(Call& c, const Value& x) {
  PtFourier f;
  f.axes = c.in.has("dim") || c.in.type().ends_with("2") || (!c.in.has("s") && !c.in.type().ends_with("n"))
               ? pt::axes_of(c.ints("dim"), x.rank())
               : Ints();
  Ints given = c.given("s") ? c.ints("s") : c.given("n") ? c.ints("n") : Ints();
  if (f.axes.empty()) {
    size_t n = given.empty() ? x.rank() : given.size();
    for (size_t i = x.rank() - n; i < x.rank(); ++i) f.axes.push_back(static_cast<int64_t>(i));
  }
  if (!given.empty() && given.size() != f.axes.size()) fail("expected as many sizes as axes");
  for (size_t i = 0; i < f.axes.size(); ++i) {
    bool last = i + 1 == f.axes.size();
    int64_t n = given.empty() || given[i] == -1 ? -1 : given[i];
    if (n < 0) n = last ? 2 * (pt::known_size(x, f.axes[i]) - 1) : pt::known_size(x, f.axes[i]);
    f.sizes.push_back(n);
  }
  f.norm = c.given("norm") ? c.word("norm") : "backward";
  return f;
}
// The real input of a Hermitian signal: half of it is given. As complex numbers there are none, its parts are real.
template <bool hermitian>
Value import_pt_to_real(Builder& layer) {
  Call c(layer);
  Value x = pt::as_float(c["self"]);
  PtFourier f = pt_fourier(c, x);
  double count = 1;
  for (int64_t n : f.sizes) {
    if (n < 1) fail("expected at least one point, got ", n);
    count *= static_cast<double>(n);
  }
  Value pair = build::concat({unsqueeze(x, {-1}), unsqueeze(x * 0.0, {-1})}, static_cast<int64_t>(x.rank()));
  Value y;
  if (!hermitian) {
    y = layer.op("IRDFT", {pair, layer.ints(f.axes), layer.ints(f.sizes)});
  } else {
    // hfft is the forward transform: irfft of the conjugate, times the number of points; forward along the other axes.
    int64_t last = f.axes.back(), n = f.sizes.back();
    Ints others(f.axes.begin(), f.axes.end() - 1), sizes(f.sizes.begin(), f.sizes.end() - 1);
    if (!others.empty()) pair = layer.op("DFT", {pair, layer.ints(others), layer.ints(sizes)});
    auto r = static_cast<int64_t>(x.rank());
    Value real = build::slice(pair, r, 0, 1), imaginary = build::slice(pair, r, 1, 2);
    y = layer.op("IRDFT", {build::concat({real, -imaginary}, r), layer.ints({last}), layer.ints({n})}) *
        static_cast<double>(n);
  }
  bool scaled = hermitian ? f.norm == "forward" : f.norm == "forward";
  if (f.norm == "ortho") y = hermitian ? y / std::sqrt(count) : y * std::sqrt(count);
  else if (scaled) y = hermitian ? y / count : y * count;
  return y;
}

// ---- polynomials ----

// p(n, x) by recurrence, for each element its own n: those that are reached in time are kept.
using PtStep = Value (*)(const Value& x, const Value& last, const Value& before, double k);
template <PtStep step, Value (*first)(const Value&), bool shifted>
Value import_pt_polynomial(Builder& layer) {
  Call c(layer);
  DType type = pt::Promotion().add(c, "x").add(c, "n").type();
  if (!pt::is_float(type)) type = DType::f32;
  Value given = convert(c.number("x", type), DType::f64), n = pt::truncated(convert(c.number("n", type), DType::f64));
  Value both = given + n * 0.0, x = shifted ? both * 2.0 - 1.0 : both;
  n = pt::broadcast_to(n, x);
  int64_t most = 64;
  if (auto known = n.values<double>()) {
    most = 0;
    for (double v : *known) most = std::max(most, static_cast<int64_t>(std::min(v, 64.0)));
  }
  Value before = pt::filled_like(x, 1, DType::f64), last = first(x);
  Value y = pt::where(pt::less(n, 0), like(x, 0), before);
  for (int64_t k = 1; k <= most; ++k) {
    y = pt::where(pt::equals(n, static_cast<double>(k)), last, y);
    Value next = step(x, last, before, static_cast<double>(k));
    before = last, last = next;
  }
  return convert(y, type);
}
Value pt_chebyshev_step(const Value& x, const Value& a, const Value& b, double) { return x * 2.0 * a - b; }
Value pt_hermite_step(const Value& x, const Value& a, const Value& b, double k) { return x * 2.0 * a - b * (2 * k); }
Value pt_hermite_e_step(const Value& x, const Value& a, const Value& b, double k) { return x * a - b * k; }
Value pt_laguerre_step(const Value& x, const Value& a, const Value& b, double k) {
  return ((2 * k + 1 - x) * a - b * k) / (k + 1);
}
Value pt_legendre_step(const Value& x, const Value& a, const Value& b, double k) {
  return (x * a * (2 * k + 1) - b * k) / (k + 1);
}
Value pt_first_x(const Value& x) { return x; }
Value pt_first_2x(const Value& x) { return x * 2.0; }
Value pt_first_v(const Value& x) { return x * 2.0 - 1.0; }
Value pt_first_w(const Value& x) { return x * 2.0 + 1.0; }
Value pt_first_laguerre(const Value& x) { return 1.0 - x; }

// ---- Bessel functions by integrals ----

// (1 / pi) * integral of cos(order * t - x sin t): the trapezoidal rule is exact to double precision here.
template <int order>
Value import_pt_bessel_j(Builder& layer) {
  Call c(layer);
  Value x = pt::as_float(c["self"]), wide = convert(x, DType::f64), sum;
  constexpr int points = 96;
  std::vector<double> sines, cosines;
  for (int i = 0; i < points; ++i) {
    double t = 3.14159265358979323846 * (i + 0.5) / points;
    sines.push_back(std::sin(t)), cosines.push_back(t * order);
  }
  Value s = layer.typed(sines, {points}, DType::f64), o = layer.typed(cosines, {points}, DType::f64);
  Value y = layer.op("Cos", {o - unsqueeze(wide, {-1}) * s});
  return convert(pt::reduce("ReduceMean", y, {static_cast<int64_t>(x.rank())}, false), x.type());
}
// K by its integral of exp(-x cosh t) cosh(order * t), times e^x if scaled.
template <int order, bool scaled>
Value import_pt_bessel_k(Builder& layer) {
  Call c(layer);
  Value x = pt::as_float(c.find("x") ? c["x"] : c["self"]), wide = convert(x, DType::f64);
  constexpr int points = 800;
  constexpr double reach = 24;
  std::vector<double> cosh_t, weight;
  for (int i = 0; i < points; ++i) {
    double t = reach * i / points;
    cosh_t.push_back(std::cosh(t) - (scaled ? 1 : 0));
    weight.push_back((i == 0 ? 0.5 : 1) * std::cosh(order * t) * reach / points);
  }
  Value y = layer.op("Exp", {-(unsqueeze(wide, {-1}) * layer.typed(cosh_t, {points}, DType::f64))}) *
            layer.typed(weight, {points}, DType::f64);
  y = pt::reduce("ReduceSum", y, {static_cast<int64_t>(x.rank())}, false);
  y = pt::where(pt::equals(wide, 0), like(y, std::numeric_limits<double>::infinity()), y);
  y = pt::where(pt::less(wide, 0), like(y, std::numeric_limits<double>::quiet_NaN()), y);
  return convert(y, x.type());
}

// ---- segments and bins ----

Value import_pt_segment_reduce(Builder& layer) {
  Call c(layer);
  Value x = c["data"], lengths = c.find("lengths"), offsets = c.find("offsets");
  if (c.integer("axis") != 0) unsupported("segment_reduce along axis 0 alone is supported, got ", c.integer("axis"));
  layer.has("unsafe");
  Value ends = lengths ? layer.op("CumSum", {convert(lengths, DType::i64), layer.scalar(int64_t{0})})
                       : build::slice(convert(offsets, DType::i64), 0, 1, INT64_MAX);
  std::string how = c.word("reduce");
  Value n = dimension_of(x, 0), bags = build::dim(ends, 0);
  Value bag = layer.op("SearchSorted", {ends, counting(n, DType::i64)}, {{"right_mode", true}});
  double fill = how == "max" ? -INFINITY : how == "min" ? INFINITY : how == "prod" ? 1 : how == "mean" ? NAN : 0;
  if (c.given("initial")) fill = c.real("initial");
  Ints rest, dims(x.rank(), 1);
  for (size_t i = 1; i < x.rank(); ++i) rest.push_back(static_cast<int64_t>(i));
  dims[0] = -1;
  Value target = rest.empty() ? bags : build::concat({bags, build::dims(x, rest)}, 0);
  bool mean = how == "mean";
  Value start = build::fill(layer, mean ? c.given("initial") ? fill : 0 : fill, x.type(), target);
  Value at = pt::expanded(reshape(bag, dims), shape_of(x));
  auto scattered = [&](const Value& into, const Value& values, const std::string& reduction) {
    return layer.op("ScatterElementsUpdate", {into, at, values, layer.scalar(int64_t{0})},
                    {{"reduction", reduction}, {"use_init_val", true}});
  };
  Value y = scattered(start, x, mean ? "sum" : how);
  if (!mean) return y;
  Value count = scattered(build::fill(layer, 0, x.type(), target), pt::filled_like(x, 1, x.type()), "sum");
  return pt::where(pt::equals(count, 0), like(y, fill), y / layer.op("Maximum", {count, like(count, 1)}));
}
// Rows of matrices of equal width, joined and cut into equal parts that are padded with zeros.
Value import_pt_chunk_cat(Builder& layer) {
  Call c(layer);
  std::vector<Value> parts;
  int64_t n = c.integer("num_chunks"), dim = c.integer("dim");
  for (const Value& v : c.tensors("tensors")) {
    int64_t axis = pt::axis_of(dim, v.rank()), size = pt::known_size(v, axis), chunk = n > 0 ? (size + n - 1) / n : 0;
    if (n < 1 || n > 1 << 20) fail("expected 1 to ", 1 << 20, " chunks, got ", n);
    Ints begin(v.rank(), 0), end(v.rank(), 0);
    end[static_cast<size_t>(axis)] = chunk * n - size;
    Value padded = layer.op("Pad", {v, layer.ints(begin), layer.ints(end), like(v, 0)}, {{"pad_mode", "constant"}});
    std::vector<Value> target;
    if (axis > 0) target.push_back(build::dims(v, pt::counting_to(static_cast<size_t>(axis))));
    target.push_back(layer.ints({n, -1}));
    parts.push_back(build::reshape(padded, target));
  }
  return build::concat(parts, static_cast<int64_t>(parts[0].rank()) - 1);
}
Value import_pt_embedding_renorm(Builder& layer) {
  Call c(layer);
  Value w = c["self"], index = pt::flat(c["indices"]);
  double most = c.real("max_norm");
  Value n = pt::norm_over(w, c.real("norm_type"), {1}, true);
  Value smaller = pt::where(pt::greater(n, most), w * (like(n, most) / (n + 1e-7)), w);
  return layer.op("ScatterUpdate", {w, index, build::gather(smaller, index, 0), layer.scalar(int64_t{0})});
}

}  // namespace

Definitions define_pytorch_special() {
  return {
      pt::rules({"aten::fft_irfft", "aten::fft_irfft2", "aten::fft_irfftn"}, import_pt_to_real<false>),
      pt::rules({"aten::fft_hfft", "aten::fft_hfft2", "aten::fft_hfftn"}, import_pt_to_real<true>),
      pt::rules({"aten::special_chebyshev_polynomial_t"}, import_pt_polynomial<pt_chebyshev_step, pt_first_x, false>),
      pt::rules({"aten::special_chebyshev_polynomial_u"}, import_pt_polynomial<pt_chebyshev_step, pt_first_2x, false>),
      pt::rules({"aten::special_chebyshev_polynomial_v"}, import_pt_polynomial<pt_chebyshev_step, pt_first_v, false>),
      pt::rules({"aten::special_chebyshev_polynomial_w"}, import_pt_polynomial<pt_chebyshev_step, pt_first_w, false>),
      pt::rules({"aten::special_shifted_chebyshev_polynomial_t"},
                import_pt_polynomial<pt_chebyshev_step, pt_first_x, true>),
      pt::rules({"aten::special_shifted_chebyshev_polynomial_u"},
                import_pt_polynomial<pt_chebyshev_step, pt_first_2x, true>),
      pt::rules({"aten::special_shifted_chebyshev_polynomial_v"},
                import_pt_polynomial<pt_chebyshev_step, pt_first_v, true>),
      pt::rules({"aten::special_shifted_chebyshev_polynomial_w"},
                import_pt_polynomial<pt_chebyshev_step, pt_first_w, true>),
      pt::rules({"aten::special_hermite_polynomial_h"}, import_pt_polynomial<pt_hermite_step, pt_first_2x, false>),
      pt::rules({"aten::special_hermite_polynomial_he"}, import_pt_polynomial<pt_hermite_e_step, pt_first_x, false>),
      pt::rules({"aten::special_laguerre_polynomial_l"},
                import_pt_polynomial<pt_laguerre_step, pt_first_laguerre, false>),
      pt::rules({"aten::special_legendre_polynomial_p"}, import_pt_polynomial<pt_legendre_step, pt_first_x, false>),
      pt::rules({"aten::special_bessel_j0"}, import_pt_bessel_j<0>),
      pt::rules({"aten::special_bessel_j1"}, import_pt_bessel_j<1>),
      pt::rules({"aten::special_modified_bessel_k0"}, import_pt_bessel_k<0, false>),
      pt::rules({"aten::special_modified_bessel_k1"}, import_pt_bessel_k<1, false>),
      pt::rules({"aten::special_scaled_modified_bessel_k0"}, import_pt_bessel_k<0, true>),
      pt::rules({"aten::special_scaled_modified_bessel_k1"}, import_pt_bessel_k<1, true>),
      pt::rules({"aten::segment_reduce"}, import_pt_segment_reduce),
      pt::rules({"aten::_chunk_cat"}, import_pt_chunk_cat),
      pt::rules({"aten::embedding_renorm"}, import_pt_embedding_renorm),
  };
}

}  // namespace graft

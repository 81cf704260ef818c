#include "compare.hpp"

#include <cmath>
#include <set>

#include "base/tensor.hpp"
#include "base/text.hpp"

namespace graft::cases {
namespace {

std::string type_family(DType t) { return std::string(name_of(t)); }

// The element type as .npy carries it.
DType stored(DType t) {
  if (is_real(t) && (bits_of(t) < 16 || t == DType::bf16)) return DType::f32;
  if (t == DType::i4) return DType::i8;
  if (t == DType::u4) return DType::u8;
  return t;
}

Tensor slice_rows(const Tensor& t, int64_t from, int64_t to, int64_t step) {
  std::vector<double> v = values_of<double>(t), out;
  std::vector<int64_t> dims = t.dims();
  int64_t row = dims[0] ? t.size() / dims[0] : 0, n = 0;
  for (int64_t r = from; r < std::min(to, dims[0]); r += step, ++n)
    out.insert(out.end(), v.begin() + r * row, v.begin() + (r + 1) * row);
  dims[0] = n;
  return make_tensor<double>(dims, out);
}

double overlap(const double* p, const double* q) {
  double w = std::min(p[5], q[5]) - std::max(p[3], q[3]), h = std::min(p[6], q[6]) - std::max(p[4], q[4]);
  double inter = std::max(w, 0.0) * std::max(h, 0.0);
  double u = (p[5] - p[3]) * (p[6] - p[4]) + (q[5] - q[3]) * (q[6] - q[4]) - inter;
  return u > 0 ? inter / u : 0;
}

std::string compare_detections(const Tensor& ref, const Tensor& out, const nlohmann::json& rule) {
  std::vector<double> r = values_of<double>(ref), o = values_of<double>(out);
  std::set<size_t> used;
  double conf = rule["conf"];
  for (size_t i = 0; i + 7 <= o.size(); i += 7) {
    if (o[i + 2] < conf) continue;
    bool hit = false;
    for (size_t j = 0; j + 7 <= r.size() && !hit; j += 7)
      if (!used.count(j) && r[j + 1] == o[i + 1] && std::fabs(r[j + 2] - o[i + 2]) < rule["score_diff"] &&
          1 - overlap(&r[j], &o[i]) < rule["iou_diff"])
        used.insert(j), hit = true;
    if (!hit)
      return text("unexpected detection ",
                  std::vector<double>(o.begin() + static_cast<long>(i), o.begin() + static_cast<long>(i) + 7));
  }
  for (size_t j = 0; j + 7 <= r.size(); j += 7)
    if (r[j + 2] > conf && !used.count(j)) return "missing detection";
  return "";
}

std::string compare_one(const Tensor& ref, Tensor out, const nlohmann::json& c, const nlohmann::json& spec) {
  auto rule = [&](const char* key) -> const nlohmann::json* {
    if (spec.contains(key)) return &spec[key];
    return c.contains(key) ? &c[key] : nullptr;
  };
  if (auto d = rule("detections")) return compare_detections(ref, out, *d);
  if (ref.type() == DType::string || out.type() == DType::string) {
    if (ref.type() != out.type() || ref.dims() != out.dims())
      return text("texts of shape ", out.dims(), ", expected ", ref.dims());
    return same_content(ref, out) ? "" : "texts differ";
  }
  if (spec.value("check_dtype", false) && stored(ref.type()) != stored(out.type()))
    return text("type ", type_family(out.type()), ", expected ", type_family(ref.type()));
  if (spec.contains("select") && !out.dims().empty())
    out = slice_rows(out, spec["select"][0], spec["select"][1], spec["select"][2]);
  if (spec.contains("rows") && spec["rows"] == "prefix" && out.dims().size() == ref.dims().size() &&
      out.dims()[0] > ref.dims()[0]) {
    for (double v : values_of<double>(slice_rows(out, ref.dims()[0], out.dims()[0], 1)))
      if (v != 0) return "rows after the recorded ones are not zero";
    out = slice_rows(out, 0, ref.dims()[0], 1);
  }
  auto squeezed = [](std::vector<int64_t> d) {
    std::erase(d, 1);
    return d;
  };
  if (!spec.value("flat", false) && ref.dims() != out.dims() &&
      !(spec.value("loose_shape", false) && squeezed(ref.dims()) == squeezed(out.dims())))
    return text("shape ", out.dims(), ", expected ", ref.dims());
  if (ref.size() != out.size()) return text(out.size(), " values, expected ", ref.size());
  if (ref.size() == 0) return "";
  auto whole = [](DType t) { return is_integer(t) || t == DType::boolean; };
  const nlohmann::json* l1 = rule("l1");
  double atol = rule("atol") ? rule("atol")->get<double>() : 1e-7,
         rtol = rule("rtol") ? rule("rtol")->get<double>() : 1e-3;
  if (!l1 && whole(ref.type()) && whole(out.type()) && (!rule("atol") || atol < 1)) {
    auto a = values_of<int64_t>(ref), b = values_of<int64_t>(out);
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i]) return text("whole numbers differ, first at ", i, ": ", b[i], ", expected ", a[i]);
    return "";
  }
  auto r = values_of<double>(ref), o = values_of<double>(out);
  double sum = 0, most = 0;
  size_t bad = 0, first = 0;
  for (size_t i = 0; i < r.size(); ++i) {
    bool both_nan = std::isnan(r[i]) && std::isnan(o[i]), same = r[i] == o[i] || both_nan;
    double d = same ? 0 : std::fabs(r[i] - o[i]);
    if (std::isnan(d) || (std::isinf(d))) d = INFINITY;
    sum += d;
    most = std::max(most, d);
    if (!same && !(d <= atol + rtol * std::fabs(r[i]))) first = bad++ ? first : i;
  }
  if (l1) {
    double mean = sum / static_cast<double>(r.size());
    if (mean > l1->get<double>() || most > rule("linf")->get<double>())
      return text("mean difference ", mean, ", largest ", most, "; allowed ", l1->get<double>(), " and ",
                  rule("linf")->get<double>());
    return "";
  }
  return bad ? text(bad, " of ", r.size(), " differ, first at ", first, ": ", o[first], ", expected ", r[first]) : "";
}

}  // namespace

std::string compare(const Datum& expected, const Datum& got, const nlohmann::json& c, const nlohmann::json& spec) {
  // An optional that holds a value is the value.
  auto value = [](const Datum& d) -> const Datum& {
    return d.kind == Datum::optional && !d.parts.empty() ? d.parts[0] : d;
  };
  const Datum &a = value(expected), &b = value(got);
  if (a.kind != b.kind) return "another kind of value than expected";
  if (a.kind == Datum::tensor) return compare_one(a.value, b.value, c, spec);
  if (a.parts.size() != b.parts.size()) return text(b.parts.size(), " parts, expected ", a.parts.size());
  for (size_t i = 0; i < a.parts.size(); ++i)
    if (std::string why = compare(a.parts[i], b.parts[i], c, {{"check_dtype", true}}); !why.empty())
      return text("part ", i, ": ", why);
  return "";
}

}  // namespace graft::cases

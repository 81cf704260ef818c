// Numbers as strings, and strings as numbers.
#include <charconv>
#include <cmath>

#include "number_text.hpp"
#include "strings.hpp"

namespace graft {
namespace {

struct AsString {
  int64_t precision = -1, width = -1;
  bool scientific = false, shortest = false;
  std::string fill;
  static constexpr std::tuple schema{
      attr("precision", &AsString::precision,
           "digits behind the point of a real number, or all digits if shortest; -1: 6")
          .between(-1, 1000),
      attr("scientific", &AsString::scientific, "write real numbers with an exponent"),
      attr("shortest", &AsString::shortest, "write real numbers with an exponent only where that is shorter"),
      attr("width", &AsString::width, "least number of characters; -1: any").between(-1, 4096),
      attr("fill", &AsString::fill, "in front of a number: 0, space, or + as its sign; -: spaces behind it")};
};

void as_string_infer(Infer& ctx, const AsString& a) {
  DType t = ctx.type(0);
  bool real = is_real(t) || t == DType::undefined || t == DType::string;
  if (!real && (a.precision != -1 || a.scientific || a.shortest))
    fail("expected real numbers for a precision or an exponent, got ", t);
  if (a.scientific && a.shortest) fail("expected either scientific or shortest numbers, got both");
  if (a.fill.size() > 1 || std::string_view(" +-0").find(a.fill) == std::string_view::npos)
    fail("expected nothing, a space, +, - or 0 as fill, got '", a.fill, "'");
  ctx.output(0, DType::string, ctx.shape(0));
}

std::string as_string_real(double v, const AsString& a) {
  auto format = a.scientific ? std::chars_format::scientific
                : a.shortest ? std::chars_format::general
                             : std::chars_format::fixed;
  std::string out(1400, 0);  // the largest number has 309 digits
  int digits = a.precision < 0 ? 6 : static_cast<int>(a.precision);
  out.resize(
      static_cast<size_t>(std::to_chars(out.data(), out.data() + out.size(), v, format, digits).ptr - out.data()));
  return out;
}
// The sign, and what fills up to the width.
std::string as_string_filled(std::string s, const AsString& a, bool number, bool finite, bool with_sign = true) {
  char fill = a.fill.empty() ? ' ' : a.fill[0];
  if (number && with_sign && (fill == '+' || (fill == ' ' && !a.fill.empty())) && !s.starts_with('-'))
    s.insert(0, 1, fill);
  auto width = static_cast<size_t>(std::max<int64_t>(a.width, 0));
  if (s.size() >= width) return s;
  size_t missing = width - s.size();
  if (fill == '-') s.append(missing, ' ');
  else if (fill == '0' && number && finite) s.insert(s.starts_with('-') ? 1 : 0, missing, '0');
  else s.insert(0, missing, ' ');
  return s;
}

void as_string_run(Run& ctx, const AsString& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (x.type() == DType::string) {
    bool cut = a.width >= 0 && a.precision >= 0;
    for (int64_t i = 0; i < x.size(); ++i) {
      std::string_view s = string_of(x, i);
      if (cut) s = s.substr(0, static_cast<size_t>(a.precision));
      ctx.store(y, i, as_string_filled(std::string(s), a, false, false));
    }
    return;
  }
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> values = x.to<T>();
    for (int64_t i = 0; i < x.size(); ++i) {
      T v = values[static_cast<size_t>(i)];
      if (x.type() == DType::boolean) ctx.store(y, i, v != T{} ? "true" : "false");
      else if constexpr (std::is_floating_point_v<T>)
        ctx.store(y, i, as_string_filled(as_string_real(v, a), a, true, std::isfinite(v)));
      else ctx.store(y, i, as_string_filled(text(v), a, true, true, is_signed_integer(x.type())));
    }
  });
}

struct StringToNumber {
  DType out_type = DType::f32;
  static constexpr std::tuple schema{attr("out_type", &StringToNumber::out_type, "element type of the numbers")};
};
void string_to_number_infer(Infer& ctx, const StringToNumber& a) {
  strings_expect(ctx);
  if (!is_real(a.out_type) && !is_integer(a.out_type)) fail("expected a type of numbers as out_type, got ", a.out_type);
  ctx.output(0, a.out_type, ctx.shape(0));
}
template <class T>
void numbers_of_strings(TensorView x, OutputView y) {
  std::vector<T> out;
  for (int64_t i = 0; i < x.size(); ++i) {
    std::optional<T> v = number_from<T>(string_of(x, i));
    if (!v) fail("expected a number of type ", y.type(), ", got '", string_of(x, i), "'");
    out.push_back(*v);
  }
  y.assign(out);
}
void string_to_number_run(Run& ctx, const StringToNumber&) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  switch (y.type()) {
    case DType::f32: return numbers_of_strings<float>(x, y);
    case DType::i32: return numbers_of_strings<int32_t>(x, y);
    case DType::u32: return numbers_of_strings<uint32_t>(x, y);
    default: return with_number_type(y.type(), [&]<class T>(T) { numbers_of_strings<T>(x, y); });
  }
}

}  // namespace

Definitions define_as_string() {
  return {
      op<AsString>("AsString", "graft")
          .doc("Each number as a string")
          .inputs("data")
          .infer(as_string_infer)
          .linear()
          .reference(as_string_run)
          .import(tensorflow("AsString")),
      op<StringToNumber>("StringToNumber", "graft")
          .doc("The number that each string holds")
          .inputs("data")
          .infer(string_to_number_infer)
          .linear()
          .reference(string_to_number_run)
          .import(tensorflow("StringToNumber")),
  };
}

}  // namespace graft

#include "readers/work_size.hpp"

#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

constexpr int deepest = 64;
constexpr int64_t largest = INT32_MAX;

struct Number {
  double value = 0;
  bool whole = true;
};

class Formula {
 public:
  Formula(std::string_view text, FormulaKind kind, const FormulaVariables& variables)
      : all_(text), rest_(text), kind_(kind), variables_(variables) {}

  int64_t value() {
    Number n = expression();
    skip();
    if (!rest_.empty()) broken("expected an operator, got '", rest_.substr(0, 10), "'");
    return static_cast<int64_t>(n.value);
  }

 private:
  template <class... Parts>
  [[noreturn]] void broken(const Parts&... parts) const {
    throw_user("formula '", all_, "': ", parts...);
  }
  void skip() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  char next() {
    skip();
    return rest_.empty() ? '\0' : rest_[0];
  }
  Number checked(double v, bool whole) const {
    if (!(std::abs(v) <= static_cast<double>(largest))) broken("expected a value of at most ", largest, ", got ", v);
    return {v, whole};
  }

  Number expression() {
    if (++depth_ > deepest) broken("expected at most ", deepest, " levels of parentheses, got more");
    Number left = term();
    for (char c = next(); c == '+' || c == '-'; c = next()) {
      rest_.remove_prefix(1);
      Number right = term();
      left = checked(c == '+' ? left.value + right.value : left.value - right.value, left.whole && right.whole);
    }
    --depth_;
    return left;
  }

  Number term() {
    Number left = factor();
    for (char c = next(); c == '*' || c == '/' || c == '%'; c = next()) {
      rest_.remove_prefix(1);
      Number right = factor();
      bool whole = left.whole && right.whole;
      if (c == '*') {
        left = checked(left.value * right.value, whole);
        continue;
      }
      if (right.value == 0) broken("division by zero");
      double v = c == '/' ? left.value / right.value : std::fmod(left.value, right.value);
      left = checked(whole ? std::trunc(v) : v, whole);
    }
    return left;
  }

  Number factor() {
    char c = next();
    if (c == '(') {
      rest_.remove_prefix(1);
      Number n = expression();
      if (next() != ')') broken("expected ')'");
      rest_.remove_prefix(1);
      return n;
    }
    if ((c >= '0' && c <= '9') || c == '.') return number();
    std::string_view name = word();
    if (name.empty()) {
      if (rest_.empty()) broken("expected a number or a variable at its end");
      broken("expected a number or a variable, got '", rest_.substr(0, 10), "'");
    }
    return kind_ == FormulaKind::vpu && next() == '(' ? function(name) : variable(name);
  }

  Number number() {
    size_t n = rest_.find_first_not_of(kind_ == FormulaKind::vpu ? "0123456789." : "0123456789");
    std::string_view digits = rest_.substr(0, n);
    auto v = parse_number(digits);
    if (!v) broken("expected a number, got '", digits, "'");
    rest_.remove_prefix(digits.size());
    return checked(*v, digits.find('.') == digits.npos);
  }

  std::string_view word() {
    auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    size_t n = 0;
    while (n < rest_.size() && (letter(rest_[n]) || (n > 0 && rest_[n] >= '0' && rest_[n] <= '9'))) ++n;
    // INPUT0_DIMS[2] is one name.
    if (kind_ == FormulaKind::gpu && n < rest_.size() && rest_[n] == '[')
      n = std::min(rest_.find(']', n), rest_.size() - 1) + 1;
    std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return out;
  }

  Number variable(std::string_view name) const {
    double v = variables_(name);
    return checked(v, v == std::trunc(v));
  }

  Number function(std::string_view name) {
    rest_.remove_prefix(1);
    Number n = expression();
    if (next() != ')') broken("expected ')'");
    rest_.remove_prefix(1);
    if (name == "floor") return {std::floor(n.value), true};
    if (name == "ceil") return {std::ceil(n.value), true};
    if (name == "round") return {std::round(n.value), true};
    if (name == "abs") return {std::abs(n.value), n.whole};
    if (name != "sqrt") broken("expected one of floor, ceil, round, abs, sqrt, got '", name, "'");
    if (n.value < 0) broken("square root of a negative number");
    return {std::sqrt(n.value), false};
  }

  std::string_view all_, rest_;
  FormulaKind kind_;
  const FormulaVariables& variables_;
  int depth_ = 0;
};

}  // namespace

int64_t evaluate_work_size(std::string_view formula, FormulaKind kind, const FormulaVariables& variables) {
  return Formula(formula, kind, variables).value();
}

}  // namespace graft

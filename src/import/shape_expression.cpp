#include "import/shape_expression.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace graft {

class ShapeExpressionParser {
 public:
  using Term = ShapeExpression::Term;
  explicit ShapeExpressionParser(ShapeExpression& e) : e_(e), s_(e.source_) {}

  void run() {
    if (s_.size() > ShapeExpression::longest)
      throw_user("expected a shape expression of at most ", ShapeExpression::longest, " characters, got ", s_.size());
    do {
      if (e_.items_.size() == ShapeExpression::most_dimensions)
        broken("it has more than ", ShapeExpression::most_dimensions, " dimensions");
      e_.items_.push_back(item());
    } while (accept(','));
    skip();
    if (at_ < s_.size()) broken("unexpected '", s_[at_], "'");
  }

 private:
  template <class... Parts>
  [[noreturn]] void broken(const Parts&... parts) const {
    throw_user("invalid shape expression '", shown(), "' at character ", at_ + 1, ": ", parts...);
  }
  std::string shown() const { return e_.source_.size() > 80 ? e_.source_.substr(0, 77) + "..." : e_.source_; }
  void skip() {
    while (at_ < s_.size() && (s_[at_] == ' ' || (s_[at_] >= '\t' && s_[at_] <= '\r'))) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ == s_.size() || s_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, std::string_view after) {
    if (!accept(c)) broken("expected '", c, "' after ", after);
  }
  uint32_t add(Term t) {
    e_.terms_.push_back(std::move(t));
    return static_cast<uint32_t>(e_.terms_.size() - 1);
  }

  // A whole shape must be an item of its own.
  uint32_t item() {
    uint32_t t = sum(0);
    if (e_.terms_[t].kind != Term::whole) refuse_whole(e_.items_.empty() ? 0 : e_.items_.back() + 1);
    return t;
  }
  void refuse_whole(size_t from) const {
    for (size_t i = from; i < e_.terms_.size(); ++i)
      if (e_.terms_[i].kind == Term::whole)
        broken("in", e_.terms_[i].value, " is a whole shape and cannot be part of a sum; write in", e_.terms_[i].value,
               "[0] for a dimension");
  }

  uint32_t sum(int depth) {
    if (depth > ShapeExpression::deepest) broken("it is nested more than ", ShapeExpression::deepest, " deep");
    uint32_t left = product(depth);
    while (true) {
      if (accept('+')) left = add({Term::add, 0, {}, {}, {left, product(depth)}});
      else if (accept('-')) left = add({Term::subtract, 0, {}, {}, {left, product(depth)}});
      else return left;
    }
  }
  uint32_t product(int depth) {
    uint32_t left = value(depth);
    while (true) {
      if (accept('*')) left = add({Term::multiply, 0, {}, {}, {left, value(depth)}});
      else if (accept('/')) left = add({Term::divide, 0, {}, {}, {left, value(depth)}});
      else if (accept('%')) left = add({Term::remainder, 0, {}, {}, {left, value(depth)}});
      else return left;
    }
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

  uint32_t value(int depth) {
    if (accept('-')) {
      if (depth >= ShapeExpression::deepest) broken("it is nested more than ", ShapeExpression::deepest, " deep");
      return add({Term::negate, 0, {}, {}, {value(depth + 1)}});
    }
    if (accept('(')) {
      uint32_t t = sum(depth + 1);
      expect(')', "the expression in '('");
      return t;
    }
    skip();
    if (at_ == s_.size()) broken("expected a value, got the end");
    if (is_digit(s_[at_])) return add({Term::number, number(), {}, {}, {}});
    if (!begins_name(s_[at_])) broken("expected a number, inK[i] or a parameter, got '", s_[at_], "'");
    return named(depth);
  }
  int64_t number() {
    size_t begin = at_;
    while (at_ < s_.size() && is_digit(s_[at_])) ++at_;
    auto n = parse_int(s_.substr(begin, at_ - begin));
    if (!n) broken("the number ", s_.substr(begin, std::min<size_t>(at_ - begin, 30)), " is too large");
    return *n;
  }
  std::optional<int64_t> index() {
    if (!accept('[')) return std::nullopt;
    bool negative = accept('-');
    skip();
    if (at_ == s_.size() || !is_digit(s_[at_])) broken("expected a number in [ ]");
    int64_t n = number();
    expect(']', "an index");
    return negative ? -n : n;
  }

  uint32_t named(int depth) {
    size_t begin = at_;
    while (at_ < s_.size() && (begins_name(s_[at_]) || is_digit(s_[at_]) || s_[at_] == '.')) ++at_;
    std::string name(s_.substr(begin, at_ - begin));
    if (name.ends_with('.')) broken("the name '", name, "' ends in a dot");
    if (name.size() > 2 && name.starts_with("in") && std::all_of(name.begin() + 2, name.end(), is_digit)) {
      auto input = parse_int(std::string_view(name).substr(2));
      if (!input || *input > 1'000'000) broken("there is no input ", name.substr(2, 20));
      auto i = index();
      return add({i ? Term::dimension : Term::whole, *input, i, {}, {}});
    }
    if (accept('(')) return call(name, depth);
    auto i = index();
    return add({Term::parameter, 0, i, std::move(name), {}});
  }

  uint32_t call(const std::string& name, int depth) {
    struct Function {
      std::string_view name;
      Term::Kind kind;
      size_t least, most;
    };
    static constexpr Function functions[] = {{"min", Term::smallest, 1, SIZE_MAX},
                                             {"max", Term::largest, 1, SIZE_MAX},
                                             {"ceil_div", Term::ceil_divide, 2, 2},
                                             {"default", Term::otherwise, 2, 2}};
    const Function* f = nullptr;
    for (const Function& known : functions)
      if (known.name == name) f = &known;
    if (!f) broken("unknown function '", name, "', known are min, max, ceil_div and default");
    Term t{f->kind, 0, {}, {}, {}};
    if (!accept(')')) {
      do t.parts.push_back(sum(depth + 1));
      while (accept(','));
      expect(')', "the arguments of a function");
    }
    if (t.parts.size() < f->least || t.parts.size() > f->most)
      broken(name, ": expected ", f->least, f->most > f->least ? " or more" : "", " arguments, got ", t.parts.size());
    if (f->kind == Term::otherwise && e_.terms_[t.parts[0]].kind != Term::parameter)
      broken("default: expected the name of a parameter as the first argument");
    return add(std::move(t));
  }

  ShapeExpression& e_;
  std::string_view s_;
  size_t at_ = 0;
};

ShapeExpression ShapeExpression::parse(std::string_view source) {
  ShapeExpression e;
  e.source_ = source;
  ShapeExpressionParser(e).run();
  return e;
}

class ShapeExpressionEvaluator {
 public:
  using Term = ShapeExpression::Term;
  using Value = std::optional<int64_t>;  // none: unknown
  ShapeExpressionEvaluator(const ShapeExpression& e, const std::vector<Shape>& inputs,
                           const ShapeExpression::Parameters& parameters)
      : e_(e), inputs_(inputs), parameters_(parameters) {}

  Shape run() const {
    Shape out;
    for (uint32_t item : e_.items_) {
      const Term& t = e_.terms_[item];
      if (t.kind == Term::whole) {
        const Shape& s = input(t);
        if (!s.ranked()) return Shape::unknown();
        for (const Dim& d : s) out.push_back(d);
      } else {
        Value v = value(item);
        if (v && *v < 0) throw_user("expected a non-negative dimension ", out.rank(), ", got ", *v);
        if (v && *v > ShapeExpression::largest_dimension)
          throw_user("expected dimension ", out.rank(), " to be at most ", ShapeExpression::largest_dimension, ", got ",
                     *v);
        out.push_back(v ? Dim(*v) : Dim());
      }
      if (out.rank() > ShapeExpression::most_dimensions)
        throw_user("the shape has more than ", ShapeExpression::most_dimensions, " dimensions");
    }
    return out;
  }

 private:
  const Shape& input(const Term& t) const {
    auto k = static_cast<size_t>(t.value);
    if (k >= inputs_.size()) throw_user("in", k, " does not exist, the layer has ", inputs_.size(), " inputs");
    return inputs_[k];
  }
  Value dimension(const Term& t) const {
    const Shape& s = input(t);
    if (!s.ranked()) return std::nullopt;
    auto rank = static_cast<int64_t>(s.rank());
    int64_t i = *t.index < 0 ? *t.index + rank : *t.index;
    if (i < 0 || i >= rank)
      throw_user("in", t.value, "[", *t.index, "] does not exist, input ", t.value, " has shape ", s);
    const Dim& d = s[static_cast<size_t>(i)];
    return d.known() ? Value(d.value()) : std::nullopt;
  }
  int64_t parameter(const Term& t) const {
    const Attribute* a = parameters_(t.name);
    if (!a)
      throw Error(ErrorKind::user, text("the layer has no parameter '", t.name, "'"),
                  text("default(", t.name, ", 1) is 1 where the layer does not have it"));
    if (auto list = a->get_if<std::vector<int64_t>>(); list && t.index) {
      int64_t i = *t.index < 0 ? *t.index + static_cast<int64_t>(list->size()) : *t.index;
      if (i < 0 || i >= static_cast<int64_t>(list->size()))
        throw_user(t.name, "[", *t.index, "] does not exist, parameter '", t.name, "' has ", list->size(), " values");
      return (*list)[static_cast<size_t>(i)];
    }
    if (auto i = a->get_if<int64_t>(); i && (!t.index || *t.index == 0 || *t.index == -1)) return *i;
    if (auto b = a->get_if<bool>(); b && !t.index) return *b;
    throw_user("parameter '", t.name, "': expected ", t.index ? "a list of integers" : "an integer", ", got kind ",
               kind_name(a->kind()));
  }
  static int64_t floor_divide(int64_t a, int64_t b) {
    if (b == 0) throw_user("division by zero");
    if (b == -1) return minus(0, a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
  }
  [[noreturn]] static void overflows() { throw_user("integer overflow"); }
  static int64_t plus(int64_t a, int64_t b) {
    int64_t r;
    if (__builtin_add_overflow(a, b, &r)) overflows();
    return r;
  }
  static int64_t minus(int64_t a, int64_t b) {
    int64_t r;
    if (__builtin_sub_overflow(a, b, &r)) overflows();
    return r;
  }
  static int64_t times(int64_t a, int64_t b) {
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r)) overflows();
    return r;
  }

  // The parser bounds the depth of ( ) and functions, but a chain of operators nests to the left as deep as it is long.
  Value value(uint32_t root) const {
    std::vector<Value> done(root + 1);
    std::vector<bool> needed(root + 1, false);
    needed[root] = true;
    for (uint32_t i = root + 1; i-- > 0;) {
      if (!needed[i]) continue;
      const Term& t = e_.terms_[i];
      for (size_t p = 0; p < t.parts.size(); ++p)
        needed[t.parts[p]] = t.kind != Term::otherwise || p == chosen(t) || needed[t.parts[p]];
    }
    for (uint32_t i = 0; i <= root; ++i)
      if (needed[i]) done[i] = one(e_.terms_[i], done);
    return done[root];
  }
  // Of default(name, otherwise): the part that applies.
  size_t chosen(const Term& t) const { return parameters_(e_.terms_[t.parts[0]].name) ? 0 : 1; }

  Value one(const Term& t, const std::vector<Value>& done) const {
    switch (t.kind) {
      case Term::number: return t.value;
      case Term::dimension: return dimension(t);
      case Term::parameter: return parameter(t);
      case Term::otherwise: return done[t.parts[chosen(t)]];
      case Term::whole: throw_internal("a whole shape is part of a sum");
      default: break;
    }
    for (uint32_t p : t.parts)
      if (!done[p]) return std::nullopt;
    int64_t a = *done[t.parts[0]], b = t.parts.size() > 1 ? *done[t.parts[1]] : 0;
    switch (t.kind) {
      case Term::add: return plus(a, b);
      case Term::subtract: return minus(a, b);
      case Term::multiply: return times(a, b);
      case Term::divide: return floor_divide(a, b);
      case Term::remainder: return b == -1 ? 0 : minus(a, times(floor_divide(a, b), b));
      case Term::negate: return minus(0, a);
      case Term::ceil_divide: return minus(0, floor_divide(minus(0, a), b));
      default: break;
    }
    for (uint32_t p : t.parts) a = t.kind == Term::smallest ? std::min(a, *done[p]) : std::max(a, *done[p]);
    return a;
  }

  const ShapeExpression& e_;
  const std::vector<Shape>& inputs_;
  const ShapeExpression::Parameters& parameters_;
};

Shape ShapeExpression::evaluate(const std::vector<Shape>& inputs, const Parameters& parameters) const {
  try {
    return ShapeExpressionEvaluator(*this, inputs, parameters).run();
  } catch (Error& e) {
    throw e.while_(text("evaluating the shape expression '", source_, "'"));
  }
}

}  // namespace graft

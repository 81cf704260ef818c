#include <cmath>
#include <random>
#include <unordered_map>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "graph/text.hpp"

namespace graft {
namespace {

constexpr int max_depth = 64;
constexpr int64_t max_generated = int64_t{1} << 24;  // elements that fill(), iota() and random() may make

// Words, numbers, quoted texts and signs, with their lines.
class Lexer {
 public:
  explicit Lexer(std::string_view s) : s_(s) {}

  enum Kind { end, word, number, text_literal, sign };
  struct Token {
    Kind kind = end;
    std::string_view raw;
    std::string value;  // of a quoted text
    int line = 1;
  };

  const Token& peek() {
    if (!ahead_) token_ = read(), ahead_ = true;
    return token_;
  }
  Token next() {
    peek();
    ahead_ = false;
    return std::move(token_);
  }
  std::string_view rest_of_line() {
    if (ahead_) at_ = static_cast<size_t>(token_.raw.data() - s_.data()), ahead_ = false, line_ = token_.line;
    size_t nl = std::min(s_.find('\n', at_), s_.size());
    std::string_view r = s_.substr(at_, nl - at_);
    at_ = nl;
    return trim(r);
  }
  int line() { return ahead_ ? token_.line : line_; }

  template <class... Parts>
  [[noreturn]] void broken(const Parts&... parts) {
    int where = peek_line();
    throw_user("line ", where, ": ", parts...);
  }

 private:
  int peek_line() { return ahead_ ? token_.line : line_; }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/' ||
           c == '$';
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  Token read() {
    for (; at_ < s_.size(); ++at_) {
      if (s_[at_] == '#') at_ = std::min(s_.find('\n', at_), s_.size());
      if (at_ >= s_.size()) break;
      if (s_[at_] == '\n') ++line_;
      else if (s_[at_] != ' ' && s_[at_] != '\t' && s_[at_] != '\r') break;
    }
    Token t;
    t.line = line_;
    if (at_ >= s_.size()) {
      t.raw = s_.substr(s_.size());
      return t;
    }
    size_t start = at_;
    char c = s_[at_];
    if (c == '"') return quoted_text();
    bool minus = c == '-' && at_ + 1 < s_.size() &&
                 (is_digit(s_[at_ + 1]) || s_[at_ + 1] == '.' || s_.substr(at_ + 1, 3) == "inf" ||
                  s_.substr(at_ + 1, 3) == "nan");
    if (is_digit(c) || minus) {
      ++at_;
      while (at_ < s_.size()) {
        char d = s_[at_];
        bool exponent_sign = (d == '-' || d == '+') && (s_[at_ - 1] == 'e' || s_[at_ - 1] == 'E');
        if (s_.substr(at_, 2) == "..") break;  // 8..64 is two numbers
        if (!is_word(d) && d != '.' && !exponent_sign) break;
        if (d == '/' || d == '$') break;
        ++at_;
      }
      t.kind = number;
    } else if (is_word(c)) {
      while (at_ < s_.size() && is_word(s_[at_])) ++at_;
      t.kind = word;
    } else {
      for (std::string_view two : {"->", "<-", "..."})
        if (s_.substr(at_, two.size()) == two) at_ += two.size();
      if (at_ == start) at_ += s_.substr(at_, 2) == ".." ? 2 : 1;
      t.kind = sign;
    }
    t.raw = s_.substr(start, at_ - start);
    return t;
  }

  Token quoted_text() {
    Token t;
    t.kind = text_literal;
    t.line = line_;
    size_t start = at_++;
    for (; at_ < s_.size() && s_[at_] != '"'; ++at_) {
      char c = s_[at_];
      if (c == '\n') throw_user("line ", line_, ": a quoted text does not end");
      if (c != '\\') {
        t.value += c;
        continue;
      }
      if (++at_ >= s_.size()) break;
      switch (s_[at_]) {
        case 'n': t.value += '\n'; break;
        case 't': t.value += '\t'; break;
        case 'x': {
          unsigned v = 0;
          auto [p, e] = std::from_chars(s_.data() + std::min(at_ + 1, s_.size()),
                                        s_.data() + std::min(at_ + 3, s_.size()), v, 16);
          if (e != std::errc() || p != s_.data() + at_ + 3)
            throw_user("line ", line_, ": \\x wants two hexadecimal digits");
          t.value += static_cast<char>(v);
          at_ += 2;
          break;
        }
        default: t.value += s_[at_];
      }
    }
    if (at_ >= s_.size()) throw_user("line ", line_, ": a quoted text does not end");
    ++at_;
    t.raw = s_.substr(start, at_ - start);
    return t;
  }

  std::string_view s_;
  size_t at_ = 0;
  int line_ = 1;
  bool ahead_ = false;
  Token token_;
};

class Parser {
 public:
  explicit Parser(std::string_view s) : lex(s) {}
  Lexer lex;
  const Attributes* arguments = nullptr;

  bool accept(std::string_view raw) {
    const auto& t = lex.peek();
    if (t.kind == Lexer::end || t.kind == Lexer::text_literal || t.raw != raw) return false;
    lex.next();
    return true;
  }
  void expect(std::string_view raw) {
    if (!accept(raw)) lex.broken("'", raw, "' is wanted, found ", found());
  }
  std::string found() {
    const auto& t = lex.peek();
    return t.kind == Lexer::end ? std::string("the end") : text("'", t.raw.substr(0, 40), "'");
  }
  std::string name() {
    const auto& t = lex.peek();
    if (t.kind != Lexer::word && t.kind != Lexer::text_literal) lex.broken("a name is wanted, found ", found());
    Lexer::Token taken = lex.next();
    return taken.kind == Lexer::text_literal ? taken.value : std::string(taken.raw);
  }
  std::string quoted() {
    if (lex.peek().kind != Lexer::text_literal) lex.broken("a quoted text is wanted, found ", found());
    return lex.next().value;
  }
  int64_t integer() {
    auto v = lex.peek().kind == Lexer::number ? parse_int(lex.peek().raw) : std::nullopt;
    if (!v) lex.broken("a whole number is wanted, found ", found());
    lex.next();
    return *v;
  }
  bool at_number() {
    const auto& t = lex.peek();
    return t.kind == Lexer::number || (t.kind == Lexer::word && (t.raw == "inf" || t.raw == "nan"));
  }
  double real() {
    auto v = at_number() ? parse_number(lex.peek().raw) : std::nullopt;
    if (!v) lex.broken("a number is wanted, found ", found());
    lex.next();
    return *v;
  }

  // ---- types, shapes, tensors ----

  DType dtype() {
    auto t = lex.peek().kind == Lexer::word ? parse_dtype(lex.peek().raw) : std::nullopt;
    if (!t) lex.broken("an element type is wanted, found ", found());
    lex.next();
    return *t;
  }
  Dim dim() {
    if (accept("?")) return Dim();
    bool open = accept("..");
    int64_t low = open ? 0 : integer();
    if (low < 0) {
      if (low == -1 && !open) return Dim();
      lex.broken("a dimension cannot be ", low);
    }
    if (!open && !accept("..")) return Dim(low);
    if (!at_number())
      return open ? (lex.broken("a number is wanted after '..'"), Dim()) : Dim::between(low, Dim::unbounded);
    int64_t high = integer();
    if (high < low) lex.broken("a dimension cannot lie between ", low, " and ", high);
    return Dim::between(low, high);
  }
  Shape shape() {
    expect("[");
    if (accept("...")) {
      expect("]");
      return Shape::unknown();
    }
    Shape s;
    if (accept("]")) return s;
    do {
      if (s.dims().size() >= 32) lex.broken("a shape has at most 32 dimensions");
      s.push_back(dim());
    } while (accept(","));
    expect("]");
    return s;
  }
  Info info() {
    DType t = dtype();
    return {t, shape()};
  }

  Tensor tensor() {
    Info i = info();
    if (!i.shape.is_static()) lex.broken("a tensor's shape must be known, ", i.shape, " is not");
    return values(i.type, i.shape.values());
  }
  Tensor values(DType type, std::vector<int64_t> dims) {
    int64_t count = count_checked(dims);
    if (type == DType::undefined) lex.broken("a tensor needs an element type");
    auto limit = [&] {
      if (count > max_generated) lex.broken("a tensor of ", count, " elements is too large to be written like this");
    };
    if (accept("fill")) {
      limit();
      expect("(");
      double v = real();
      expect(")");
      return make_tensor<double>(dims, std::vector<double>(static_cast<size_t>(count), v)).to(type);
    }
    if (accept("iota")) {
      limit();
      expect("(");
      double start = real();
      expect(",");
      double step = real();
      expect(")");
      std::vector<double> v(static_cast<size_t>(count));
      for (size_t i = 0; i < v.size(); ++i) v[i] = start + step * static_cast<double>(i);
      return make_tensor<double>(dims, v).to(type);
    }
    if (accept("random")) {
      limit();
      expect("(");
      auto seed = static_cast<uint64_t>(integer());
      double low = 0, high = 1;
      if (accept(",")) {
        low = real();
        expect(",");
        high = real();
      }
      expect(")");
      std::mt19937_64 engine(seed);
      std::vector<double> v(static_cast<size_t>(count));
      for (double& x : v) x = low + (high - low) * static_cast<double>(engine() >> 11) * 0x1.0p-53;
      return make_tensor<double>(dims, v).to(type);
    }
    expect("{");
    std::vector<double> reals;
    std::vector<int64_t> ints;
    std::vector<std::string> texts;
    bool whole = !is_real(type);
    if (!accept("}")) {
      do {
        if (static_cast<int64_t>(reals.size() + ints.size() + texts.size()) >= count)
          lex.broken("more than ", count, " values are given");
        if (type == DType::string) texts.push_back(quoted());
        else if (whole && accept("true")) ints.push_back(1);
        else if (whole && accept("false")) ints.push_back(0);
        else if (whole && type == DType::u64) {
          uint64_t u = 0;
          std::string_view raw = lex.peek().raw;
          auto [p, e] = std::from_chars(raw.data(), raw.data() + raw.size(), u);
          if (e != std::errc() || p != raw.data() + raw.size()) lex.broken("a whole number is wanted, found ", found());
          lex.next();
          ints.push_back(static_cast<int64_t>(u));
        } else if (whole) ints.push_back(integer());
        else reals.push_back(real());
      } while (accept(","));
      expect("}");
    }
    auto given = static_cast<int64_t>(reals.size() + ints.size() + texts.size());
    if (given != count) lex.broken(given, " values are given, the shape ", Shape::of(dims), " wants ", count);
    if (type == DType::string) return Tensor::strings(dims, texts);
    return whole ? make_tensor<int64_t>(dims, ints).to(type) : make_tensor<double>(dims, reals).to(type);
  }

  // ---- attributes ----

  Attribute attribute() {
    const auto& t = lex.peek();
    if (t.kind == Lexer::text_literal) return lex.next().value;
    if (t.kind == Lexer::word && t.raw.starts_with('$')) {
      std::string which(lex.next().raw.substr(1));
      const Attribute* a = arguments ? arguments->find(which) : nullptr;
      if (!a) lex.broken("there is no argument '$", which, "'");
      return *a;
    }
    if (accept("true")) return true;
    if (accept("false")) return false;
    if (accept("shape")) return shape();
    if (at_number()) return number();
    if (accept("[")) return list();
    if (t.kind == Lexer::word && parse_dtype(t.raw)) {
      DType type = dtype();
      if (lex.peek().raw != "[") return type;
      Shape s = shape();
      if (!s.is_static()) lex.broken("a tensor's shape must be known, ", s, " is not");
      return values(type, s.values());
    }
    lex.broken("a value is wanted, found ", found());
  }
  Attribute number() {
    std::string_view raw = lex.peek().raw;
    if (auto i = parse_int(raw)) {
      lex.next();
      return *i;
    }
    return real();
  }
  Attribute list() {
    std::vector<int64_t> ints;
    std::vector<double> reals;
    std::vector<std::string> texts;
    std::vector<DType> types;
    bool all_whole = true;
    if (accept("]")) return ints;
    do {
      const auto& t = lex.peek();
      if (t.kind == Lexer::text_literal) texts.push_back(lex.next().value);
      else if (at_number()) {
        Attribute n = number();
        if (auto i = n.get_if<int64_t>()) ints.push_back(*i), reals.push_back(static_cast<double>(*i));
        else reals.push_back(n.as<double>()), all_whole = false;
      } else types.push_back(dtype());
    } while (accept(","));
    expect("]");
    if ((texts.empty() ? 0 : 1) + (reals.empty() ? 0 : 1) + (types.empty() ? 0 : 1) > 1)
      lex.broken("a list holds values of one kind");
    if (!texts.empty()) return texts;
    if (!types.empty()) return types;
    if (all_whole) return ints;
    return reals;
  }

  // ---- graphs ----

  struct Scope {
    Graph graph;
    std::unordered_map<std::string, NodeId> names;
  };

  Graph graph(int depth = 0) {
    if (depth > max_depth) lex.broken("graphs are nested more than ", max_depth, " deep");
    expect("graph");
    Scope s;
    if (lex.peek().raw != "(") s.graph.name = name();
    expect("(");
    while (!accept(")")) {
      std::string n = name();
      expect(":");
      Info i = info();
      Node p;
      p.type = "Parameter", p.opset = "opset1", p.name = n;
      p.attrs["shape"] = i.shape, p.attrs["element_type"] = i.type;
      p.outputs.push_back({i, {}, {}});
      tensor_names(p.outputs[0]);
      define(s, n, s.graph.add(std::move(p)));
      if (lex.peek().raw != ")") expect(",");
    }
    expect("{");
    while (!accept("return")) statement(s, depth);
    do result(s, depth);
    while (accept(","));
    expect("}");
    // Calls that stand where a value is wanted have no name yet.
    size_t number = 0;
    for (NodeId id = 0; id < s.graph.end_id(); ++id)
      while (s.graph[id].name.empty())
        if (std::string n = text("v", number++); s.names.emplace(n, id).second) s.graph[id].name = n;
    return std::move(s.graph);
  }

 private:
  void define(Scope& s, const std::string& n, NodeId id) {
    if (!s.names.emplace(n, id).second) lex.broken("the name '", n, "' is given twice");
  }
  void tensor_names(Output& o) {
    while (lex.peek().kind == Lexer::text_literal) o.add_name(quoted());
  }

  void result(Scope& s, int depth) {
    // `name = value` or just `value`: a name is a name when `=` follows.
    std::string label;
    ValueId v;
    const auto& t = lex.peek();
    if (t.kind == Lexer::word || t.kind == Lexer::text_literal) {
      Lexer::Token first = lex.next();
      if (accept("=")) {
        label = first.kind == Lexer::text_literal ? first.value : std::string(first.raw);
        v = value(s, depth);
      } else {
        v = value_from(s, std::move(first), depth);
      }
    } else {
      v = value(s, depth);
    }
    if (!v.present()) lex.broken("a result cannot be left out");
    Node r;
    r.type = "Result", r.opset = "opset1", r.inputs = {v};
    r.name = label.empty() ? text("result_", s.graph.results().size()) : label;
    if (lex.peek().kind == Lexer::text_literal) tensor_names(r.outputs.emplace_back());
    s.graph.add(std::move(r));
  }

  void statement(Scope& s, int depth) {
    std::string n = name();
    expect("=");
    NodeId id = definition(s, n, depth);
    define(s, n, id);
  }

  // What stands behind `name =`: a constant or a call.
  NodeId definition(Scope& s, const std::string& n, int depth) {
    const auto& t = lex.peek();
    if (t.kind == Lexer::word && parse_dtype(t.raw)) return constant(s, n, tensor());
    if (t.kind != Lexer::word && t.kind != Lexer::text_literal)
      lex.broken("an operation or a tensor is wanted, found ", found());
    Lexer::Token type = lex.next();
    return call(s, n, type.kind == Lexer::text_literal ? type.value : std::string(type.raw), depth);
  }

  NodeId constant(Scope& s, const std::string& n, Tensor t) {
    Node c;
    c.type = "Constant", c.opset = "opset1", c.name = n;
    c.outputs.push_back({info_of(t), {}, {}});
    c.attrs["value"] = std::move(t);
    tensor_names(c.outputs[0]);
    return s.graph.add(std::move(c));
  }

  NodeId call(Scope& s, const std::string& n, std::string type, int depth) {
    if (depth > max_depth) lex.broken("calls are nested more than ", max_depth, " deep");
    Node node;
    node.type = std::move(type);
    node.name = n;
    if (accept("@")) {
      if (lex.peek().kind == Lexer::number) node.opset = text("opset", integer());
      else node.opset = name();
    }
    expect("(");
    if (!accept(")")) {
      do node.inputs.push_back(value(s, depth + 1));
      while (accept(","));
      expect(")");
    }
    while (!node.inputs.empty() && !node.inputs.back().present()) node.inputs.pop_back();
    node.opaque = accept("opaque");
    if (accept("{")) {
      while (!accept("}")) {
        std::string a = name();
        if (node.attrs.find(a)) lex.broken("attribute '", a, "' is given twice");
        expect("=");
        node.attrs[a] = attribute();
        if (lex.peek().raw != "}") expect(",");
      }
    }
    if (accept(":")) {
      do {
        Output& o = node.outputs.emplace_back();
        o.info = info();
        tensor_names(o);
        if (node.outputs.size() > 65536) lex.broken("an operation cannot have so many outputs");
      } while (accept(","));
    }
    while (lex.peek().raw == "body" && lex.peek().kind == Lexer::word) node.bodies.push_back(body(depth + 1));
    if (node.is("Parameter") || node.is("Result"))
      lex.broken("a ", node.type, " is written in the graph's list, not as a node");
    return s.graph.add(std::move(node));
  }

  ValueId value(Scope& s, int depth) {
    if (accept("_")) return {};
    const auto& t = lex.peek();
    if (t.kind == Lexer::word && parse_dtype(t.raw)) return {constant(s, {}, tensor()), 0};
    if (t.kind != Lexer::word && t.kind != Lexer::text_literal) lex.broken("a value is wanted, found ", found());
    return value_from(s, lex.next(), depth);
  }
  ValueId value_from(Scope& s, Lexer::Token first, int depth) {
    std::string n = first.kind == Lexer::text_literal ? first.value : std::string(first.raw);
    auto literal = first.kind == Lexer::word ? parse_dtype(n) : std::nullopt;
    if (literal && lex.peek().raw == "[") {
      Shape shape_given = shape();
      if (!shape_given.is_static()) lex.broken("a tensor's shape must be known, ", shape_given, " is not");
      return {constant(s, {}, values(*literal, shape_given.values())), 0};
    }
    if (n == "_" && first.kind == Lexer::word) return {};
    NodeId id;
    if (lex.peek().raw == "(" || lex.peek().raw == "@") {
      id = call(s, {}, n, depth + 1);
    } else {
      auto it = s.names.find(n);
      if (it == s.names.end()) lex.broken("there is no value '", n, "'");
      id = it->second;
    }
    uint32_t port = 0;
    if (accept(".")) {
      int64_t p = integer();
      if (p < 0 || p >= 65536) lex.broken("there is no output ", p);
      port = static_cast<uint32_t>(p);
    }
    return {id, port};
  }
  Body body(int depth) {
    expect("body");
    struct Link {
      std::string inside;
      graft_port_map map;
    };
    auto links = [&](std::string_view arrow) {
      std::vector<Link> out;
      expect("(");
      while (!accept(")")) {
        Link l{name(), {}};
        expect(arrow);
        if (accept("iteration")) l.map.external = -1, l.map.purpose = GRAFT_CURRENT_ITERATION;
        else if (accept("condition")) l.map.external = -1, l.map.purpose = GRAFT_EXECUTION_CONDITION;
        else l.map.external = integer();
        if (accept("cut")) {
          l.map.sliced = 1;
          expect("(");
          int64_t* fields[] = {&l.map.axis, &l.map.start, &l.map.end, &l.map.stride, &l.map.part_size};
          for (int64_t* f : fields) {
            if (f != fields[0]) expect(",");
            *f = integer();
          }
          expect(")");
        }
        out.push_back(std::move(l));
        if (lex.peek().raw != ")") expect(",");
      }
      return out;
    };
    std::vector<Link> inputs = links("<-");
    expect("->");
    std::vector<Link> outputs = links("->");
    std::vector<std::pair<std::string, std::string>> feeds;
    if (accept("feed")) {
      expect("(");
      while (!accept(")")) {
        std::string r = name();
        expect("->");
        feeds.emplace_back(r, name());
        if (lex.peek().raw != ")") expect(",");
      }
    }
    Body b;
    b.graph = std::make_unique<Graph>(graph(depth));
    auto index = [&](const std::vector<NodeId>& border, const std::string& n) {
      for (size_t i = 0; i < border.size(); ++i)
        if ((*b.graph)[border[i]].name == n) return static_cast<int64_t>(i);
      lex.broken("the body has no '", n, "' at its border");
    };
    for (Link& l : inputs) l.map.internal = index(b.graph->parameters(), l.inside), b.inputs.push_back(l.map);
    for (Link& l : outputs) l.map.internal = index(b.graph->results(), l.inside), b.outputs.push_back(l.map);
    for (auto& [r, p] : feeds) b.back_edges.push_back({index(b.graph->results(), r), index(b.graph->parameters(), p)});
    return b;
  }
};

}  // namespace

struct TextReader::State {
  Parser parser;
};
TextReader::TextReader(std::string_view text) : s_(new State{Parser(text)}) {}
TextReader::~TextReader() = default;
bool TextReader::at_end() { return s_->parser.lex.peek().kind == Lexer::end; }
bool TextReader::peek(std::string_view word) {
  const auto& t = s_->parser.lex.peek();
  return t.kind != Lexer::end && t.kind != Lexer::text_literal && t.raw == word;
}
bool TextReader::accept(std::string_view word) { return s_->parser.accept(word); }
void TextReader::expect(std::string_view word) { s_->parser.expect(word); }
std::string TextReader::name() { return s_->parser.name(); }
std::string TextReader::quoted() { return s_->parser.quoted(); }
bool TextReader::peek_quoted() { return s_->parser.lex.peek().kind == Lexer::text_literal; }
int64_t TextReader::integer() { return s_->parser.integer(); }
double TextReader::number() { return s_->parser.real(); }
Graph TextReader::graph(const Attributes& arguments) {
  s_->parser.arguments = &arguments;
  Graph g = s_->parser.graph();
  s_->parser.arguments = nullptr;
  return g;
}
Tensor TextReader::tensor() { return s_->parser.tensor(); }
Tensor TextReader::values(DType type, std::vector<int64_t> dims) { return s_->parser.values(type, std::move(dims)); }
std::string TextReader::rest_of_line() { return std::string(s_->parser.lex.rest_of_line()); }
int TextReader::line() const { return s_->parser.lex.line(); }

Graph parse_graph(std::string_view text, const Attributes& arguments) {
  TextReader r(text);
  Graph g = r.graph(arguments);
  if (!r.at_end()) throw_user("line ", r.line(), ": there is more after the graph");
  return g;
}
Graph parse_graph(std::string_view text) { return parse_graph(text, {}); }

Tensor parse_tensor(std::string_view text) {
  TextReader r(text);
  Tensor t = r.tensor();
  if (!r.at_end()) throw_user("line ", r.line(), ": there is more after the tensor");
  return t;
}

}  // namespace graft

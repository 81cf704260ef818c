#include <unordered_map>

#include "graph/port_nodes.hpp"
#include "graph/text.hpp"
#include "graph/text_values.hpp"

namespace graft {
namespace {

constexpr int max_depth = 64;

class Parser : public ValueParser {
 public:
  using ValueParser::ValueParser;

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
      Node p = parameter_node(i);
      p.name = n;
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
    // Nested calls have no name yet.
    size_t number = 0;
    for (NodeId id = 0; id < s.graph.end_id(); ++id)
      while (s.graph[id].name.empty())
        if (std::string n = text("v", number++); s.names.emplace(n, id).second) s.graph[id].name = n;
    return std::move(s.graph);
  }

 private:
  void define(Scope& s, const std::string& n, NodeId id) {
    if (!s.names.emplace(n, id).second) lex.broken("duplicate name '", n, "'");
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
    if (!v.present()) lex.broken("a result cannot be absent");
    Node r = result_node(v);
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

  // The right-hand side of `name =`: a constant or a call.
  NodeId definition(Scope& s, const std::string& n, int depth) {
    const auto& t = lex.peek();
    if (t.kind == Lexer::word && parse_dtype(t.raw)) return constant(s, n, tensor());
    if (t.kind != Lexer::word && t.kind != Lexer::text_literal)
      lex.broken("expected an operation or a tensor, got ", found());
    Lexer::Token type = lex.next();
    return call(s, n, type.kind == Lexer::text_literal ? type.value : std::string(type.raw), depth);
  }

  NodeId constant(Scope& s, const std::string& n, Tensor t) {
    Info info = t.info();
    Node c = constant_node(std::move(t));
    c.name = n;
    c.outputs.push_back({info, {}, {}});
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
        if (node.attrs.find(a)) lex.broken("duplicate attribute '", a, "'");
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
        if (node.outputs.size() > 65536) lex.broken("an operation cannot have more than 65536 outputs");
      } while (accept(","));
    }
    while (lex.peek().raw == "body" && lex.peek().kind == Lexer::word) node.bodies.push_back(body(depth + 1));
    if (node.is("Parameter") || node.is("Result"))
      lex.broken("a ", node.type, " belongs in the graph's signature or return list, not among its nodes");
    return s.graph.add(std::move(node));
  }

  ValueId value(Scope& s, int depth) {
    if (accept("_")) return {};
    const auto& t = lex.peek();
    if (t.kind == Lexer::word && parse_dtype(t.raw)) return {constant(s, {}, tensor()), 0};
    if (t.kind != Lexer::word && t.kind != Lexer::text_literal) lex.broken("expected a value, got ", found());
    return value_from(s, lex.next(), depth);
  }
  ValueId value_from(Scope& s, Lexer::Token first, int depth) {
    std::string n = first.kind == Lexer::text_literal ? first.value : std::string(first.raw);
    auto literal = first.kind == Lexer::word ? parse_dtype(n) : std::nullopt;
    if (literal && lex.peek().raw == "[") {
      Shape shape_given = shape();
      if (!shape_given.is_static()) lex.broken("expected a static shape for a tensor, got ", shape_given);
      return {constant(s, {}, values(*literal, shape_given.values())), 0};
    }
    if (n == "_" && first.kind == Lexer::word) return {};
    NodeId id;
    if (lex.peek().raw == "(" || lex.peek().raw == "@") {
      id = call(s, {}, n, depth + 1);
    } else {
      auto it = s.names.find(n);
      if (it == s.names.end()) lex.broken("unknown value '", n, "'");
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
    auto index = [&](const std::vector<NodeId>& ports, const std::string& n) {
      for (size_t i = 0; i < ports.size(); ++i)
        if ((*b.graph)[ports[i]].name == n) return static_cast<int64_t>(i);
      lex.broken("the body has no parameter or result '", n, "'");
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
TextReader::TextReader(std::string_view text, const Limits& limits) : s_(new State{Parser(text, limits)}) {}
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

namespace {
Graph whole_graph(TextReader r, const Attributes& arguments) {
  Graph g = r.graph(arguments);
  if (!r.at_end()) throw_user("line ", r.line(), ": unexpected text after the graph");
  return g;
}
}  // namespace

Graph parse_graph(std::string_view text, const Attributes& arguments) {
  return whole_graph(TextReader(text), arguments);
}
Graph parse_graph(std::string_view text, const Limits& limits) { return whole_graph(TextReader(text, limits), {}); }

}  // namespace graft

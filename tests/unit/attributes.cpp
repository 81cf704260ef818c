// Attributes of every kind keep every value, bit by bit, in an IR, in the textual form and in JSON.
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "graph/text.hpp"
#include "infer/complete.hpp"
#include "ir/ir.hpp"
#include "schema/resolve.hpp"
#include "toolkit.hpp"
#include "toolkit/state.hpp"

namespace graft {
namespace {

struct Every {
  bool flag = false;
  int64_t whole = 0;
  double real = 0;
  float single = 0;
  std::string word;
  DType type = DType::f32;
  Shape shape;
  TensorView table, value;
  std::vector<int64_t> wholes{1, 2};
  std::vector<double> reals{1, 2};
  std::vector<float> singles{1, 2};
  std::vector<std::string> words{"a", "b"};
  std::vector<DType> types{DType::f32};
  // Called like the parts of the tensors above in an IR.
  int64_t table_offset = 0;
  std::string element_type;
  static constexpr std::tuple schema{attr("flag", &Every::flag, ""),
                                     attr("whole", &Every::whole, ""),
                                     attr("real", &Every::real, ""),
                                     attr("single", &Every::single, ""),
                                     attr("word", &Every::word, ""),
                                     attr("type", &Every::type, ""),
                                     attr("shape", &Every::shape, ""),
                                     attr("table", &Every::table, ""),
                                     attr("value", &Every::value, ""),
                                     attr("wholes", &Every::wholes, ""),
                                     attr("reals", &Every::reals, ""),
                                     attr("singles", &Every::singles, ""),
                                     attr("words", &Every::words, ""),
                                     attr("types", &Every::types, ""),
                                     attr("table_offset", &Every::table_offset, ""),
                                     attr("element_type", &Every::element_type, "")};
};

Definitions every_kind() {
  return op<Every>("Every", "kinds").inputs("data").outputs("output").infer([](Infer& ctx, const Every&) {
    ctx.output(0, ctx.input(0));
  });
}

// Values at the borders of each kind, and strings of pieces that files treat specially.
class Values {
 public:
  explicit Values(uint32_t seed) : engine_(seed) {}
  size_t below(size_t n) { return engine_() % n; }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[below(all.size())];
  }
  template <class F>
  auto list(F&& one) {
    std::vector<decltype(one())> out(below(4));
    for (auto& item : out) item = one();
    return out;
  }

  std::string word() {
    using namespace std::string_literals;
    std::string out;
    for (size_t n = below(4); n-- > 0;)
      out += one_of({""s,     " "s,    ","s,    ", "s,           "\\"s,       "\\,"s,          "\\\\"s,
                     "\""s,   "'"s,    "\n"s,   "\r"s,           "\t"s,       "\x01"s,         "\0"s,
                     "\x7f"s, "\xff"s, "\xc3"s, "\xed\xa0\x80"s, "\xc3\xa9"s, "\xef\xbf\xbf"s, "a"s,
                     "the"s,  "C:\\"s, "&lt;"s, "<&>"s,          "]]>"s,      "&#0;"s,         "#"s,
                     "[]"s,   "none"s, "true"s, "nan"s,          "1"s,        "..."s});
    return out;
  }
  int64_t whole() {
    return one_of<int64_t>({0, 1, -1, 7, INT64_MIN, INT64_MAX, INT64_MIN + 1, (int64_t{1} << 53) + 1});
  }
  double real() {
    using Limits = std::numeric_limits<double>;
    double special = one_of({0.0, -0.0, 1.0, 0.1, static_cast<double>(0.1f), -1.5, 1e22, 1e300, Limits::infinity(),
                             -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::denorm_min(),
                             static_cast<double>(std::numeric_limits<float>::denorm_min()), Limits::max(),
                             std::bit_cast<double>(uint64_t{0x7ff8000000000001}),
                             std::bit_cast<double>(uint64_t{0xfff0000000000001})});
    return below(2) ? special : std::bit_cast<double>(engine_());
  }
  double single() { return static_cast<double>(static_cast<float>(real())); }
  DType type() { return one_of({DType::f32, DType::i64, DType::string, DType::u1, DType::f8e4m3, DType::boolean}); }
  Shape shape() {
    if (!below(5)) return Shape::unknown();
    Shape s;
    for (size_t n = below(4); n-- > 0;)
      s.push_back(one_of({Dim(0), Dim(3), Dim(), Dim::between(2, 9), Dim::between(0, 9),
                          Dim::between(4, Dim::unbounded), Dim(INT64_MAX - 1)}));
    return s;
  }
  Tensor tensor() {
    int64_t n = static_cast<int64_t>(below(4));
    if (below(3))
      return make_tensor<double>({n}, reals_of(static_cast<size_t>(n))).to(one_of({DType::f64, DType::f32}));
    if (below(2)) return make_tensor<int64_t>({n}, std::vector<int64_t>(static_cast<size_t>(n), whole()));
    std::vector<std::string> texts(static_cast<size_t>(n));
    for (std::string& t : texts) t = word();
    return Tensor::strings({n}, texts);
  }
  Attribute of(graft_kind kind, bool is_single) {
    switch (kind) {
      case GRAFT_BOOL: return below(2) == 1;
      case GRAFT_INT: return whole();
      case GRAFT_FLOAT: return is_single ? single() : real();
      case GRAFT_TEXT: return word();
      case GRAFT_DTYPE: return type();
      case GRAFT_SHAPE: return shape();
      case GRAFT_TENSOR: return tensor();
      case GRAFT_INTS: return list([&] { return whole(); });
      case GRAFT_FLOATS: return list([&] { return is_single ? single() : real(); });
      case GRAFT_TEXTS: return list([&] { return word(); });
      default: return list([&] { return type(); });
    }
  }

 private:
  std::vector<double> reals_of(size_t n) {
    std::vector<double> out(n);
    for (double& v : out) v = real();
    return out;
  }
  std::mt19937_64 engine_;
};

// All values that the nodes of a graph and of its bodies have, as text with exact numbers.
void collect(const Graph& g, const std::string& where, std::map<std::string, Attributes>& out) {
  for (NodeId id : g.topological_order()) {
    const Node& n = g[id];
    if (!n.is("Parameter") && !n.is("Result") && !n.is("Constant")) out[where + n.name] = n.attrs;
    for (const Body& b : n.bodies) collect(*b.graph, where + n.name + "/", out);
  }
}

class AttributesTest : public ToolkitTest {
 protected:
  AttributesTest() {
    core_.add_extension(definitions("kinds", "1", every_kind));
    registry_ = core_.state()->registry();
  }

  // Gives the attributes of these operations new values.
  void fill(Graph& g, Values& values) {
    for (NodeId id = 0; id < g.end_id(); ++id) {
      Node& n = g[id];
      for (const graft_attr* a : definition(*registry_, n).attrs()) {
        std::string name(view(a->name));
        bool free = n.is("Every") || name == "variable_id" || name == "activations_alpha" || name == "activations_beta";
        if (free) n.attrs[name] = values.of(a->kind, a->flags & GRAFT_ATTR_F32);
      }
      for (Body& b : n.bodies) fill(*b.graph, values);
    }
  }
  Graph through_ir(const Graph& g) {
    std::string path = folder_.path() + "/net.xml";
    write_ir(g, *registry_, path);
    return read_ir(path, "", *registry_);
  }
  void expect_same(const Graph& a, const Graph& b, const char* way) {
    std::map<std::string, Attributes> expected, got;
    collect(a, "", expected), collect(b, "", got);
    ASSERT_EQ(expected.size(), got.size()) << way;
    for (const auto& [node, attributes] : expected)
      for (const auto& [name, value] : attributes) {
        const Attribute* v = got[node].find(name);
        ASSERT_TRUE(v) << way << ": " << node << " lost " << name << " = " << print(value);
        ASSERT_TRUE(*v == value) << way << ": " << name << " of " << node << " was " << print(value) << ", became "
                                 << print(*v);
      }
  }

  Core core_;
  std::shared_ptr<const Registry> registry_;
};

// Operations with every kind of attribute, also inside bodies, and built-in ones with free strings and lists.
constexpr const char* every_graph = R"(graph "g" (x: f32[2,4], h: f32[2,3], c: f32[2,3]) {
  a = Every@kinds(x)
  kept = ReadValue@3(x)
  cell = LSTMCell@4(x, h, c, f32[12,4] fill(1), f32[12,3] fill(1), f32[12] fill(1)) {hidden_size = 3}
  sum = Loop@5(i64[] {2}, boolean[] {true}, a)
    body (i <- iteration, s <- 2) -> (next -> 0, go -> condition) feed (next -> s)
    graph (i: i64[], s: f32[2,4]) {
      b = Every@kinds(s)
      either = If@8(boolean[] {true}, b)
        body (t <- 1) -> (t_out -> 0)
        graph (t: f32[2,4]) {
          inner = Every@kinds(t)
          return t_out = inner
        }
        body (e <- 1) -> (e_out -> 0)
        graph (e: f32[2,4]) { return e_out = e }
      yes = boolean[] {true}
      return next = either, go = yes
    }
  return sum = sum, kept = kept, cell = cell
})";

TEST_F(AttributesTest, EveryValueOfEveryKindIsKept) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(text("seed ", seed));
    Graph g = parse_graph(every_graph);
    Values values(seed);
    fill(g, values);
    complete(g, *registry_);
    Graph read = through_ir(g);
    expect_same(g, read, "IR");
    expect_same(g, through_ir(read), "IR of an IR");

    std::string printed = print(g);
    ASSERT_TRUE(is_valid_utf8(printed));
    Graph parsed = parse_graph(printed);
    complete(parsed, *registry_);
    expect_same(g, parsed, "text");
    // In JSON, an attribute is its text.
    std::string json = nlohmann::json(printed).dump();
    ASSERT_EQ(nlohmann::json::parse(json).get<std::string>(), printed);
  }
}

TEST_F(AttributesTest, TheListsThatWereReadBackDifferently) {
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{"\\", "x"}, Words{""}, Words{"C:\\", "D:\\"}, Words{" the", "x"}, Words{"x ", "y"},
                             Words{" "}, Words{"a", " b"}, Words{}, Words{"", ""}, Words{"a, b", "c"}, Words{"\\,"}}) {
    Graph g = parse_graph(R"(graph (x: f32[2]) { a = Every@kinds(x) return y = a })");
    Values values(1);
    fill(g, values);
    g[1].attrs["words"] = words;
    complete(g, *registry_);
    expect_same(g, through_ir(g), "IR");
  }
}

// Written as before where that is exact: other runtimes read it.
TEST_F(AttributesTest, PlainValuesStayAttributes) {
  Graph g = parse_graph(R"(graph (x: f32[2,4], h: f32[2,3], c: f32[2,3]) {
    cell = LSTMCell@4(x, h, c, f32[12,4] fill(1), f32[12,3] fill(1), f32[12] fill(1))
      {hidden_size = 3, activations = ["sigmoid", "tanh", "tanh"], activations_alpha = [0.1, 0.25]}
    return y = cell })");
  complete(g, *registry_);
  std::string path = folder_.path() + "/net.xml";
  write_ir(g, *registry_, path);
  std::ifstream file(path);
  std::string xml((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(xml.find(R"(activations="sigmoid, tanh, tanh" activations_alpha="0.1, 0.25")"), xml.npos) << xml;
  EXPECT_EQ(xml.find("<value"), xml.npos) << xml;
}

// A layer of an unknown operation keeps its values too, with the weights of its tensors.
TEST_F(AttributesTest, UnknownOperationsKeepThem) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    Graph g = parse_graph(R"(graph (x: f32[2]) { a = Odd@other(x) opaque : f32[2] return y = a })");
    Values values(seed);
    for (graft_kind kind = GRAFT_BOOL; kind <= GRAFT_DTYPES; ++kind)
      g[1].attrs[text("a", kind)] = values.of(kind, false);
    g[1].attrs["no xml name"] = values.word();
    Graph once = through_ir(g);
    for (const char* exact : {"a7", "no xml name", "a4"})
      EXPECT_EQ(*once[1].attrs.find(exact), *g[1].attrs.find(exact));
    expect_same(once, through_ir(once), "IR");
  }
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return (e.kind() == ErrorKind::user ? "" : "another kind: ") + e.message();
  }
  return "";
}

// Names have no other form in an IR: what XML cannot hold is refused before anything is replaced.
TEST_F(AttributesTest, NamesThatXmlCannotHoldAreRefused) {
  using namespace std::string_literals;
  auto write = [&](auto&& change) {
    Graph g = parse_graph(R"(graph "g" (x: f32[2]) { a = Relu@1(x) : f32[2] "t" return y = a })");
    complete(g, *registry_);
    change(g);
    std::string path = folder_.path() + "/new.xml";
    std::string said = refusal([&] { write_ir(g, *registry_, path); });
    EXPECT_EQ(said.empty(), std::ifstream(path).good());
    std::remove(path.c_str());
    return said;
  };
  for (const std::string& bad : {"a\0b"s, "\0"s, "\xff"s}) {
    for (auto change : std::initializer_list<void (*)(Graph&, const std::string&)>{
             [](Graph&g, const std::string&s) { g.name = s; }, [](Graph&g, const std::string&s) { g[0].name = s; },
             [](Graph&g, const std::string&s) { g[1].name = s; },
             [](Graph&g, const std::string&s) { g[1].outputs[0].names = {s}; },
             [](Graph&g, const std::string&s) { g[2].name = s; }})
      EXPECT_NE(write([&](Graph& g) { change(g, bad); }).find(bad == "\xff" ? "expected UTF-8" : "without NUL"),
                bad.npos);
  }
  EXPECT_EQ(write([](Graph& g) { g[1].name = "\x01\n\t\r &<\""; }), "");
  EXPECT_EQ(write([](Graph& g) { g[1].outputs[0].names = {"a\\", "b,c", "b\\,d"}; }), "");
  EXPECT_EQ(write([](Graph& g) {
              g[1].outputs[0].names = {"a\\", "b\\"};
            }),
            "expected at most one tensor name of a value that ends in a backslash, got \"a\\\\\", \"b\\\\\"");
}

}  // namespace
}  // namespace graft

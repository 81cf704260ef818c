// The configuration lines of nnet3: nodes, and the descriptors that connect them.
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "readers/kaldi/model.hpp"
#include "readers/names.hpp"

namespace graft {
namespace {

// "component-node name=a component=b input=Append(c, d)": values may contain blanks.
struct ConfigLine {
  std::string_view kind;
  std::vector<std::pair<std::string_view, std::string_view>> values;

  explicit ConfigLine(std::string_view line) {
    line = trim(line.substr(0, line.find('#')));
    kind = line.substr(0, line.find(' '));
    std::string_view rest = line.substr(kind.size());
    while (!(rest = trim(rest)).empty()) {
      size_t equals = rest.find('=');
      if (equals == rest.npos) throw_user("expected NAME=VALUE, got '", rest, "'");
      std::string_view key = trim(rest.substr(0, equals));
      rest.remove_prefix(equals + 1);
      // The value ends where the next name begins.
      size_t next = rest.find('='), end = rest.size();
      if (next != rest.npos) {
        end = rest.substr(0, next).find_last_of(" \t");
        if (end == rest.npos) throw_user("expected a blank before '", rest.substr(0, next), "='");
      }
      values.emplace_back(key, trim(rest.substr(0, end)));
      rest.remove_prefix(end);
    }
  }
  std::string_view get(std::string_view key) const {
    for (const auto& [name, value] : values)
      if (name == key) return value;
    throw_user("expected a value for '", key, "' of a ", kind);
  }
  int64_t number(std::string_view key, int64_t least) const {
    auto v = parse_int(get(key));
    if (!v || *v < least || *v > 1 << 30)
      throw_user("expected '", key, "' of a ", kind, " to be an integer of at least ", least, ", got '", get(key), "'");
    return *v;
  }
};

class ConfigReader {
 public:
  ConfigReader(const std::vector<KaldiComponent>& components, const Limits& limits) : limits_(limits) {
    for (const KaldiComponent& c : components)
      if (!components_.emplace(c.name, &c).second) throw_user("duplicate component '", c.name, "'");
  }

  KaldiNet read(const std::vector<std::string_view>& text_lines) {
    std::vector<ConfigLine> lines;
    for (std::string_view l : text_lines)
      if (!trim(l.substr(0, l.find('#'))).empty()) lines.emplace_back(l);
    declare(lines);
    for (const ConfigLine& l : lines) {
      if (l.kind == "component-node") component(l);
      else if (l.kind == "dim-range-node") dim_range(l);
      else if (l.kind == "output-node") output(l);
    }
    mark_utterance_inputs();
    return std::move(net_);
  }

 private:
  // ---- lines ----

  // Nodes may be used before they are declared: each gets its number first.
  void declare(const std::vector<ConfigLine>& lines) {
    for (const ConfigLine& l : lines) {
      if (l.kind != "input-node" && l.kind != "component-node" && l.kind != "dim-range-node" && l.kind != "output-node")
        throw_user("expected input-node, component-node, dim-range-node or output-node, got '", l.kind, "'");
      std::string name(l.get("name"));
      if (name.empty()) throw_user("a ", l.kind, " has no name");
      check_name(name);
      if (l.kind == "output-node") continue;
      size_t number = add({});
      if (!names_.emplace(name, number).second) throw_user("duplicate node '", name, "'");
      net_.names.insert(name);
      net_.nodes[number].name = name;
      if (l.kind != "input-node") continue;
      net_.nodes[number].kind = KaldiNode::input;
      net_.nodes[number].dim = l.number("dim", 1);
    }
  }

  // The node with a declared number takes the place of the last one added, if any was added to the `before` there were.
  void settle(size_t number, const std::string& name, KaldiUse made, size_t before) {
    bool added = made.node >= before && made.node + 1 == net_.nodes.size();
    if (added && made.offset == 0 && !made.optional) {
      net_.nodes[number] = std::move(net_.nodes.back());
      net_.nodes.pop_back();
    } else {
      net_.nodes[number].type = "NoOpComponent";
      net_.nodes[number].inputs = {made};
    }
    net_.nodes[number].name = name;
  }

  void component(const ConfigLine& l) {
    std::string name(l.get("name")), of(l.get("component"));
    auto it = components_.find(of);
    if (it == components_.end())
      throw_user("node '", name, "' uses component '", of, "', which the file does not have");
    const KaldiComponent& c = *it->second;
    KaldiUse from = descriptor(l.get("input"), name);
    count((c.fields.size() + c.weights.size()) / 8);  // each node has its own
    if (is_kaldi_constant(c)) return constant(net_.nodes[names_.at(name)], c);
    size_t before = net_.nodes.size();
    settle(names_.at(name), name, add_kaldi_component(net_, c, from, name), before);
  }

  // Kaldi requires a descriptor here too and does not use it; its scripts give the node itself.
  static void constant(KaldiNode& n, const KaldiComponent& c) {
    n.kind = KaldiNode::constant, n.type = c.type, n.position = c.position;
    n.fields = c.fields, n.weights = c.weights;
  }

  void dim_range(const ConfigLine& l) {
    std::string name(l.get("name"));
    KaldiNode& n = net_.nodes[names_.at(name)];
    n.type = "dim-range-node";
    n.inputs = {{node(l.get("input-node"))}};
    n.fields = {{"dim-offset", kaldi_field(l.number("dim-offset", 0))}, {"dim", kaldi_field(l.number("dim", 1))}};
  }

  void output(const ConfigLine& l) {
    std::string name(l.get("name"));
    if (names_.count(name)) throw_user("duplicate node '", name, "'");
    if (!outputs_.insert(name).second) throw_user("duplicate output '", name, "'");
    KaldiUse from = descriptor(l.get("input"), name);
    KaldiNode n;
    n.name = name, n.type = "output-node";
    n.inputs = {from};
    net_.outputs.push_back({name, add(std::move(n))});
  }

  // An input that is used for one frame only, as ReplaceIndex(ivector, t, 0), has one row per utterance.
  void mark_utterance_inputs() {
    std::vector<bool> framewise(net_.nodes.size(), false), used(net_.nodes.size(), false);
    for (const KaldiNode& n : net_.nodes)
      for (const KaldiUse& u : n.inputs) {
        used[u.node] = true;
        if (n.kind != KaldiNode::fixed) framewise[u.node] = true;
      }
    for (size_t i = 0; i < net_.nodes.size(); ++i)
      if (net_.nodes[i].kind == KaldiNode::input && used[i] && !framewise[i]) net_.nodes[i].per_utterance = true;
  }

  // ---- descriptors ----

  size_t node(std::string_view name) const {
    auto it = names_.find(std::string(name));
    if (it == names_.end()) throw_user("unknown node '", name, "'");
    return it->second;
  }

  // Items that count as nodes, because they take as much memory.
  void count(size_t more = 1) {
    if ((counted_ += more) > limits_.nodes)
      throw_limit(&Limits::nodes, "the model has more than ", limits_.nodes, " nodes");
  }
  size_t add(KaldiNode n) {
    count();
    net_.nodes.push_back(std::move(n));
    return net_.nodes.size() - 1;
  }

  KaldiUse descriptor(std::string_view source, const std::string& owner) {
    source_ = source, owner_ = owner;
    KaldiUse out = parse(0);
    if (!next().empty()) throw_user("expected the end of the descriptor of '", owner, "', got '", next(), "'");
    return out;
  }

  // The next word or sign, not consumed.
  std::string_view next() {
    source_ = trim(source_);
    if (source_.empty()) return {};
    if (std::string_view("(),").find(source_[0]) != std::string_view::npos) return source_.substr(0, 1);
    return source_.substr(0, source_.find_first_of("(), \t"));
  }
  std::string_view take() {
    std::string_view out = next();
    source_.remove_prefix(out.size());
    return out;
  }
  void expect(std::string_view sign) {
    std::string_view got = take();
    if (got != sign)
      throw_user("descriptor of '", owner_, "': expected '", sign, "', got '", got.empty() ? "its end" : got, "'");
  }
  int64_t integer(int64_t least) {
    std::string_view got = take();
    auto v = parse_int(got);
    if (!v || *v < least || *v > most_kaldi_offset)
      throw_user("descriptor of '", owner_, "': expected an integer of ", least, " to ", most_kaldi_offset, ", got '",
                 got, "'");
    return *v;
  }
  double real() {
    std::string_view got = take();
    float v = 0;
    auto [end, error] = std::from_chars(got.data(), got.data() + got.size(), v);
    if (error != std::errc() || end != got.data() + got.size())
      throw_user("descriptor of '", owner_, "': expected a number, got '", got, "'");
    return v;
  }

  KaldiUse parse(int depth) {
    if (depth > limits_.levels())
      throw_limit(&Limits::depth, "the descriptor of '", owner_, "' is nested more than ", limits_.depth, " deep");
    std::string word(take());
    if (word.empty() || next() != "(") {
      if (word.empty()) throw_user("descriptor of '", owner_, "': expected a node, got its end");
      return {node(word)};
    }
    expect("(");
    KaldiUse out = expression(word, depth + 1);
    expect(")");
    return out;
  }

  KaldiUse expression(const std::string& word, int depth) {
    if (word == "Offset") {
      KaldiUse of = parse(depth);
      expect(",");
      of.offset += integer(-most_kaldi_offset);
      if (of.offset < -most_kaldi_offset || of.offset > most_kaldi_offset)
        throw_user("descriptor of '", owner_, "': the time offset ", of.offset, " is out of range");
      if (next() == ",") {
        expect(",");
        if (integer(-most_kaldi_offset) != 0)
          throw_unsupported("an offset of the index x, in the descriptor of '", owner_, "'");
      }
      return of;
    }
    if (word == "IfDefined") {
      KaldiUse of = parse(depth);
      of.optional = true;
      return of;
    }
    KaldiNode n;
    n.type = word, n.name = text(owner_, '/', word);
    if (word == "Append" || word == "Sum" || word == "Switch") return listed(std::move(n), depth);
    if (word == "Scale") {
      n.fields = {{"scale", kaldi_field(real())}};
      expect(",");
      n.inputs = {parse(depth)};
    } else if (word == "Const") {
      n.kind = KaldiNode::constant;
      n.fields = {{"value", kaldi_field(real())}};
      expect(",");
      n.fields.emplace_back("dim", kaldi_field(integer(1)));
    } else if (word == "Round") {
      n.kind = KaldiNode::rounded;
      n.inputs = {parse(depth)};
      expect(",");
      n.modulus = integer(1);
    } else if (word == "ReplaceIndex") {
      n.inputs = {parse(depth)};
      expect(",");
      std::string_view variable = take();
      expect(",");
      int64_t value = integer(-most_kaldi_offset);
      if (variable != "t" && variable != "x")
        throw_user("descriptor of '", owner_, "': expected the index t or x, got '", variable, "'");
      if (variable == "x") return n.inputs[0];  // x is always 0
      n.kind = KaldiNode::fixed, n.first = value;
    } else if (word == "Failover") {
      n.kind = KaldiNode::failover;
      n.inputs = {parse(depth)};
      expect(",");
      n.inputs.push_back(parse(depth));
    } else {
      throw_user("descriptor of '", owner_, "': unknown expression '", word, "'");
    }
    return {add(std::move(n))};
  }

  KaldiUse listed(KaldiNode n, int depth) {
    if (n.type == "Switch") n.kind = KaldiNode::switched;
    for (;;) {
      n.inputs.push_back(parse(depth));
      if (n.inputs.size() > 8) count();  // an addition each
      if (n.inputs.size() > limits_.items)
        throw_limit(&Limits::items, "the descriptor of '", owner_, "' has more than ", limits_.items, " parts");
      if (next() != ",") break;
      expect(",");
    }
    n.modulus = static_cast<int64_t>(n.inputs.size());
    return {add(std::move(n))};
  }

  Limits limits_;
  KaldiNet net_;
  std::unordered_map<std::string, const KaldiComponent*> components_;
  std::unordered_map<std::string, size_t> names_;
  std::unordered_set<std::string> outputs_;
  uint64_t counted_ = 0;
  std::string_view source_;
  std::string owner_;
};

}  // namespace

KaldiNet read_kaldi_config(const KaldiStream& in, const std::vector<std::string_view>& lines,
                           const std::vector<KaldiComponent>& components, const Limits& limits) {
  return with_context([&] { return ConfigReader(components, limits).read(lines); },
                      [&] { return text("reading the configuration of ", in.where()); });
}

}  // namespace graft

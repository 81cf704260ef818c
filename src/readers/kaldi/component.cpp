// Components: the token of the type, tokens with values, and the token of the end.
#include <algorithm>

#include "readers/kaldi/model.hpp"

namespace graft {
namespace {

Attribute number_attribute(double v) {
  if (v == static_cast<double>(static_cast<int64_t>(std::clamp(v, -9e15, 9e15)))) return static_cast<int64_t>(v);
  return v;
}

// Statistics that training collects for diagnostics; no component uses them at inference.
bool is_statistic(std::string_view token) {
  return token == "ValueAvg" || token == "DerivAvg" || token == "OderivRms" || token == "ValueSum" ||
         token == "DerivSum" || token == "EntropyStats" || token == "PosteriorStats";
}

class ComponentReader {
 public:
  ComponentReader(KaldiStream& in, KaldiComponent& out, const Limits& limits) : in_(in), out_(out), limits_(limits) {}

  // All values up to the next token.
  void values(const std::string& token, bool own) {
    size_t count = 0;
    for (; in_.peek_token().empty(); ++count) {
      if (in_.at_end()) in_.broken("expected the end of component <", out_.type, ">, got the end of the file");
      KaldiItem item = in_.item(token);
      // A vector or matrix directly behind a token has its name; the others are counted.
      if (item.kind == KaldiItem::tensor && is_statistic(token)) continue;
      if (item.kind == KaldiItem::tensor)
        out_.weights.emplace_back(own || count ? text(unnamed_++) : token, std::move(item.data));
      else add(own ? text(token, '.', count) : count ? text(token, '.', count) : token, attribute(std::move(item)));
    }
    if (!count && !own) add(token, Attribute(true));
    if (out_.weights.size() > limits_.attributes) in_.broken("component <", out_.type, "> has too many matrices");
  }
  void add(std::string name, Attribute value) {
    if (out_.fields.size() >= limits_.attributes)
      over_limit(&Limits::attributes,
                 [&] { in_.broken("component <", out_.type, "> has more than ", limits_.attributes, " values"); });
    RawField f;
    f.value = std::move(value);
    out_.fields.emplace_back(std::move(name), std::move(f));
  }

 private:
  static Attribute attribute(KaldiItem item) {
    if (item.kind == KaldiItem::flag) return item.value != 0;
    if (item.kind == KaldiItem::ints) return std::move(item.list);
    return number_attribute(item.value);
  }

  KaldiStream& in_;
  KaldiComponent& out_;
  const Limits& limits_;
  size_t unnamed_ = 0;
};

// In nnet1 a token with two integers begins a component: files of old have no end marks.
bool begins_component(KaldiStream& in) {
  size_t place = in.position();
  std::string name = in.token();
  bool yes = name[0] != '/' && name[0] != '!' && in.peek_token().empty() && in.skip_integer() && in.skip_integer();
  in.seek(place);
  return yes;
}

void read_nested_nets(KaldiStream& in, KaldiComponent& out, const Limits& limits, int depth) {
  int64_t count = in.integer("NestedNnetCount");
  for (int64_t i = 0; i < count; ++i) {
    in.expect("NestedNnet");
    in.integer("NestedNnet");
    in.expect("Nnet");
    out.nested.push_back(read_kaldi_chain(in, limits, depth + 1));
    if (out.nested.size() > limits.attributes) in.broken("a component holds too many networks");
  }
}

void read_inner(KaldiStream& in, KaldiComponent& out, const Limits& limits, int depth) {
  int64_t count = in.integer("NumComponents");
  if (count < 1) in.broken("expected at least one component in <", out.type, ">, got <NumComponents> ", count);
  out.nested.emplace_back();
  for (int64_t i = 0; i < count; ++i) {
    out.nested[0].push_back(read_kaldi_component(in, false, limits, depth + 1));
    if (out.nested[0].size() > limits.nodes) in.broken("a component holds too many components");
  }
}

}  // namespace

const Attribute* KaldiComponent::find(std::string_view field) const {
  for (const auto& [name, f] : fields)
    if (name == field) return &f.value;
  return nullptr;
}
int64_t KaldiComponent::integer(std::string_view field, int64_t fallback) const {
  const Attribute* a = find(field);
  if (const int64_t* i = a ? a->get_if<int64_t>() : nullptr) return *i;
  if (a) throw_user("component '", name, "' (", type, "): expected an integer for <", field, ">");
  return fallback;
}
std::vector<int64_t> KaldiComponent::integers(std::string_view field) const {
  const Attribute* a = find(field);
  if (const auto* list = a ? a->get_if<std::vector<int64_t>>() : nullptr) return *list;
  throw_user("component '", name, "' (", type, "): expected a list of integers for <", field, ">");
}

KaldiComponent read_kaldi_component(KaldiStream& in, bool dims, const Limits& limits, int depth) {
  if (depth > limits.levels())
    over_limit(&Limits::depth, [&] { in.broken("components are nested more than ", limits.depth, " deep"); });
  KaldiComponent out;
  out.position = in.position();
  out.name = out.type = in.token();
  if (out.type[0] == '/' || out.type[0] == '!') in.broken("expected a component, got <", out.type, ">");
  ComponentReader reader(in, out, limits);
  if (dims) {
    reader.add("OutputDim", in.integer(out.type));
    reader.add("InputDim", in.integer(out.type));
  }
  std::string end = "/" + out.type;
  for (reader.values(out.type, true);;) {
    std::string_view next = in.peek_token();
    if (dims && (next == "/Nnet" || begins_component(in))) return out;
    std::string token = in.token();
    if (token == "NestedNnetCount") {
      read_nested_nets(in, out, limits, depth);
      continue;
    }
    if (token == "NumComponents" && !dims) {
      read_inner(in, out, limits, depth);
      continue;
    }
    // A few old components close with their opening token.
    bool closed = token == end || token == out.type;
    if (closed && dims && in.peek_token() == "!EndOfComponent") in.token();
    if (closed || token == "!EndOfComponent") return out;
    if (token[0] == '/') continue;  // the end of a group of tokens
    reader.values(token, false);
  }
}

std::vector<KaldiComponent> read_kaldi_chain(KaldiStream& in, const Limits& limits, int depth) {
  std::vector<KaldiComponent> out;
  while (in.peek_token() != "/Nnet") {
    if (in.at_end()) in.broken("expected the token </Nnet>, got the end of the file");
    out.push_back(read_kaldi_component(in, true, limits, depth));
    if (out.size() > limits.nodes) in.broken("the network has more than ", limits.nodes, " components");
  }
  in.token();
  if (out.empty()) in.broken("the network has no components");
  return out;
}

}  // namespace graft

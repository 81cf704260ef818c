// Components as nodes: which frames of its input a component needs.
#include <algorithm>

#include "readers/kaldi/model.hpp"

namespace graft {
namespace {

constexpr size_t most_offsets = 4096;

struct Offset {
  int64_t value;
  bool optional;
};

void add_range(std::vector<Offset>& out, const KaldiComponent& c, int64_t first, int64_t last) {
  if (last - first >= static_cast<int64_t>(most_offsets) || last < first)
    throw_user("component '", c.name, "' (", c.type, "): expected 1 to ", most_offsets, " time offsets, got ", first,
               " to ", last);
  for (int64_t t = first; t <= last; ++t) out.push_back({t, false});
}

void add_attention(std::vector<Offset>& out, const KaldiComponent& c) {
  int64_t left = c.integer("NumLeftInputs", 0), right = c.integer("NumRightInputs", 0),
          stride = c.integer("TimeStride", 1), required_left = c.integer("NumLeftInputsRequired", left),
          required_right = c.integer("NumRightInputsRequired", right);
  auto fits = [](int64_t v) { return v >= 0 && v < static_cast<int64_t>(most_offsets) / 2; };
  if (!fits(left) || !fits(right) || stride < 1 || stride > most_kaldi_offset)
    throw_user("component '", c.name, "' (", c.type, "): expected 0 to ", most_offsets / 2 - 1,
               " inputs on each side, got ", left, " and ", right, " with stride ", stride);
  for (int64_t i = -left; i <= right; ++i) out.push_back({i * stride, i < -required_left || i > required_right});
}

void add_convolution(std::vector<Offset>& out, const KaldiComponent& c) {
  std::vector<int64_t> pairs = c.integers("Offsets"), required = c.integers("RequiredTimeOffsets"), times;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) times.push_back(pairs[i]);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::sort(required.begin(), required.end());
  for (int64_t t : times) out.push_back({t, !std::binary_search(required.begin(), required.end(), t)});
}

// Which frames a component looks at; empty: only its own.
std::vector<Offset> offsets_of(const KaldiComponent& c) {
  std::vector<Offset> out;
  if (c.type == "TdnnComponent" ||
      ((c.type == "SpliceComponent" || c.type == "SpliceMaxComponent") && c.find("Context")))
    for (int64_t t : c.integers(c.type == "TdnnComponent" ? "TimeOffsets" : "Context")) out.push_back({t, false});
  else if (c.type == "SpliceComponent" || c.type == "SpliceMaxComponent")
    add_range(out, c, -c.integer("LeftContext", 0), c.integer("RightContext", 0));
  else if (c.type == "TimeHeightConvolutionComponent") add_convolution(out, c);
  else if (c.type == "RestrictedAttentionComponent") add_attention(out, c);
  else return {{0, false}};
  if (out.empty() || out.size() > most_offsets)
    throw_user("component '", c.name, "' (", c.type, "): expected 1 to ", most_offsets, " time offsets, got ",
               out.size());
  for (const Offset& o : out)
    if (o.value < -most_kaldi_offset || o.value > most_kaldi_offset)
      throw_user("component '", c.name, "' (", c.type, "): expected time offsets of at most ", most_kaldi_offset,
                 ", got ", o.value);
  return out;
}

// Sums over the frames of a window, as many as there are.
void set_window(KaldiNode& n, const KaldiComponent& c) {
  auto positive = [&](const char* field, int64_t least) {
    int64_t v = c.integer(field, 1);
    if (v < least || v > KaldiFrames::unbounded / 1024)
      throw_user("component '", c.name, "' (", c.type, "): expected <", field, "> of at least ", least, ", got ", v);
    return v;
  };
  n.kind = KaldiNode::window;
  if (c.type == "StatisticsExtractionComponent") {
    int64_t period = positive("OutputPeriod", 1);
    if (period % positive("InputPeriod", 1) != 0)
      throw_user("component '", c.name, "' (", c.type,
                 "): expected an output period that is a multiple of the input "
                 "period");
    n.first = 1 - period, n.last = period - 1;
  } else {
    positive("InputPeriod", 1);
    n.first = -positive("LeftContext", 0), n.last = positive("RightContext", 0);
  }
}

std::string unused_name(KaldiNet& net, const std::string& name) {
  std::string out = name;
  for (int i = 1; !net.names.insert(out).second; ++i) out = text(name, '_', i);
  return out;
}

// Networks side by side, each on its part of the columns.
KaldiUse add_parallel(KaldiNet& net, const KaldiComponent& c, KaldiUse from, const std::string& name) {
  KaldiNode join;
  join.name = name, join.type = "Append", join.position = c.position;
  int64_t at = 0;
  for (size_t i = 0; i < c.nested.size(); ++i) {
    KaldiNode part;
    part.name = text(name, "/part", i), part.type = "dim-range-node", part.position = c.position;
    part.inputs = {from};
    if (c.nested[i].empty()) throw_user("component '", c.name, "' (", c.type, ") has an empty network inside");
    int64_t dim = c.nested[i].front().integer("InputDim", 0);
    part.fields = {{"dim-offset", kaldi_field(at)}, {"dim", kaldi_field(dim)}};
    at += dim;
    net.nodes.push_back(std::move(part));
    join.inputs.push_back(add_kaldi_chain(net, c.nested[i], {net.nodes.size() - 1}, text(name, "/", i, "/")));
  }
  if (join.inputs.empty()) throw_user("component '", c.name, "' (", c.type, ") has no networks inside");
  net.nodes.push_back(std::move(join));
  return {net.nodes.size() - 1};
}

}  // namespace

bool is_kaldi_constant(const KaldiComponent& c) {
  return c.type == "ConstantComponent" || c.type == "DropoutMaskComponent";
}

KaldiUse add_kaldi_component(KaldiNet& net, const KaldiComponent& c, KaldiUse from, const std::string& name) {
  if (!c.nested.empty() && c.type == "CompositeComponent") return add_kaldi_chain(net, c.nested[0], from, name + "/");
  if (!c.nested.empty()) return add_parallel(net, c, from, name);
  KaldiNode n;
  n.name = name, n.type = c.type, n.position = c.position;
  n.fields = c.fields, n.weights = c.weights;
  for (const Offset& o : offsets_of(c))
    n.inputs.push_back({from.node, from.offset + o.value, from.optional || o.optional});
  if (c.type == "StatisticsExtractionComponent" || c.type == "StatisticsPoolingComponent") set_window(n, c);
  n.steps = c.type.starts_with("LstmProjected") || c.type.starts_with("BlstmProjected");
  net.nodes.push_back(std::move(n));
  return {net.nodes.size() - 1};
}

KaldiUse add_kaldi_chain(KaldiNet& net, const std::vector<KaldiComponent>& chain, KaldiUse from,
                         const std::string& prefix) {
  for (size_t i = 0; i < chain.size(); ++i)
    from = add_kaldi_component(net, chain[i], from, unused_name(net, text(prefix, chain[i].type, '_', i)));
  return from;
}

}  // namespace graft

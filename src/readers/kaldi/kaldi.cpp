#include "readers/kaldi/kaldi.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tensor.hpp"
#include "readers/kaldi/model.hpp"

namespace graft {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view first_tokens[] = {"Nnet", "Nnet3", "TransitionModel"};

size_t add_input(KaldiNet& net, const std::string& also, int64_t dim) {
  KaldiNode n;
  n.kind = KaldiNode::input, n.name = "input", n.type = also, n.dim = dim;
  net.nodes.push_back(std::move(n));
  return net.nodes.size() - 1;
}
void add_output(KaldiNet& net, KaldiUse from) {
  KaldiNode n;
  n.name = "output", n.type = "output-node", n.inputs = {from};
  net.nodes.push_back(std::move(n));
  net.outputs.push_back({"output", net.nodes.size() - 1});
}

KaldiNet read_nnet1(KaldiStream& in, const Limits& limits) {
  std::vector<KaldiComponent> chain = read_kaldi_chain(in, limits);
  KaldiNet net;
  size_t input = add_input(net, "Parameter", chain.front().integer("InputDim", -1));
  add_output(net, add_kaldi_chain(net, chain, {input}, ""));
  return net;
}

KaldiNet read_nnet2(KaldiStream& in, const Limits& limits) {
  in.expect("NumComponents");
  int64_t count = in.integer("NumComponents");
  in.expect("Components");
  std::vector<KaldiComponent> chain;
  for (int64_t i = 0; i < count; ++i) {
    chain.push_back(read_kaldi_component(in, false, limits));
    if (chain.size() > limits.nodes)
      over_limit(&Limits::nodes, [&] { in.broken("the model has more than ", limits.nodes, " components"); });
  }
  in.expect("/Components");
  in.expect("/Nnet");
  if (chain.empty()) in.broken("the network has no components");
  const KaldiComponent& first = chain.front();
  int64_t dim = first.integer("InputDim", first.integer("Dim", -1));
  for (const auto& [token, t] : first.weights)
    if (dim < 0 && t.dims().size() == 2) dim = t.dims()[1];
  KaldiNet net;
  size_t input = add_input(net, "Input", dim);
  add_output(net, add_kaldi_chain(net, chain, {input}, ""));
  return net;
}

KaldiNet read_nnet3(KaldiStream& in, const Limits& limits) {
  std::vector<std::string_view> lines;
  // Behind the token there is the end of its line, or it was consumed as the blank behind the token.
  if (std::string_view rest = in.rest(); rest.starts_with('\n') || rest.starts_with("\r\n")) in.line();
  for (std::string_view l; !in.rest().empty() && !(l = in.line()).empty();) {
    lines.push_back(l);
    if (lines.size() > limits.nodes)
      over_limit(&Limits::nodes, [&] { in.broken("the model has more than ", limits.nodes, " nodes"); });
  }
  in.expect("NumComponents");
  int64_t count = in.integer("NumComponents");
  std::vector<KaldiComponent> components;
  for (int64_t i = 0; i < count; ++i) {
    in.expect("ComponentName");
    std::string name = in.word();
    KaldiComponent c = read_kaldi_component(in, false, limits);
    c.name = name;
    components.push_back(std::move(c));
    if (components.size() > limits.nodes)
      over_limit(&Limits::nodes, [&] { in.broken("the model has more than ", limits.nodes, " components"); });
  }
  in.expect("/Nnet3");
  KaldiNet net = read_kaldi_config(in, lines, components, limits);
  if (net.outputs.empty()) in.broken("the model has no output-node");
  return net;
}

KaldiNet read_net(KaldiStream& in, const Limits& limits) {
  std::string first(in.peek_token());
  if (first == "TransitionModel") {
    constexpr std::string_view end = "</TransitionModel>";
    size_t at = in.rest().find(end);
    if (at == std::string_view::npos) in.broken("expected the token </TransitionModel>, got the end of the file");
    in.seek(in.position() + at);
    in.token();
    first = in.peek_token();
  }
  if (first != "Nnet" && first != "Nnet3")
    in.broken("expected the token <Nnet>, <Nnet3> or <TransitionModel>, got ",
              first.empty() ? "something else" : text('<', first, '>'));
  in.token();
  if (first == "Nnet3") return read_nnet3(in, limits);
  return in.peek_token() == "NumComponents" ? read_nnet2(in, limits) : read_nnet1(in, limits);
}

// ---- options ----

bool is_softmax(const KaldiNode& n) {
  return n.type == "Softmax" || n.type == "SoftmaxComponent" || n.type == "LogSoftmaxComponent" ||
         n.type == "LogSoftmax";
}

KaldiNode& only_output(KaldiNet& net, const char* option) {
  if (net.outputs.size() == 1) return net.nodes[net.outputs[0].node];
  std::vector<std::string> names;
  for (const KaldiOutput& o : net.outputs) names.push_back(o.name);
  throw_user(option, " requires a model with one output, got ", names.size(), ": ", join(names, ", "));
}

void remove_softmax(KaldiNet& net) {
  KaldiNode& out = only_output(net, "removing the softmax");
  KaldiNode& last = net.nodes[out.inputs[0].node];
  if (!is_softmax(last))
    throw_user("expected a softmax as the last layer to remove, got '", last.name, "' (", last.type, ")");
  out.inputs[0] = {last.inputs[0].node, last.inputs[0].offset + out.inputs[0].offset, last.inputs[0].optional};
}

// -log of the prior probabilities: added behind the last layer, or before a softmax.
void add_priors(KaldiNet& net, const std::string& path, const Limits& limits) {
  auto file = MappedFile::open(path);
  KaldiStream in(file->chars(), path, limits);
  std::vector<float> counts = values_of<float>(in.tensor());
  if (!in.at_end()) in.broken("expected one line with the counts in brackets, got more");
  constexpr double least = 1.00000001e-10;
  double sum = 0;
  for (float& c : counts) sum += std::max<double>(c, least);
  std::vector<float> bias;
  for (float c : counts) {
    double p = std::log(std::max<double>(c, least) / sum);
    if (c < least) p += std::numeric_limits<float>::max() / 2;
    bias.push_back(static_cast<float>(-p));
  }
  KaldiNode& out = only_output(net, "`counts`");
  KaldiNode& last = net.nodes[out.inputs[0].node];
  KaldiNode& behind = is_softmax(last) ? last : out;
  KaldiNode n;
  n.name = out.name + "/priors", n.type = "FixedBiasComponent", n.inputs = {behind.inputs[0]};
  n.weights = {{"Bias", make_tensor<float>({static_cast<int64_t>(bias.size())}, bias)}};
  behind.inputs[0] = {net.nodes.size()};
  net.nodes.push_back(std::move(n));
}

}  // namespace

bool looks_like_kaldi(std::string_view bytes) {
  if (bytes.starts_with("\0B<"sv)) return true;
  std::string_view s = trim(bytes.substr(0, 4096));
  if (!s.starts_with('<')) return false;
  for (std::string_view t : first_tokens)
    if (s.substr(1).starts_with(t) && s.substr(1 + t.size()).starts_with('>')) return true;
  return false;
}

RawModel read_kaldi(const std::string& path, const ReadOptions& request, const Limits& limits) {
  auto file = MappedFile::open(path);
  RawModel m = read_kaldi(file->chars(), path, request, limits);
  m.path = path;
  return m;
}

RawModel read_kaldi(std::string_view bytes, const std::string& name, const ReadOptions& request, const Limits& limits) {
  KaldiStream in(bytes, name, limits);
  KaldiNet net = read_net(in, limits);
  if (request.remove_output_softmax) remove_softmax(net);
  if (!request.counts.empty()) add_priors(net, request.counts, limits);
  bool streaming = request.streaming || request.remove_memory;
  if (streaming) prepare_kaldi_streaming(net, name);
  std::vector<std::vector<size_t>> groups = kaldi_groups(net, true);
  find_kaldi_frames(net, groups, name);
  if (streaming) find_kaldi_delays(net, groups, name);
  RawModel m;
  if (streaming) m.streaming = {net.left, net.right};
  m.framework = "kaldi";
  m.position_unit = in.binary() ? "byte" : "character";
  m.opsets[""] = 1;
  m.graph = kaldi_graph(net, groups, name);
  return m;
}

}  // namespace graft

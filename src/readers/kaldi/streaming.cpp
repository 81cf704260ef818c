// Streaming: a model that takes an utterance in chunks. Every node gives as many rows as the input has, each late by
// the delay of the node; rows of earlier chunks that a consumer needs are remembered.
#include <algorithm>

#include "readers/kaldi/model.hpp"

namespace graft {
namespace {

[[noreturn]] void refuse(const std::string& file, const KaldiNode& n, std::string_view why) {
  throw Error(ErrorKind::unsupported,
              text(file, ": node '", n.name, "' (", n.type, ") cannot be computed in chunks of an utterance: ", why),
              "convert the model for whole utterances, without `streaming` and `remove_memory`");
}

bool is_recurrent(const KaldiNode& n) { return n.steps || n.type == "RecurrentComponent"; }

// The first node before `n` at which frames meet; null if each row depends on the same row of the input only.
const KaldiNode* time_dependence(const KaldiNet& net, const KaldiNode& n) {
  std::vector<size_t> stack;
  std::vector<bool> seen(net.nodes.size(), false);
  for (const KaldiUse& u : n.inputs) stack.push_back(u.node);
  while (!stack.empty()) {
    size_t i = stack.back();
    stack.pop_back();
    if (seen[i]) continue;
    seen[i] = true;
    const KaldiNode& s = net.nodes[i];
    if (s.kind == KaldiNode::input) continue;
    if (s.kind != KaldiNode::layer || is_recurrent(s) || s.type == "Splice") return &s;
    for (const KaldiUse& u : s.inputs) {
      if (u.offset != 0) return &s;
      stack.push_back(u.node);
    }
  }
  return nullptr;
}

class DelayFinder {
 public:
  DelayFinder(KaldiNet& net, const std::vector<std::vector<size_t>>& groups, const std::string& file)
      : net_(net), groups_(groups), file_(file), group_of_(net.nodes.size()) {
    for (size_t g = 0; g < groups_.size(); ++g)
      for (size_t i : groups_[g]) group_of_[i] = g;
  }

  void run() {
    for (const std::vector<size_t>& g : groups_) {
      for (size_t i : g)
        if (is_needed(net_.nodes[i])) check(i);
      delay(g);
    }
    for (const KaldiOutput& o : net_.outputs) net_.nodes[o.node].delay = net_.right;
    for (size_t i = 0; i < net_.nodes.size(); ++i)
      if (is_needed(net_.nodes[i])) remember(i);
  }

 private:
  static bool is_needed(const KaldiNode& n) { return n.needed.low < KaldiFrames::unbounded; }

  void check(size_t i) const {
    const KaldiNode& n = net_.nodes[i];
    if (n.kind == KaldiNode::window) refuse(file_, n, "it sums over all frames of a window that exist");
    const KaldiUse* first = n.inputs.empty() ? nullptr : &n.inputs[0];
    if (n.kind == KaldiNode::fixed && !net_.nodes[first->node].per_utterance)
      refuse(file_, n, text("it uses frame ", n.first, " for all frames"));
    for (const KaldiUse& u : n.inputs) {
      bool inside = group_of_[u.node] == group_of_[i];
      if (inside && u.offset > 0) refuse(file_, n, "it depends on its own later frames");
      bool partial = u.optional || n.kind == KaldiNode::failover;
      if (!inside && partial && n.needed.high + u.offset > net_.nodes[u.node].available.high)
        refuse(file_, n,
               text("it uses frames after the current one only where the utterance has them, up to ", u.offset, " of '",
                    net_.nodes[u.node].name, "'"));
    }
  }

  void delay(const std::vector<size_t>& group) {
    constexpr int64_t none = -KaldiFrames::unbounded;
    int64_t d = none;
    bool recurrence = is_kaldi_recurrence(net_, group);
    for (size_t i : group) {
      const KaldiNode& n = net_.nodes[i];
      if (n.kind == KaldiNode::input && !n.per_utterance) d = 0;
      if (n.kind == KaldiNode::fixed) continue;
      for (const KaldiUse& u : n.inputs) {
        const KaldiNode& source = net_.nodes[u.node];
        if (group_of_[u.node] != group_of_[i] && !source.timeless) d = std::max(d, u.offset + source.delay);
      }
      // These are different from frame to frame whatever their inputs are.
      if (is_recurrent(n) || n.kind == KaldiNode::switched) d = std::max<int64_t>(d, 0);
    }
    for (size_t i : group) {
      net_.nodes[i].timeless = d == none && !recurrence;
      net_.nodes[i].delay = d == none ? 0 : d;
    }
  }

  // A recurrence keeps its states itself.
  void remember(size_t i) {
    const KaldiNode& n = net_.nodes[i];
    if (n.kind == KaldiNode::fixed) return;
    for (const KaldiUse& u : n.inputs) {
      KaldiNode& source = net_.nodes[u.node];
      if (source.timeless || group_of_[u.node] == group_of_[i]) continue;
      int64_t rows = n.delay - u.offset - source.delay + (n.kind == KaldiNode::rounded ? n.modulus - 1 : 0);
      source.memory = std::max(source.memory, rows);
    }
  }

  KaldiNet& net_;
  const std::vector<std::vector<size_t>>& groups_;
  const std::string& file_;
  std::vector<size_t> group_of_;
};

}  // namespace

// A splice of nnet1 repeats the first and the last frame of its own input. That is the same as repeating those of the
// utterance if each row before it depends on one frame.
void prepare_kaldi_streaming(KaldiNet& net, const std::string& file) {
  net.streaming = true;
  for (KaldiNode& n : net.nodes) {
    if (n.type.starts_with("BlstmProjected")) refuse(file, n, "it runs from the end of the utterance");
    if (n.type != "Splice" || n.inputs.size() != 1) continue;
    if (const KaldiNode* before = time_dependence(net, n))
      refuse(file, n, text("it repeats the last row of its input, and '", before->name, "' depends on several frames"));
  }
  for (KaldiNode& n : net.nodes) {
    if (n.type == "RecurrentComponent") n.steps = true;
    if (n.type != "Splice" || n.inputs.size() != 1) continue;
    std::vector<int64_t> offsets;
    for (const auto& [field, value] : n.fields)
      if (const auto* list = value.value.get_if<std::vector<int64_t>>(); list && field == "Splice.0") offsets = *list;
    if (offsets.empty() || offsets.size() > 4096)
      throw_user(file, ": node '", n.name, "' (Splice): expected 1 to 4096 frame offsets, got ", offsets.size());
    KaldiUse from = n.inputs[0];
    n.inputs.clear();
    for (int64_t o : offsets) {
      if (o < -most_kaldi_offset || o > most_kaldi_offset)
        throw_user(file, ": node '", n.name, "' (Splice): expected frame offsets of at most ", most_kaldi_offset,
                   ", got ", o);
      n.inputs.push_back({from.node, from.offset + o, from.optional});
    }
    n.type = "Append";
    n.fields.clear();
  }
}

void find_kaldi_delays(KaldiNet& net, const std::vector<std::vector<size_t>>& groups, const std::string& file) {
  DelayFinder(net, groups, file).run();
}

}  // namespace graft

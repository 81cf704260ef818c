// Which frames each node is computed for. Kaldi computes a frame of a node if all that it requires can be computed from
// the frames of the input, which is extended at both ends by the context that the first and the last frame of the
// output require.
#include <algorithm>

#include "readers/kaldi/model.hpp"

namespace graft {
namespace {

constexpr int64_t unbounded = KaldiFrames::unbounded;
constexpr int64_t most_context = 1 << 20;

int64_t floor_to(int64_t t, int64_t m) { return t - ((t % m) + m) % m; }
int64_t ceil_to(int64_t t, int64_t m) { return -floor_to(-t, m); }

// Of frames relative to the begin (`low`) or the end (`high`).
int64_t shifted(int64_t t, int64_t by) {
  return t <= -unbounded || t >= unbounded ? t : std::clamp(t + by, -unbounded + 1, unbounded - 1);
}

KaldiFrames shifted(KaldiFrames f, int64_t by) { return {shifted(f.low, by), shifted(f.high, by)}; }
KaldiFrames common(KaldiFrames a, KaldiFrames b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }
KaldiFrames both(KaldiFrames a, KaldiFrames b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

constexpr KaldiFrames all{-unbounded, unbounded};
constexpr KaldiFrames none{unbounded, -unbounded};

class FrameFinder {
 public:
  FrameFinder(KaldiNet& net, const std::vector<std::vector<size_t>>& groups, const std::string& file)
      : net_(net), groups_(groups), file_(file) {}

  void run() {
    order_mandatory();
    find_available({0, 0}, true);
    for (const KaldiOutput& o : net_.outputs) {
      const KaldiFrames& f = net_.nodes[o.node].available;
      if (f.low <= -unbounded && f.high >= unbounded) continue;
      net_.left = std::max(net_.left, f.low);
      net_.right = std::max(net_.right, -f.high);
    }
    if (net_.left > most_context || net_.right > most_context)
      throw_user(file_, ": expected a context of at most ", most_context, " frames, got ", net_.left, " and ",
                 net_.right);
    find_available({-net_.left, net_.right}, false);
    find_needed();
  }

 private:
  // Sources before consumers, without the optional uses that close a recurrence.
  void order_mandatory() {
    for (const std::vector<size_t>& g : kaldi_groups(net_, false)) {
      if (g.size() > 1 || is_kaldi_recurrence_of(g[0]))
        throw_user(file_, ": the nodes '", net_.nodes[g[0]].name, "' and '", net_.nodes[g.back()].name,
                   "' depend on each other without IfDefined");
      order_.push_back(g[0]);
    }
  }
  bool is_kaldi_recurrence_of(size_t n) const {
    for (const KaldiUse& u : net_.nodes[n].inputs)
      if (u.node == n && !u.optional) return true;
    return false;
  }

  // Without a known alignment (`any_shift`) rounding may cost up to modulus - 1 frames, as in Kaldi's own computation
  // of the context.
  void find_available(KaldiFrames input, bool any_shift) {
    for (size_t i : order_) {
      KaldiNode& n = net_.nodes[i];
      KaldiFrames f = all;
      switch (n.kind) {
        case KaldiNode::input: f = n.per_utterance ? all : input; break;
        case KaldiNode::constant:
        case KaldiNode::fixed: break;
        case KaldiNode::failover:
          f = none;
          for (const KaldiUse& u : n.inputs)
            f = both(f, u.optional ? all : shifted(net_.nodes[u.node].available, -u.offset));
          break;
        case KaldiNode::window:
          f = shifted(net_.nodes[n.inputs[0].node].available, -n.inputs[0].offset);
          if (n.type == "StatisticsPoolingComponent") f = {shifted(f.low, -n.last), shifted(f.high, -n.first)};
          // A block of frames counts from its first frame on, also if that one is missing.
          else if (!any_shift && f.low > -unbounded) f.low = floor_to(f.low, n.last + 1);
          if (n.inputs[0].optional) f = all;
          break;
        default:
          for (const KaldiUse& u : n.inputs)
            if (!u.optional) f = common(f, shifted(net_.nodes[u.node].available, -u.offset));
      }
      if (n.kind == KaldiNode::rounded && f.low > -unbounded)
        f.low = any_shift ? f.low + n.modulus - 1 : ceil_to(f.low, n.modulus);
      n.available = f;
    }
    for (const std::vector<size_t>& g : groups_)
      if (is_kaldi_recurrence(net_, g)) unite(g);
  }

  // The nodes of a recurrence start at the same frame.
  void unite(const std::vector<size_t>& group) {
    KaldiFrames f = all;
    for (size_t i : group) {
      const KaldiFrames& own = net_.nodes[i].available;
      auto differ = [](int64_t a, int64_t b) { return std::abs(a) < unbounded && std::abs(b) < unbounded && a != b; };
      if (differ(f.low, own.low) || differ(f.high, own.high))
        throw_unsupported(file_, ": a recurrence whose nodes start or end at different frames, at '",
                          net_.nodes[i].name, "',");
      f = common(f, own);
    }
    for (size_t i : group) net_.nodes[i].available = f;
  }

  void find_needed() {
    for (KaldiNode& n : net_.nodes) n.needed = none;
    for (const KaldiOutput& o : net_.outputs) net_.nodes[o.node].needed = {0, 0};
    for (auto g = groups_.rbegin(); g != groups_.rend(); ++g) {
      if (is_kaldi_recurrence(net_, *g)) need_recurrence(*g);
      for (size_t i : *g) need_inputs(net_.nodes[i]);
    }
    for (KaldiNode& n : net_.nodes)
      if (n.kind == KaldiNode::input && !n.per_utterance) n.needed = both(n.needed, {0, 0});
  }

  // From the first frame on (or from the last one), whatever is needed of it.
  void need_recurrence(const std::vector<size_t>& group) {
    KaldiFrames f = none;
    bool backward = false;
    for (size_t i : group) {
      f = both(f, net_.nodes[i].needed);
      for (const KaldiUse& u : net_.nodes[i].inputs)
        backward |= u.offset > 0 && std::find(group.begin(), group.end(), u.node) != group.end();
    }
    if (f == none) return;
    const KaldiFrames& available = net_.nodes[group[0]].available;
    if (backward && available.high < unbounded) f.high = available.high;
    if (!backward && available.low > -unbounded) f.low = available.low;
    for (size_t i : group) net_.nodes[i].needed = f;
  }

  void need_inputs(const KaldiNode& n) {
    if (n.needed == none) return;
    for (const KaldiUse& u : n.inputs) {
      KaldiNode& source = net_.nodes[u.node];
      KaldiFrames f = shifted(n.needed, u.offset);
      bool partial = u.optional || n.kind == KaldiNode::failover || n.kind == KaldiNode::window;
      if (n.kind == KaldiNode::window) f = {shifted(f.low, n.first), shifted(f.high, n.last)};
      if (n.kind == KaldiNode::rounded) f.low = floor_to(n.needed.low, n.modulus) + u.offset;
      if (n.kind == KaldiNode::fixed) f = {n.first + u.offset, std::max<int64_t>(n.first + u.offset, 0)};
      // At least the frames of the utterance itself, so that short utterances have no negative number of frames.
      if (partial) f = common({std::min<int64_t>(f.low, 0), std::max<int64_t>(f.high, 0)}, source.available);
      if (f.low < source.available.low || f.high > source.available.high)
        throw_unsupported(file_, ": node '", n.name, "' requires frames of '", source.name,
                          "' that cannot be computed,");
      source.needed = both(source.needed, f);
    }
  }

  KaldiNet& net_;
  const std::vector<std::vector<size_t>>& groups_;
  const std::string& file_;
  std::vector<size_t> order_;
};

}  // namespace

// Tarjan's algorithm, without recursion: files decide how long a chain is.
std::vector<std::vector<size_t>> kaldi_groups(const KaldiNet& net, bool optional) {
  size_t count = net.nodes.size(), clock = 0;
  std::vector<size_t> number(count, 0), low(count, 0), stack;
  std::vector<bool> open(count, false);
  std::vector<std::vector<size_t>> out;
  std::vector<std::pair<size_t, size_t>> calls;  // node and next input
  for (size_t start = 0; start < count; ++start) {
    if (number[start]) continue;
    calls.emplace_back(start, 0);
    while (!calls.empty()) {
      auto& [n, next] = calls.back();
      if (!next && !number[n]) number[n] = low[n] = ++clock, stack.push_back(n), open[n] = true;
      const std::vector<KaldiUse>& inputs = net.nodes[n].inputs;
      if (next < inputs.size()) {
        const KaldiUse& u = inputs[next++];
        if (u.optional && !optional) continue;
        if (!number[u.node]) calls.emplace_back(u.node, 0);
        else if (open[u.node]) low[n] = std::min(low[n], number[u.node]);
        continue;
      }
      size_t done = n;
      calls.pop_back();
      if (!calls.empty()) low[calls.back().first] = std::min(low[calls.back().first], low[done]);
      if (low[done] != number[done]) continue;
      std::vector<size_t>& group = out.emplace_back();
      for (size_t top = count; top != done;) {
        top = stack.back(), stack.pop_back();
        open[top] = false;
        group.push_back(top);
      }
      std::reverse(group.begin(), group.end());
    }
  }
  return out;
}

bool is_kaldi_recurrence(const KaldiNet& net, const std::vector<size_t>& group) {
  if (group.size() > 1) return true;
  for (const KaldiUse& u : net.nodes[group[0]].inputs)
    if (u.node == group[0]) return true;
  return false;
}

void find_kaldi_frames(KaldiNet& net, const std::vector<std::vector<size_t>>& groups, const std::string& file) {
  FrameFinder(net, groups, file).run();
}

}  // namespace graft

// A Kaldi model between its file and the raw graph: components, and the nodes that use them with their time offsets.
#pragma once

#include <memory>
#include <unordered_set>

#include "readers/kaldi/stream.hpp"

namespace graft {

inline RawField kaldi_field(Attribute value) {
  RawField f;
  f.value = std::move(value);
  return f;
}

// Frames that an offset may reach to.
inline constexpr int64_t most_kaldi_offset = 1 << 20;

struct KaldiComponent {
  std::string type, name;
  size_t position = 0;
  std::vector<std::pair<std::string, RawField>> fields;
  std::vector<std::pair<std::string, Tensor>> weights;
  std::vector<std::vector<KaldiComponent>> nested;  // chains: of a CompositeComponent, or of a ParallelComponent

  const Attribute* find(std::string_view field) const;
  int64_t integer(std::string_view field, int64_t fallback) const;
  std::vector<int64_t> integers(std::string_view field) const;
};

// The frames for which a node has a value: from `low` to T + `high` (exclusive) for an utterance of T frames.
struct KaldiFrames {
  static constexpr int64_t unbounded = int64_t{1} << 40;
  int64_t low = 0, high = 0;
  bool operator==(const KaldiFrames&) const = default;
};

// A use of a node: frame t takes its frame t + offset. One that is optional is zero where that does not exist.
struct KaldiUse {
  size_t node = 0;
  int64_t offset = 0;
  bool optional = false;
};

struct KaldiNode {
  enum Kind {
    input,     // of the model
    layer,     // a component or an expression: frame by frame
    window,    // a component over the available frames of t + first ... t + last
    failover,  // the first input where it exists, else the second
    rounded,   // t rounded down to a multiple of `modulus`
    switched,  // input t modulo their number
    fixed,     // the frame number `first` of the input, for all t
    constant,  // does not depend on a frame
  };
  Kind kind = layer;
  std::string name, type;
  size_t position = 0;
  std::vector<KaldiUse> inputs;
  std::vector<std::pair<std::string, RawField>> fields;
  std::vector<std::pair<std::string, Tensor>> weights;
  int64_t first = 0, last = 0, modulus = 1;
  int64_t dim = -1;            // of an input
  bool per_utterance = false;  // an input with one row: an i-vector
  bool steps = false;          // the rule runs it frame by frame
  KaldiFrames available, needed;

  // Of a model for streaming.
  int64_t delay = 0;      // frames that its results lag behind the input; negative if it uses earlier frames only
  int64_t memory = 0;     // frames before those of the chunk that its consumers need
  bool timeless = false;  // the same for all frames
};

struct KaldiOutput {
  std::string name;
  size_t node = 0;
};

struct KaldiNet {
  std::vector<KaldiNode> nodes;
  std::vector<KaldiOutput> outputs;
  std::unordered_set<std::string> names;  // of nodes that the file declares, and of those made for chains
  int64_t left = 0, right = 0;            // frames of context that the input is extended by
  bool streaming = false;                 // takes an utterance in chunks
};

// One component, from its opening token on. In nnet1 (`dims` is true) the sizes follow the token.
KaldiComponent read_kaldi_component(KaldiStream& in, bool dims, const Limits& limits, int depth = 0);
// Components up to </Nnet>.
std::vector<KaldiComponent> read_kaldi_chain(KaldiStream& in, const Limits& limits, int depth = 0);

// A chain of components behind `from`; the nodes are added to the net.
KaldiUse add_kaldi_chain(KaldiNet& net, const std::vector<KaldiComponent>& chain, KaldiUse from,
                         const std::string& prefix);
// A component applied to a value.
KaldiUse add_kaldi_component(KaldiNet& net, const KaldiComponent& c, KaldiUse from, const std::string& name);
// A component whose values do not depend on an input.
bool is_kaldi_constant(const KaldiComponent& c);
// The configuration lines of nnet3.
KaldiNet read_kaldi_config(const KaldiStream& in, const std::vector<std::string_view>& lines,
                           const std::vector<KaldiComponent>& components, const Limits& limits);

// Strongly connected nodes, sources before consumers; `optional` follows optional uses too.
std::vector<std::vector<size_t>> kaldi_groups(const KaldiNet& net, bool optional);
bool is_kaldi_recurrence(const KaldiNet& net, const std::vector<size_t>& group);
// Finds the context of the net and the frames that each node is computed for.
void find_kaldi_frames(KaldiNet& net, const std::vector<std::vector<size_t>>& groups, const std::string& file);
// For a model that takes an utterance in chunks: before find_kaldi_frames, what such a model computes differently;
// after it, the delays and the memory of each node. They refuse, by name, what depends on the end of the utterance.
void prepare_kaldi_streaming(KaldiNet& net, const std::string& file);
void find_kaldi_delays(KaldiNet& net, const std::vector<std::vector<size_t>>& groups, const std::string& file);
// The nodes as a raw graph.
RawGraph kaldi_graph(const KaldiNet& net, const std::vector<std::vector<size_t>>& groups, const std::string& file);

}  // namespace graft

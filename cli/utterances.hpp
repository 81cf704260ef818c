// graft run over Kaldi archives: one inference per utterance.
#pragma once

#include "inputs.hpp"

namespace graft::cli {

// "NAME=ark:FILE", of --input or --output.
struct TableArgument {
  std::string name, table;
  static std::optional<TableArgument> parse(const std::string& argument);
};

struct UtteranceOptions {
  std::vector<std::string> inputs;     // as given: "input=ark:feats.ark", "ivector=iv.npy"
  std::vector<TableArgument> outputs;  // where to write
  LimitChanges limits;
  bool quiet = false;
  std::optional<Streaming> streaming;  // of the model
  int64_t chunk = 0;                   // frames per inference of such a model; 0: all of an utterance
};

// Runs the compiled model for every utterance of the first table among the inputs. Throws at the end if some failed.
void run_utterances(CompiledModel& compiled, const std::vector<Group>& selected, const UtteranceOptions& options);

}  // namespace graft::cli

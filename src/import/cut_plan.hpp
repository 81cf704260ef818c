// Where a model is cut: places found, what is needed, what is refused. Knows values and layers as numbers only, so that
// a framework's model and a graph are cut by the same rules.
#pragma once

#include "import/cut.hpp"

namespace graft {

inline constexpr int no_value = -1;

struct Anatomy {
  struct Value {
    std::vector<std::string> names;
    int layer = -1, port = 0;  // that makes it
  };
  struct Layer {
    std::string name, type;
    std::vector<int> inputs;  // no_value: left out
    std::vector<int> outputs;
    std::vector<int> captured;  // read by bodies
    std::string variable;       // the state it reads or writes: whoever needs one of its layers needs all
  };
  std::vector<Value> values;
  std::vector<Layer> layers;
  std::vector<int> inputs, outputs;  // values
  bool open_outputs = false;         // layers may have more outputs than the file shows: those that nobody reads
  bool tensors_share_names = false;  // a tensor may be called like a layer that does not make it (Caffe, in place)
};

// One input of the part: an input of the model, an edge into a layer, or a value that others read.
struct InputCut {
  enum Kind { declared, edge, value } kind;
  int layer = -1, port = 0;
  int at = no_value;   // the value that comes in today
  size_t request = 0;  // index in CutRequest::inputs
  std::string name;    // of the new node; empty for declared inputs
};
struct OutputCut {
  int at = no_value;
  int layer = -1, port = 0;  // where no value stands yet
};

struct CutPlan {
  std::vector<InputCut> inputs;
  std::vector<OutputCut> outputs;                      // none: as they were
  std::vector<std::optional<OutputCut>> more_outputs;  // none: there is no such place
  bool prunes = false;                                 // what no output needs is to go
};

CutPlan plan_cut(const Anatomy& a, const CutRequest& request);

// Layers and values that the outputs need once `plan` is carried out. Refuses where an input is needed that the request
// does not list.
struct Needs {
  std::vector<bool> layers, values;
};
Needs needs_of(const Anatomy& a, const CutRequest& request, const CutPlan& plan, CutEffect& effect);

// The constant that an input of this type and shape becomes.
Tensor frozen_tensor(const CutInput& input, const Info& info);
// `shape` with the batch as its first dimension.
Shape with_batch(const Shape& shape, int64_t batch, const std::string& name);

}  // namespace graft

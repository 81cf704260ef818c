// Plans a cut: resolves places, determines what is needed, and rejects invalid requests. Represents values and layers
// as numbers only, so that a framework's model and a graph are cut by the same rules.
#pragma once

#include "import/cut.hpp"

namespace graft {

inline constexpr int no_value = -1;

struct Anatomy {
  struct Value {
    std::vector<std::string> names;
    int layer = -1, port = 0;  // its producer
  };
  struct Layer {
    std::string name, type;
    std::vector<int> inputs;  // no_value: absent
    std::vector<int> outputs;
    std::vector<int> captured;  // read by bodies
    std::string variable;       // the state it reads or writes: needing one layer of a variable means needing all
  };
  std::vector<Value> values;
  std::vector<Layer> layers;
  std::vector<int> inputs, outputs;                    // values
  std::vector<std::vector<std::string>> output_names;  // what each output is called
  bool open_outputs = false;         // layers may have further, unused outputs that the file does not list
  bool tensors_share_names = false;  // a tensor may have the name of a layer that does not produce it (Caffe, in place)
};

// One input of the cut model: an existing input, an edge into a layer, or a value with consumers.
struct InputCut {
  enum Kind { declared, edge, value } kind;
  int layer = -1, port = 0;
  int at = no_value;   // the current value
  size_t request = 0;  // index in CutRequest::inputs
  std::string name;    // of the new node; empty for declared inputs
};
// "0:conv2": the name of the tensor at an input of a layer, as a request and the Model Optimizer write it.
std::string edge_name(const Anatomy& a, const InputCut& cut);

struct OutputCut {
  int at = no_value;
  int layer = -1, port = 0;  // when there is no value yet
};

struct CutPlan {
  std::vector<InputCut> inputs;
  std::vector<OutputCut> outputs;                      // none: unchanged
  std::vector<std::optional<OutputCut>> more_outputs;  // none: no such place exists
  bool only_more = false;                              // more_outputs are the only ones
  bool prunes = false;                                 // remove what no output depends on
};

CutPlan plan_cut(const Anatomy& a, const CutRequest& request);

// Layers and values that the outputs depend on after `plan` is applied. Throws if they depend on an input that the
// request does not list.
struct Needs {
  std::vector<bool> layers, values;
};
Needs needs_of(const Anatomy& a, const CutRequest& request, const CutPlan& plan, CutEffect& effect);

// The constant that an input of this type and shape becomes.
Tensor frozen_tensor(const CutInput& input, const Info& info);
// `shape` with the batch as its first dimension.
Shape with_batch(const Shape& shape, int64_t batch, const std::string& name);

}  // namespace graft

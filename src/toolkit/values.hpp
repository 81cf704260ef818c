// Values of a model's inputs and outputs as its framework defines them, and the tensors of their ports.
#pragma once

#include <functional>

#include "readers/datum.hpp"
#include "toolkit/load.hpp"

namespace graft {

// The tensors of all input ports, one value given per group. Refuses values of another structure.
std::vector<Tensor> port_tensors(const std::vector<Group>& groups, const std::vector<Datum>& values, size_t ports);
// The value that the tensors of output ports are.
Datum gathered(const Group& group, const std::function<Tensor(size_t port)>& port);

// A model that is imported for certain values, one per group of `inputs`.
struct Fitted {
  Model model;
  std::vector<Datum> values;       // per group of the model's inputs: without those that became constants
  std::vector<std::string> notes;  // what was done
};
// `model`, imported again by `load` if the values have other shapes or another structure than it has, or where their
// values decide what can be imported or how many items a sequence has.
Fitted fitted(Model model, std::vector<Datum> values, const std::function<Model(const ImportOptions&)>& load);

// "sequence of 3", "optional without a value", ... for messages and lists.
std::string structure_text(const Group& group, const std::vector<Port>& ports);

}  // namespace graft

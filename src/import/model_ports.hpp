// Inputs and outputs of the model under import. Sequences, optionals and maps of ONNX become tensors of the graph: how
// many there are follows from what the caller says of the inputs. The forms keep which of them belong together.
#pragma once

#include <set>

#include "import/scope.hpp"

namespace graft {

class ModelPorts {
 public:
  ModelPorts(Scope& scope, const RawGraph& raw) : scope_(scope), raw_(raw) {}

  // Parameters, constants and lists under the names of the model's inputs.
  void add_inputs();
  // Results for its outputs, when all layers are imported.
  void add_outputs();

 private:
  Form input(const std::string& name, const RawValue& type, const InputForm* given);
  Form sequence_input(const std::string& name, const RawValue& type, const InputForm* given);
  Form map_input(const std::string& name, const RawValue& type);
  Form parameter(const std::string& name, Info info);
  void frozen(const RawValue& in, const Tensor& value);
  void check_given_names() const;

  Form output(const std::string& name, const RawValue* type, ValueId v);
  Form list_output(const std::string& name, const RawValue* type, const std::vector<ValueId>& items);
  Form result(const std::string& name, ValueId v);
  // A name for a part of a value, which nothing else in the model has.
  std::string part_name(const std::string& name, std::string_view part);

  Scope& scope_;
  const RawGraph& raw_;
  std::set<std::string> taken_;  // names of the model
};

}  // namespace graft

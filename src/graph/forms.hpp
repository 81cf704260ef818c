// The structure of a framework model's inputs and outputs that are more than one tensor: sequences, optionals and maps
// of ONNX. The graph itself has tensors only; a form says which of them make up one value of the framework.
#pragma once

#include <string>
#include <vector>

namespace graft {

struct Form {
  enum Kind {
    tensor,    // the Parameter or Result `node`
    sequence,  // its items are `parts`; a part that is a run stands for any number of items
    run,       // each slice along the first axis of the one part is an item; of a map, of its values
    optional,  // `parts` has its value or nothing
    map,       // `parts` are its keys and its values, lists of one length
  } kind = tensor;
  std::string node;
  std::vector<Form> parts;
  bool operator==(const Form&) const = default;
};

struct NamedForm {
  std::string name;  // of the framework
  Form form;
  bool operator==(const NamedForm&) const = default;
};

// Whether any of them is more than a tensor.
inline bool any_structure(const std::vector<NamedForm>& forms) {
  for (const NamedForm& f : forms)
    if (f.form.kind != Form::tensor) return true;
  return false;
}

}  // namespace graft

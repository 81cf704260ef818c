// Inputs and outputs of a model: as flat lists of tensors, and as the values that its framework defines.
#pragma once

#include <optional>

#include "../error.hpp"
#include "../types.hpp"
#include "fields.hpp"

namespace graft {

// An input or output of a model. Dimensions that are unknown until run time are unknown in `shape`.
struct GRAFT_API Port {
  std::string name;                // of the layer
  std::vector<std::string> names;  // of the tensor, as the framework called it
  DType type = DType::undefined;
  Shape shape;
  // The name users know it by: the first tensor name, otherwise the name of the layer.
  const std::string& any_name() const { return names.empty() ? name : names[0]; }
  // Whether tensors of these dimensions fit.
  bool takes(const std::vector<int64_t>& dims) const;
};

// An input or output as the framework sees it. Most are a single tensor; ONNX also has sequences, optionals and maps,
// which are represented by any number of tensors here.
struct GRAFT_API Group {
  enum class Kind {
    tensor,    // a single port
    sequence,  // the parts are its items; a part that is a run stands for any number of items
    run,       // each slice along the first axis of its part is an item; for a map, each row of the values
    optional,  // the part is its value; no part: empty
    map,       // the parts are its keys and its values
  };
  std::string name;  // empty for parts
  Kind kind = Kind::tensor;
  size_t port = 0;  // for a tensor: its index in inputs() or outputs()
  std::vector<Group> parts;
  std::string_view kind_name() const;  // "tensor", "sequence", ...
  static constexpr std::tuple fields{field("name", &Group::name, "name; empty for parts"),
                                     field("kind", &Group::kind_name, "tensor, sequence, run, optional or map"),
                                     field("port", &Group::port, "of a tensor: its index in inputs or outputs"),
                                     field("parts", &Group::parts, "what it consists of")};
  // "f32[1,3]", "sequence [f32[2], f32[3]]", "optional without a value"; `ports` are those that it indexes.
  std::string to_text(const std::vector<Port>& ports) const;
};

// The position of the port with this tensor name, otherwise with this layer name. `find_port` throws an Error that
// lists the existing names; `what` is the word for them, "input" for example.
GRAFT_API std::optional<size_t> position_of(const std::vector<Port>& ports, const std::string& name);
GRAFT_API size_t find_port(const std::vector<Port>& ports, const std::string& name, std::string_view what);

}  // namespace graft

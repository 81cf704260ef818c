// The arguments of a call in an exported program: tensors and sizes become inputs of a layer, all else its fields.
//
//   add.Tensor(self=x, other=y, alpha=2)   inputs x, y; "call.inputs" = ["self", "other"]; "alpha" = 2
//   view(self=x, size=[n, 4])              inputs x, n; "call.inputs" = ["self", "size.0"]; "size" = [0, 4]
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "readers/raw.hpp"

namespace graft {

// A member of an object; fails if it is missing.
const nlohmann::json& member(const nlohmann::json& object, std::string_view name);
std::string text_member(const nlohmann::json& object, std::string_view name);
// A tagged value of the file: {"as_int": 3}.
struct Tagged {
  std::string_view tag;
  const nlohmann::json& value;
};
Tagged tagged(const nlohmann::json& v);
// The name in {"name": ...} of a tensor or {"as_name": ...} of a size; empty for plain numbers.
std::string name_in(const nlohmann::json& v);
// A number, which may be the text "Infinity".
double number_in(const nlohmann::json& v);

// Collects the arguments of one layer. `read` gives the present value of a name.
class Arguments {
 public:
  explicit Arguments(std::function<std::string(const std::string&)> read) : read_(std::move(read)) {}
  void add(const std::string& name, const nlohmann::json& arg);
  // An input that is an argument of this name.
  void add_input(const std::string& name, std::string value);
  void finish(RawNode& n, const std::string& overload) &&;

  std::vector<std::string> tensors;  // names in the file of the inputs that are tensors
  std::vector<std::string> inputs, names;

 private:
  void list(const std::string& name, const nlohmann::json& values);
  std::function<std::string(const std::string&)> read_;
  std::vector<std::pair<std::string, RawField>> fields_;
};

}  // namespace graft

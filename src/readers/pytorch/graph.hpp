// One graph of an exported program: its nodes in functional form.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "readers/pytorch/alias.hpp"
#include "readers/pytorch/arguments.hpp"

namespace graft {

// What the graphs of a program share.
struct PytorchProgram {
  RawModel& model;
  const Limits& limits;
  const nlohmann::json& ranges;  // of symbols
  uint64_t nodes = 0;
  std::map<std::string, uint32_t, std::less<>> symbols;

  Info info(const nlohmann::json& tensor_meta);

 private:
  Dim dim(const nlohmann::json& size);
};

class PytorchGraph {
 public:
  // Names of values get this prefix: sub-graphs use names of their own.
  PytorchGraph(PytorchProgram& program, const nlohmann::json& graph, std::string prefix, int depth);

  void define(const std::string& name, std::string value) { aliases_.define(name, std::move(value)); }
  // What a name of the file stands for, as declared.
  Info info_of(const std::string& name);
  void read_nodes();
  // The value of an output of the graph; none if it is None. `at` numbers it.
  std::string output(const nlohmann::json& arg, size_t at);
  // The same value under a name of its own.
  std::string copied(const std::string& value);
  // As inputs of sub-graphs: values of tensors, sizes and numbers.
  std::vector<std::string> operands(const nlohmann::json& arg);
  // Outputs get the names that the file has for them, where they are free.
  void name_outputs(const std::vector<std::pair<std::string, std::string>>& names);

  RawGraph take() { return std::move(out_); }
  RawGraph& raw() { return out_; }

 private:
  struct Call {
    std::string ns, name, overload;  // "aten", "add_", "Tensor"
    std::string type() const { return ns + "::" + name; }
  };
  static Call call_of(const std::string& target);
  static bool ends_in_place(const std::string& name);  // "add_"
  void emit(RawNode n);
  void node(const nlohmann::json& j);
  void read_node(const nlohmann::json& j);
  void plain_call(const nlohmann::json& j, const Call& call);
  // Writes (writes.cpp).
  void in_place_call(const nlohmann::json& j, Call call);
  void out_call(const nlohmann::json& j, const Call& call, const std::vector<std::string>& targets);
  void mutating_call(const nlohmann::json& j, const Call& call);
  void functionalized_call(const nlohmann::json& j);
  std::string part_of(const nlohmann::json& j, const std::string& name, const std::string& base);
  void order_by_memory(RawNode& n, const std::string& of);
  bool makes_view(const RawNode& n, const std::string& of, const std::vector<std::string>& outputs) const;
  RawNode call_node(const nlohmann::json& j, const Call& call, std::vector<std::string>* tensors,
                    const std::vector<std::string>& without = {});
  static std::vector<std::string> outputs_of(const nlohmann::json& j);
  std::string own(const std::string& name) const { return aliases_.prefix() + name; }
  void add_source(RawNode& n, const nlohmann::json& j);
  const nlohmann::json* meta(const std::string& name) const;

  // Higher-order operations (control.cpp).
  bool control(const nlohmann::json& j, const Call& call);
  const nlohmann::json& argument(const nlohmann::json& j, size_t i) const;
  RawGraph body(const nlohmann::json& arg, const std::string& prefix, const std::vector<std::string>& bound);
  void inlined(const nlohmann::json& j, size_t graph_argument);
  void branches(const nlohmann::json& j);
  void while_loop(const nlohmann::json& j);
  void scan(const nlohmann::json& j, bool states);
  void define_outputs(const nlohmann::json& j, RawNode& n);
  std::string constant(Tensor value, const std::string& name);

  PytorchProgram& program_;
  const nlohmann::json& graph_;
  Aliases aliases_;
  RawGraph out_;
  int depth_;
  size_t position_ = 0;
  RawOrigin source_;
};

}  // namespace graft

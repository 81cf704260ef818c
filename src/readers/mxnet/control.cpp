#include "readers/mxnet/control.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace graft {
namespace {

size_t variables_of(const MxnetSymbol& s) {
  return static_cast<size_t>(
      std::count_if(s.nodes.begin(), s.nodes.end(), [](const MxnetNode& n) { return n.is_variable(); }));
}

class ControlReader {
 public:
  ControlReader(const MxnetNode& n, const RawNode& layer, const ReadMxnetBody& read)
      : n_(n), layer_(layer), read_(read) {}

  std::vector<RawNode> run() {
    if (n_.op == "_foreach") for_each();
    else if (n_.op == "_while_loop") while_loop();
    else branches();
    return std::move(out_);
  }

 private:
  // ---- fields ----

  int64_t count(std::string_view key) const {
    const RawField* f = layer_.find(key);
    const int64_t* v = f ? f->value.get_if<int64_t>() : nullptr;
    if (!v || *v < 0) throw_user("expected an integer of at least 0 for '", key, "'");
    return *v;
  }
  // Positions below `end`, as many as `expected`.
  std::vector<size_t> places(std::string_view key, size_t end) const {
    const RawField* f = layer_.find(key);
    std::vector<int64_t> list;
    if (f)
      if (const auto* v = f->value.get_if<std::vector<int64_t>>()) list = *v;
    std::vector<size_t> out;
    for (int64_t v : list) {
      if (v < 0 || static_cast<uint64_t>(v) >= end)
        throw_user("expected positions below ", end, " in '", key, "', got ", v);
      out.push_back(static_cast<size_t>(v));
    }
    return out;
  }
  const MxnetSymbol& body(size_t i, size_t of) const {
    if (n_.subgraphs.size() != of) throw_user("expected ", of, " sub-graphs, got ", n_.subgraphs.size());
    return n_.subgraphs[i];
  }
  const std::string& input(size_t i) const {
    if (i >= layer_.inputs.size()) throw_user("expected more than ", i, " inputs, got ", layer_.inputs.size());
    return layer_.inputs[i];
  }
  std::string own(std::string_view what) const { return text(layer_.name, '/', what); }
  std::string own(std::string_view what, size_t i) const { return text(layer_.name, '/', what, i); }

  // ---- layers ----

  RawNode node(std::string_view type) const {
    RawNode n;
    n.type = type, n.domain = "graft", n.name = layer_.name, n.position = layer_.position;
    return n;
  }
  std::vector<std::string> inputs_at(const std::vector<size_t>& places, size_t variables, std::string_view key) const {
    if (places.size() != variables)
      throw_user("expected ", variables, " positions in '", key, "', one per variable of the sub-graph, got ",
                 places.size());
    std::vector<std::string> out;
    for (size_t p : places) out.push_back(input(p));
    return out;
  }
  // A sub-graph that computes a condition: its layers and a boolean scalar `name`.
  void condition(std::vector<RawNode>& to, const MxnetSymbol& s, const std::vector<std::string>& variables,
                 std::string_view what, const std::string& name) const {
    RawGraph g = read_(s, own(what) + '/', variables);
    if (g.outputs.size() != 1) throw_user("expected a condition with one output, got ", g.outputs.size());
    to.insert(to.end(), std::make_move_iterator(g.nodes.begin()), std::make_move_iterator(g.nodes.end()));
    RawNode n = node("Condition");
    n.name = name, n.inputs = {g.outputs[0].name}, n.outputs = {name};
    to.push_back(std::move(n));
  }

  // Inputs: what is taken slice by slice, states, the rest. Outputs: stacked ones, states.
  void for_each() {
    const MxnetSymbol& s = body(0, 1);
    size_t variables = variables_of(s), heads = s.heads.size();
    std::vector<size_t> data = places("in_data_locs", variables), states = places("in_state_locs", variables),
                        rest = places("remain_locs", variables);
    auto stacked = static_cast<size_t>(count("num_out_data"));
    if (stacked + states.size() != heads)
      throw_user("expected a sub-graph with ", stacked + states.size(), " outputs, got ", heads);
    if (data.empty()) throw_user("expected at least one input to take slices of");
    std::vector<std::string> bound(variables);
    RawNode scan = node("Scan");
    auto g = std::make_shared<RawGraph>();
    for (size_t k = 0; k < states.size(); ++k) {
      g->inputs.push_back({bound[states[k]] = own("state", k), {}, {}});
      scan.inputs.push_back(input(data.size() + k));
    }
    for (size_t k = 0; k < data.size(); ++k) {
      g->inputs.push_back({bound[data[k]] = own("slice", k), {}, {}});
      scan.inputs.push_back(input(k));
    }
    for (size_t k = 0; k < rest.size(); ++k) bound[rest[k]] = input(data.size() + states.size() + k);
    for (const std::string& b : bound)
      if (b.empty()) throw_user("expected an input for each of the ", variables, " variables of the sub-graph");
    RawGraph read = read_(s, own(""), bound);
    g->name = layer_.name, g->nodes = std::move(read.nodes), g->outputs = std::move(read.outputs);
    auto middle = static_cast<ptrdiff_t>(stacked);
    std::rotate(g->outputs.begin(), g->outputs.begin() + middle, g->outputs.end());
    scan.outputs = layer_.outputs;
    scan.outputs.resize(heads);
    std::rotate(scan.outputs.begin(), scan.outputs.begin() + middle, scan.outputs.end());
    scan.fields.emplace_back("body", field_of(g));
    scan.fields.emplace_back("num_scan_inputs", field_of(static_cast<int64_t>(data.size())));
    out_.push_back(std::move(scan));
  }

  // Outputs: stacked ones, with as many rows as there may be iterations, then the loop variables.
  void while_loop() {
    const MxnetSymbol &test = body(0, 2), &step = body(1, 2);
    std::vector<size_t> to_test = places("cond_input_locs", layer_.inputs.size()),
                        to_step = places("func_input_locs", layer_.inputs.size()),
                        variables = places("func_var_locs", to_step.size());
    auto stacked = static_cast<size_t>(count("num_out_data"));
    if (stacked + variables.size() != step.heads.size())
      throw_user("expected a sub-graph with ", stacked + variables.size(), " outputs, got ", step.heads.size());
    std::vector<std::string> first = inputs_at(to_test, variables_of(test), "cond_input_locs"),
                             bound = inputs_at(to_step, variables_of(step), "func_input_locs");
    condition(out_, test, first, "first", own("goes"));

    RawNode loop = node("While");
    loop.inputs = {"", own("goes")};
    auto g = std::make_shared<RawGraph>();
    g->name = layer_.name;
    g->inputs = {{own("iteration"), {DType::i64, Shape()}, {}}, {own("going"), {DType::boolean, Shape()}, {}}};
    for (size_t k = 0; k < variables.size(); ++k) {
      loop.inputs.push_back(bound[variables[k]]);
      g->inputs.push_back({bound[variables[k]] = own("variable", k), {}, {}});
    }
    RawGraph read = read_(step, own("step/"), bound);
    g->nodes = std::move(read.nodes);
    for (size_t i = 0; i < to_test.size(); ++i)
      for (size_t k = 0; k < variables.size(); ++k)
        if (to_step[variables[k]] == to_test[i]) first[i] = read.outputs[stacked + k].name;
    condition(g->nodes, test, first, "next", own("goes_on"));
    auto middle = static_cast<ptrdiff_t>(stacked);
    std::rotate(read.outputs.begin(), read.outputs.begin() + middle, read.outputs.end());
    g->outputs = {{own("goes_on"), {}, {}}};
    g->outputs.insert(g->outputs.end(), read.outputs.begin(), read.outputs.end());
    loop.outputs = layer_.outputs;
    loop.outputs.resize(step.heads.size());
    std::rotate(loop.outputs.begin(), loop.outputs.begin() + middle, loop.outputs.end());
    loop.fields.emplace_back("body", field_of(g));
    loop.fields.emplace_back("max_iterations", field_of(count("max_iterations")));
    out_.push_back(std::move(loop));
  }

  void branches() {
    const MxnetSymbol& test = body(0, 3);
    size_t inputs = layer_.inputs.size();
    condition(out_, test, inputs_at(places("cond_input_locs", inputs), variables_of(test), "cond_input_locs"), "test",
              own("taken"));
    RawNode branch = node("If");
    branch.inputs = {own("taken")};
    branch.outputs = layer_.outputs;
    const std::pair<const char*, const char*> keys[] = {{"then_branch", "then_input_locs"},
                                                        {"else_branch", "else_input_locs"}};
    for (size_t i = 0; i < 2; ++i) {
      const MxnetSymbol& s = body(i + 1, 3);
      auto [field, key] = keys[i];
      auto g =
          std::make_shared<RawGraph>(read_(s, own(field) + '/', inputs_at(places(key, inputs), variables_of(s), key)));
      g->name = own(field);
      branch.fields.emplace_back(field, field_of(g));
    }
    out_.push_back(std::move(branch));
  }

  const MxnetNode& n_;
  const RawNode& layer_;
  const ReadMxnetBody& read_;
  std::vector<RawNode> out_;
};

}  // namespace

bool is_mxnet_control(const MxnetNode& n) {
  return !n.subgraphs.empty() && (n.op == "_foreach" || n.op == "_while_loop" || n.op == "_cond");
}

std::vector<RawNode> mxnet_control(const MxnetNode& n, const RawNode& layer, const ReadMxnetBody& read) {
  return ControlReader(n, layer, read).run();
}

}  // namespace graft

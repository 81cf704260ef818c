// A case, run in every way there is.
#include <cmath>

#include "base/file.hpp"
#include "base/temporary.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "check/case.hpp"
#include "devices/cpu/cpu.hpp"
#include "graph/verify.hpp"
#include "infer/complete.hpp"
#include "infer/evaluate.hpp"
#include "ir/ir.hpp"
#include "passes/pass.hpp"

namespace graft::testing {

std::vector<Tensor> ordered_inputs(const Test& p, const Graph& g) {
  std::vector<Tensor> in;
  for (NodeId id : g.parameters()) {
    Tensor t;
    for (const auto& [name, value] : p.inputs)
      if (name == g[id].name) t = value;
    if (!t) throw_user("no value for input '", g[id].name, "'");
    in.push_back(t);
  }
  return in;
}

namespace {

std::string difference(const Tensor& want, const Tensor& got, double tolerance) {
  if (want.type() != got.type()) return text("type ", got.type(), ", expected ", want.type());
  if (want.dims() != got.dims()) return text("shape ", got.dims(), ", expected ", want.dims());
  if (want.type() == DType::string || !is_real(want.type()))
    return same_content(want, got) ? "" : text(print(got, 32), ", expected ", print(want, 32));
  std::vector<double> a = values_of<double>(want), b = values_of<double>(got);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::fabs(a[i] - b[i]) <= tolerance * std::max(1.0, std::fabs(a[i]))))
      return text("element ", i, " is ", b[i], ", expected ", a[i], "; all: ", print(got, 32));
  }
  return "";
}

// Written as IR, read, and written again: the files must be the same.
Graph through_ir(const Graph& g, const Registry& registry, int version = 11) {
  TemporaryFolder folder;
  std::string first = folder.path() + "/a.xml", second = folder.path() + "/b.xml";
  write_ir(g, registry, first, version);
  Graph again = read_ir(first, "", registry);
  write_ir(again, registry, second, version);
  for (const char* part : {".xml", ".bin"}) {
    std::string a = read_text_file(folder.path() + "/a" + part), b = read_text_file(folder.path() + "/b" + part);
    if (a == b) continue;
    auto x = split(a, '\n'), y = split(b, '\n');
    size_t line = 0;
    while (line < x.size() && line < y.size() && x[line] == y[line]) ++line;
    throw_user("written, read and written again, line ", line + 1, " of the ", part, " becomes '",
               line < y.size() ? trim(y[line]) : "", "', it was '", line < x.size() ? trim(x[line]) : "", "'");
  }
  // The mapped .bin outlives its name.
  return again;
}

std::vector<Tensor> run_cpu(const Test& p, const Registry& registry, Graph graph) {
  auto program = make_cpu_device()->compile(std::move(graph), registry, {});
  auto execution = program->create_execution();
  std::vector<Tensor> once, twice, in = ordered_inputs(p, p.graph);
  execution->run(in, once, nullptr);
  // Again, in the memory of the first run: nothing may be left over from it.
  execution->variables.clear();
  execution->run(in, twice, nullptr);
  for (size_t i = 0; i < once.size(); ++i)
    if (!same_content(once[i], twice[i]))
      throw_user("result ", i, " of a second run differs: ", print(twice[i], 32), ", first ", print(once[i], 32));
  return once;
}

// What computes something, in order; "If@8(MaxPool@1)(Relu@1)" where opsets are asked for.
std::string types_in(const Graph& g, bool opsets = false) {
  std::string out;
  for (NodeId id : g.topological_order()) {
    const Node& n = g[id];
    if (n.is("Constant") || n.is("Parameter") || n.is("Result")) continue;
    out += (out.empty() ? "" : ", ") + n.type;
    if (!opsets) continue;
    out += text("@", opset_number(n.opset) < 0 ? n.opset : text(opset_number(n.opset)));
    for (const Body& b : n.bodies) out += text("(", types_in(*b.graph, true), ")");
  }
  return out;
}

// As graft convert writes it, in both versions; a second conversion changes nothing.
std::vector<Tensor> run_written(const Test& p, const Registry& registry) {
  PassOptions options;
  options.enabled = p.enabled;
  options.phases = PassPhases::writing;
  Graph g = p.graph.clone();
  run_passes(g, registry, options);
  verify(g);
  if (std::string written = types_in(g, true); p.written && written != *p.written)
    throw_user("the IR has '", written, "', expected '", *p.written, "'");
  Graph again = through_ir(g, registry), twice = again.clone();
  for (const PassEffect& e : run_passes(twice, registry, options))
    if (e.name == "lower_opsets" && e.changes) throw_user("lower_opsets changes its own result");
  through_ir(g, registry, 10);
  return evaluate_graph(Evaluation{registry}, again, ordered_inputs(p, again));
}

std::string check(const Test& p, std::string_view way, const std::vector<Tensor>& got) {
  if (!p.error.empty()) return text(way, ": ran, expected the error '", p.error, "'");
  if (got.size() != p.expected.size()) return text(way, ": ", got.size(), " results, expected ", p.expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    if (std::string d = difference(p.expected[i], got[i], p.tolerance); !d.empty())
      return text(way, ": result ", i, ": ", d);
  return "";
}

}  // namespace

std::string run_case_on(const Device& device, const Case& c, const Registry& registry, std::string& unsupported) {
  try {
    Test p = read_test(c, registry);
    if (!p.refusal.empty() || !p.error.empty() || (!p.only.empty() && !p.only.count("cpu"))) {
      unsupported = "the case is for other ways";
      return "";
    }
    if (p.expected.empty()) p.expected = evaluate_graph(Evaluation{registry}, p.graph, ordered_inputs(p, p.graph));
    auto execution = std::unique_ptr<Execution>();
    std::unique_ptr<Program> program;
    std::vector<Tensor> got;
    try {
      program = device.compile(p.graph.clone(), registry, {});
      execution = program->create_execution();
      execution->run(ordered_inputs(p, p.graph), got, nullptr);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::unsupported) throw;
      unsupported = e.message();
      return "";
    }
    return check(p, device.name(), got);
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::string run_case(const Case& c, const Registry& registry) {
  try {
    Test p = read_test(c, registry);
    if (!p.refusal.empty() || (p.kind != "graph" && !p.error.empty() && p.expected.empty() && p.inputs.empty())) {
      if (p.refusal == p.error) return "";
      if (p.error.empty()) return text("refused: ", p.refusal);
      return p.refusal.empty() ? text("read, expected the error '", p.error, "'")
                               : text("refused with '", p.refusal, "', expected '", p.error, "'");
    }
    auto way = [&](std::string_view name, auto&& run) -> std::string {
      if (!p.only.empty() && !p.only.count(std::string(name))) return "";
      try {
        return check(p, name, run());
      } catch (const Error& e) {
        if (!p.error.empty())
          return e.message() == p.error ? ""
                                        : text(name, ": refused with '", e.message(), "', expected '", p.error, "'");
        return text(name, ": ", e.what());
      }
    };
    // Without expected results, what the reference gives is expected everywhere else.
    if (p.error.empty() && p.expected.empty())
      p.expected = evaluate_graph(Evaluation{registry}, p.graph, ordered_inputs(p, p.graph));
    std::string why =
        way("reference", [&] { return evaluate_graph(Evaluation{registry}, p.graph, ordered_inputs(p, p.graph)); });
    if (why.empty())
      why = way("text", [&] {
        std::string once = print(p.graph);
        Graph again = parse_graph(once);
        complete(again, registry, Extras::keep);  // an IR may have carried some in
        if (std::string twice = print(again); twice != once)
          throw_user("printed, read and printed again gives\n", twice, "instead of\n", once);
        return evaluate_graph(Evaluation{registry}, again, ordered_inputs(p, again));
      });
    if (why.empty()) why = way("cpu", [&] { return run_cpu(p, registry, p.graph.clone()); });
    if (why.empty())
      why = way("compiled", [&] {
        Graph again = p.graph.clone();
        PassOptions options;
        options.phases = PassPhases::compiling;
        options.device = cpu_device;
        run_passes(again, registry, options);
        verify(again);
        return run_cpu(p, registry, std::move(again));
      });
    if (why.empty())
      why = way("ir", [&] {
        Graph again = through_ir(p.graph, registry);
        return evaluate_graph(Evaluation{registry}, again, ordered_inputs(p, again));
      });
    if (why.empty())
      why = way("passes", [&] {
        Graph again = p.graph.clone();
        PassOptions options;
        options.enabled = p.enabled;
        run_passes(again, registry, options);
        verify(again);
        if (p.left)
          if (std::string left = types_in(again); left != *p.left)
            throw_user("after the passes there is '", left, "', expected '", *p.left, "'");
        return evaluate_graph(Evaluation{registry}, again, ordered_inputs(p, again));
      });
    if (why.empty() && p.error.empty()) why = way("written", [&] { return run_written(p, registry); });
    return why;
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace graft::testing

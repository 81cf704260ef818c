// Cases of operations: a graph, inputs, and what must come out, run in every way there is.
#include <cmath>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "case.hpp"
#include "infer/complete.hpp"
#include "base/file.hpp"
#include "devices/cpu/cpu.hpp"
#include "infer/evaluate.hpp"
#include "ir/ir.hpp"
#include "registry.hpp"
#include "base/temporary.hpp"

namespace graft::testing {
namespace {

struct Parsed {
  Graph graph;
  std::vector<std::pair<std::string, Tensor>> inputs;
  std::vector<Tensor> expected;
  std::string error;
  double tolerance = 1e-5;
  std::set<std::string> only;
};

// Type and shape may be left out where the graph knows them.
Tensor read_value(TextReader& r, const Info* known) {
  if (known && known->shape.is_static() && known->type != DType::undefined) {
    for (std::string_view sign : {"{", "fill", "iota", "random"})
      if (r.peek(sign)) return r.values(known->type, known->shape.values());
  }
  return r.tensor();
}

Parsed parse(const Case& c, const Registry& registry) {
  Parsed p;
  TextReader r(c.body);
  p.graph = r.graph();
  bool completed = false;
  std::string refusal;
  auto finish = [&] {
    if (completed) return;
    completed = true;
    try {
      complete(p.graph, registry);
    } catch (const Error& e) {
      refusal = e.message();
    }
  };
  while (!r.at_end()) {
    if (r.accept("->")) {
      finish();
      if (!refusal.empty()) throw_user("refused: ", refusal);
      size_t i = p.expected.size();
      const Info* info = nullptr;
      if (i < p.graph.results().size()) info = &p.graph.info(p.graph[p.graph.results()[i]].inputs[0]);
      p.expected.push_back(read_value(r, info));
    } else if (r.accept("tolerance")) {
      p.tolerance = r.number();
    } else if (r.accept("error")) {
      r.expect(":");
      p.error = r.rest_of_line();
    } else if (r.accept("only")) {
      for (std::string_view w : split(r.rest_of_line(), ' ')) p.only.emplace(w);
    } else {
      std::string name = r.name();
      r.expect("=");
      const Info* info = nullptr;
      for (NodeId id : p.graph.parameters())
        if (p.graph[id].name == name) info = &p.graph[id].outputs[0].info;
      if (!info) throw_user("line ", r.line(), ": the graph has no input '", name, "'");
      p.inputs.emplace_back(name, read_value(r, info));
    }
  }
  finish();
  if (!refusal.empty()) {
    if (p.error.empty()) throw_user("refused: ", refusal);
    if (refusal != p.error) throw_user("refused with '", refusal, "', expected '", p.error, "'");
    p.only = {"nothing"};
    p.error.clear();
  }
  return p;
}

std::vector<Tensor> ordered_inputs(const Parsed& p, const Graph& g) {
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
Graph through_ir(const Graph& g, const Registry& registry) {
  TemporaryFolder folder;
  std::string first = folder.path() + "/a.xml", second = folder.path() + "/b.xml";
  write_ir(g, registry, first);
  Graph again = read_ir(first, "", registry);
  write_ir(again, registry, second);
  for (const char* part : {".xml", ".bin"}) {
    std::string a = read_text_file(folder.path() + "/a" + part), b = read_text_file(folder.path() + "/b" + part);
    if (a == b) continue;
    auto x = split(a, '\n'), y = split(b, '\n');
    size_t line = 0;
    while (line < x.size() && line < y.size() && x[line] == y[line]) ++line;
    throw_user("written, read and written again, line ", line + 1, " of the ", part, " becomes '", line < y.size() ? trim(y[line]) : "", "', it was '", line < x.size() ? trim(x[line]) : "", "'");
  }
  // The mapped .bin outlives its name.
  return again;
}

std::string check(const Parsed& p, std::string_view way, const std::vector<Tensor>& got) {
  if (!p.error.empty()) return text(way, ": ran, expected the error '", p.error, "'");
  if (got.size() != p.expected.size()) return text(way, ": ", got.size(), " results, expected ", p.expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    if (std::string d = difference(p.expected[i], got[i], p.tolerance); !d.empty())
      return text(way, ": result ", i, ": ", d);
  return "";
}

}  // namespace

std::string run_graph_case(const Case& c) {
  const Registry& registry = shared_registry();
  try {
    Parsed p = parse(c, registry);
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
    std::string why =
        way("reference", [&] { return evaluate_graph(Evaluation{registry}, p.graph, ordered_inputs(p, p.graph)); });
    if (why.empty())
      why = way("text", [&] {
        std::string once = print(p.graph);
        Graph again = parse_graph(once);
        complete(again, registry);
        if (std::string twice = print(again); twice != once)
          throw_user("printed, read and printed again gives\n", twice, "instead of\n", once);
        return evaluate_graph(Evaluation{registry}, again, ordered_inputs(p, again));
      });
    if (why.empty())
      why = way("cpu", [&] {
        auto program = make_cpu_device()->compile(p.graph.clone(), registry, {});
        auto execution = program->create_execution();
        std::vector<Tensor> once, twice, in = ordered_inputs(p, p.graph);
        execution->run(in, once, nullptr);
        // Again, in the memory of the first run: nothing may be left over from it.
        execution->variables.clear();
        execution->run(in, twice, nullptr);
        for (size_t i = 0; i < once.size(); ++i)
          if (!same_content(once[i], twice[i])) throw_user("result ", i, " of a second run differs: ", print(twice[i], 32), ", first ", print(once[i], 32));
        return once;
      });
    if (why.empty())
      why = way("ir", [&] {
        Graph again = through_ir(p.graph, registry);
        return evaluate_graph(Evaluation{registry}, again, ordered_inputs(p, again));
      });
    return why;
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace graft::testing

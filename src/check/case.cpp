#include "check/case.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "check/wire_text.hpp"
#include "import/mapping.hpp"
#include "import/replace_config.hpp"
#include "infer/complete.hpp"
#include "ir/ir.hpp"
#include "readers/caffe/caffe.hpp"
#include "readers/mxnet/mxnet.hpp"
#include "readers/onnx/onnx.hpp"
#include "readers/tensorflow/tensorflow.hpp"
#include "readers/tflite/tflite.hpp"
#include "toolkit/read.hpp"

namespace graft::testing {
namespace {

// The part of a body that says what is tested: up to the first line that says what is expected of it.
std::string model_part(const std::string& body) {
  std::string out;
  bool inside = false;  // of <<< ... >>>
  int depth = 0;
  for (std::string_view line : split(body, '\n')) {
    if (line.ends_with("<<<")) inside = true;
    bool model = inside || depth > 0 || out.empty() || trim(out).empty() || line.starts_with("weights");
    if (!model) break;
    out += line;
    out += '\n';
    if (!inside)
      for (char c : line) depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (line == ">>>") inside = false;
  }
  return out;
}

std::string resolved(const std::string& body, const std::vector<Case>& before) {
  TextReader r(body);
  if (!r.accept("like")) return body;
  std::string name = r.rest_of_line(), model;
  for (const Case& c : before)
    if (c.name == name) model = model_part(c.body);
  if (model.empty()) throw_user("there is no case '", name, "' before this one");
  std::string rest;
  bool head = true;
  for (std::string_view line : split(body, '\n')) {
    if (head && line.starts_with("like")) continue;
    if (head && line.starts_with("replace")) {
      TextReader words(line.substr(7));
      std::string from = words.quoted(), to = words.quoted();
      size_t at = model.find(from);
      if (at == model.npos) throw_user("'", from, "' is not in '", name, "'");
      model.replace(at, from.size(), to);
      continue;
    }
    if (!trim(line).empty()) head = false;
    rest += line;
    rest += '\n';
  }
  return model + rest;
}

// Type and shape may be left out where the graph knows them.
Tensor read_value(TextReader& r, const Info* known) {
  if (known && known->shape.is_static() && known->type != DType::undefined) {
    for (std::string_view sign : {"{", "fill", "iota", "random"})
      if (r.peek(sign)) return r.values(known->type, known->shape.values());
  }
  return r.tensor();
}

// Arrays of MXNet: {"arg:w": f32[2] {1, 2}, "aux:m": f32[1] {0}}
std::string read_arrays(TextReader& r) {
  MxnetParams params;
  r.expect("{");
  while (!r.accept("}")) {
    std::string name = r.quoted();
    r.expect(":");
    params.arrays[name.substr(4)] = r.tensor();
    params.auxiliary[name.substr(4)] = name.starts_with("aux:");
    r.accept(",");
  }
  return mxnet_params_bytes(params);
}

// Takes the block with this name out of what is tested.
std::string taken_block(std::string& model, const std::string& name) {
  std::string opening = "\n" + name + " <<<\n";
  size_t begin = model.find(opening);
  if (begin == model.npos) return {};
  size_t content = begin + opening.size(), end = model.find("\n>>>", content - 1);
  if (end == model.npos) throw_user("the block '", name, "' stands between '<<<' and '>>>' lines");
  std::string out = model.substr(content, end + 1 - content);
  model.erase(begin + 1, end + 5 - begin - 1);
  return out;
}

// Layers that a mapping file passed on, as one line.
std::string passed_on(const Graph& g) {
  std::string out;
  for (NodeId id = 0; id < g.end_id(); ++id) {
    const Node& n = g[id];
    if (!n.alive || !n.opaque) continue;
    out += text(out.empty() ? "" : "; ", n.type, '@', n.opset);
    for (const auto& [name, value] : n.attrs) out += text(' ', name, '=', print(value));
    for (const Output& o : n.outputs) out += text(" -> ", o.info);
  }
  return out;
}

Graph imported(RawModel raw, const Registry& registry, const Test& t) {
  ImportOptions options;
  if (!t.mapping.empty()) options.mapping = std::make_shared<LayerMapping>(parse_mapping(t.mapping, "map.xml"));
  if (!t.replacements.empty())
    options.replacements = std::make_shared<ReplacementConfig>(parse_replacements(t.replacements, "r.json"));
  Imported m = import_replaced(std::move(raw), registry, options);
  // A problem behind an unknown layer may only be its echo.
  if (!m.report.unknown.empty())
    throw_unsupported("unknown: ", m.report.unknown[0].domain, "::", m.report.unknown[0].type);
  if (!m.report.problems.empty()) throw m.report.problems[0].error;
  PassOptions front = pass_options(m.report);
  front.phases = PassPhases::front;
  run_passes(m.graph, registry, front);
  if (!m.report.passed_on.empty()) throw_unsupported("passed on: ", passed_on(m.graph));
  return std::move(m.graph);
}

}  // namespace

std::vector<Case> read_cases(const std::string& path) { return parse_cases(read_text_file(path), path); }

std::vector<Case> parse_cases(std::string_view content, const std::string& path) {
  std::vector<Case> cases;
  int number = 0;
  for (std::string_view line : split(content, '\n')) {
    ++number;
    if (line.starts_with("== ")) {
      cases.push_back({path, std::string(trim(line.substr(3))), number, {}});
    } else if (!cases.empty()) {
      cases.back().body += line;
      cases.back().body += '\n';
    } else if (!trim(line).empty() && !line.starts_with("#")) {
      throw_user(path, ":", number, ": a case begins with '== name'");
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    try {
      cases[i].body = resolved(cases[i].body, {cases.begin(), cases.begin() + static_cast<ptrdiff_t>(i)});
    } catch (Error& e) {
      throw e.while_(text("reading the case at ", path, ":", cases[i].line));
    }
  }
  return cases;
}

namespace {
// What stands between the lines '<<<' and '>>>', and where it ends.
std::string block(const std::string& model, size_t& end) {
  size_t begin = model.find("<<<\n");
  end = model.find("\n>>>");
  if (begin == model.npos || end == model.npos) throw_user("a block stands between '<<<' and '>>>' lines");
  return model.substr(begin + 4, end + 1 - begin - 4);
}
}  // namespace

Test read_test(const Case& c, const Registry& registry) {
  Test t;
  std::string model = model_part(c.body), rest = c.body.substr(model.size());
  auto reading = [&](auto&& read) {
    try {
      read();
    } catch (...) {
      t.refusal = current_error().message();
    }
  };
  t.mapping = taken_block(model, "mapping");
  t.replacements = taken_block(model, "replacements");
  TextReader m(model);
  if (bool is_onnx = m.accept("onnx"); is_onnx || m.accept("tensorflow")) {
    t.kind = is_onnx ? "onnx" : "tensorflow";
    size_t end = 0;
    t.source = model.find("<<<\n") != model.npos ? block(model, end) : read_wire(m);
    reading([&] {
      auto keeper = std::make_shared<std::string>(t.source);
      t.graph =
          imported(is_onnx ? read_onnx(*keeper, keeper, ".") : read_tensorflow(*keeper, keeper, "."), registry, t);
    });
  } else if (m.accept("tflite")) {
    t.kind = "tflite";
    size_t end = 0;
    t.source = from_hex(block(model, end));
    reading([&] {
      auto keeper = std::make_shared<std::string>(t.source);
      t.graph = imported(read_tflite(*keeper, keeper, {}, {}), registry, t);
    });
  } else if (m.peek("ir") || m.peek("text") || m.peek("caffe") || m.peek("mxnet")) {
    t.kind = m.name();
    size_t end = 0;
    t.source = block(model, end);
    size_t w = model.find("weights", end);
    if (w != model.npos) {
      TextReader reader(std::string_view(model).substr(w + 7));
      t.weights = t.kind == "caffe"                            ? read_wire(reader)
                  : t.kind == "mxnet" && !reader.peek_quoted() ? read_arrays(reader)
                                                               : from_hex(reader.quoted());
    }
    reading([&] {
      if (t.kind == "caffe") {
        auto keeper = std::make_shared<std::string>(t.weights);
        t.graph = imported(read_caffe(t.source, "net.prototxt", *keeper, keeper), registry, t);
      } else if (t.kind == "mxnet") {
        auto keeper = std::make_shared<std::string>(t.weights);
        MxnetParams params = keeper->empty() ? MxnetParams() : read_mxnet_params(*keeper, keeper);
        t.graph = imported(read_mxnet(t.source, "m-symbol.json", params, {}), registry, t);
      } else if (t.kind == "ir") {
        auto keeper = std::make_shared<std::string>(t.weights);
        t.graph = read_ir(t.source, *keeper, keeper, registry);
        for (NodeId id = 0; id < t.graph.end_id(); ++id)
          if (t.graph[id].opaque) throw_unsupported("unknown: ", t.graph[id].type, " of ", t.graph[id].opset);
      } else {
        t.graph = parse_graph(t.source);
        complete(t.graph, registry);
      }
    });
  } else {
    t.kind = "graph";
    t.graph = m.graph();
    reading([&] { complete(t.graph, registry); });
  }

  TextReader r(rest);
  while (!r.at_end()) {
    if (r.accept("->")) {
      if (!t.refusal.empty()) throw_user("refused: ", t.refusal);
      size_t i = t.expected.size();
      const Info* info = nullptr;
      if (i < t.graph.results().size()) info = &t.graph.info(t.graph[t.graph.results()[i]].inputs[0]);
      t.expected.push_back(read_value(r, info));
    } else if (r.accept("tolerance")) {
      t.tolerance = r.number();
    } else if (r.accept("error")) {
      r.expect(":");
      t.error = r.rest_of_line();
    } else if (r.accept("left")) {
      r.expect(":");
      t.left = r.rest_of_line();
    } else if (r.accept("written")) {
      r.expect(":");
      t.written = r.rest_of_line();
    } else if (r.accept("enable")) {
      r.expect(":");
      t.enabled.push_back(r.rest_of_line());
    } else if (r.accept("only")) {
      std::string ways = r.rest_of_line();
      for (std::string_view w : split(ways, ' ')) t.only.emplace(w);
    } else {
      std::string name = r.name();
      r.expect("=");
      const Info* info = nullptr;
      for (NodeId id : t.graph.parameters())
        if (t.graph[id].name == name) info = &t.graph.info({id, 0});
      if (!info && t.refusal.empty()) throw_user("the graph has no input '", name, "'");
      if (!info) throw_user("refused: ", t.refusal);
      t.inputs.emplace_back(name, read_value(r, info));
    }
  }
  return t;
}

}  // namespace graft::testing

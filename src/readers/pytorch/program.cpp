#include "readers/pytorch/program.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "readers/json.hpp"
#include "readers/pytorch/graph.hpp"
#include "readers/pytorch/tensors.hpp"

namespace graft {
namespace {

using nlohmann::json;

constexpr size_t most_values = 200'000'000;
constexpr int64_t oldest_schema = 5, newest_schema = 8;
constexpr std::string_view archived_program = "models/model.json", flat_program = "serialized_exported_program.json";

// Python writes numbers that JSON does not have: they become texts, which is what later versions write.
std::string with_quoted_infinities(std::string_view s) {
  constexpr std::string_view words[] = {"-Infinity", "Infinity", "NaN"};
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < s.size();) {
    char c = s[i];
    if (quoted && c == '\\' && i + 1 < s.size()) {
      out += s.substr(i, 2), i += 2;
      continue;
    }
    if (c == '"') quoted = !quoted;
    std::string_view word;
    if (!quoted && (c == '-' || c == 'I' || c == 'N'))
      for (std::string_view w : words)
        if (s.substr(i, w.size()) == w) word = w;
    if (word.empty()) out += c, ++i;
    else out += '"', out += word, out += '"', i += word.size();
  }
  return out;
}

json parse_program(std::string_view bytes, const std::string& name) {
  JsonRules rules;
  rules.depth = 512;
  rules.values = most_values;
  bool bare = bytes.find(": Infinity") != bytes.npos || bytes.find(": -Infinity") != bytes.npos ||
              bytes.find(": NaN") != bytes.npos || bytes.find("[Infinity") != bytes.npos ||
              bytes.find("[-Infinity") != bytes.npos || bytes.find(", -Infinity") != bytes.npos ||
              bytes.find(", Infinity") != bytes.npos;
  return bare ? parse_json(with_quoted_infinities(bytes), name, rules) : parse_json(bytes, name, rules);
}

const ZipEntry* program_entry(const ZipArchive& archive) {
  if (const ZipEntry* e = archive.find(flat_program)) return e;
  const ZipEntry* found = nullptr;
  for (const ZipEntry& e : archive.entries()) {
    size_t at = e.name.rfind("models/");
    bool model = at != e.name.npos && (at == 0 || e.name[at - 1] == '/') && e.name.ends_with(".json") &&
                 e.name.find('/', at + 7) == e.name.npos;
    if (!model) continue;
    if (found) throw_unsupported("the archive has more than one program: '", found->name, "' and '", e.name, "'");
    found = &e;
  }
  return found;
}

class ProgramReader {
 public:
  ProgramReader(const ZipArchive& archive, const Limits& limits) : archive_(archive), limits_(limits) {}

  RawModel read() {
    const ZipEntry* e = program_entry(archive_);
    if (!e)
      throw_user("expected a program '", archived_program, "' or '", flat_program,
                 "' in the archive: is it written by torch.export.save?");
    json doc = parse_program(archive_.content(*e).bytes, e->name);
    check_version(doc);
    RawModel m;
    m.framework = "pytorch", m.position_unit = "node";
    m.opsets["graft"] = 9;  // of Scan: states first, no batch
    if (auto v = doc.find("torch_version"); v != doc.end() && v->is_string())
      m.producer = "torch " + v->get<std::string>();
    tensors_ = pytorch_tensors(archive_, limits_);
    static const json none;
    auto ranges = doc.find("range_constraints");
    PytorchProgram program{m, limits_, ranges == doc.end() ? none : *ranges, 0, {}};
    const json& module = member(doc, "graph_module");
    PytorchGraph graph(program, member(module, "graph"), "", 0);
    read_inputs(graph, member(module, "graph"), member(module, "signature"));
    graph.read_nodes();
    read_outputs(graph, member(module, "graph"), member(module, "signature"));
    m.graph = graph.take();
    return m;
  }

 private:
  static void check_version(const json& doc) {
    const json& major = member(member(doc, "schema_version"), "major");
    if (!major.is_number_integer()) throw_user("expected a number as schema version");
    if (major < oldest_schema || major > newest_schema)
      throw_unsupported("expected a program of schema version ", oldest_schema, " to ", newest_schema, ", got ",
                        major.get<int64_t>(), ": it is written by another version of torch");
  }

  // A parameter, buffer or constant, by the name that its tensor has in the archive.
  void stored(PytorchGraph& graph, const json& spec, const char* key) {
    std::string name = name_in(member(spec, "arg")), stored = text_member(spec, key);
    auto it = tensors_.find(stored);
    if (it == tensors_.end()) throw_user("the archive has no tensor '", stored, "'");
    graph.define(name, name);
    graph.raw().constants.emplace_back(name, it->second);
  }

  void input(PytorchGraph& graph, const json& spec) {
    auto [kind, v] = tagged(spec);
    if (kind == "parameter") return stored(graph, v, "parameter_name");
    if (kind == "buffer") return stored(graph, v, "buffer_name");
    if (kind == "tensor_constant") return stored(graph, v, "tensor_constant_name");
    if (kind == "constant_input") return;  // the program is traced for its value
    if (kind != "user_input") throw_unsupported("inputs of kind '", kind, "' are not supported");
    auto [tag, arg] = tagged(member(v, "arg"));
    std::string name = name_in(arg);
    if (name.empty()) return;
    graph.define(name, name);
    Info info =
        tag == "as_tensor" ? graph.info_of(name) : Info{tag == "as_sym_float" ? DType::f64 : DType::i64, Shape()};
    graph.raw().inputs.push_back({name, info, {}, {}, {}, {}});
  }

  void read_inputs(PytorchGraph& graph, const json& g, const json& signature) {
    const json &specs = member(signature, "input_specs"), &inputs = member(g, "inputs");
    if (!specs.is_array() || !inputs.is_array() || specs.size() != inputs.size())
      throw_user("expected as many inputs of the graph as of its signature, got ", inputs.size(), " and ",
                 specs.size());
    for (const json& s : specs) input(graph, s);
  }

  void read_outputs(PytorchGraph& graph, const json& g, const json& signature) {
    const json &specs = member(signature, "output_specs"), &outputs = member(g, "outputs");
    if (!specs.is_array() || !outputs.is_array() || specs.size() != outputs.size())
      throw_user("expected as many outputs of the graph as of its signature, got ", outputs.size(), " and ",
                 specs.size());
    std::vector<std::pair<std::string, std::string>> names;
    std::map<std::string, int> seen;
    for (size_t i = 0; i < outputs.size(); ++i) {
      auto [kind, v] = tagged(specs[i]);
      if (kind != "user_output" && kind != "loss_output") continue;
      std::string value = graph.output(outputs[i], i);
      if (value.empty()) continue;
      if (seen[value]++) value = graph.copied(value);
      std::string given = name_in(tagged(outputs[i]).value);
      if (!given.empty()) names.emplace_back(value, given);
      graph.raw().outputs.push_back({value, {}, {}, {}, {}, {}});
    }
    graph.name_outputs(names);
  }

  const ZipArchive& archive_;
  const Limits& limits_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace

// The members of a ZIP archive begin with their names, and the directory at its end has all of them.
bool looks_like_pytorch(std::string_view bytes) {
  if (!looks_like_zip(bytes)) return false;
  constexpr size_t tail = 1 << 22;
  std::string_view end = bytes.substr(bytes.size() > tail ? bytes.size() - tail : 0), begin = bytes.substr(0, 4096);
  auto has = [&](std::string_view word) { return end.find(word) != end.npos || begin.find(word) != begin.npos; };
  return has(flat_program) || (has("/models/") && has("archive_format")) || has(archived_program);
}

RawModel read_pytorch(std::string_view bytes, std::shared_ptr<const void> keeper, const Limits& limits) {
  ZipArchive archive(bytes, std::move(keeper), limits);
  try {
    return ProgramReader(archive, limits).read();
  } catch (const json::exception&) {
    throw_user("the program or the description of its tensors has a value of another kind than expected");
  }
}

RawModel read_pytorch(const std::string& path, const Limits& limits) {
  return with_context(
      [&] {
        auto file = MappedFile::open(path);
        RawModel m = read_pytorch(file->chars(), file, limits);
        m.path = path;
        return m;
      },
      [&] { return text("reading '", path, "' as PyTorch"); });
}

}  // namespace graft

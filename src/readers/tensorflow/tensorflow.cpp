#include "readers/tensorflow/tensorflow.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/request.hpp"
#include "base/text.hpp"
#include "readers/tensorflow/model.hpp"
#include "readers/tensorflow/tables.hpp"
#include "readers/tensorflow/text.hpp"
#include "readers/tensorflow/variables.hpp"

namespace graft {
namespace {

struct Signature {
  std::string name;
  std::vector<TensorFlowPort> inputs, outputs;
  std::string not_plain;  // a port that is more than one tensor

  // Names of TensorFlow's own signatures begin with underscores; one without outputs only has side effects.
  bool is_callable() const { return !name.starts_with("__") && (!outputs.empty() || !not_plain.empty()); }
};
struct MetaGraph {
  std::vector<std::string> tags;
  std::string_view graph;
  bool has_graph = false;
  std::vector<Signature> signatures;
  std::map<std::string, std::string> assets;  // values -> files
};

// A map entry: a key and a message.
template <class F>
void entry(Wire w, F&& use) {
  std::string key;
  std::string_view value;
  const char* origin = w.origin();
  while (w.next()) switch (w.field()) {
      case 1: key = w.text(); break;
      case 2: value = w.bytes(); break;
      default: w.skip();
    }
  use(std::move(key), value, origin);
}

class SavedModelReader {
 public:
  SavedModelReader(const char* origin, TensorFlowTensors& tensors) : origin_(origin), tensors_(tensors) {}

  // The graph with exactly these tags, or the one tagged for serving.
  MetaGraph saved_model(std::string_view bytes, const std::vector<std::string>& wanted) {
    std::vector<MetaGraph> all;
    for (Wire w(bytes, "SavedModel", origin_); w.next();)
      if (w.field() == 2) all.push_back(meta_graph(w.message("MetaGraphDef")));
      else w.skip();
    if (all.empty()) throw_user("the SavedModel has no graph");
    std::vector<std::string> tags;
    for (const MetaGraph& m : all) tags.push_back(text("[", join(m.tags, ", "), "]"));
    if (!wanted.empty()) {
      std::set<std::string> set(wanted.begin(), wanted.end());
      for (MetaGraph& m : all)
        if (std::set<std::string>(m.tags.begin(), m.tags.end()) == set) return std::move(m);
      throw RequestError(text("the SavedModel has no graph tagged [", join(wanted, ", "), "]"),
                         text("its graphs are tagged ", join(tags, ", ")));
    }
    auto serves = [](const MetaGraph& m) { return std::find(m.tags.begin(), m.tags.end(), "serve") != m.tags.end(); };
    auto it = std::find_if(all.begin(), all.end(), serves);
    if (it == all.end()) {
      if (all.size() > 1)
        throw_user("the SavedModel has ", all.size(), " graphs, tagged ", join(tags, ", "), "; none is tagged serve");
      it = all.begin();
    }
    return std::move(*it);
  }

  MetaGraph meta_graph(Wire w) {
    MetaGraph m;
    while (w.next()) switch (w.field()) {
        case 1:
          for (Wire i = w.message("MetaInfoDef"); i.next();)
            if (i.field() == 4) m.tags.push_back(i.text());
            else i.skip();
          break;
        case 2: m.graph = w.bytes(), m.has_graph = true; break;
        case 5:
          entry(w.message("signature entry"), [&](std::string key, std::string_view value, const char*) {
            m.signatures.push_back(signature(std::move(key), Wire(value, "SignatureDef", origin_)));
          });
          break;
        case 6: asset(w.message("AssetFileDef"), m); break;
        default: w.skip();
      }
    if (!m.has_graph) w.broken("has no graph");
    return m;
  }

 private:
  static void asset(Wire w, MetaGraph& m) {
    std::string value, file;
    while (w.next()) switch (w.field()) {
        case 1:
          for (Wire t = w.message("TensorInfo"); t.next();)
            if (t.field() == 1) value = tensorflow_reference(t.bytes()).first;
            else t.skip();
          break;
        case 2: file = w.text(); break;
        default: w.skip();
      }
    m.assets.emplace(std::move(value), std::move(file));
  }

  Signature signature(std::string name, Wire w) {
    Signature s;
    s.name = std::move(name);
    while (w.next()) switch (w.field()) {
        case 1:
        case 2: {
          auto& list = w.field() == 1 ? s.inputs : s.outputs;
          entry(w.message("TensorInfo entry"), [&](std::string key, std::string_view value, const char*) {
            TensorFlowPort p = port(std::move(key), Wire(value, "TensorInfo", origin_));
            if (p.name.empty() || p.value.empty()) s.not_plain = p.name;
            else list.push_back(std::move(p));
          });
          break;
        }
        default: w.skip();
      }
    auto by_name = [](const TensorFlowPort& a, const TensorFlowPort& b) { return a.name < b.name; };
    std::sort(s.inputs.begin(), s.inputs.end(), by_name);
    std::sort(s.outputs.begin(), s.outputs.end(), by_name);
    return s;
  }

  // Without a value where it is more than one tensor.
  TensorFlowPort port(std::string key, Wire w) {
    TensorFlowPort p;
    p.name = std::move(key);
    p.info.shape = Shape::unknown();
    while (w.next()) switch (w.field()) {
        case 1: {
          auto [node, output] = tensorflow_reference(w.bytes());
          p.value = tensorflow_value(node, output);
          break;
        }
        case 2: p.info.type = tensorflow_element_type(w.small()); break;
        case 3: p.info.shape = tensors_.shape(w.message("TensorShapeProto")); break;
        default: w.skip();
      }
    return p;
  }

  const char* origin_;
  TensorFlowTensors& tensors_;
};

std::string list_of(const std::vector<TensorFlowPort>& ports) {
  std::vector<std::string> out;
  for (const TensorFlowPort& p : ports) out.push_back(text(p.name, ' ', p.info));
  return out.empty() ? "nothing" : join(out, ", ");
}
std::string list_of(const std::vector<const Signature*>& signatures) {
  std::string out;
  for (const Signature* s : signatures)
    out += text(out.empty() ? "" : "\n  ", s->name, ": ", list_of(s->inputs), " -> ", list_of(s->outputs));
  return out;
}

// The requested signature; else serving_default, else the only one. None where the graph has none.
const Signature* chosen(const MetaGraph& m, const std::string& name) {
  std::vector<const Signature*> all;
  for (const Signature& s : m.signatures)
    if (s.is_callable()) all.push_back(&s);
  auto find = [&](std::string_view n) {
    auto it = std::find_if(all.begin(), all.end(), [&](const Signature* s) { return s->name == n; });
    return it == all.end() ? nullptr : *it;
  };
  const Signature* s = find(name.empty() ? "serving_default" : name);
  if (!s && !name.empty())
    throw RequestError(text("the SavedModel has no signature '", name, "'"),
                       all.empty() ? "it has no signatures" : text("its signatures are\n  ", list_of(all)));
  if (!s && all.size() > 1)
    throw RequestError(text("the SavedModel has ", all.size(), " signatures, but no serving_default"),
                       text("choose one with `signature`:\n  ", list_of(all)));
  if (!s && all.size() == 1) s = all[0];
  if (s && (!s->not_plain.empty() || s->outputs.empty()))
    throw_unsupported("expected a plain tensor as '", s->not_plain, "' of the signature '", s->name, "'");
  return s;
}

// Does the first message of a file look like a node? Nodes have a name and an operation, which is a single word.
bool node_like(std::string_view bytes) {
  bool name = false, op = false;
  for (Wire w(bytes, "NodeDef"); w.next();) {
    if (w.field() > 7 || w.type() != Wire::bytes_type) return false;
    std::string_view v = w.bytes();
    bool word = !v.empty() && std::all_of(v.begin(), v.end(), [](unsigned char c) { return c > 32 && c < 127; });
    if (w.field() == 1 && word) name = true;
    if (w.field() == 2) {
      if (!word) return false;
      op = true;
    }
  }
  return name && op;
}

bool is_saved_model(std::string_view bytes) {
  bool version = false, graph = false;
  try {
    for (Wire w(bytes, "file"); w.next();) {
      if (w.field() == 1 && w.type() == Wire::varint_type) version = w.varint() == 1;
      else if (w.field() == 2 && w.type() == Wire::bytes_type) {
        // A graph has a description (1) and nodes (2); ONNX has the producer name here.
        for (Wire m(w.bytes(), "graph"); m.next();) {
          if (m.type() != Wire::bytes_type || m.field() > 16) return false;
          graph |= m.field() == 2;
          m.skip();
        }
      } else return false;
    }
  } catch (const Error&) {
    return version && graph;
  }
  return version && graph;
}

// A MetaGraph alone: a description (1), then the graph (2), which has nodes.
bool is_meta_graph(std::string_view bytes) {
  try {
    for (Wire w(bytes, "file"); w.next();) {
      if (w.type() != Wire::bytes_type || w.field() > 7) return false;
      if (w.field() != 2) {
        w.skip();
        continue;
      }
      for (Wire g = w.message("graph"); g.next();)
        if (g.field() == 1 && g.type() == Wire::bytes_type) return node_like(g.bytes());
        else return false;
      return false;
    }
  } catch (const Error&) {
    return false;
  }
  return false;
}

bool is_graph(std::string_view bytes) {
  try {
    for (Wire w(bytes, "file"); w.next();) {
      if (w.type() != Wire::bytes_type && !(w.field() == 3 && w.type() == Wire::varint_type)) return false;
      if (w.field() > 5) return false;
      if (w.field() == 1) return node_like(w.bytes());
      w.skip();
    }
  } catch (const Error&) {
    return false;
  }
  return false;
}

}  // namespace

bool looks_like_tensorflow(std::string_view bytes) {
  return is_saved_model(bytes) || looks_like_tensorflow_text(bytes) || is_graph(bytes) || is_meta_graph(bytes);
}

RawModel read_tensorflow(std::string_view bytes, std::shared_ptr<const void> keeper, const std::string& folder,
                         const ReadOptions& request, const Limits& limits) {
  if (looks_like_tensorflow_text(bytes)) {
    auto binary = std::make_shared<std::string>(tensorflow_text_to_binary(bytes, "text"));
    return read_tensorflow(*binary, binary, folder, request, limits);
  }
  TensorFlowGraphReader reader(std::move(keeper), bytes.data(), limits);
  SavedModelReader meta(bytes.data(), reader.tensors());
  MetaGraph m;
  m.graph = bytes;
  std::string here = folder.empty() ? "." : folder, variables = request.checkpoint;
  bool saved = is_saved_model(bytes);
  if (!saved && !request.tags.empty())
    throw RequestError("expected a SavedModel for the given tags, got a single graph");
  if (!saved && !request.signature.empty())
    throw RequestError("expected a SavedModel for the given signature, got a single graph");
  if (saved) {
    m = meta.saved_model(bytes, request.tags);
    if (std::filesystem::exists(here + "/variables/variables.index")) variables = "variables/variables";
  } else if (!is_graph(bytes) && is_meta_graph(bytes)) {
    m = meta.meta_graph(Wire(bytes, "MetaGraphDef", bytes.data()));
  }
  TensorFlowGraph graph = reader.graph(m.graph);
  TableSources tables{here, std::move(m.assets)};
  std::optional<TensorBundle> bundle;
  if (!variables.empty()) {
    bundle.emplace(here, variables, limits);
    fill_variables(graph, *bundle);
    tables.checkpoint = &*bundle;
  }
  fill_tables(graph, tables);
  const Signature* s = chosen(m, request.signature);
  if (!s) return assemble_tensorflow(std::move(graph), limits);
  return with_context([&] { return assemble_tensorflow(std::move(graph), limits, s->inputs, s->outputs); },
                      [&] { return text("reading the signature '", s->name, "'"); });
}

RawModel read_tensorflow(const std::string& path, const ReadOptions& request, const Limits& limits) {
  namespace fs = std::filesystem;
  std::string main = path, variables = request.checkpoint, folder = folder_of(main);
  if (fs::is_directory(path)) {
    folder = path;
    main = path + "/saved_model.pb";
    if (!fs::exists(main)) main += "txt";
  }
  if (variables.empty() && extension_of(main) == ".meta" && fs::exists(fs::path(main).replace_extension(".index")))
    variables = fs::path(main).replace_extension().string();
  if (!variables.empty()) {
    if (extension_of(variables) == ".index") variables = fs::path(variables).replace_extension().string();
    folder = folder_of(variables);
    variables = fs::path(variables).filename().string();
  }
  return with_context(
      [&] {
        auto file = MappedFile::open(main);
        std::string_view bytes = file->chars();
        std::shared_ptr<const void> keeper = file;
        if (looks_like_tensorflow_text(bytes)) {
          auto binary = std::make_shared<std::string>(tensorflow_text_to_binary(bytes, main));
          bytes = *binary, keeper = binary;
        }
        ReadOptions found = request;
        found.checkpoint = variables;
        RawModel m = read_tensorflow(bytes, keeper, folder, found, limits);
        m.path = main;
        return m;
      },
      [&] { return text("reading '", main, "' as TensorFlow"); });
}

}  // namespace graft

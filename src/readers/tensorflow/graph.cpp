#include "readers/tensorflow/graph.hpp"

#include <unordered_map>
#include <unordered_set>

#include "base/text.hpp"
#include "readers/names.hpp"

namespace graft {
namespace {

// Inside functions an output is referred to by its argument: "top:indices:0". These are the operations with several
// output arguments; for all others the number after the name is the number of the output.
struct Arguments {
  std::string_view type;
  std::string_view names;
};
constexpr Arguments several_arguments[] = {
    {"BlockLSTM", "i cs f o ci co h"},
    {"BlockLSTMV2", "i cs f o ci co h"},
    {"CTCBeamSearchDecoder",
     "decoded_indices*top_paths decoded_values*top_paths decoded_shape*top_paths log_probability"},
    {"CTCGreedyDecoder", "decoded_indices decoded_values decoded_shape log_probability"},
    {"DenseToDenseSetOperation", "result_indices result_values result_shape"},
    {"FusedBatchNorm", "y batch_mean batch_variance reserve_space_1 reserve_space_2"},
    {"FusedBatchNormV2", "y batch_mean batch_variance reserve_space_1 reserve_space_2"},
    {"FusedBatchNormV3", "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3"},
    {"GRUBlockCell", "r u c h"},
    {"ListDiff", "out idx"},
    {"LSTMBlockCell", "i cs f o ci co h"},
    {"MaxPoolWithArgmax", "output argmax"},
    {"Merge", "output value_index"},
    {"NonMaxSuppressionV4", "selected_indices valid_outputs"},
    {"NonMaxSuppressionV5", "selected_indices selected_scores valid_outputs"},
    {"ParseExample", "sparse_indices*Nsparse sparse_values*sparse_types sparse_shapes*Nsparse dense_values"},
    {"ParseExampleV2",
     "sparse_indices*num_sparse sparse_values*sparse_types sparse_shapes*num_sparse dense_values*Tdense "
     "ragged_values*ragged_value_types ragged_row_splits"},
    {"ParseSingleExample",
     "sparse_indices*num_sparse sparse_values*sparse_types sparse_shapes*num_sparse dense_values"},
    {"QuantizeV2", "output output_min output_max"},
    {"RaggedGather", "output_nested_splits*OUTPUT_RAGGED_RANK output_dense_values"},
    {"RaggedRange", "rt_nested_splits rt_dense_values"},
    {"RaggedTensorToSparse", "sparse_indices sparse_values sparse_dense_shape"},
    {"SelfAdjointEigV2", "e v"},
    {"SparseConcat", "output_indices output_values output_shape"},
    {"SparseFillEmptyRows", "output_indices output_values empty_row_indicator reverse_index_map"},
    {"SparseReorder", "output_indices output_values"},
    {"SparseReshape", "output_indices output_shape"},
    {"SparseSlice", "output_indices output_values output_shape"},
    {"StringNGrams", "ngrams ngrams_splits"},
    {"StringSplit", "indices values shape"},
    {"StringSplitV2", "indices values shape"},
    {"Switch", "output_false output_true"},
    {"TensorArrayConcatV3", "value lengths"},
    {"TensorArrayV3", "handle flow"},
    {"TensorListPopBack", "output_handle tensor"},
    {"TopK", "values indices"},
    {"TopKV2", "values indices"},
    {"UnicodeDecode", "row_splits char_values"},
    {"UnicodeDecodeWithOffsets", "row_splits char_values char_to_byte_starts"},
    {"Unique", "y idx"},
    {"UniqueV2", "y idx"},
    {"UniqueWithCounts", "y idx count"},
};

constexpr int64_t most_node_outputs = 1 << 16;

// How long a list of outputs is: an attribute of the node says so, as a number or as the list of its types.
size_t list_length(const TensorFlowNode& n, std::string_view attribute) {
  for (const auto& [name, field] : n.fields) {
    if (name != attribute) continue;
    if (const int64_t* count = field.value.get_if<int64_t>(); count && *count >= 0 && *count < most_node_outputs)
      return static_cast<size_t>(*count);
    if (const auto* types = field.value.get_if<std::vector<DType>>()) return types->size();
  }
  return 0;
}
size_t argument_offset(const TensorFlowNode& n, std::string_view argument) {
  for (const Arguments& a : several_arguments) {
    if (a.type != n.type) continue;
    size_t offset = 0;
    for (std::string_view name : split(a.names, ' ')) {
      size_t list = name.find('*');
      if (name.substr(0, list) == argument) return offset;
      offset += list == name.npos ? 1 : list_length(n, name.substr(list + 1));
    }
  }
  return 0;
}

constexpr int64_t variant_type = 21;  // of a list of tensors

}  // namespace

std::pair<std::string_view, size_t> tensorflow_reference(std::string_view reference) {
  size_t colon = reference.rfind(':');
  if (colon == reference.npos || colon == 0) return {reference, 0};
  auto n = parse_int(reference.substr(colon + 1));
  if (!n || *n < 0) throw_user("expected a reference to a node's output, got '", reference, "'");
  if (*n >= most_node_outputs)
    throw_user("expected an output number below ", most_node_outputs, ", got '", reference, "'");
  return {reference.substr(0, colon), static_cast<size_t>(*n)};
}
std::string tensorflow_value(std::string_view node, size_t output) {
  return output == 0 ? std::string(node) : text(node, ':', output);
}

TensorFlowGraph TensorFlowGraphReader::graph(std::string_view bytes) {
  TensorFlowGraph g;
  std::unordered_set<std::string> names;
  for (Wire w(bytes, "GraphDef", origin_); w.next();) switch (w.field()) {
      case 1:
        g.nodes.push_back(node(w.bytes()));
        if (!names.insert(g.nodes.back().name).second) throw_user("duplicate node '", g.nodes.back().name, "'");
        break;
      case 2:
        for (Wire l = w.message("FunctionDefLibrary"); l.next();)
          if (l.field() == 1) g.functions.push_back(function(l.bytes()));
          else l.skip();
        break;
      case 4:
        for (Wire v = w.message("VersionDef"); v.next();)
          if (v.field() == 1) g.producer = v.integer();
          else v.skip();
        break;
      default: w.skip();
    }
  for (TensorFlowNode& n : g.nodes)
    for (std::string& in : n.inputs) {
      auto [node, output] = tensorflow_reference(in);
      in = tensorflow_value(node, output);
    }
  return g;
}

TensorFlowNode TensorFlowGraphReader::node(std::string_view bytes) {
  TensorFlowNode n;
  n.position = static_cast<size_t>(bytes.data() - origin_);
  std::vector<std::string_view> attributes;
  for (Wire w(bytes, "NodeDef", origin_); w.next();) switch (w.field()) {
      case 1: n.name = w.text(); break;
      case 2: n.type = w.text(); break;
      case 3: {
        std::string_view in = w.bytes();
        if (in.empty()) w.broken("has an input without a name");
        if (in[0] == '^') n.controls.emplace_back(in.substr(1));
        else if (!n.controls.empty())
          throw_user("the node '", n.name, "' has the input '", in, "' after control inputs");
        else n.inputs.emplace_back(in);
        break;
      }
      case 5: attributes.push_back(w.bytes()); break;
      default: w.skip();
    }
  // Many rules make one or two nodes of each input.
  constexpr size_t usual = 8;
  nodes_ += 1 + 2 * (std::max(n.inputs.size(), usual) - usual) + n.controls.size() / 8;
  if (nodes_ > limits_.nodes) throw_limit(&Limits::nodes, "the model has more than ", limits_.nodes, " nodes");
  if (n.name.empty()) throw_user("the NodeDef at byte ", n.position, " has no name");
  check_name(n.name);
  if (n.name.find(':') != n.name.npos || n.name[0] == '^')
    throw_user("the node at byte ", n.position, " has the invalid name '", n.name, "'");
  if (n.type.empty()) throw_user("the node '", n.name, "' at byte ", n.position, " has no op");
  complex_ = false;
  with_context(
      [&] {
        std::unordered_set<std::string> seen;
        for (std::string_view a : attributes) {
          auto [name, f] = field(Wire(a, "attribute", origin_));
          if (!seen.insert(name).second) throw_user("duplicate attribute '", name, "'");
          // Names that begin with an underscore are annotations by tools, not part of the operation.
          if (name[0] == '_') continue;
          if (n.fields.size() >= limits_.attributes)
            throw_limit(&Limits::attributes, "expected at most ", limits_.attributes, " attributes of a node");
          n.fields.emplace_back(std::move(name), std::move(f));
        }
      },
      [&] { return text("reading the node '", n.name, "' (", n.type, ")"); });
  // Complex numbers are stored as pairs of real ones, which only operations with rules of this domain handle.
  if (complex_ && n.type != "Placeholder" && n.type != "Const") n.domain = "complex";
  return n;
}

std::pair<std::string, RawField> TensorFlowGraphReader::field(Wire w) {
  std::string name;
  std::string_view bytes;
  while (w.next()) switch (w.field()) {
      case 1: name = w.text(); break;
      case 2: bytes = w.bytes(); break;
      default: w.skip();
    }
  if (name.empty()) w.broken("has no name");
  if (name[0] == '_') return {std::move(name), {}};
  return with_context(
      [&]() -> std::pair<std::string, RawField> {
        RawField f = value(Wire(bytes, "AttrValue", origin_));
        return {std::move(name), std::move(f)};
      },
      [&] { return text("reading the attribute '", name, "'"); });
}

RawField TensorFlowGraphReader::value(Wire w) {
  RawField f;
  while (w.next()) switch (w.field()) {
      case 1: f = list(w.message("ListValue")); break;
      case 2: f.value = w.text(); break;
      case 3: f.value = w.integer(); break;
      case 4: f.value = static_cast<double>(w.fixed_float()); break;
      case 5: f.value = w.varint() != 0; break;
      case 6: {
        int32_t code = w.small();
        complex_ |= code == 8 || code == 18;
        f.value = tensorflow_element_type(code);
        break;
      }
      case 7: f.value = tensors_.shape(w.message("TensorShapeProto")); break;
      case 8:
        if (Tensor t = tensors_.tensor(w.message("TensorProto"))) f.value = std::move(t);
        break;
      case 9: f.refers_to = w.text(); break;
      case 10:
        for (Wire a = w.message("NameAttrList"); a.next();)
          if (a.field() == 1) f.value = a.text();
          else a.skip();
        break;
      default: w.skip();
    }
  return f;
}

RawField TensorFlowGraphReader::list(Wire w) {
  std::vector<std::string> texts;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<DType> types;
  RawField f;
  while (w.next()) switch (w.field()) {
      case 2: texts.push_back(w.text()); break;
      case 3:
      case 5: w.integers([&](int64_t v) { ints.push_back(v); }); break;
      case 4: w.fixed<float>([&](float v) { floats.push_back(static_cast<double>(v)); }); break;
      case 6: w.integers([&](int64_t v) { types.push_back(tensorflow_element_type(v)); }); break;
      case 7: texts.push_back(text(tensors_.shape(w.message("TensorShapeProto")))); break;
      case 8:
        if (Tensor t = tensors_.tensor(w.message("TensorProto"))) f.tensors.push_back(std::move(t));
        break;
      case 9:
        for (Wire a = w.message("NameAttrList"); a.next();)
          if (a.field() == 1) texts.push_back(a.text());
          else a.skip();
        break;
      default: w.skip();
    }
  if (!f.tensors.empty()) return f;
  if (!texts.empty()) f.value = std::move(texts);
  else if (!floats.empty()) f.value = std::move(floats);
  else if (!types.empty()) f.value = std::move(types);
  else f.value = std::move(ints);
  return f;
}

TensorFlowFunction TensorFlowGraphReader::function(std::string_view bytes) {
  TensorFlowFunction f;
  std::vector<std::string> results;
  std::unordered_map<std::string, std::string> returned;
  for (Wire w(bytes, "FunctionDef", origin_); w.next();) switch (w.field()) {
      case 1:
        for (Wire s = w.message("OpDef"); s.next();) switch (s.field()) {
            case 1: f.name = s.text(); break;
            case 2:
            case 3: {
              RawValue v;
              v.info.shape = Shape::unknown();
              bool input = s.field() == 2;
              for (Wire a = s.message("ArgDef"); a.next();) switch (a.field()) {
                  case 1: v.name = a.text(); break;
                  case 3: {
                    int64_t type = a.small();
                    v.info.type = tensorflow_element_type(type);
                    if (type == variant_type) v.kind = "list";
                    break;
                  }
                  default: a.skip();
                }
              if (input) f.inputs.push_back(std::move(v));
              else results.push_back(std::move(v.name));
              break;
            }
            default: s.skip();
          }
        break;
      case 3: f.nodes.push_back(node(w.bytes())); break;
      case 4: {
        std::string key, value;
        for (Wire e = w.message("ret entry"); e.next();) switch (e.field()) {
            case 1: key = e.text(); break;
            case 2: value = e.text(); break;
            default: e.skip();
          }
        returned[key] = value;
        break;
      }
      default: w.skip();
    }
  if (f.name.empty()) throw_user("a function of the model has no name");
  return with_context(
      [&]() -> TensorFlowFunction {
        std::unordered_map<std::string_view, const TensorFlowNode*> nodes;
        std::unordered_set<std::string_view> arguments;
        for (const RawValue& v : f.inputs)
          if (!arguments.insert(v.name).second) throw_user("duplicate argument '", v.name, "'");
        for (const TensorFlowNode& n : f.nodes)
          if (arguments.count(n.name) || !nodes.emplace(n.name, &n).second) throw_user("duplicate node '", n.name, "'");
        // "node:argument:number" becomes "node:number", counted over all arguments.
        auto plain = [&](const std::string& reference) -> std::string {
          std::vector<std::string_view> parts = split(reference, ':');
          if (parts.empty() || parts.size() > 3) throw_user("expected a reference to an output, got '", reference, "'");
          if (arguments.count(parts[0])) return std::string(parts[0]);
          auto it = nodes.find(parts[0]);
          if (it == nodes.end()) throw_user("'", reference, "' is not produced by any node of the function");
          if (parts.size() < 3) {
            auto [name, output] = tensorflow_reference(reference);
            return tensorflow_value(name, output);
          }
          size_t number = tensorflow_reference(text(parts[0], ':', parts[2])).second;
          return tensorflow_value(parts[0], number + argument_offset(*it->second, parts[1]));
        };
        for (TensorFlowNode& n : f.nodes)
          for (std::string& in : n.inputs) in = plain(in);
        for (const std::string& r : results) {
          auto it = returned.find(r);
          if (it == returned.end()) throw_user("the function does not define its output '", r, "'");
          f.outputs.push_back(plain(it->second));
        }
        return std::move(f);
      },
      [&] { return text("reading the function '", f.name, "'"); });
}

}  // namespace graft

#include "readers/tensorflow/text.hpp"

#include <cstring>

#include "base/text.hpp"
#include "readers/proto_text.hpp"
#include "readers/tensorflow/tensor.hpp"

namespace graft {
namespace {

enum class Kind { text, whole, truth, single, real, type, message };
struct Field {
  const char* message;
  const char* name;
  uint32_t number;
  Kind kind;
  const char* of = nullptr;  // a message's own type
};
constexpr Field schema[] = {
    {"SavedModel", "saved_model_schema_version", 1, Kind::whole},
    {"SavedModel", "meta_graphs", 2, Kind::message, "MetaGraph"},
    {"MetaGraph", "meta_info_def", 1, Kind::message, "MetaInfo"},
    {"MetaGraph", "graph_def", 2, Kind::message, "Graph"},
    {"MetaGraph", "signature_def", 5, Kind::message, "SignatureEntry"},
    {"MetaInfo", "tags", 4, Kind::text},
    {"SignatureEntry", "key", 1, Kind::text},
    {"SignatureEntry", "value", 2, Kind::message, "Signature"},
    {"Signature", "inputs", 1, Kind::message, "PortEntry"},
    {"Signature", "outputs", 2, Kind::message, "PortEntry"},
    {"PortEntry", "key", 1, Kind::text},
    {"PortEntry", "value", 2, Kind::message, "Port"},
    {"Port", "name", 1, Kind::text},
    {"Port", "dtype", 2, Kind::type},
    {"Port", "tensor_shape", 3, Kind::message, "Shape"},
    {"Graph", "node", 1, Kind::message, "Node"},
    {"Graph", "library", 2, Kind::message, "Library"},
    {"Graph", "version", 3, Kind::whole},
    {"Graph", "versions", 4, Kind::message, "Versions"},
    {"Versions", "producer", 1, Kind::whole},
    {"Node", "name", 1, Kind::text},
    {"Node", "op", 2, Kind::text},
    {"Node", "input", 3, Kind::text},
    {"Node", "attr", 5, Kind::message, "AttrEntry"},
    {"AttrEntry", "key", 1, Kind::text},
    {"AttrEntry", "value", 2, Kind::message, "Attr"},
    {"Attr", "list", 1, Kind::message, "List"},
    {"Attr", "s", 2, Kind::text},
    {"Attr", "i", 3, Kind::whole},
    {"Attr", "f", 4, Kind::single},
    {"Attr", "b", 5, Kind::truth},
    {"Attr", "type", 6, Kind::type},
    {"Attr", "shape", 7, Kind::message, "Shape"},
    {"Attr", "tensor", 8, Kind::message, "Tensor"},
    {"Attr", "placeholder", 9, Kind::text},
    {"Attr", "func", 10, Kind::message, "Call"},
    {"List", "s", 2, Kind::text},
    {"List", "i", 3, Kind::whole},
    {"List", "f", 4, Kind::single},
    {"List", "b", 5, Kind::truth},
    {"List", "type", 6, Kind::type},
    {"List", "shape", 7, Kind::message, "Shape"},
    {"List", "tensor", 8, Kind::message, "Tensor"},
    {"List", "func", 9, Kind::message, "Call"},
    {"Call", "name", 1, Kind::text},
    {"Shape", "dim", 2, Kind::message, "Dim"},
    {"Shape", "unknown_rank", 3, Kind::truth},
    {"Dim", "size", 1, Kind::whole},
    {"Tensor", "dtype", 1, Kind::type},
    {"Tensor", "tensor_shape", 2, Kind::message, "Shape"},
    {"Tensor", "tensor_content", 4, Kind::text},
    {"Tensor", "float_val", 5, Kind::single},
    {"Tensor", "double_val", 6, Kind::real},
    {"Tensor", "int_val", 7, Kind::whole},
    {"Tensor", "string_val", 8, Kind::text},
    {"Tensor", "int64_val", 10, Kind::whole},
    {"Tensor", "bool_val", 11, Kind::truth},
    {"Tensor", "half_val", 13, Kind::whole},
    {"Tensor", "uint32_val", 16, Kind::whole},
    {"Tensor", "uint64_val", 17, Kind::whole},
    {"Library", "function", 1, Kind::message, "Function"},
    {"Function", "signature", 1, Kind::message, "Operation"},
    {"Function", "node_def", 3, Kind::message, "Node"},
    {"Function", "ret", 4, Kind::message, "ReturnEntry"},
    {"Operation", "name", 1, Kind::text},
    {"Operation", "input_arg", 2, Kind::message, "Argument"},
    {"Operation", "output_arg", 3, Kind::message, "Argument"},
    {"Argument", "name", 1, Kind::text},
    {"Argument", "type", 3, Kind::type},
    {"ReturnEntry", "key", 1, Kind::text},
    {"ReturnEntry", "value", 2, Kind::text},
};

class Encoder {
 public:
  explicit Encoder(const std::string& file) : file_(file) {}

  std::string message(const ProtoNode& node, std::string_view type) const {
    std::string out;
    for (const ProtoNode& f : node.fields)
      for (const Field& row : schema)
        if (type == row.message && f.name == row.name) {
          field(out, f, row);
          break;
        }
    return out;
  }

 private:
  void field(std::string& out, const ProtoNode& f, const Field& row) const {
    auto wanted = [&](const char* what) {
      throw_user(file_, ":", f.line, ": expected ", what, " for '", f.name, "', got '",
                 f.kind == ProtoNode::message ? "{...}" : f.value, "'");
    };
    if ((row.kind == Kind::message) != (f.kind == ProtoNode::message))
      wanted(row.kind == Kind::message ? "a message" : "a plain value");
    switch (row.kind) {
      case Kind::message: bytes(out, row.number, message(f, row.of)); break;
      case Kind::text: bytes(out, row.number, f.value); break;
      case Kind::whole: {
        auto v = f.integer();
        if (!v) wanted("an integer");
        key(out, row.number, Wire::varint_type);
        varint(out, static_cast<uint64_t>(*v));
        break;
      }
      case Kind::truth: {
        auto v = f.boolean();
        if (!v) wanted("true or false");
        key(out, row.number, Wire::varint_type);
        varint(out, *v ? 1 : 0);
        break;
      }
      case Kind::type: {
        auto v = f.kind == ProtoNode::word ? tensorflow_type_code(f.value) : f.integer();
        if (!v) wanted("an element type");
        key(out, row.number, Wire::varint_type);
        varint(out, static_cast<uint64_t>(*v));
        break;
      }
      case Kind::single: {
        auto v = f.real();
        if (!v) wanted("a number");
        key(out, row.number, Wire::fixed32_type);
        fixed(out, static_cast<float>(*v));
        break;
      }
      case Kind::real: {
        auto v = f.real();
        if (!v) wanted("a number");
        key(out, row.number, Wire::fixed64_type);
        fixed(out, *v);
      }
    }
  }

  static void varint(std::string& out, uint64_t v) {
    for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
    out += static_cast<char>(v);
  }
  static void key(std::string& out, uint32_t number, Wire::Type type) { varint(out, number << 3 | type); }
  static void bytes(std::string& out, uint32_t number, std::string_view v) {
    key(out, number, Wire::bytes_type);
    varint(out, v.size());
    out += v;
  }
  template <class T>
  static void fixed(std::string& out, T v) {
    char raw[sizeof v];
    std::memcpy(raw, &v, sizeof v);
    out.append(raw, sizeof v);
  }

  const std::string& file_;
};

// The first word of the file that is not a comment.
std::string_view first_word(std::string_view bytes) {
  std::string_view head = trim(bytes.substr(0, 65536));
  while (head.starts_with('#')) head = trim(head.substr(std::min(head.find('\n'), head.size())));
  size_t n = 0;
  while (n < head.size() && ((head[n] >= 'a' && head[n] <= 'z') || head[n] == '_')) ++n;
  std::string_view rest = trim(head.substr(n));
  return rest.starts_with('{') || rest.starts_with(':') ? head.substr(0, n) : std::string_view();
}

}  // namespace

bool looks_like_tensorflow_text(std::string_view bytes) {
  std::string_view word = first_word(bytes);
  return word == "node" || word == "versions" || word == "library" || word == "saved_model_schema_version" ||
         word == "meta_graphs";
}

std::string tensorflow_text_to_binary(std::string_view bytes, const std::string& file) {
  ProtoNode root = parse_proto_text(bytes, file);
  bool saved = root.find("meta_graphs") != nullptr;
  return Encoder(file).message(root, saved ? "SavedModel" : "Graph");
}

}  // namespace graft

#include "document.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <pugixml.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "document_formats.hpp"
#include "readers/proto_text.hpp"
#include "readers/wire.hpp"

namespace graft::fuzzing {
namespace {

// ---- protobuf ----

// "Message: number name[:Message | *], ...;" where * is a list of numbers, packed or not, and f one of real numbers.
constexpr std::string_view onnx_schema =
    "Root: 1 ir_version, 7 graph:Graph, 8 opset:Opset, 25 function:Function;"
    "Opset: 1 domain, 2 version;"
    "Function: 1 name, 4 input, 5 output, 6 attribute_name, 7 node:Node, 9 opset:Opset, 10 domain, 11 "
    "attribute:Attribute;"
    "Graph: 1 node:Node, 2 name, 5 initializer:Tensor, 11 input:Value, 12 output:Value, 13 value_info:Value, 15 "
    "sparse:Sparse;"
    "Node: 1 input, 2 output, 3 name, 4 op_type, 5 attribute:Attribute, 7 domain;"
    "Attribute: 1 name, 2 f, 3 i, 4 s, 5 t:Tensor, 6 g:Graph, 7 floats:f, 8 ints:*, 9 strings, 10 tensors:Tensor, 11 "
    "graphs:Graph,"
    " 14 tp:Type, 20 type, 21 ref, 22 sparse:Sparse;"
    "Tensor: 1 dims:*, 2 data_type, 4 float_data:f, 5 int32_data:*, 6 string_data, 7 int64_data:*, 8 name, 9 raw_data, "
    "10 double_data:d,"
    " 11 uint64_data:*;"
    "Sparse: 1 values:Tensor, 2 indices:Tensor, 3 dims:*;"
    "Value: 1 name, 2 type:Type;"
    "Type: 1 tensor_type:TensorType, 4 sequence_type:Nested, 5 map_type:Map, 9 optional_type:Nested;"
    "TensorType: 1 elem_type, 2 shape:Shape;"
    "Nested: 1 elem_type:Type;"
    "Map: 1 key_type, 2 value_type:Type;"
    "Shape: 1 dim:Dim;"
    "Dim: 1 dim_value, 2 dim_param;";
constexpr std::string_view tensorflow_schema =
    "Root: 1 node:Node, 2 library:Library, 4 versions;"
    "Library: 1 function:Function;"
    "Function: 1 signature:Signature, 3 node:Node, 4 ret:Pair, 5 attr:Attr;"
    "Signature: 1 name, 2 input_arg:Arg, 3 output_arg:Arg;"
    "Arg: 1 name, 3 type;"
    "Pair: 1 key, 2 ret;"
    "Node: 1 name, 2 op, 3 input, 5 attr:Attr;"
    "Attr: 1 key, 2 value:AttrValue;"
    "AttrValue: 1 list:List, 2 s, 3 i, 4 f, 5 b, 6 type, 7 shape:Shape, 8 tensor:Tensor, 10 func:Func;"
    "List: 2 s, 3 i:*, 4 f:f, 5 b:*, 6 type:*, 7 shape:Shape, 8 tensor:Tensor;"
    "Func: 1 name, 2 attr:Attr;"
    "Shape: 2 dim:Dim, 3 unknown_rank;"
    "Dim: 1 size;"
    "Tensor: 1 dtype, 2 shape:Shape, 4 raw_data, 5 float_val:f, 6 double_val:d, 7 int_val:*, 8 string_val, 10 "
    "int64_val:*, 11 bool_val:*;";

struct FieldNamed {
  std::string name, message;  // message: of a sub-message, or "*", "f", "d"
};
using Schema = std::map<std::string, std::map<uint32_t, FieldNamed>, std::less<>>;

Schema read_schema(std::string_view text) {
  Schema out;
  for (std::string_view part : split(text, ';')) {
    if (trim(part).empty()) continue;
    size_t colon = part.find(':');
    auto& fields = out[std::string(trim(part.substr(0, colon)))];
    for (std::string_view f : split(part.substr(colon + 1), ',')) {
      f = trim(f);
      size_t space = f.find(' ');
      std::string_view name = f.substr(space + 1), message;
      if (size_t of = name.find(':'); of != name.npos) message = name.substr(of + 1), name = name.substr(0, of);
      fields[static_cast<uint32_t>(*parse_int(f.substr(0, space)))] = {std::string(name), std::string(message)};
    }
  }
  return out;
}
const Schema& schema_of(Format format) {
  static const Schema onnx = read_schema(onnx_schema), tensorflow = read_schema(tensorflow_schema);
  return format == Format::onnx ? onnx : tensorflow;
}

Tree leaf(const FieldNamed& f, uint32_t number, decltype(Tree::value) value) {
  Tree t;
  t.name = f.name;
  t.field = number;
  t.value = std::move(value);
  return t;
}

Tree read_message(const Schema& schema, std::string_view message, std::string_view bytes, int depth) {
  if (depth > 64) throw_user("messages are nested too deeply");
  Tree out;
  auto known = schema.find(message);
  for (Wire w(bytes, "message"); w.next();) {
    FieldNamed f{"?", ""};
    if (known != schema.end())
      if (auto it = known->second.find(w.field()); it != known->second.end()) f = it->second;
    auto add = [&](decltype(Tree::value) v) { out.children.push_back(leaf(f, w.field(), std::move(v))); };
    if (f.message == "*") w.integers([&](int64_t v) { add(v); });
    else if (f.message == "f") w.fixed<float>([&](float v) { add(static_cast<double>(v)); });
    else if (f.message == "d") {
      w.fixed<double>([&](double v) {
        add(v);
        out.children.back().wide = true;
      });
    } else if (w.type() == Wire::varint_type) add(w.integer());
    else if (w.type() == Wire::fixed32_type) add(static_cast<double>(w.fixed_float()));
    else if (w.type() != Wire::bytes_type) w.skip();
    else if (f.message.empty()) add(w.text());
    else {
      Tree t = read_message(schema, f.message, w.bytes(), depth + 1);
      t.name = f.name;
      t.field = w.field();
      out.children.push_back(std::move(t));
    }
  }
  return out;
}

void put_varint(std::string& out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}
void write_message(const Tree& t, std::string& out) {
  for (const Tree& c : t.children) {
    auto key = [&](unsigned type) { put_varint(out, uint64_t{c.field} << 3 | type); };
    if (const int64_t* i = c.integer()) {
      key(0), put_varint(out, static_cast<uint64_t>(*i));
    } else if (const double* d = std::get_if<double>(&c.value)) {
      key(c.wide ? 1 : 5);
      auto narrow = static_cast<float>(*d);
      out.append(c.wide ? reinterpret_cast<const char*>(d) : reinterpret_cast<const char*>(&narrow), c.wide ? 8 : 4);
    } else {
      std::string inner;
      if (const std::string* s = c.text()) inner = *s;
      else write_message(c, inner);
      key(2), put_varint(out, inner.size());
      out += inner;
    }
  }
}

// ---- XML ----

Tree read_element(pugi::xml_node n, int depth) {
  if (depth > 200) throw_user("elements are nested too deeply");
  Tree t;
  t.name = n.name();
  for (pugi::xml_attribute a : n.attributes()) t.children.push_back(make_attribute(a.name(), a.value()));
  for (pugi::xml_node c : n.children()) {
    if (c.type() == pugi::node_element) t.children.push_back(read_element(c, depth + 1));
    else if (c.type() == pugi::node_pcdata) {
      t.children.push_back(make_attribute("", c.value()));
      t.children.back().name = "#text";
    }
  }
  return t;
}
void write_element(const Tree& t, pugi::xml_node parent) {
  pugi::xml_node n = parent.append_child(t.name.c_str());
  for (const Tree& c : t.children) {
    const std::string* s = c.text();
    if (s && c.name == "#text") n.append_child(pugi::node_pcdata).set_value(s->c_str());
    else if (s) n.append_attribute(c.name.c_str() + 1).set_value(s->c_str());
    else write_element(c, n);
  }
}

// ---- text format of protobuf ----

Tree read_text(const ProtoNode& n) {
  Tree t;
  t.name = n.name;
  t.quoted = n.kind == ProtoNode::text;
  if (n.kind == ProtoNode::number && n.integer()) t.value = *n.integer();
  else if (n.kind == ProtoNode::number && n.real()) t.value = *n.real();
  else if (n.kind != ProtoNode::message) t.value = n.value;
  for (const ProtoNode& f : n.fields) t.children.push_back(read_text(f));
  return t;
}
void write_text(const Tree& t, std::string& out) {
  for (const Tree& c : t.children) {
    out += c.name;
    if (c.is_group()) {
      out += " {\n";
      write_text(c, out);
      out += "}\n";
      continue;
    }
    out += ": ";
    if (const int64_t* i = c.integer()) out += graft::text(*i);
    else if (const double* d = std::get_if<double>(&c.value)) out += number_text(*d);
    else out += c.quoted ? in_quotes(*c.text()) : *c.text();
    out += '\n';
  }
}

}  // namespace

// ---- formats ----

constexpr std::string_view format_names[] = {"onnx", "ir", "tensorflow", "caffe", "mxnet", "kaldi"};

Format format_named(std::string_view name) {
  for (size_t i = 0; i < std::size(format_names); ++i)
    if (format_names[i] == name) return static_cast<Format>(i);
  throw_user("expected the format onnx, ir, tensorflow, caffe, mxnet or kaldi, got '", name, "'");
}
std::string_view name_of(Format format) { return format_names[static_cast<size_t>(format)]; }

Document parse(Format format, std::string_view bytes) {
  Document d;
  d.format = format;
  if (format == Format::onnx || format == Format::tensorflow) {
    d.root = read_message(schema_of(format), "Root", bytes, 0);
    return d;
  }
  if (format == Format::mxnet || format == Format::kaldi) {
    d.root = format == Format::mxnet ? read_mxnet_document(bytes) : read_kaldi_document(bytes);
    return d;
  }
  size_t zero = std::min(bytes.find('\0'), bytes.size());
  if (zero < bytes.size()) d.weights = bytes.substr(zero + 1);
  bytes = bytes.substr(0, zero);
  if (format == Format::caffe) {
    d.root = read_text(parse_proto_text(bytes, "net"));
    return d;
  }
  pugi::xml_document xml;
  if (!xml.load_buffer(bytes.data(), bytes.size()) || !xml.document_element()) throw_user("invalid XML");
  d.root = read_element(xml.document_element(), 0);
  return d;
}

std::string print(const Document& d) {
  std::string out;
  if (d.format == Format::onnx || d.format == Format::tensorflow) {
    write_message(d.root, out);
    return out;
  }
  if (d.format == Format::mxnet) write_mxnet_document(d.root, out);
  if (d.format == Format::kaldi) write_kaldi_document(d.root, out);
  if (d.format == Format::mxnet || d.format == Format::kaldi) return out;
  if (d.format == Format::caffe) {
    write_text(d.root, out);
  } else {
    pugi::xml_document xml;
    write_element(d.root, xml);
    std::ostringstream s;
    xml.save(s, " ", pugi::format_default | pugi::format_no_declaration);
    out = s.str();
  }
  return d.weights.empty() ? out : out + '\0' + d.weights;
}

Tree make_field(Format format, std::string_view message, std::string_view field) {
  if (format != Format::onnx && format != Format::tensorflow) return make_tree(std::string(field));
  for (const auto& [number, f] : schema_of(format).find(message)->second)
    if (f.name == field) return leaf(f, number, std::monostate());
  throw_internal("no field ", field, " in ", message);
}
Tree make_attribute(std::string_view name, std::string value) {
  Tree t;
  t.name = "@" + std::string(name);
  t.value = std::move(value);
  return t;
}

// ---- trees ----

Tree* Tree::child(std::string_view n) {
  for (Tree& c : children)
    if (c.name == n) return &c;
  return nullptr;
}
const Tree* Tree::child(std::string_view n) const { return const_cast<Tree*>(this)->child(n); }
std::string Tree::text_of(std::string_view n) const {
  const Tree* c = child(n);
  return c && c->text() ? *c->text() : "";
}
int64_t Tree::integer_of(std::string_view n) const {
  const Tree* c = child(n);
  if (c && c->integer()) return *c->integer();
  return c && c->text() ? parse_int(*c->text()).value_or(0) : 0;
}
void Tree::erase(std::string_view n) {
  std::erase_if(children, [&](const Tree& c) { return c.name == n; });
}
std::vector<Tree*> find_all(Tree& root, std::string_view name) {
  return find_if(root, [&](const Tree& t) { return t.name == name; });
}

namespace {
// Lines of a configuration, components with an end mark, and those of nnet1, which begin with two sizes.
bool is_kaldi_layer(const Tree& t) {
  if (t.name == "element") return !t.text_of("type").starts_with("<Nnet");
  bool sized = t.name == "field" && t.children.size() > 2 && t.children[1].integer() && t.children[2].integer();
  return t.name == "line" || sized;
}
}  // namespace

std::vector<Tree*> layers_of(Document& d) {
  return find_if(d.root, [&](const Tree& t) {
    switch (d.format) {
      case Format::onnx:
      case Format::tensorflow: return t.name == "node" && t.is_group();
      case Format::mxnet: return t.child("op") && t.child("inputs") && t.text_of("op") != "null";
      case Format::kaldi: return is_kaldi_layer(t);
      default: return t.name == "layer" && t.is_group();
    }
  });
}
Tree* type_of(const Document& d, Tree& layer) {
  constexpr std::string_view names[] = {"op_type", "@type", "op", "type", "op", "type"};
  return layer.child(names[static_cast<size_t>(d.format)]);
}
Tree* attributes_of(const Document& d, Tree& layer) {
  if (d.format == Format::ir) return layer.child("data");
  if (d.format != Format::mxnet) return &layer;
  for (std::string_view name : {"attrs", "param", "attr"})
    if (Tree* t = layer.child(name)) return t;
  return nullptr;
}
bool is_attribute(const Document& d, const Tree& child) {
  switch (d.format) {
    case Format::ir: return child.name != "@offset" && child.name != "@size";
    case Format::onnx: return child.name == "attribute";
    case Format::tensorflow: return child.name == "attr";
    case Format::kaldi: return child.name == "field" || child.name.starts_with('@');
    case Format::caffe: return child.is_group();
    default: return true;
  }
}

}  // namespace graft::fuzzing

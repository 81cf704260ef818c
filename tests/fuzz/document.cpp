#include "document.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <pugixml.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
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

Format format_named(std::string_view name) {
  for (Format f : {Format::onnx, Format::ir, Format::tensorflow, Format::caffe})
    if (name_of(f) == name) return f;
  throw_user("expected the format onnx, ir, tensorflow or caffe, got '", name, "'");
}
std::string_view name_of(Format format) {
  constexpr std::string_view names[] = {"onnx", "ir", "tensorflow", "caffe"};
  return names[static_cast<size_t>(format)];
}

Document parse(Format format, std::string_view bytes) {
  Document d;
  d.format = format;
  if (format == Format::onnx || format == Format::tensorflow) {
    d.root = read_message(schema_of(format), "Root", bytes, 0);
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

// ---- places ----

namespace {

constexpr std::string_view ir_types[] = {"boolean", "f64",    "f32",    "f16",    "bf16",   "i64", "i32", "i16",
                                         "i8",      "i4",     "u64",    "u32",    "u16",    "u8",  "u4",  "u1",
                                         "string",  "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1", "nf4"};

size_t bits(const Document& d, const Place& p) {
  if (d.format == Format::ir) {
    const Tree* data = p.owner->child("data");
    auto type = data ? parse_dtype(data->text_of("@element_type")) : std::nullopt;
    return type ? static_cast<size_t>(bits_of(*type)) : 8;
  }
  constexpr uint8_t onnx_bits[] = {8,  32, 8,   8,  16, 16, 32, 64, 8, 8, 16, 64, 32,
                                   64, 64, 128, 16, 8,  8,  8,  8,  4, 4, 4,  8};
  int64_t type = p.owner->integer_of("data_type");
  return type >= 0 && type < static_cast<int64_t>(std::size(onnx_bits)) ? onnx_bits[type] : 8;
}

// Content of `count` elements made from what there is.
std::string repeated(std::string_view old, size_t bytes) {
  std::string out(bytes, '\0');
  for (size_t i = 0; i < bytes && !old.empty(); ++i) out[i] = old[i % old.size()];
  return out;
}
size_t bytes_of(const Document& d, const Place& p, const std::vector<int64_t>& dims) {
  constexpr size_t most = 1 << 16;
  double n = static_cast<double>(bits(d, p)) / 8;
  for (int64_t v : dims) n *= static_cast<double>(std::max<int64_t>(v, 0));
  return n > static_cast<double>(most) ? most : static_cast<size_t>(n + 0.99);
}

// The content fitted to type and shape.
void refill(Document& d, const Place& p, const std::vector<int64_t>& dims) {
  size_t bytes = bytes_of(d, p, dims);
  if (d.format == Format::ir) {
    Tree* data = p.owner->child("data");
    auto offset = static_cast<size_t>(std::max<int64_t>(0, data->integer_of("@offset")));
    auto size = static_cast<size_t>(std::max<int64_t>(0, data->integer_of("@size")));
    if (bytes <= size || data->text_of("@element_type") == "string") return;
    std::string_view old = std::string_view(d.weights).substr(std::min(offset, d.weights.size()), size);
    std::string made = repeated(old, bytes);
    data->erase("@offset"), data->erase("@size");
    d.weights.resize((d.weights.size() + 15) / 16 * 16);
    data->children.push_back(make_attribute("offset", graft::text(d.weights.size())));
    data->children.push_back(make_attribute("size", graft::text(bytes)));
    d.weights += made;
    return;
  }
  if (Tree* raw = p.owner->child("raw_data"); raw && raw->text()) {
    *raw->text() = repeated(*raw->text(), bytes);
    return;
  }
  size_t count = bytes * 8 / std::max<size_t>(bits(d, p), 1);
  for (std::string_view list :
       {"float_data", "int32_data", "int64_data", "string_data", "double_data", "uint64_data"}) {
    std::vector<Tree> old;
    for (const Tree& c : p.owner->children)
      if (c.name == list) old.push_back(c);
    if (old.empty()) continue;
    p.owner->erase(list);
    for (size_t i = 0; i < std::min<size_t>(count, 4096); ++i) p.owner->children.push_back(old[i % old.size()]);
  }
}

}  // namespace

std::vector<Place> places_of(Document& d) {
  std::vector<Place> out;
  if (d.format == Format::ir) {
    for (Tree* l : find_all(d.root, "layer")) {
      std::string type = l->text_of("@type");
      if (l->child("data") && (type == "Parameter" || type == "Const")) out.push_back({l, type == "Const"});
    }
  } else if (d.format == Format::onnx) {
    for (Tree* g : find_if(d.root, [](const Tree& t) { return t.name == "graph" || t.name == "g"; }))
      for (Tree& c : g->children)
        if (c.name == "input" && c.is_group()) out.push_back({&c, false});
    for (Tree* t :
         find_if(d.root, [](const Tree& t) { return t.name == "initializer" || (t.name == "t" && t.is_group()); }))
      out.push_back({t, true});
  }
  return out;
}

namespace {
Tree* tensor_type(const Place& p) {
  Tree* type = p.owner->child("type");
  return type ? type->child("tensor_type") : nullptr;
}
}  // namespace

std::vector<int64_t> dims_of(const Document& d, const Place& p) {
  std::vector<int64_t> out;
  if (d.format == Format::ir) {
    std::string shape = p.owner->child("data")->text_of("@shape");
    for (std::string_view s : split(shape, ',')) out.push_back(parse_int(trim(s)).value_or(-1));
    return out;
  }
  if (p.constant) {
    for (const Tree& c : p.owner->children)
      if (c.name == "dims" && c.integer()) out.push_back(*c.integer());
    return out;
  }
  Tree* shape = tensor_type(p) ? tensor_type(p)->child("shape") : nullptr;
  for (const Tree& c : shape ? shape->children : std::vector<Tree>()) {
    const Tree* v = c.child("dim_value");
    out.push_back(v && v->integer() ? *v->integer() : -1);
  }
  return out;
}

void set_dims(Document& d, const Place& p, const std::vector<int64_t>& dims) {
  if (d.format == Format::ir) {
    std::string s;
    for (int64_t v : dims) s += (s.empty() ? "" : ",") + (v < 0 && !p.constant ? "?" : graft::text(v));
    Tree* data = p.owner->child("data");
    data->erase("@shape");
    data->children.push_back(make_attribute("shape", s));
  } else if (p.constant) {
    p.owner->erase("dims");
    for (int64_t v : dims) {
      p.owner->children.push_back(make_field(d.format, "Tensor", "dims"));
      p.owner->children.back().value = v;
    }
  } else if (Tree* type = tensor_type(p)) {
    type->erase("shape");
    Tree shape = make_field(d.format, "TensorType", "shape");
    for (int64_t v : dims) {
      Tree dim = make_field(d.format, "Shape", "dim");
      if (v >= 0) {
        dim.children.push_back(make_field(d.format, "Dim", "dim_value"));
        dim.children.back().value = v;
      } else {
        dim.children.push_back(make_field(d.format, "Dim", "dim_param"));
        dim.children.back().value = std::string("n");
      }
      shape.children.push_back(std::move(dim));
    }
    type->children.push_back(std::move(shape));
  }
  if (p.constant) refill(d, p, dims);
}

void set_type(Document& d, const Place& p, size_t choice) {
  if (d.format == Format::ir) {
    Tree* data = p.owner->child("data");
    data->erase("@element_type");
    data->children.push_back(make_attribute("element_type", std::string(ir_types[choice % std::size(ir_types)])));
  } else {
    Tree* owner = p.constant ? p.owner : tensor_type(p);
    if (!owner) return;
    std::string_view field = p.constant ? "data_type" : "elem_type";
    owner->erase(field);
    owner->children.push_back(make_field(d.format, p.constant ? "Tensor" : "TensorType", field));
    owner->children.back().value = static_cast<int64_t>(1 + choice % 24);
  }
  if (p.constant) refill(d, p, dims_of(d, p));
}

std::pair<char*, size_t> content_of(Document& d, const Place& p, size_t& element) {
  element = std::max<size_t>(1, bits(d, p) / 8);
  if (d.format == Format::ir) {
    Tree* data = p.owner->child("data");
    auto offset = data->integer_of("@offset"), size = data->integer_of("@size");
    auto total = static_cast<int64_t>(d.weights.size());
    if (offset < 0 || size <= 0 || offset >= total) return {nullptr, 0};
    return {d.weights.data() + offset, static_cast<size_t>(std::min(size, total - offset))};
  }
  Tree* raw = p.owner->child("raw_data");
  if (!raw || !raw->text()) return {nullptr, 0};
  return {raw->text()->data(), raw->text()->size()};
}

std::vector<Tree*> layers_of(Document& d) {
  return find_if(d.root, [&](const Tree& t) {
    return t.name == (d.format == Format::onnx || d.format == Format::tensorflow ? "node" : "layer") && t.is_group();
  });
}
Tree* type_of(const Document& d, Tree& layer) {
  return layer.child(d.format == Format::onnx         ? "op_type"
                     : d.format == Format::tensorflow ? "op"
                     : d.format == Format::ir         ? "@type"
                                                      : "type");
}

}  // namespace graft::fuzzing

// Where a document has shapes, element types and constants.
#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "document.hpp"
#include "document_formats.hpp"

namespace graft::fuzzing {
namespace {

constexpr uint8_t mxnet_bits[] = {32, 64, 16, 8, 32, 8, 64, 8, 16, 16, 32, 64, 16};

constexpr std::string_view ir_types[] = {"boolean", "f64",    "f32",    "f16",    "bf16",   "i64", "i32", "i16",
                                         "i8",      "i4",     "u64",    "u32",    "u16",    "u8",  "u4",  "u1",
                                         "string",  "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1", "nf4"};

size_t bits(const Document& d, const Place& p) {
  if (d.format == Format::ir) {
    const Tree* data = p.owner->child("data");
    auto type = data ? parse_dtype(data->text_of("@element_type")) : std::nullopt;
    return type ? static_cast<size_t>(bits_of(*type)) : 8;
  }
  int64_t type = p.owner->integer_of("data_type");
  if (d.format == Format::mxnet)
    return type >= 0 && type < static_cast<int64_t>(std::size(mxnet_bits)) ? mxnet_bits[type] : 32;
  constexpr uint8_t onnx_bits[] = {8,  32, 8,   8,  16, 16, 32, 64, 8, 8, 16, 64, 32,
                                   64, 64, 128, 16, 8,  8,  8,  8,  4, 4, 4,  8};
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
  } else if (d.format == Format::mxnet) {
    for (Tree* t : find_if(d.root, [](const Tree& t) { return t.text_of("op") == "null" && t.child("attrs"); }))
      if (t->child("attrs")->child("@__shape__")) out.push_back({t, false});
    for (Tree* t : find_all(d.root, "array")) out.push_back({t, true});
  } else if (d.format == Format::kaldi) {
    for (Tree* t : find_all(d.root, "matrix")) out.push_back({t, true});
  } else if (d.format == Format::tensorflow) {
    for (Tree* t : find_all(d.root, "tensor"))
      if (t->is_group()) out.push_back({t, true});
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
std::string shape_text(const Place& p) { return p.owner->child("attrs")->text_of("@__shape__"); }

// Numbers that are there, again and again.
void set_matrix(const Place& p, const std::vector<int64_t>& dims) {
  std::vector<Tree> old;
  for (const Tree& row : p.owner->children) old.insert(old.end(), row.children.begin(), row.children.end());
  if (old.empty()) old.push_back(make_tree("number", int64_t{1}));
  int64_t rows = dims.size() > 1 ? std::min<int64_t>(dims[0], 4096) : 1, columns = 1;
  for (size_t i = dims.size() > 1 ? 1 : 0; i < dims.size(); ++i) columns = std::min<int64_t>(columns * dims[i], 4096);
  p.owner->quoted = dims.size() > 1;
  p.owner->children.assign(static_cast<size_t>(rows), make_tree("row"));
  size_t next = 0;
  for (Tree& row : p.owner->children)
    for (int64_t i = 0; i < columns; ++i) row.children.push_back(old[next++ % old.size()]);
}

constexpr std::string_view tensor_values[] = {"float_val",  "double_val", "int_val",
                                              "string_val", "int64_val",  "bool_val"};

// Of an element of TensorFlow's types, as far as they have a fixed size.
constexpr uint8_t tensor_bytes[] = {0, 4, 8, 4, 1, 2, 1, 0, 8, 8, 1, 1, 1, 4, 2, 2, 4, 2, 16, 2, 0, 0, 4, 8};
size_t tensor_element(const Place& p) {
  auto type = static_cast<size_t>(p.owner->integer_of("dtype"));
  return type < std::size(tensor_bytes) ? tensor_bytes[type] : 0;
}

// The content of a tensor of TensorFlow, as numbers or as bytes: repeated or cut. All of it may be one number.
void set_tensor(const Document& d, const Place& p, const std::vector<int64_t>& dims) {
  Tree shape = make_field(d.format, "Tensor", "shape");
  size_t count = 1;
  for (int64_t v : dims) {
    count = std::min<size_t>(count * static_cast<size_t>(std::max<int64_t>(v, 0)), 4096);
    Tree dim = make_field(d.format, "Shape", "dim");
    dim.children.push_back(make_field(d.format, "Dim", "size"));
    dim.children.back().value = v;
    shape.children.push_back(std::move(dim));
  }
  p.owner->erase("shape");
  p.owner->children.push_back(std::move(shape));
  if (Tree* raw = p.owner->child("raw_data"); raw && raw->text() && tensor_element(p))
    *raw->text() = repeated(*raw->text(), count * tensor_element(p));
  for (std::string_view list : tensor_values) {
    std::vector<Tree> old;
    for (const Tree& c : p.owner->children)
      if (c.name == list) old.push_back(c);
    if (old.size() < 2) continue;
    p.owner->erase(list);
    for (size_t i = 0; i < count; ++i) p.owner->children.push_back(old[i % old.size()]);
  }
}

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
  if (d.format == Format::mxnet && !p.constant) {
    for (const std::string& s : items_of(shape_text(p))) out.push_back(parse_int(s).value_or(-1));
    return out;
  }
  if (d.format == Format::kaldi) {
    auto rows = static_cast<int64_t>(p.owner->children.size());
    int64_t columns = rows ? static_cast<int64_t>(p.owner->children[0].children.size()) : 0;
    return p.owner->quoted ? std::vector{rows, columns} : std::vector{columns};
  }
  if (d.format == Format::tensorflow) {
    if (const Tree* shape = p.owner->child("shape"))
      for (const Tree& c : shape->children)
        if (c.name == "dim") out.push_back(c.integer_of("size"));
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
  } else if (d.format == Format::kaldi) {
    set_matrix(p, dims);
    return;
  } else if (d.format == Format::tensorflow) {
    set_tensor(d, p, dims);
    return;
  } else if (d.format == Format::mxnet && !p.constant) {
    std::vector<std::string> items;
    for (int64_t v : dims) items.push_back(graft::text(v));
    *p.owner->child("attrs")->child("@__shape__")->text() = with_items("()", items);
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
  } else if (d.format == Format::onnx || (d.format == Format::mxnet && p.constant)) {
    Tree* owner = p.constant ? p.owner : tensor_type(p);
    if (!owner) return;
    std::string_view field = p.constant ? "data_type" : "elem_type";
    owner->erase(field);
    owner->children.push_back(make_field(d.format, p.constant ? "Tensor" : "TensorType", field));
    owner->children.back().value =
        static_cast<int64_t>(d.format == Format::mxnet ? choice % std::size(mxnet_bits) : 1 + choice % 24);
  }
  if (p.constant && d.format != Format::kaldi && d.format != Format::tensorflow) refill(d, p, dims_of(d, p));
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
  if (d.format == Format::kaldi) return {nullptr, 0};
  if (d.format == Format::tensorflow) element = std::max<size_t>(1, tensor_element(p));
  Tree* raw = p.owner->child("raw_data");
  if (!raw || !raw->text()) return {nullptr, 0};
  return {raw->text()->data(), raw->text()->size()};
}

bool has_integers(const Document& d, const Place& p) {
  if (d.format == Format::ir) {
    const Tree* data = p.owner->child("data");
    auto type = data ? parse_dtype(data->text_of("@element_type")) : std::nullopt;
    return type && is_integer(*type);
  }
  if (d.format == Format::tensorflow) {
    constexpr int64_t integers[] = {3, 4, 5, 6, 9, 17, 22, 23};
    return std::find(std::begin(integers), std::end(integers), p.owner->integer_of("dtype")) != std::end(integers);
  }
  if (d.format != Format::onnx) return false;
  const Tree* owner = p.constant ? p.owner : tensor_type(p);
  int64_t type = owner ? owner->integer_of(p.constant ? "data_type" : "elem_type") : 0;
  return (type >= 2 && type <= 7) || type == 12 || type == 13;
}

namespace {

bool is_attr(const Tree& t, std::string_view key) { return t.name == "attr" && t.text_of("key") == key; }

// A Const of the main graph becomes a Placeholder. Empty: the tensor belongs to something else.
std::string make_placeholder(Document& d, const Tree* tensor, const std::vector<int64_t>& dims) {
  for (Tree& node : d.root.children) {
    if (node.name != "node" || node.text_of("op") != "Const") continue;
    auto value = std::find_if(node.children.begin(), node.children.end(), [&](const Tree& t) {
      return is_attr(t, "value") && t.child("value") && t.child("value")->child("tensor") == tensor;
    });
    if (value == node.children.end()) continue;
    Tree shape = make_field(d.format, "AttrValue", "shape"), held = make_field(d.format, "Attr", "value"),
         key = make_field(d.format, "Attr", "key"), attr = make_field(d.format, "Node", "attr");
    for (int64_t v : dims) {
      Tree dim = make_field(d.format, "Shape", "dim");
      dim.children.push_back(make_field(d.format, "Dim", "size"));
      dim.children.back().value = v;
      shape.children.push_back(std::move(dim));
    }
    key.value = std::string("shape");
    held.children.push_back(std::move(shape));
    attr.children = {std::move(key), std::move(held)};
    *value = std::move(attr);
    *node.child("op")->text() = "Placeholder";
    return node.text_of("name");
  }
  return "";
}

}  // namespace

std::string make_input(Document& d, const Place& p) {
  std::vector<int64_t> dims = dims_of(d, p);
  if (d.format == Format::tensorflow) return make_placeholder(d, p.owner, dims);
  if (d.format == Format::ir) {
    *p.owner->child("@type")->text() = "Parameter";
    Tree* data = p.owner->child("data");
    data->erase("@offset"), data->erase("@size");
    return p.owner->text_of("@name");
  }
  Tree* graph = d.root.child("graph");
  if (d.format != Format::onnx || !graph || p.owner->name != "initializer") return "";
  Tree value = make_field(d.format, "Graph", "input"), type = make_field(d.format, "Value", "type"),
       tensor = make_field(d.format, "Type", "tensor_type"), name = make_field(d.format, "Value", "name"),
       element = make_field(d.format, "TensorType", "elem_type");
  std::string called = p.owner->text_of("name");
  name.value = called;
  element.value = p.owner->integer_of("data_type");
  tensor.children.push_back(element), type.children.push_back(tensor);
  value.children = {name, type};
  std::erase_if(graph->children, [&](const Tree& t) {
    return (t.name == "initializer" || t.name == "input") && t.text_of("name") == called;
  });
  graph->children.push_back(value);
  set_dims(d, {&graph->children.back(), false}, dims);
  return called;
}

}  // namespace graft::fuzzing

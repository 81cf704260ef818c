// A model file as a tree, so that one mutator and one enumeration serve every format.
//
//   Document d = parse(Format::onnx, bytes);
//   for (Tree* node : find_all(d.root, "node")) node->child("op_type")->value = "Relu";
//   bytes = print(d);
//
// Protobuf fields have names here (document.cpp lists those that matter; the others keep their bytes). In XML the
// attribute shape is the child "@shape", text is "#text". An IR is its .xml, a zero byte, and its .bin; a Caffe net is
// its prototxt, a zero byte, and its caffemodel; an MXNet model its symbol, a zero byte, and its arrays. Models of
// Kaldi are in the text form. document_formats.hpp says how the trees of the last two look.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace graft::fuzzing {

enum class Format { onnx, ir, tensorflow, caffe, mxnet, kaldi };
Format format_named(std::string_view name);  // throws graft::Error
std::string_view name_of(Format format);

struct Tree {
  std::string name;
  std::variant<std::monostate, int64_t, double, std::string> value;  // none: a group with children
  std::vector<Tree> children;
  uint32_t field = 0;   // of protobuf
  bool wide = false;    // a double of 64 bits
  bool quoted = false;  // text, not a word, in the text format of protobuf

  bool is_group() const { return value.index() == 0; }
  std::string* text() { return std::get_if<std::string>(&value); }
  const std::string* text() const { return std::get_if<std::string>(&value); }
  int64_t* integer() { return std::get_if<int64_t>(&value); }
  const int64_t* integer() const { return std::get_if<int64_t>(&value); }
  double* real() { return std::get_if<double>(&value); }
  // The first child of this name, or null.
  Tree* child(std::string_view name);
  const Tree* child(std::string_view name) const;
  // Its text; empty if there is none.
  std::string text_of(std::string_view name) const;
  int64_t integer_of(std::string_view name) const;
  void erase(std::string_view name);  // all children of this name
};

struct Document {
  Format format = Format::onnx;
  Tree root;
  std::string weights;
};

// Throws graft::Error where the bytes are not of the format at all.
Document parse(Format format, std::string_view bytes);
std::string print(const Document& document);

// A field of protobuf that has a name, for adding one: message "Node", field "input".
Tree make_field(Format format, std::string_view message, std::string_view field);
// A text attribute of an XML element.
Tree make_attribute(std::string_view name, std::string value);

// All below (and including) the root, in order. Valid until the tree changes.
template <class Predicate>
void collect(Tree& t, Predicate&& wanted, std::vector<Tree*>& out) {
  if (wanted(t)) out.push_back(&t);
  for (Tree& c : t.children) collect(c, wanted, out);
}
template <class Predicate>
std::vector<Tree*> find_if(Tree& root, Predicate&& wanted) {
  std::vector<Tree*> out;
  collect(root, wanted, out);
  return out;
}
std::vector<Tree*> find_all(Tree& root, std::string_view name);

// An input that the model declares, or a constant in it: where its type, shape and content are.
struct Place {
  Tree* owner =
      nullptr;  // ONNX: ValueInfo or Tensor; IR: the layer; MXNet: the array or the variable; Kaldi: the matrix
  bool constant = false;
};
std::vector<Place> places_of(Document& d);
std::vector<int64_t> dims_of(const Document& d, const Place& p);               // -1: unknown
void set_dims(Document& d, const Place& p, const std::vector<int64_t>& dims);  // the content is repeated or cut
void set_type(Document& d, const Place& p, size_t choice);                     // of all element types, by number
// The bytes of a constant and how many belong to an element; none where they are not stored as bytes.
std::pair<char*, size_t> content_of(Document& d, const Place& p, size_t& element);
// Whether a constant or an input has integers.
bool has_integers(const Document& d, const Place& p);
// Makes a constant of ONNX or IR an input of the model, and gives its name; empty where that is not possible.
std::string make_input(Document& d, const Place& p);
// The layers, and the name of a layer's type.
std::vector<Tree*> layers_of(Document& d);
Tree* type_of(const Document& d, Tree& layer);
// Where a layer has its attributes, as children, and what these are called; an empty name: all of them.
Tree* attributes_of(const Document& d, Tree& layer);
bool is_attribute(const Document& d, const Tree& child);

}  // namespace graft::fuzzing

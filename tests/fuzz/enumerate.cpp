#include "enumerate.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "mutate.hpp"

namespace graft::fuzzing {
namespace {

using Use = std::function<void(const Document&)>;

// ---- ranks ----

// Of this rank: twos; the dimensions there are, with ones in front or cut off in front; nothing but zeros.
std::vector<std::vector<int64_t>> shapes_of(size_t rank, const std::vector<int64_t>& old) {
  std::vector<int64_t> fitted(rank, 1);
  for (size_t i = 0; i < std::min(rank, old.size()); ++i) fitted[rank - 1 - i] = old[old.size() - 1 - i];
  std::vector<std::vector<int64_t>> out{fitted};
  for (int64_t fill : {2, 0})
    if (rank > 0) out.emplace_back(rank, fill);
  return out;
}

void enumerate_ranks(const Document& seed, const Use& use) {
  Document first = seed;
  for (size_t i = 0; i < places_of(first).size(); ++i)
    for (size_t rank = 0; rank <= 6; ++rank) {
      Place original = places_of(first)[i];
      for (std::vector<int64_t> dims : shapes_of(rank, dims_of(first, original))) {
        if (original.constant)
          for (int64_t& v : dims) v = std::max<int64_t>(v, 0);
        Document d = seed;
        set_dims(d, places_of(d)[i], dims);
        use(d);
      }
    }
}

// Each input of each layer left out.
void enumerate_absent(const Document& seed, const Use& use) {
  Document d = seed;
  if (d.format == Format::onnx) {
    for (Tree* n : layers_of(d))
      for (Tree& c : n->children) {
        if (c.name != "input" || !c.text()) continue;
        std::string kept = *c.text();
        *c.text() = "";
        use(d);
        *c.text() = kept;
      }
    return;
  }
  for (Tree* edges : find_all(d.root, "edges"))
    for (size_t i = 0; i < edges->children.size(); ++i) {
      Tree kept = edges->children[i];
      edges->children.erase(edges->children.begin() + static_cast<ptrdiff_t>(i));
      use(d);
      edges->children.insert(edges->children.begin() + static_cast<ptrdiff_t>(i), std::move(kept));
    }
}

// ---- attributes ----

// In an IR: the values that an attribute's text is replaced by.
std::vector<std::string> texts_for(const std::string& old) {
  std::vector<std::string> out{"", "x"};
  std::vector<std::string_view> items = split(old, ',');
  bool numbers = !items.empty() && std::all_of(items.begin(), items.end(),
                                               [](std::string_view s) { return parse_number(trim(s)).has_value(); });
  if (!numbers) {
    out.insert(out.end(), {"0", "true", "false", "f32", "i64", "string", "-1"});
    return out;
  }
  auto all = [&](const std::string& v, size_t count) { out.push_back(join(std::vector<std::string>(count, v), ",")); };
  for (int64_t v : extreme_integers) all(text(v), items.size());
  for (double v : extreme_reals) all(number_text(v), items.size());
  all(std::string(items[0]), items.size() + 1);
  if (items.size() > 1) all(std::string(items[0]), items.size() - 1);
  all("1", 40);
  return out;
}

bool is_attribute(const Tree& layer, const Tree& c) {
  std::string type = layer.text_of("@type");
  if (type == "Const" && (c.name == "@offset" || c.name == "@size")) return false;
  return c.text() && c.name[0] == '@';
}

void enumerate_ir(const Document& seed, const Use& use) {
  Document first = seed;
  std::vector<Tree*> layers = layers_of(first);
  for (size_t l = 0; l < layers.size(); ++l) {
    // <data> and the entries of port maps.
    std::vector<Tree*> owners = find_if(*layers[l], [](const Tree& t) {
      return t.name == "data" || ((t.name == "input" || t.name == "output") && t.child("@external_port_id")) ||
             (t.name == "edge" && !t.child("@from-port"));
    });
    for (size_t o = 0; o < owners.size(); ++o)
      for (size_t a = 0; a < owners[o]->children.size(); ++a) {
        if (!is_attribute(*layers[l], owners[o]->children[a])) continue;
        std::string old = *owners[o]->children[a].text();
        for (const std::string& value : texts_for(old)) {
          if (value == old) continue;
          owners[o]->children[a].value = value;
          use(first);
        }
        owners[o]->children[a].value = old;
      }
  }
}

// In ONNX: the values that an attribute is replaced by, of its own kind and of another.
std::vector<Tree> attributes_for(const Tree& old) {
  std::vector<Tree> out;
  auto with = [&](std::string_view field, int64_t type, auto value, size_t count) {
    Tree a = old;
    std::erase_if(a.children, [](const Tree& c) { return c.name != "name"; });
    for (size_t i = 0; i < count; ++i) {
      a.children.push_back(make_field(Format::onnx, "Attribute", field));
      a.children.back().value = value;
    }
    a.children.push_back(make_field(Format::onnx, "Attribute", "type"));
    a.children.back().value = type;
    out.push_back(std::move(a));
  };
  size_t ints = 0, floats = 0;
  for (const Tree& c : old.children) ints += c.name == "ints", floats += c.name == "floats";
  bool single = old.child("i"), real = old.child("f"), words = old.child("s");
  if (single)
    for (int64_t v : extreme_integers) with("i", 2, v, 1);
  if (ints) {
    for (int64_t v : extreme_integers) with("ints", 7, v, ints);
    for (size_t count : {size_t{0}, ints - 1, ints + 1, size_t{40}}) with("ints", 7, int64_t{1}, count);
  }
  if (real)
    for (double v : extreme_reals) with("f", 1, v, 1);
  if (floats) {
    for (double v : extreme_reals) with("floats", 6, v, floats);
    for (size_t count : {size_t{0}, floats - 1, floats + 1}) with("floats", 6, 1.0, count);
  }
  if (words)
    for (const char* v : {"", "x", "SAME_UPPER", "VALID", "linear"}) with("s", 3, std::string(v), 1);
  // Of another kind.
  if (!single) with("i", 2, int64_t{1}, 1);
  if (!words) with("s", 3, std::string("x"), 1);
  if (!ints) with("ints", 7, int64_t{1}, 2);
  if (!real) with("f", 1, 1.0, 1);
  return out;
}

void enumerate_onnx(const Document& seed, const Vocabulary& vocabulary, const Use& use) {
  Document first = seed;
  for (Tree* n : layers_of(first)) {
    auto known = vocabulary.find(n->text_of("op_type"));
    if (known == vocabulary.end()) continue;
    std::vector<Tree> kept = n->children;
    for (const auto& [name, example] : known->second) {
      const Tree* old = &example;
      size_t at = kept.size();
      for (size_t i = 0; i < kept.size(); ++i)
        if (kept[i].name == "attribute" && kept[i].text_of("name") == name) at = i, old = &kept[i];
      for (Tree& value : attributes_for(*old)) {
        n->children = kept;
        if (at < kept.size()) n->children[at] = std::move(value);
        else n->children.push_back(std::move(value));
        use(first);
      }
    }
    n->children = kept;
  }
}

}  // namespace

Vocabulary attributes_in(std::vector<Document>& seeds) {
  Vocabulary out;
  for (Document& d : seeds)
    if (d.format == Format::onnx)
      for (Tree* n : layers_of(d))
        for (const Tree& c : n->children)
          if (c.name == "attribute" && !c.child("g")) out[n->text_of("op_type")].emplace(c.text_of("name"), c);
  return out;
}

void enumerate(Enumeration what, const Document& seed, const Vocabulary& vocabulary, const Use& use) {
  if (what == Enumeration::ranks) enumerate_ranks(seed, use), enumerate_absent(seed, use);
  else if (seed.format == Format::onnx) enumerate_onnx(seed, vocabulary, use);
  else enumerate_ir(seed, use);
}

}  // namespace graft::fuzzing

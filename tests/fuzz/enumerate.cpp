#include "enumerate.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"
#include "document_formats.hpp"
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
  if (d.format == Format::kaldi) return;  // an input is part of a descriptor
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
  if (d.format != Format::ir) {
    constexpr std::string_view inputs[] = {"", "", "input", "bottom", "item", ""};
    for (Tree* n : layers_of(d)) {
      std::vector<Tree>& list = d.format == Format::mxnet ? n->child("inputs")->children : n->children;
      for (size_t i = 0; i < list.size(); ++i) {
        if (list[i].name != inputs[static_cast<size_t>(d.format)]) continue;
        std::vector<Tree> kept = list;
        list.erase(list.begin() + static_cast<ptrdiff_t>(i));
        use(d);
        list = std::move(kept);
      }
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

// In an IR and in MXNet: the values that an attribute's text is replaced by.
std::vector<std::string> texts_for(const std::string& old) {
  std::vector<std::string> out{"", "x"};
  std::vector<std::string> items = items_of(old);
  bool numbers = !items.empty() && std::all_of(items.begin(), items.end(),
                                               [](const std::string& s) { return parse_number(s).has_value(); });
  if (!numbers) {
    out.insert(out.end(), {"0", "true", "false", "f32", "i64", "string", "-1"});
    return out;
  }
  auto all = [&](const std::string& v, size_t count) {
    out.push_back(with_items(old, std::vector<std::string>(count, v)));
  };
  for (int64_t v : extreme_integers) all(text(v), items.size());
  for (double v : extreme_reals) all(number_text(v), items.size());
  all(items[0], items.size() + 1);
  if (items.size() > 1) all(items[0], items.size() - 1);
  all("1", 40);
  return out;
}

bool is_ir_attribute(const Tree& layer, const Tree& c) {
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
        if (!is_ir_attribute(*layers[l], owners[o]->children[a])) continue;
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

// In the other formats: the first of each kind of leaf in a group, and the first row of a matrix.
template <class F>
void each_leaf(Tree& group, F&& f) {
  std::set<std::string> seen;
  for (Tree& c : group.children) {
    constexpr std::string_view dull[] = {"name", "op", "type", "inputs", "input", "bottom", "top", "raw_data", "#text"};
    if (std::find(std::begin(dull), std::end(dull), c.name) != std::end(dull) || c.name == "?") continue;
    if (!c.is_group() && seen.insert(c.name).second) f(c);
    else if (c.is_group() && (c.name != "row" || seen.insert(c.name).second)) each_leaf(c, f);
  }
}
void enumerate_leaves(const Document& seed, const Use& use) {
  Document d = seed;
  for (Tree* layer : layers_of(d))
    each_leaf(*layer, [&](Tree& leaf) {
      auto old = leaf.value;
      auto with = [&](decltype(Tree::value) value) {
        leaf.value = std::move(value);
        use(d);
      };
      if (leaf.integer())
        for (int64_t v : extreme_integers) with(v);
      if (leaf.real())
        for (double v : extreme_reals) with(v);
      if (const std::string* s = std::get_if<std::string>(&old)) {
        if (leaf.name.starts_with('@'))
          for (const std::string& v : texts_for(*s)) with(v);
        else
          for (const char* v : {"", "x", "1"}) with(std::string(v));
      }
      leaf.value = old;
    });
}

// ---- lengths ----

std::vector<size_t> other_lengths(size_t n) {
  std::vector<size_t> out;
  for (size_t v : {size_t{0}, size_t{1}, n - 1, n + 1, size_t{40}})
    if (v != n && v != SIZE_MAX && std::find(out.begin(), out.end(), v) == out.end()) out.push_back(v);
  return out;
}

// Fields that a group has once per element.
bool is_list(const Document& d, const Tree& owner, const Tree& c) {
  if (c.is_group()) return false;
  if (d.format == Format::onnx) return c.name == "ints" || c.name == "floats" || c.name == "strings";
  if (d.format == Format::tensorflow) return owner.name == "list";
  return d.format == Format::caffe && c.name != "name" && c.name != "type";
}
void enumerate_fields(const Document& seed, const Use& use) {
  Document d = seed;
  // Found anew each time: changing a group moves those inside.
  auto owners = [&] { return find_if(d.root, [](const Tree& t) { return !t.children.empty(); }); };
  for (size_t at = 0; at < owners().size(); ++at) {
    Tree* owner = owners()[at];
    std::set<std::string> names;
    for (const Tree& c : owner->children)
      if (is_list(d, *owner, c)) names.insert(c.name);
    std::vector<Tree> kept = owner->children;
    for (const std::string& name : names) {
      std::vector<Tree> items;
      for (const Tree& c : kept)
        if (c.name == name) items.push_back(c);
      for (size_t n : other_lengths(items.size())) {
        owner->erase(name);
        for (size_t i = 0; i < n; ++i) owner->children.push_back(items[i % items.size()]);
        use(d);
        owner->children = kept;
      }
    }
  }
}

// Lists in a text, which attributes of an IR and of MXNet are.
void enumerate_texts(const Document& seed, const Use& use) {
  Document d = seed;
  for (Tree* t : find_if(d.root, [](const Tree& t) { return t.name.starts_with('@') && t.text(); })) {
    bool dull = t->name == "@name" || t->name == "@id" || t->name == "@offset" || t->name == "@size";
    std::string old = *t->text();
    std::vector<std::string> items = items_of(old);
    bool list = items.size() > 1 || old.starts_with('(') || old.starts_with('[') || parse_number(old).has_value();
    if (dull || !list || items.empty()) continue;
    for (size_t n : other_lengths(items.size())) {
      std::vector<std::string> changed;
      for (size_t i = 0; i < n; ++i) changed.push_back(items[i % items.size()]);
      *t->text() = with_items(old, changed);
      use(d);
    }
    *t->text() = old;
  }
}

// Constants: lists, and the matrices of Kaldi.
void enumerate_constants(const Document& seed, const Use& use) {
  Document first = seed;
  for (size_t i = 0; i < places_of(first).size(); ++i) {
    Place original = places_of(first)[i];
    std::vector<int64_t> dims = dims_of(first, original);
    bool wanted = dims.size() == 1 || (first.format == Format::kaldi && dims.size() == 2);
    if (!original.constant || !wanted) continue;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      for (size_t n : other_lengths(static_cast<size_t>(std::max<int64_t>(dims[axis], 0)))) {
        std::vector<int64_t> changed = dims;
        changed[axis] = static_cast<int64_t>(n);
        Document d = seed;
        set_dims(d, places_of(d)[i], changed);
        use(d);
      }
  }
}

// ---- inputs ----

// What a constant has, or ones.
std::vector<int64_t> integers_of(Document& d, const Place& p, size_t count) {
  std::vector<int64_t> out;
  constexpr std::string_view lists[] = {"int64_data", "int32_data", "int64_val", "int_val"};
  if (p.constant && (d.format == Format::onnx || d.format == Format::tensorflow))
    for (const Tree& c : p.owner->children)
      if (std::find(std::begin(lists), std::end(lists), c.name) != std::end(lists) && c.integer())
        out.push_back(*c.integer());
  size_t element = 1;
  auto [data, size] = p.constant ? content_of(d, p, element) : std::pair<char*, size_t>{nullptr, 0};
  for (size_t at = 0; out.empty() && data && at + element <= size && element <= 8; at += element) {
    uint64_t v = 0;
    std::memcpy(&v, data + at, element);
    auto unused = static_cast<int>(64 - 8 * element);
    out.push_back(static_cast<int64_t>(v << unused) >> unused);
  }
  if (out.size() < count) out.resize(count, out.empty() ? 1 : out.back());
  return out;
}

void enumerate_inputs(const Document& seed, const UseVariant& use) {
  constexpr size_t most = 64;  // elements: what has more is data
  constexpr int64_t extremes[] = {INT64_MIN, -(int64_t{1} << 62), INT32_MIN,        -2,       -1, 0,
                                  INT32_MAX, int64_t{1} << 31,    int64_t{1} << 62, INT64_MAX};
  Document first = seed;
  struct Integers {
    size_t place;
    std::vector<int64_t> values;
  };
  std::vector<Integers> all;
  for (size_t i = 0; i < places_of(first).size(); ++i) {
    Place p = places_of(first)[i];
    if (!has_integers(first, p)) continue;
    size_t count = 1;
    for (int64_t v : dims_of(first, p)) count = v < 0 || v > 1024 ? most + 1 : count * static_cast<size_t>(v);
    if (count <= most) all.push_back({i, integers_of(first, p, count)});
  }
  // Makes some of them inputs; from the last on, since a constant that becomes an input changes its place.
  auto opened = [&](auto&& wanted, GivenInputs& given, std::string& name, size_t chosen) {
    Document d = seed;
    for (size_t k = all.size(); k-- > 0;) {
      if (!wanted(k)) continue;
      Place p = places_of(d)[all[k].place];
      std::string called = p.constant               ? make_input(d, p)
                           : d.format == Format::ir ? p.owner->text_of("@name")
                                                    : p.owner->text_of("name");
      given[called] = all[k].values;
      if (k == chosen) name = called;
    }
    return d;
  };
  for (size_t k = 0; k < all.size(); ++k)
    for (bool alone : {true, false}) {
      if (!alone && all.size() == 1) continue;
      GivenInputs given;
      std::string name;
      Document d = opened([&](size_t i) { return !alone || i == k; }, given, name, k);
      if (name.empty()) continue;
      const std::vector<int64_t> before = all[k].values;
      for (int64_t v : extremes) {
        given[name] = std::vector<int64_t>(std::max<size_t>(before.size(), 1), v);
        use(d, given);
        if (before.size() < 2) continue;
        for (size_t at : {size_t{0}, before.size() - 1}) {
          given[name] = before;
          given[name][at] = v;
          use(d, given);
        }
      }
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

std::string text_of(const GivenInputs& given) {
  std::string out;
  for (const auto& [name, values] : given) {
    out += (out.empty() ? "" : ";") + name + "=";
    for (size_t i = 0; i < values.size(); ++i) out += (i ? "," : "") + text(values[i]);
  }
  return out;
}
GivenInputs given_inputs(std::string_view given) {
  GivenInputs out;
  for (std::string_view one : split(given, ';')) {
    size_t equals = one.rfind('=');
    if (equals == one.npos) throw_user("expected NAME=VALUE,..., got '", one, "'");
    for (std::string_view v : split(one.substr(equals + 1), ',')) {
      auto i = parse_int(v);
      if (!i) throw_user("expected an integer, got '", v, "'");
      out[std::string(one.substr(0, equals))].push_back(*i);
    }
  }
  return out;
}

Enumeration enumeration_named(std::string_view name) {
  constexpr std::string_view names[] = {"ranks", "attributes", "lengths", "inputs"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name) return static_cast<Enumeration>(i);
  throw_user("expected ranks, attributes, lengths or inputs, got '", name, "'");
}

void enumerate(Enumeration what, const Document& seed, const Vocabulary& vocabulary, const UseVariant& use_variant) {
  Use use = [&](const Document& d) { use_variant(d, {}); };
  switch (what) {
    case Enumeration::ranks: enumerate_ranks(seed, use), enumerate_absent(seed, use); break;
    case Enumeration::lengths:
      enumerate_fields(seed, use), enumerate_texts(seed, use), enumerate_constants(seed, use);
      break;
    case Enumeration::inputs: enumerate_inputs(seed, use_variant); break;
    case Enumeration::attributes:
      if (seed.format == Format::onnx) enumerate_onnx(seed, vocabulary, use);
      else if (seed.format == Format::ir) enumerate_ir(seed, use);
      else enumerate_leaves(seed, use);
  }
}

std::set<std::string> kinds_in(Document& d, Enumeration what) {
  std::set<std::string> out;
  for (Tree* l : layers_of(d)) {
    Tree* type = type_of(d, *l);
    if (!type || !type->text()) continue;
    std::string kind = *type->text();
    Tree* attributes = what == Enumeration::lengths ? attributes_of(d, *l) : nullptr;
    for (Tree& c : attributes ? attributes->children : std::vector<Tree>()) {
      if (!is_attribute(d, c) && c.name != "input") continue;
      bool word = c.text() && items_of(*c.text()).size() == 1 && !parse_number(*c.text());
      kind += " " + (d.format == Format::onnx ? c.text_of("name") + "=" + c.text_of("s") : c.name) +
              (word && d.format != Format::kaldi && c.name != "input" ? *c.text() : "");
    }
    out.insert(kind);
  }
  return out;
}

}  // namespace graft::fuzzing

#include "mutate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "document_formats.hpp"

namespace graft::fuzzing {

const std::vector<int64_t> extreme_integers{0,         1,         -1,        2,         3,         7,
                                            64,        -2,        -9,        65536,     INT32_MAX, int64_t{1} << 31,
                                            INT32_MIN, 1LL << 40, 1LL << 62, INT64_MAX, INT64_MIN, INT64_MIN + 1};
const std::vector<double> extreme_reals{0,
                                        -0.0,
                                        1,
                                        -1,
                                        0.5,
                                        1e-45,
                                        1e-7,
                                        1e7,
                                        3.4e38,
                                        -3.4e38,
                                        1e300,
                                        std::numeric_limits<double>::infinity(),
                                        -std::numeric_limits<double>::infinity(),
                                        std::nan("")};

namespace {

using Others = std::vector<Document>;

int64_t some_integer(Random& r, int64_t old) {
  switch (r.below(6)) {
    case 0: return r.pick(extreme_integers);
    case 1: return static_cast<int64_t>(static_cast<uint64_t>(old) + 1);
    case 2: return static_cast<int64_t>(static_cast<uint64_t>(old) - 1);
    case 3: return static_cast<int64_t>(0 - static_cast<uint64_t>(old));
    default: return static_cast<int64_t>(r.below(9)) - 3;
  }
}
double some_real(Random& r, double old) {
  switch (r.below(5)) {
    case 0: return r.pick(extreme_reals);
    case 1: return -old;
    case 2: return old * 2;
    default: return r.unit() * 4 - 1;
  }
}
int64_t some_dim(Random& r) {
  if (r.one_in(6)) return -1;
  if (r.one_in(8)) return 0;
  if (r.one_in(40)) return std::abs(r.pick(extreme_integers) % (int64_t{1} << 40));
  return 1 + static_cast<int64_t>(r.below(6));
}

// Names, comments and what the readers do not trust anyway: rarely worth a change.
bool is_dull(const Tree& t) {
  static const std::set<std::string, std::less<>> dull{
      "?",        "name",   "@name",   "@names", "value_info", "rt_info", "dim",        "@precision", "doc_string",
      "raw_data", "domain", "@offset", "@size",  "versions",   "device",  "ir_version", "@id",        "#text"};
  return dull.count(t.name) > 0;
}

// ---- numbers and words ----

bool is_number(const Tree& t) {
  if (t.value.index() == 1 || t.value.index() == 2) return true;
  if (!t.text() || t.name.empty() || t.name[0] != '@') return false;
  // In XML and in the parameters of MXNet: a list of numbers, unknown dimensions among them.
  for (const std::string& s : items_of(*t.text()))
    if (!parse_number(s) && s != "?" && !parse_dim(s)) return false;
  return true;
}

void change_item(std::string& item, Random& r) {
  if (auto i = parse_int(trim(item))) item = text(some_integer(r, *i));
  else item = number_text(some_real(r, parse_number(trim(item)).value_or(1)));
  if (r.one_in(16)) item = number_text(r.pick(extreme_reals));
  if (r.one_in(30)) item = "";
}
void change_list(std::string& list, Random& r) {
  std::vector<std::string> items = items_of(list);
  if (items.empty() || r.one_in(8)) items.emplace_back(items.empty() ? "1" : items.back());
  else if (r.one_in(8)) items.pop_back();
  else if (r.one_in(12)) std::fill(items.begin(), items.end(), text(r.pick(extreme_integers)));
  else change_item(r.pick(items), r);
  if (r.one_in(200)) items.assign(3000, "1");
  list = with_items(list, items);
}

// Groups first, so that a large constant is not all that ever changes.
template <class Wanted>
Tree* pick_leaf(Document& d, Random& r, Wanted&& wanted) {
  bool dull = r.one_in(16);
  auto takes = [&](const Tree& t) { return !t.is_group() && (dull || !is_dull(t)) && wanted(t); };
  std::vector<Tree*> groups = find_if(d.root, [&](const Tree& t) {
    return std::any_of(t.children.begin(), t.children.end(), takes) && (dull || !is_dull(t));
  });
  if (groups.empty()) return nullptr;
  std::vector<Tree*> leaves;
  for (Tree& c : r.pick(groups)->children)
    if (takes(c)) leaves.push_back(&c);
  return r.pick(leaves);
}

bool change_number(Document& d, Random& r, const Others&) {
  Tree* t = pick_leaf(d, r, is_number);
  if (!t) return false;
  if (int64_t* i = t->integer()) *i = some_integer(r, *i);
  else if (double* v = t->real()) *v = some_real(r, *v);
  else change_list(*t->text(), r);
  return true;
}

bool change_word(Document& d, Random& r, const Others& others) {
  Tree* t = pick_leaf(d, r, [](const Tree& t) { return t.text() && !is_number(t); });
  if (!t) return false;
  if (r.one_in(10)) {
    *t->text() = r.one_in(2) ? "" : r.one_in(2) ? "x" : std::string(300, 'a');
    return true;
  }
  Document& from = others.empty() ? d : const_cast<Document&>(r.pick(others));
  std::vector<Tree*> same = find_if(from.root, [&](const Tree& o) { return o.name == t->name && o.text(); });
  if (same.empty()) return false;
  std::string word = *r.pick(same)->text();
  *t->text() = word;
  return true;
}

// ---- shapes, types, constants ----

bool change_shape(Document& d, Random& r, const Others&) {
  auto places = places_of(d);
  if (places.empty()) return false;
  Place p = r.pick(places);
  std::vector<int64_t> dims = dims_of(d, p);
  switch (r.below(5)) {
    case 0: dims.insert(dims.begin() + static_cast<ptrdiff_t>(r.below(dims.size() + 1)), 1); break;
    case 1:
      if (!dims.empty()) dims.erase(dims.begin() + static_cast<ptrdiff_t>(r.below(dims.size())));
      break;
    case 2:
      dims.resize(r.below(7));
      for (int64_t& v : dims) v = some_dim(r);
      break;
    default:
      if (!dims.empty()) r.pick(dims) = some_dim(r);
  }
  if (p.constant)
    for (int64_t& v : dims) v = v < 0 ? 1 : v;
  set_dims(d, p, dims);
  return true;
}
bool change_type(Document& d, Random& r, const Others&) {
  auto places = places_of(d);
  if (places.empty()) return false;
  set_type(d, r.pick(places), r.one_in(2) ? r.below(8) : r.below(24));
  return true;
}
bool change_content(Document& d, Random& r, const Others&) {
  auto places = places_of(d);
  std::erase_if(places, [](const Place& p) { return !p.constant; });
  if (places.empty()) return false;
  size_t element = 1;
  auto [data, size] = content_of(d, r.pick(places), element);
  if (!data || size < element) return false;
  for (size_t n = 1 + r.below(3); n > 0; --n) {
    char* at = data + r.below(size / element) * element;
    int64_t v = some_integer(r, 1);
    auto single = static_cast<float>(some_real(r, 1));
    double real = single;
    if (element == 4 && r.one_in(2)) std::memcpy(at, &single, 4);
    else if (element == 8 && r.one_in(2)) std::memcpy(at, &real, 8);
    else std::memcpy(at, &v, std::min<size_t>(element, 8));
  }
  return true;
}
// A constant that the shape functions can no longer look at.
bool constant_to_input(Document& d, Random& r, const Others&) {
  auto places = places_of(d);
  std::erase_if(places, [&](const Place& p) { return !p.constant; });
  return !places.empty() && !make_input(d, r.pick(places)).empty();
}

// ---- edges and ports ----

// Names of values in ONNX and TensorFlow.
std::vector<std::string> values_in(Document& d) {
  std::vector<std::string> out;
  for (Tree* n : layers_of(d))
    for (const Tree& c : n->children)
      if (c.name == (d.format == Format::onnx ? "output" : "name") && c.text()) out.push_back(*c.text());
  for (const Place& p : places_of(d)) out.push_back(p.owner->text_of("name"));
  return out;
}

bool rewire(Document& d, Random& r, const Others&) {
  if (d.format == Format::ir) {
    std::vector<Tree*> edges = find_if(d.root, [](const Tree& t) { return t.name == "edge" && t.child("@from-port"); });
    if (edges.size() < 2) return false;
    Tree *a = r.pick(edges), *b = r.pick(edges);
    for (std::string_view end : {"@from-layer", "@from-port"})
      if (a->child(end) && b->child(end)) a->child(end)->value = b->child(end)->value;
    return a != b;
  }
  std::string input = d.format == Format::caffe ? "bottom" : "input";
  std::vector<Tree*> inputs;
  for (Tree* n : layers_of(d))
    for (Tree& c : n->children)
      if (c.name == input && c.text()) inputs.push_back(&c);
  std::vector<std::string> values = values_in(d);
  if (d.format == Format::caffe)
    for (Tree* t : find_all(d.root, "top"))
      if (t->text()) values.push_back(*t->text());
  if (inputs.empty() || values.empty()) return false;
  *r.pick(inputs)->text() = r.one_in(8) ? "" : r.pick(values);
  return true;
}

bool change_ports_ir(Document& d, Random& r) {
  std::vector<Tree*> sides =
      find_if(d.root, [](const Tree& t) { return (t.name == "input" || t.name == "output") && t.child("port"); });
  if (sides.empty()) return false;
  Tree& side = *r.pick(sides);
  if (r.one_in(2)) {
    side.children.erase(side.children.begin() + static_cast<ptrdiff_t>(r.below(side.children.size())));
    return true;
  }
  Tree port = r.pick(side.children);
  std::string id = text(20 + r.below(100));
  if (Tree* at = port.child("@id")) at->value = id;
  side.children.push_back(port);
  if (side.name == "output") return true;
  // An edge that leads to it.
  for (Tree* net : find_if(d.root, [](const Tree& t) { return t.child("layers") && t.child("edges"); }))
    for (Tree& l : net->child("layers")->children)
      if (l.child("input") == &side && !net->child("edges")->children.empty()) {
        Tree edge = r.pick(net->child("edges")->children);
        if (edge.child("@to-layer")) edge.child("@to-layer")->value = l.text_of("@id");
        if (edge.child("@to-port")) edge.child("@to-port")->value = id;
        net->child("edges")->children.push_back(edge);
        return true;
      }
  return true;
}
// In MXNet an input is a list of numbers.
bool change_ports_mxnet(Document& d, Random& r) {
  std::vector<Tree*> nodes = layers_of(d);
  if (nodes.empty()) return false;
  std::vector<Tree>& inputs = r.pick(nodes)->child("inputs")->children;
  if (inputs.empty()) return false;
  auto at = inputs.begin() + static_cast<ptrdiff_t>(r.below(inputs.size()));
  if (r.one_in(2)) {
    inputs.erase(at);
    return true;
  }
  Tree again = *at;
  inputs.insert(at, std::move(again));
  return true;
}
bool change_ports(Document& d, Random& r, const Others&) {
  if (d.format == Format::ir) return change_ports_ir(d, r);
  if (d.format == Format::mxnet) return change_ports_mxnet(d, r);
  if (d.format == Format::kaldi) return false;
  std::vector<Tree*> nodes = layers_of(d);
  if (nodes.empty()) return false;
  Tree& n = *r.pick(nodes);
  bool output = d.format != Format::tensorflow && r.one_in(2);
  std::string port = d.format == Format::caffe ? (output ? "top" : "bottom") : output ? "output" : "input";
  std::vector<size_t> there;
  for (size_t i = 0; i < n.children.size(); ++i)
    if (n.children[i].name == port) there.push_back(i);
  if (!there.empty() && r.one_in(2)) {
    n.children.erase(n.children.begin() + static_cast<ptrdiff_t>(r.pick(there)));
    return true;
  }
  Tree added = there.empty() && d.format != Format::caffe ? make_field(d.format, "Node", port) : Tree();
  if (!there.empty()) added = n.children[there[0]];
  added.name = port;
  added.quoted = true;
  std::vector<std::string> values = values_in(d);
  added.value = output ? text("fresh", r.below(1000)) : values.empty() ? "x" : r.pick(values);
  n.children.push_back(added);
  return true;
}

// ---- layers and whole subtrees ----

size_t arity(const Document& d, const Tree& layer) {
  if (d.format == Format::ir) return layer.child("input") ? layer.child("input")->children.size() : 0;
  if (d.format == Format::mxnet) return layer.child("inputs")->children.size();
  return static_cast<size_t>(std::count_if(layer.children.begin(), layer.children.end(),
                                           [](const Tree& t) { return t.name == "input" || t.name == "bottom"; }));
}

// Another type of layer of, if possible, as many inputs; half of the time with its attributes.
bool change_layer_type(Document& d, Random& r, const Others& others) {
  std::vector<Tree*> layers = layers_of(d);
  if (layers.empty() || others.empty()) return false;
  Tree& l = *r.pick(layers);
  Tree* donor = nullptr;
  for (int attempt = 0; attempt < 8; ++attempt) {
    std::vector<Tree*> found = layers_of(const_cast<Document&>(r.pick(others)));
    if (found.empty()) continue;
    donor = r.pick(found);
    if (arity(d, *donor) == arity(d, l)) break;
  }
  if (!donor || !type_of(d, *donor) || !type_of(d, l)) return false;
  type_of(d, l)->value = type_of(d, *donor)->value;
  auto take = [&](std::string_view part) {
    l.erase(part);
    for (const Tree& c : donor->children)
      if (c.name == part) l.children.push_back(c);
  };
  if (d.format == Format::ir) take("@version");
  if (d.format == Format::onnx) take("domain");
  constexpr std::string_view attributes[] = {"attribute", "data", "attr", "attr", "attrs", "field"};
  if (r.one_in(2)) take(attributes[static_cast<size_t>(d.format)]);
  return true;
}

// A subtree again, gone, or replaced by one of the same name.
bool change_subtree(Document& d, Random& r, const Others& others) {
  bool dull = r.one_in(16);
  std::vector<Tree*> parents =
      find_if(d.root, [&](const Tree& t) { return !t.children.empty() && (dull || !is_dull(t)); });
  if (parents.empty()) return false;
  Tree& p = *r.pick(parents);
  size_t at = r.below(p.children.size());
  auto where = p.children.begin() + static_cast<ptrdiff_t>(at);
  if (!dull && is_dull(*where)) return false;
  switch (r.below(4)) {
    case 0: p.children.erase(where); return true;
    case 1: {
      Tree again = p.children[at];
      p.children.insert(where, std::move(again));
      return true;
    }
    case 2: {
      size_t to = r.below(p.children.size());
      std::swap(p.children[at], p.children[to]);
      return at != to;
    }
    default: {
      Document& from = others.empty() ? d : const_cast<Document&>(r.pick(others));
      std::vector<Tree*> same = find_all(from.root, p.children[at].name);
      if (same.empty()) return false;
      Tree taken = *r.pick(same);
      p.children[at] = std::move(taken);
      return true;
    }
  }
}

// An attribute that a layer of the same type has elsewhere.
bool add_attribute(Document& d, Random& r, const Others& others) {
  if (others.empty()) return false;
  std::vector<Tree*> layers = layers_of(d);
  if (layers.empty()) return false;
  Tree& l = *r.pick(layers);
  Tree* type = type_of(d, l);
  for (int attempt = 0; attempt < 60 && type; ++attempt) {
    Document& from = const_cast<Document&>(r.pick(others));
    for (Tree* o : layers_of(from)) {
      if (!type_of(from, *o) || type_of(from, *o)->value != type->value) continue;
      Tree *source = attributes_of(from, *o), *target = attributes_of(d, l);
      if (!source || !target) continue;
      for (const Tree& c : source->children) {
        if (!is_attribute(d, c) || !r.one_in(3)) continue;
        Tree taken = c;
        if (taken.name.starts_with('@')) target->erase(taken.name);
        target->children.push_back(std::move(taken));
        return true;
      }
    }
  }
  return false;
}

using Change = bool (*)(Document&, Random&, const Others&);
constexpr std::pair<int, Change> changes[] = {
    {8, change_number},     {3, change_word},       {7, change_shape},  {4, change_type},
    {4, change_content},    {2, constant_to_input}, {4, rewire},        {4, change_ports},
    {4, change_layer_type}, {5, change_subtree},    {3, add_attribute},
};

}  // namespace

void mutate(Document& d, Random& r, const Others& others) {
  int sum = 0;
  for (const auto& [weight, change] : changes) sum += weight;
  size_t count = 1 + r.below(4);
  for (size_t done = 0, attempts = 0; done < count && attempts < 40; ++attempts) {
    auto at = static_cast<int>(r.below(static_cast<size_t>(sum)));
    for (const auto& [weight, change] : changes)
      if ((at -= weight) < 0) {
        done += change(d, r, others);
        break;
      }
  }
}

}  // namespace graft::fuzzing

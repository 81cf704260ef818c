#include "readers/caffe/caffe.hpp"

#include <functional>
#include <set>
#include <unordered_map>

#include "base/text.hpp"
#include "readers/caffe/parts.hpp"

namespace graft {
namespace {

// Fields that belong to training, or that are stored elsewhere in the layer, do not become attributes.
constexpr std::string_view own_fields[] = {
    "name",  "type",  "bottom",      "top",          "blobs",          "include",  "exclude",
    "param", "phase", "loss_weight", "weight_decay", "propagate_down", "blobs_lr", "blob_share_mode"};
constexpr std::string_view data_layers[] = {"Data",      "ImageData",  "HDF5Data",       "WindowData", "AnnotatedData",
                                            "VideoData", "MemoryData", "DenseImageData", "DummyData"};

template <size_t n>
bool is_one_of(std::string_view word, const std::string_view (&words)[n]) {
  for (std::string_view w : words)
    if (w == word) return true;
  return false;
}

Attribute scalar_attribute(const ProtoNode& n) {
  if (n.kind == ProtoNode::number) {
    if (auto i = n.integer()) return *i;
    return *n.real();
  }
  if (n.kind == ProtoNode::word) {
    if (n.value == "true") return true;
    if (n.value == "false") return false;
    if (auto f = n.real()) return *f;
  }
  return n.value;
}

Attribute list_attribute(const std::vector<const ProtoNode*>& nodes) {
  auto integer = [](const ProtoNode& n) -> std::optional<int64_t> {
    if (n.kind == ProtoNode::word) return n.boolean();
    return n.integer();
  };
  auto real = [&](const ProtoNode& n) -> std::optional<double> {
    if (auto f = n.real()) return f;
    auto i = integer(n);
    return i ? std::optional(static_cast<double>(*i)) : std::nullopt;
  };
  auto list = [&](auto&& value) {
    std::vector<typename std::decay_t<decltype(value(*nodes[0]))>::value_type> out;
    for (const ProtoNode* n : nodes) {
      auto v = value(*n);
      if (!v) break;
      out.push_back(*v);
    }
    return out;
  };
  if (auto ints = list(integer); ints.size() == nodes.size()) return ints;
  if (auto reals = list(real); reals.size() == nodes.size()) return reals;
  return list([](const ProtoNode& n) { return std::optional<std::string>(n.value); });
}

// Puts the fields of messages under dotted paths. `refuse_number` and `refuse_path` throw.
struct Flattening {
  std::vector<std::pair<std::string, RawField>>& out;
  size_t most;
  std::function<void()> refuse_number;
  std::function<void(const ProtoNode&)> refuse_path;
  static constexpr size_t longest = 4096;  // path; every field inside a message repeats that of the message

  void add(const std::vector<const ProtoNode*>& fields, const std::string& prefix) {
    std::vector<std::vector<const ProtoNode*>> groups;  // of one name each
    std::unordered_map<std::string_view, size_t> places;
    for (const ProtoNode* f : fields) {
      auto [place, fresh] = places.emplace(f->name, groups.size());
      if (fresh) groups.emplace_back();
      groups[place->second].push_back(f);
    }
    for (const std::vector<const ProtoNode*>& group : groups) {
      const std::string& name = group[0]->name;
      std::string path = prefix + (name.starts_with('[') ? name.substr(1, name.size() - 2) : name);
      if (path.size() > longest) refuse_path(*group[0]);
      std::vector<const ProtoNode*> scalars;
      size_t messages = 0;
      for (const ProtoNode* n : group) {
        if (n->kind != ProtoNode::message) scalars.push_back(n);
        else add(pointers(n->fields), messages++ ? text(path, '.', messages - 1, '.') : path + ".");
      }
      if (scalars.empty()) continue;
      if (out.size() >= most) refuse_number();
      RawField field;
      if (scalars.size() == 1 && !scalars[0]->listed) field.value = scalar_attribute(*scalars[0]);
      else field.value = list_attribute(scalars);
      out.emplace_back(std::move(path), std::move(field));
    }
  }
  static std::vector<const ProtoNode*> pointers(const std::vector<ProtoNode>& fields) {
    std::vector<const ProtoNode*> out;
    for (const ProtoNode& f : fields) out.push_back(&f);
    return out;
  }
};

class CaffeReader {
 public:
  CaffeReader(std::string file, const CaffeBlobs* blobs, const Limits& limits)
      : file_(std::move(file)), blobs_(blobs), limits_(limits) {}

  RawModel model(const ProtoNode& net) {
    RawModel m;
    m.framework = "caffe", m.conventions = caffe_conventions;
    m.position_unit = "line";
    m.opsets[""] = 1;
    m.graph.name = net.text_of("name");
    bool any = false;
    for (const ProtoNode& f : net.fields) any |= f.name == "layer" || f.name == "layers";
    if (!any) throw_user(file_, ": the net has no layers");
    net_inputs(net, m.graph);
    for (const ProtoNode& f : net.fields) {
      if (f.name != "layer" && f.name != "layers") continue;
      if (f.kind != ProtoNode::message) broken(f, "expected a message for '", f.name, "', got a plain value");
      if (f.name == "layers" || f.find("layer")) layer(upgraded_caffe_layer(f), m.graph);
      else layer(f, m.graph);
    }
    if (m.graph.inputs.empty())
      throw Error(ErrorKind::user, text(file_, ": the net has no inputs"),
                  "a definition for training cannot be used: add 'input' fields or Input layers");
    name_values(m.graph);
    return m;
  }

 private:
  template <class... Parts>
  [[noreturn]] void broken(const ProtoNode& where, const Parts&... parts) const {
    throw_user(file_, ':', where.line, ": ", parts...);
  }

  // ---- inputs ----

  Shape shape_of(const ProtoNode& message) const {
    Shape s;
    if (message.kind != ProtoNode::message)
      broken(message, "expected a message for '", message.name, "', got '", message.value, "'");
    for (const ProtoNode* d : message.all("dim")) s.push_back(dimension(*d, s));
    return s;
  }
  Dim dimension(const ProtoNode& d, const Shape& so_far) const {
    if (so_far.dims().size() >= limits_.rank)
      over_limit(&Limits::rank, [&] { broken(d, "a shape has more than ", limits_.rank, " dimensions"); });
    auto n = d.integer();
    if (!n) broken(d, "expected a dimension, got '", d.value, "'");
    if (*n > static_cast<int64_t>(limits_.dimension))
      over_limit(&Limits::dimension,
                 [&] { broken(d, "expected a dimension of at most ", limits_.dimension, ", got ", *n); });
    return *n < 0 ? Dim() : Dim(*n);
  }

  void net_inputs(const ProtoNode& net, RawGraph& g) {
    std::vector<const ProtoNode*> names = net.all("input"), shapes = net.all("input_shape"),
                                  dims = net.all("input_dim");
    if (!shapes.empty() && shapes.size() != names.size())
      broken(*shapes[0], "expected ", names.size(), " input shapes, one per input, got ", shapes.size());
    if (shapes.empty() && !dims.empty() && names.size() != 1 && dims.size() != 4 * names.size())
      broken(*dims[0], "expected 4 'input_dim' fields for each of the ", names.size(), " inputs, got ", dims.size());
    for (size_t i = 0; i < names.size(); ++i) {
      Shape shape = Shape::unknown();
      if (!shapes.empty()) shape = shape_of(*shapes[i]);
      else if (!dims.empty()) {
        shape = Shape();
        size_t each = names.size() == 1 ? dims.size() : 4;
        for (size_t k = 0; k < each; ++k) shape.push_back(dimension(*dims[i * each + k], shape));
      }
      add_input(*names[i], names[i]->value, shape, g);
    }
  }

  void add_input(const ProtoNode& where, const std::string& name, const Shape& shape, RawGraph& g) {
    if (name.empty()) broken(where, "an input has no name");
    if (current_.count(name)) broken(where, "duplicate input '", name, "'");
    current_[name] = new_value(name, "", true);
    g.inputs.push_back({name, {DType::f32, shape}, {}});
  }

  void input_layer(const ProtoNode& l, RawGraph& g) {
    std::vector<const ProtoNode*> shapes;
    if (const ProtoNode* p = l.find("input_param")) shapes = p->all("shape");
    std::vector<const ProtoNode*> tops = l.all("top");
    if (shapes.size() > 1 && shapes.size() != tops.size())
      broken(l, "layer '", l.text_of("name"), "' (Input) has ", tops.size(), " tops and ", shapes.size(), " shapes");
    for (size_t i = 0; i < tops.size(); ++i) {
      const ProtoNode* s = shapes.empty() ? nullptr : shapes.size() == 1 ? shapes[0] : shapes[i];
      add_input(*tops[i], tops[i]->value, s ? shape_of(*s) : Shape::unknown(), g);
    }
  }

  // ---- layers ----

  // Does a rule of `include` or `exclude` apply to inference: phase TEST, level 0, no stages?
  bool meets(const ProtoNode& rule) const {
    if (const ProtoNode* p = rule.find("phase"); p && p->value != "TEST" && p->value != "1") return false;
    if (const ProtoNode* p = rule.find("min_level"); p && p->integer().value_or(0) > 0) return false;
    if (const ProtoNode* p = rule.find("max_level"); p && p->integer().value_or(0) < 0) return false;
    return !rule.find("stage");
  }
  bool is_used(const ProtoNode& l) const {
    bool included = false;
    std::vector<const ProtoNode*> include = l.all("include");
    for (const ProtoNode* r : include) included |= meets(*r);
    if (!include.empty()) return included;
    for (const ProtoNode* r : l.all("exclude"))
      if (meets(*r)) return false;
    return true;
  }

  void layer(const ProtoNode& l, RawGraph& g) {
    if (!is_used(l)) {
      for (const ProtoNode* t : l.all("top")) left_out_.emplace(t->value, l.text_of("name"));
      return;
    }
    RawNode n;
    n.name = l.text_of("name");
    n.type = l.text_of("type");
    n.position = l.line;
    if (n.type.empty()) broken(l, "layer '", n.name, "' has no type");
    if (n.type == "Input") return input_layer(l, g);
    if (is_one_of(n.type, data_layers))
      throw Error(ErrorKind::user,
                  text(file_, ':', l.line, ": layer '", n.name, "' (", n.type, ") reads a training data set"),
                  "use the deployment definition, or replace the layer by an Input layer");
    if (++nodes_ > limits_.nodes)
      over_limit(&Limits::nodes, [&] { broken(l, "the net has more than ", limits_.nodes, " layers"); });
    std::set<std::string> taken;
    for (const ProtoNode* b : l.all("bottom")) {
      auto it = current_.find(b->value);
      if (auto other = left_out_.find(b->value); it == current_.end() && other != left_out_.end())
        throw Error(ErrorKind::user,
                    text(file_, ':', b->line, ": layer '", n.name, "' (", n.type, ") consumes '", b->value,
                         "', which only the training layer '", other->second, "' produces"),
                    "use the deployment definition, or replace that layer by an Input layer");
      if (it == current_.end())
        broken(*b, "layer '", n.name, "' (", n.type, ") consumes '", b->value, "', which no layer before it produces");
      taken.insert(b->value);
      values_[it->second].used = true;
      n.inputs.push_back(text(it->second));
      constexpr size_t usual = 8;  // many rules make a node of each input
      if (n.inputs.size() > usual) ++nodes_;
    }
    for (const ProtoNode* t : l.all("top")) {
      if (t->value.empty()) broken(*t, "layer '", n.name, "' (", n.type, ") has a top without a name");
      auto it = current_.find(t->value);
      if (it != current_.end() && !taken.count(t->value))
        broken(*t, "layer '", n.name, "' (", n.type, ") produces '", t->value, "', which already exists");
      taken.erase(t->value);
      size_t v = new_value(t->value, n.name, false);
      current_[t->value] = v;
      n.outputs.push_back(text(v));
    }
    for (const ProtoNode& f : l.fields)
      if (is_one_of(f.name, own_fields) && f.kind == ProtoNode::message && (f.name == "name" || f.name == "type"))
        broken(f, "expected a string for '", f.name, "' of a layer, got a message");
    parameters(l, n);
    if (n.type == "Python") python(l, n);
    weights(n, g);
    g.nodes.push_back(std::move(n));
  }

  void parameters(const ProtoNode& l, RawNode& n) const {
    std::vector<const ProtoNode*> own;
    for (const ProtoNode& f : l.fields)
      if (!is_one_of(f.name, own_fields)) own.push_back(&f);
    Flattening{n.fields, limits_.attributes, [&] { too_many(l, n); },
               [&](const ProtoNode& f) {
                 broken(f, "layer '", n.name, "' (", n.type, ") has a field with a path of more than ",
                        Flattening::longest, " characters");
               }}
        .add(own, "");
  }
  [[noreturn]] void too_many(const ProtoNode& l, const RawNode& n) const {
    over_limit(&Limits::attributes,
               [&] { broken(l, "layer '", n.name, "' (", n.type, ") has more than ", limits_.attributes, " fields"); });
  }

  // The type of a Python layer is its class.
  void python(const ProtoNode& l, RawNode& n) const {
    const RawField* layer = n.find("python_param.layer");
    const std::string* name = layer ? layer->value.get_if<std::string>() : nullptr;
    if (!name || name->empty()) broken(l, "layer '", n.name, "' (Python) has no python_param.layer");
    n.type = *name;
    const RawField* params = n.find("python_param.param_str");
    const std::string* source = params ? params->value.get_if<std::string>() : nullptr;
    if (!source) return;
    for (auto& [key, value] : parse_python_fields(*source)) {
      if (n.fields.size() >= limits_.attributes) too_many(l, n);
      RawField f;
      f.value = std::move(value);
      n.fields.emplace_back("python_param.param_str." + key, std::move(f));
    }
  }

  void weights(RawNode& n, RawGraph& g) {
    if (!blobs_) return;
    auto found = blobs_->find(n.name);
    if (found == blobs_->end()) return;
    std::vector<size_t>& constants = layer_constants_[n.name];
    if (constants.empty())
      for (size_t i = 0; i < found->second.size(); ++i) {
        constants.push_back(new_value(text(n.name, i == 0   ? "/weights"
                                                   : i == 1 ? "/biases"
                                                            : text("/custom_", i)),
                                      "", false));
        values_.back().constant = true;
        g.constants.emplace_back(text(constants.back()), found->second[i]);
      }
    n.weights = constants.size();
    for (size_t c : constants) n.inputs.push_back(text(c));
  }

  // ---- names ----

  struct Value {
    std::string blob, layer;
    bool input = false, used = false, constant = false;
  };
  size_t new_value(const std::string& blob, const std::string& layer, bool input) {
    values_.push_back({blob, layer, input});
    return values_.size() - 1;
  }

  // Replaces value numbers by names. Inputs and the last value of each blob get the blob's name, earlier ones another.
  void name_values(RawGraph& g) {
    std::vector<std::string> names(values_.size());
    std::set<std::string> given;
    for (size_t v = 0; v < values_.size(); ++v)
      if (values_[v].input) given.insert(names[v] = values_[v].blob);
    for (size_t v = 0; v < values_.size(); ++v) {
      auto it = current_.find(values_[v].blob);
      if (names[v].empty() && !values_[v].constant && it != current_.end() && it->second == v)
        if (given.insert(values_[v].blob).second) names[v] = values_[v].blob;
    }
    std::unordered_map<std::string, int> tried;  // numbers behind a name, so that many equal names are found quickly
    for (size_t v = 0; v < values_.size(); ++v) {
      if (!names[v].empty()) continue;
      std::string base = values_[v].constant ? values_[v].blob : text(values_[v].blob, '/', values_[v].layer);
      names[v] = base;
      for (int& i = tried[base]; !given.insert(names[v]).second;) names[v] = text(base, '_', ++i);
    }
    auto name = [&](std::string& number) { number = names[static_cast<size_t>(*parse_int(number))]; };
    for (RawNode& n : g.nodes) {
      for (std::string& in : n.inputs) name(in);
      for (std::string& out : n.outputs) name(out);
    }
    for (auto& [c, t] : g.constants) name(c);
    for (size_t v = 0; v < values_.size(); ++v)
      if (!values_[v].used && !values_[v].input && !values_[v].constant) g.outputs.push_back({names[v], {}, {}});
  }

  std::string file_;
  const CaffeBlobs* blobs_;
  Limits limits_;
  uint64_t nodes_ = 0;
  std::vector<Value> values_;
  std::unordered_map<std::string, size_t> current_;        // blob -> its latest value
  std::unordered_map<std::string, std::string> left_out_;  // blob -> the layer that produces it in another phase
  std::unordered_map<std::string, std::vector<size_t>> layer_constants_;
};

// The text after leading blanks and comments.
std::string_view first_token(std::string_view s) {
  if (s.starts_with("\xef\xbb\xbf")) s.remove_prefix(3);
  s = trim(s);
  while (s.starts_with('#')) s = trim(s.substr(std::min(s.find('\n'), s.size())));
  return s;
}

}  // namespace

bool looks_like_caffe_text(std::string_view bytes) {
  std::string_view s = first_token(bytes);
  size_t n = 0;
  while (n < s.size() && ((s[n] >= 'a' && s[n] <= 'z') || s[n] == '_')) ++n;
  std::string_view word = s.substr(0, n), rest = first_token(s.substr(n));
  if (rest.empty() || (rest[0] != ':' && rest[0] != '{' && rest[0] != '<')) return false;
  if (word == "layer" || word == "layers" || word == "input_dim" || word == "input_shape" || word == "force_backward")
    return true;
  return (word == "name" || word == "input" || word == "state" || word == "debug_info") &&
         (s.find("layer") != s.npos || s.find("input") != s.npos);
}

namespace {

// A second-generation layer has a name (4) and a type (5); a first-generation one has both inside another message.
// A TensorFlow graph has similar messages, but hardly ever a single one.
bool looks_like_old_layer(Wire w) {
  bool name = false, type = false;
  size_t inside = 0;
  while (w.next()) {
    name |= w.field() == 4 && w.type() == Wire::bytes_type;
    type |= w.field() == 5 && w.type() == Wire::varint_type;
    if (w.field() != 1 || w.type() != Wire::bytes_type) continue;
    if (++inside > 1) return false;
    bool inner_name = false, inner_type = false;
    for (Wire l = w.message("layer"); l.next(); l.skip()) {
      inner_name |= l.field() == 1 && l.type() == Wire::bytes_type;
      inner_type |= l.field() == 2 && l.type() == Wire::bytes_type;
    }
    if (!inner_name || !inner_type) return false;
  }
  return inside || (name && type);
}

}  // namespace

bool looks_like_caffe_weights(std::string_view bytes) {
  size_t names = 0;
  try {
    for (Wire w(bytes, "file"); w.next();) {
      if (w.field() == 1 && (w.type() != Wire::bytes_type || ++names > 1)) return false;
      if (w.field() == 100 && w.type() == Wire::bytes_type) return true;
      if (w.field() == 2 && w.type() == Wire::bytes_type) return looks_like_old_layer(w.message("layer"));
    }
  } catch (const Error&) {
  }
  return false;
}

RawModel read_caffe(std::string_view prototxt, const std::string& name, std::string_view caffemodel,
                    std::shared_ptr<const void> keeper, const Limits& limits) {
  CaffeBlobs blobs = read_caffe_blobs(caffemodel, keeper, limits);
  if (!trim(prototxt).empty() || caffemodel.empty())
    return CaffeReader(name, &blobs, limits).model(parse_proto_text(prototxt, name));
  RawModel m = CaffeReader(name, &blobs, limits).model(read_caffe_definition(caffemodel, limits));
  m.position_unit = "byte";
  return m;
}

RawModel read_caffe(const std::string& prototxt, const std::string& caffemodel, const Limits& limits) {
  const std::string& main = prototxt.empty() ? caffemodel : prototxt;
  return with_context(
      [&] {
        std::shared_ptr<const MappedFile> text, weights;
        if (!prototxt.empty()) text = MappedFile::open(prototxt);
        if (!caffemodel.empty()) weights = MappedFile::open(caffemodel);
        RawModel m = read_caffe(text ? text->chars() : std::string_view(), main,
                                weights ? weights->chars() : std::string_view(), weights, limits);
        m.path = main;
        return m;
      },
      [&] {
        return prototxt.empty() || caffemodel.empty()
                   ? text("reading '", main, "' as Caffe")
                   : text("reading '", prototxt, "' with '", caffemodel, "' as Caffe");
      });
}

}  // namespace graft

#include "schema/resolve.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/attribute_text.hpp"

namespace graft {
namespace {

void check_number(double v, const graft_attr& a) {
  if (std::isnan(v) ? (std::isfinite(a.min) || std::isfinite(a.max)) : (v < a.min || v > a.max)) {
    std::string want = !std::isfinite(a.max)   ? text("of at least ", a.min)
                       : !std::isfinite(a.min) ? text("of at most ", a.max)
                                               : text("between ", a.min, " and ", a.max);
    throw_user("expected a value ", want, ", got ", v);
  }
}

std::string with_article(graft_kind kind) {
  std::string_view name = kind_name(kind);
  return text(kind == GRAFT_NONE ? "" : name[0] == 'i' || name[0] == 'e' ? "an " : "a ", name);
}

// Enumerators are compared case-insensitively: IRs of different ages write "CAFFE" and "caffe".
Attribute normal_word(Attribute v, const graft_attr& a) {
  auto s = v.get_if<std::string>();
  if (!s) return v;
  for (size_t i = 0; i < a.allowed_count; ++i)
    if (equal_ignoring_case(view(a.allowed[i]), *s)) return std::string(view(a.allowed[i]));
  return v;
}

// An f32 attribute is rounded to f32, so that writing and reading it back changes nothing.
Attribute single_precision(Attribute v, const graft_attr& a) {
  return a.flags & GRAFT_ATTR_F32 ? rounded_to_f32(v) : v;
}

void check_inputs(const Node& node, const OpDef& op) {
  size_t most = op.inputs().size();
  bool variadic = most && op.inputs()[most - 1]->flags & GRAFT_PORT_VARIADIC;
  if (node.inputs.size() > most && !variadic)
    throw_user("expected at most ", most, " inputs, got ", node.inputs.size());
  for (size_t i = 0; i < most; ++i) {
    const graft_port& p = *op.inputs()[i];
    if (p.flags & (GRAFT_PORT_OPTIONAL | GRAFT_PORT_VARIADIC)) continue;
    if (i >= node.inputs.size() || !node.inputs[i].present()) throw_user("missing input ", i, " ('", p.name, "')");
  }
}

}  // namespace

void check_attribute(const Attribute& v, const graft_attr& a) {
  if (auto i = v.get_if<int64_t>()) check_number(static_cast<double>(*i), a);
  if (auto f = v.get_if<double>()) check_number(*f, a);
  if (auto list = v.get_if<std::vector<int64_t>>())
    for (int64_t i : *list) check_number(static_cast<double>(i), a);
  if (auto list = v.get_if<std::vector<double>>())
    for (double f : *list) check_number(f, a);
  if (auto s = v.get_if<std::string>(); s && a.allowed_count) {
    std::vector<std::string_view> words;
    for (size_t i = 0; i < a.allowed_count; ++i) words.push_back(view(a.allowed[i]));
    for (std::string_view w : words)
      if (w == *s) return;
    throw_user("expected one of ", join(words, ", "), ", got '", *s, "'");
  }
}

std::string describe(const Node& node) {
  return node.name.empty() ? node.type : text('\'', node.name, "' (", node.type, ')');
}

const OpDef& definition(const Registry& registry, const Node& node) {
  if (const OpDef* op = registry.find(node.type, node.opset)) return *op;
  throw_unsupported("unknown operation ", node.type, " of ", node.opset);
}

std::vector<const OpDef*> extension_operations(const Registry& registry, std::string_view type) {
  std::vector<const OpDef*> out;
  for (const OpDef* d : registry.ops())
    if (!d->source->built_in() && (equal_ignoring_case(d->name(), type) || equal_ignoring_case(d->ir_name(), type)))
      out.push_back(d);
  bool whole = std::any_of(out.begin(), out.end(), [](const OpDef* d) { return !d->has(GRAFT_OP_WEAK); });
  if (whole) std::erase_if(out, [](const OpDef* d) { return d->has(GRAFT_OP_WEAK); });
  return out;
}

const OpDef* known_definition(const Registry& registry, const Node& node) {
  const OpDef* op = registry.find(node.type, node.opset);
  if (node.opset != "extension" || (op && !op->has(GRAFT_OP_WEAK))) return op;
  std::vector<const OpDef*> known = extension_operations(registry, node.type);
  if (known.size() < 2) return known.empty() ? nullptr : known[0];
  std::vector<std::string> titles;
  for (const OpDef* d : known) titles.push_back(text(d->name(), " of ", d->opset()));
  throw Error(ErrorKind::user, text("several operations have this type: ", join(titles, ", ")),
              "name the opset, or load one extension that defines it");
}

void parse_texts(Attributes& attributes, const OpDef& op) {
  for (const graft_attr* a : op.attrs())
    for (auto& [name, value] : attributes)
      if (name == view(a->name) && value.kind() == GRAFT_TEXT && a->kind != GRAFT_TEXT) {
        try {
          value = parse_attribute(std::string(value.as<std::string>()), a->kind);
        } catch (const Error& e) {
          throw Error(e.kind(), text(op.name(), ": attribute '", name, "': ", e.message()), e.hint());
        }
      }
}

Attribute coerce(const Attribute& v, graft_kind kind) {
  if (v.kind() == kind) return v;
  if (kind == GRAFT_FLOAT) {
    if (auto i = v.get_if<int64_t>()) return static_cast<double>(*i);
  }
  if (kind == GRAFT_INT) {
    if (auto b = v.get_if<bool>()) return static_cast<int64_t>(*b);
    if (auto f = v.get_if<double>(); f && std::nearbyint(*f) == *f && std::fabs(*f) < 9e15)
      return static_cast<int64_t>(*f);
  }
  if (kind == GRAFT_BOOL) {
    if (auto i = v.get_if<int64_t>(); i && (*i == 0 || *i == 1)) return *i == 1;
  }
  if (kind == GRAFT_DTYPE) {
    if (auto s = v.get_if<std::string>())
      if (auto t = parse_dtype(*s)) return *t;
  }
  if (kind == GRAFT_DTYPES) {
    if (auto list = v.get_if<std::vector<std::string>>()) {
      std::vector<DType> out;
      for (const std::string& s : *list) {
        auto t = parse_dtype(s);
        if (!t) throw_user("expected an element type, got '", s, "'");
        out.push_back(*t);
      }
      return out;
    }
  }
  // A single value where a list is expected.
  if (auto i = v.get_if<int64_t>()) {
    if (kind == GRAFT_INTS) return std::vector<int64_t>{*i};
    if (kind == GRAFT_FLOATS) return std::vector<double>{static_cast<double>(*i)};
  }
  if (auto f = v.get_if<double>(); f && kind == GRAFT_FLOATS) return std::vector<double>{*f};
  if (auto s = v.get_if<std::string>(); s && kind == GRAFT_TEXTS) return std::vector<std::string>{*s};
  // An empty list has no kind of its own.
  if (auto list = v.get_if<std::vector<int64_t>>()) {
    if (kind == GRAFT_FLOATS) return std::vector<double>(list->begin(), list->end());
    if (kind == GRAFT_SHAPE) return Shape::of(*list);
    if (list->empty() && kind == GRAFT_TEXTS) return std::vector<std::string>();
    if (list->empty() && kind == GRAFT_DTYPES) return std::vector<DType>();
  }
  if (auto list = v.get_if<std::vector<double>>(); list && kind == GRAFT_INTS) {
    std::vector<int64_t> out;
    for (double f : *list) {
      if (std::nearbyint(f) != f || std::fabs(f) > 9e15)
        throw_user("expected a list of integers, got a list of numbers");
      out.push_back(static_cast<int64_t>(f));
    }
    return out;
  }
  throw_user("expected ", with_article(kind), ", got ", with_article(v.kind()));
}

void resolve(Node& node, const OpDef& op, Extras extras) {
  Attributes done;
  for (const graft_attr* a : op.attrs()) {
    std::string name(view(a->name));
    const Attribute* given = node.attrs.find(name);
    if (!given || given->kind() == GRAFT_NONE) {
      if (a->flags & GRAFT_ATTR_REQUIRED) throw_user("missing attribute '", name, "'");
      if (!(a->flags & GRAFT_ATTR_OPTIONAL)) done[name] = Attribute::from(a->fallback);
      continue;
    }
    try {
      Attribute v = single_precision(normal_word(coerce(*given, a->kind), *a), *a);
      check_attribute(v, *a);
      done[name] = std::move(v);
    } catch (Error& e) {
      throw Error(e.kind(), text("attribute '", name, "': ", e.message()), e.hint());
    }
  }
  for (auto& [name, value] : node.attrs) {
    bool known = false;
    for (const graft_attr* a : op.attrs()) known |= view(a->name) == name;
    if (known) continue;
    if (extras == Extras::refuse && !op.has(GRAFT_OP_ANY_ATTRIBUTES)) throw_user("unknown attribute '", name, "'");
    done[name] = value;
  }
  check_inputs(node, op);
  if (node.bodies.size() != op.bodies().size())
    throw_user("expected ", op.bodies().size(), " bodies, got ", node.bodies.size());
  node.attrs = std::move(done);
}

}  // namespace graft

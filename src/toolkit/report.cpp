// The report on a model: unknown and failed layers, with the commands that generate a skeleton for each, and claims.
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "graph/text.hpp"
#include "toolkit/columns.hpp"
#include "toolkit/read.hpp"

namespace graft {
namespace {

std::string operation_title(const UnknownType& u) {
  return on_one_line(u.domain.empty() || u.domain == "extension" ? u.type : u.domain + "::" + u.type);
}

std::string short_value(const Attribute& a) {
  if (a.kind() == GRAFT_TENSOR) return text(a.as<Tensor>().info());
  std::string s = print(a);
  return s.size() > 60 ? s.substr(0, 57) + "..." : s;
}

// Every field that any of the layers has, with the values seen.
std::string fields_text(const UnknownType& u) {
  constexpr size_t most = 4;  // values of a field
  std::vector<std::pair<std::string_view, std::vector<std::string>>> fields;
  std::unordered_map<std::string_view, size_t> places;
  auto add = [&](const std::string& name, auto&& value) {
    auto [place, fresh] = places.emplace(name, fields.size());
    if (fresh) fields.push_back({name, {}});
    std::vector<std::string>& seen = fields[place->second].second;
    if (seen.size() > most) return;
    std::string v = value();
    if (std::find(seen.begin(), seen.end(), v) == seen.end()) seen.push_back(seen.size() < most ? v : "...");
  };
  for (const UnknownType::Layer& l : u.layers) {
    for (const auto& f : l.attributes) add(f.first, [&] { return short_value(f.second); });
    for (const auto& f : l.other_attributes) add(f.first, [&] { return text('(', f.second, ')'); });
  }
  std::string out;
  for (auto& [name, values] : fields) {
    out += text("\n    ", out.empty() ? "attributes  " : "            ", on_one_line(name), " = ",
                on_one_line(join(values, " | ")));
  }
  return out;
}

std::string unknown_text(const UnknownType& u, const std::string& command) {
  constexpr size_t most = 8;
  std::string out =
      text("\n  ", operation_title(u), "   ", u.layers.size(), u.layers.size() == 1 ? " layer: " : " layers: ");
  for (size_t i = 0; i < u.layers.size() && i < most; ++i) out += text(i ? ", " : "", on_one_line(u.layers[i].name));
  if (u.layers.size() > most) out += text(", and ", u.layers.size() - most, " more");
  if (!u.note.empty()) out += text("\n    note        ", on_one_line(u.note));
  const UnknownType::Layer& first = u.layers[0];
  out += "\n    inputs      ";
  for (size_t i = 0; i < first.inputs.size(); ++i)
    out += text(i ? ", " : "", first.inputs[i] ? text(*first.inputs[i]) : "(absent)");
  if (first.inputs.empty()) out += "none";
  if (first.weights) out += text(" (the last ", first.weights, first.weights == 1 ? " is a blob)" : " are blobs)");
  out += text("\n    outputs     ", first.outputs, fields_text(u));
  // A type that looks like an option cannot be named on the command line; all at once works.
  if (u.type.starts_with('-')) return out + "\n";
  return out + text("\n    scaffold    ", Remedy{"scaffold", u.type, ""}, command, "\n");
}

// Where the report of unknown layers is explained; tests/cli/test_faq.py holds the place against the document.
constexpr const char* unknown_page =
    "docs/guide/troubleshooting.md#unknown-layers (questions 24, 45 and 86 of the Model Optimizer FAQ)";

std::string problems_text(const std::vector<Problem>& problems) {
  constexpr size_t most = 20;
  std::string out =
      text(problems.size(), problems.size() == 1 ? " layer is" : " layers are", " known but cannot be imported\n");
  for (size_t i = 0; i < problems.size() && i < most; ++i) {
    const Problem& p = problems[i];
    out += text("\n  '", p.layer, "' (", p.type, "): ", p.error.message(),
                p.after.empty() ? "" : text("; depends on '", p.after, "', which is not imported"), "\n");
    for (const std::string& c : p.error.context()) out += text("    while ", c, "\n");
    if (!p.error.hint().empty()) out += text("    hint: ", p.error.hint(), "\n");
  }
  if (problems.size() > most) out += text("\n  and ", problems.size() - most, " more\n");
  return out;
}

// Layers that could only not be imported because an unknown one determines their inputs.
std::string behind_text(const std::vector<Problem>& behind) {
  constexpr size_t most = 8;
  std::string out = text("\n", behind.size(), behind.size() == 1 ? " layer depends" : " layers depend",
                         " on these and cannot be imported before: ");
  for (size_t i = 0; i < behind.size() && i < most; ++i)
    out += text(i ? ", '" : "'", on_one_line(behind[i].layer), "' (", on_one_line(behind[i].type), ")");
  return out + (behind.size() > most ? text(" and ", behind.size() - most, " more\n") : "\n");
}

// An IR stores every attribute as a string; without a schema its kind has to be guessed from the string.
Attribute guessed(const Attribute& a) {
  if (a.kind() != GRAFT_TEXT) return a;
  std::vector<int64_t> whole;
  std::vector<double> numbers;
  std::string_view s = trim(a.as<std::string>());
  for (std::string_view part : split(s, ',')) {
    auto number = parse_number(trim(part));
    if (!number) return a;
    numbers.push_back(*number);
    if (auto n = parse_int(trim(part))) whole.push_back(*n);
  }
  if (numbers.empty()) return a;
  bool list = numbers.size() > 1;
  if (whole.size() == numbers.size()) return list ? Attribute(whole) : Attribute(whole[0]);
  return list ? Attribute(numbers) : Attribute(numbers[0]);
}

std::string titled(const std::string& domain, const std::string& type) {
  return domain.empty() ? type : domain + "::" + type;
}

}  // namespace

std::vector<UnknownType> opaque_layers(const Graph& g) {
  std::vector<UnknownType> out;
  std::unordered_map<std::string, size_t> groups;
  for (NodeId id : g.topological_order()) {
    const Node& n = g[id];
    for (const Body& b : n.bodies)
      for (UnknownType& u : opaque_layers(*b.graph)) out.push_back(std::move(u));
    if (!n.opaque || n.stub) continue;  // the import of stubs reports itself
    auto [place, fresh] = groups.emplace(text(n.opset, '|', n.type), out.size());
    if (fresh) out.push_back(UnknownType{n.type, n.opset, 1, {}});
    UnknownType* group = &out[place->second];
    UnknownType::Layer layer{n.name, {}, n.outputs.size(), {}};
    for (const auto& [name, value] : n.attrs) layer.attributes.emplace_back(name, guessed(value));
    for (ValueId v : n.inputs) layer.inputs.push_back(v.present() ? std::optional(g.info(v)) : std::nullopt);
    for (const auto& o : n.outputs) layer.declared.push_back(o.info);
    group->layers.push_back(std::move(layer));
  }
  return out;
}

std::string Report::to_text() const {
  size_t count = 0;
  for (const UnknownType& u : unknown) count += u.layers.size();
  std::string out, command = " " + arguments;
  if (!extensions.empty()) command += text(' ', Remedy{"Core::add_extension", "", extensions});
  if (!unknown.empty()) {
    out += text(unknown.size(), unknown.size() == 1 ? " layer type is" : " layer types are", " unknown (", count,
                " of ", layers, layers == 1 ? " layer" : " layers", ")\n");
    for (const UnknownType& u : unknown) out += unknown_text(u, command);
  }
  std::vector<Problem> own, behind;
  for (const Problem& p : problems) (unknown.empty() || p.after.empty() ? own : behind).push_back(p);
  if (!behind.empty()) out += behind_text(behind);
  if (!unknown.empty())
    out += text("\nAll at once: ", Remedy{"scaffold", "", ""}, command, "\nSee ", unknown_page, "\n");
  if (!own.empty()) out += text(out.empty() ? "" : "\n", problems_text(own));
  return out;
}

std::string RawPassEffect::to_text() const {
  constexpr size_t most = 12;
  std::string out = text("raw pass ", name, " (", extension, ")\n");
  auto list = [&](std::string_view what, const std::vector<std::string>& items) {
    if (items.empty()) return;
    std::vector<std::string> shown(items.begin(), items.begin() + static_cast<ptrdiff_t>(std::min(most, items.size())));
    out += text("    ", what, " ", join(shown, ", "),
                items.size() > most ? text(" and ", items.size() - most, " more") : "", "\n");
  };
  list("handled the replacements", replacements);
  list("removed", removed);
  list("changed", changed);
  list("added", added);
  return out;
}

namespace {

// Layers that become nothing (Identity, Dropout, constants), by type and rule: a network has dozens of them, and they
// share one line if there are more than three.
struct Nothing {
  static constexpr size_t most_alone = 3, named = 2;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::vector<std::string_view>> layers;

  explicit Nothing(const std::vector<Claim>& claims) {
    for (const Claim& c : claims)
      if (c.operations.empty() && c.added_by.empty()) layers[{c.domain, c.type, c.by}].push_back(c.layer);
  }
  // The layers of this claim's kind; empty if it has a line of its own.
  std::vector<std::string_view> like(const Claim& c) const {
    auto found = layers.find({c.domain, c.type, c.by});
    if (!c.operations.empty() || !c.added_by.empty() || found->second.size() <= most_alone) return {};
    return found->second;
  }
  static std::string line(const Claim& c, const std::vector<std::string_view>& all) {
    std::vector<std::string> first(all.begin(), all.begin() + named);
    return text("  ", padded(text(all.size(), " layers"), 28), ' ', padded(titled(c.domain, c.type), 22), " by ",
                padded(c.by, 20), " -> nothing to compute: ", join(first, ", "), " and ", all.size() - named,
                " more\n");
  }
};

}  // namespace

std::string Report::claims_text() const {
  std::string out;
  for (const RawPassEffect& e : raw_passes) out += text("  ", e.to_text());
  Nothing nothing(claims);
  for (const Claim& c : claims) {
    if (std::vector<std::string_view> all = nothing.like(c); !all.empty()) {
      if (all.front().data() == c.layer.data()) out += Nothing::line(c, all);
      continue;
    }
    std::string type = titled(c.domain, c.type), made = join(c.operations, ", ");
    out += text("  ", padded(c.layer, 28), ' ', padded(type, 22), " by ", padded(c.by, 20), " -> ",
                made.empty() ? "nothing to compute" : made,
                c.added_by.empty() || c.added_by == c.by ? "" : text(" (added by ", c.added_by, ")"), "\n");
  }
  for (const std::string& w : warnings) out += text("  warning: ", w, "\n");
  for (const std::string& n : notes) out += text("  note: ", n, "\n");
  return out;
}

Report report_of(const ModelOrigin& m) {
  Report out;
  const ImportReport& r = m.report;
  out.layers = r.layers;
  out.unknown = r.unknown, out.problems = r.problems, out.claims = r.claims;
  out.warnings = r.warnings, out.notes = r.notes, out.passed_on = r.passed_on, out.assumed = r.assumed;
  out.raw_passes = r.raw_passes;
  for (const OpDef* d : m.registry->ops())
    if (d->overrides && d->overrides->source->built_in())
      out.overridden.push_back(
          text(d->name(), " (", d->opset(), "): built-in operation overridden by '", d->source->title(), "'"));
  out.arguments = load_arguments(m.files, m.options);
  out.extensions = extension_arguments(*m.registry);
  return out;
}

void require_runnable(const ImportReport& report) {
  if (report.passed_on.empty()) return;
  std::vector<std::string> layers;
  for (const UnknownType& u : report.passed_on)
    for (const UnknownType::Layer& l : u.layers) layers.push_back(text("'", l.name, "' (", u.type, ")"));
  size_t more = layers.size() > 8 ? layers.size() - 8 : 0;
  layers.resize(layers.size() - more);
  throw Error(ErrorKind::unsupported,
              text("the model has layers that no loaded operation can run: ", join(layers, ", "),
                   more ? text(" and ", more, " more") : ""),
              "load an extension that defines the operation; converting works without it");
}

void require_complete(const ModelOrigin& m) {
  if (m.report.complete()) return;
  if (m.report.unknown.empty() && m.report.problems.size() == 1) throw m.report.problems[0].error;
  throw Error(ErrorKind::unsupported, text("the model cannot be imported completely\n\n", report_of(m).to_text()));
}

}  // namespace graft

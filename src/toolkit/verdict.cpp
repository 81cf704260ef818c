// The report on unknown and failed layers, with the commands that generate a skeleton for each.
#include <algorithm>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "graph/text.hpp"
#include "toolkit/load.hpp"

namespace graft {
namespace {

std::string operation_title(const UnknownType& u) {
  return on_one_line(u.domain.empty() || u.domain == "extension" ? u.type : u.domain + "::" + u.type);
}

std::string short_value(const Attribute& a) {
  if (a.kind() == GRAFT_TENSOR) return text(info_of(a.as<Tensor>()));
  std::string s = print(a);
  return s.size() > 60 ? s.substr(0, 57) + "..." : s;
}

// Every field that any of the layers has, with the values seen.
std::string fields_text(const UnknownType& u) {
  std::vector<std::pair<std::string, std::vector<std::string>>> fields;
  auto add = [&](const std::string& name, const std::string& value) {
    auto it = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.first == name; });
    if (it == fields.end()) it = fields.insert(fields.end(), {name, {}});
    if (std::find(it->second.begin(), it->second.end(), value) == it->second.end()) it->second.push_back(value);
  };
  for (const UnknownType::Layer& l : u.layers) {
    for (const auto& [name, value] : l.fields) add(name, short_value(value));
    for (const auto& [name, what] : l.other_fields) add(name, text('(', what, ')'));
  }
  std::string out;
  for (auto& [name, values] : fields) {
    if (values.size() > 4) values.resize(4), values.push_back("...");
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
  return out + text("\n    scaffold    graft new ", quoted_for_shell(u.type), command, "\n");
}

std::string problems_text(const ImportReport& report) {
  constexpr size_t most = 20;
  std::string out = text(report.problems.size(), report.problems.size() == 1 ? " layer is" : " layers are",
                         " known but cannot be imported",
                         report.unknown.empty() ? "" : " (possibly only because of the unknown ones)", "\n");
  for (size_t i = 0; i < report.problems.size() && i < most; ++i) {
    const Problem& p = report.problems[i];
    out += text("\n  '", p.layer, "' (", p.type, "): ", p.error.message(), "\n");
    for (const std::string& c : p.error.context()) out += text("    while ", c, "\n");
    if (!p.error.hint().empty()) out += text("    hint: ", p.error.hint(), "\n");
  }
  if (report.problems.size() > most) out += text("\n  and ", report.problems.size() - most, " more\n");
  return out;
}

}  // namespace

std::string verdict_text(const Model::State& m) {
  const ImportReport& report = m.report;
  size_t layers = 0;
  for (const UnknownType& u : report.unknown) layers += u.layers.size();
  std::string out, command = text(" --from-model ", m.arguments);
  if (std::string extensions = extension_arguments(m.core->registry); !extensions.empty())
    command += " --extensions " + quoted_for_shell(extensions);
  if (!report.unknown.empty()) {
    out += text(report.unknown.size(), report.unknown.size() == 1 ? " layer type is" : " layer types are", " unknown (",
                layers, " of ", report.layers, report.layers == 1 ? " layer" : " layers", ")\n");
    for (const UnknownType& u : report.unknown) out += unknown_text(u, command);
    out += text("\nAll at once: graft new", command, "\n");
  }
  if (!report.problems.empty()) out += text(out.empty() ? "" : "\n", problems_text(report));
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
              text("a mapping file passes through layers that no loaded operation can run: ", join(layers, ", "),
                   more ? text(" and ", more, " more") : ""),
              "load an extension that defines the operation; converting works without it");
}

void require_complete(const Model::State& m) {
  if (m.report.complete()) return;
  if (m.report.unknown.empty() && m.report.problems.size() == 1) throw m.report.problems[0].error;
  throw Error(ErrorKind::unsupported, text("the model cannot be imported completely\n\n", verdict_text(m)));
}

}  // namespace graft

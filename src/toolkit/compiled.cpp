// Compiled models, and the explanation of what they run.
#include <algorithm>

#include "base/text.hpp"
#include "toolkit/columns.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/state.hpp"

namespace graft {

InferRequest CompiledModel::create_infer_request() const {
  return as_errors([&] {
    auto r = std::make_shared<InferRequest::State>();
    r->model = s_;
    r->execution = s_->program->create_execution();
    r->inputs.resize(s_->inputs.size());
    r->outputs.resize(s_->outputs.size());
    r->given.resize(s_->outputs.size(), false);
    return InferRequest(std::move(r));
  });
}
std::vector<Port> CompiledModel::inputs() const { return s_->inputs; }
std::vector<Port> CompiledModel::outputs() const { return s_->outputs; }
std::vector<Group> CompiledModel::input_groups() const { return s_->input_groups; }
std::vector<Group> CompiledModel::output_groups() const { return s_->output_groups; }
std::string CompiledModel::device() const { return s_->device; }
const Options& CompiledModel::options() const { return s_->options; }

Explanation CompiledModel::explain(const std::vector<std::vector<int64_t>>& input_dims) const {
  return as_errors([&] {
    if (!input_dims.empty() && input_dims.size() != s_->inputs.size())
      throw Error(ErrorKind::request,
                  text("expected dimensions of ", s_->inputs.size(), " inputs, got ", input_dims.size()));
    std::vector<Info> infos;
    for (size_t i = 0; i < s_->inputs.size(); ++i) {
      const Port& port = s_->inputs[i];
      std::vector<int64_t> dims = input_dims.empty() ? sample_dims(port) : input_dims[i];
      if (!port.takes(dims))
        throw Error(ErrorKind::request, text("expected dimensions that fit ", port.shape, " for input '",
                                             port.any_name(), "', got ", dims));
      infos.push_back({port.type == DType::undefined ? DType::f32 : port.type, Shape::of(dims)});
    }
    Explanation out = s_->program->explain(infos);
    out.device = s_->device;
    out.passes = s_->passes;
    out.unfolded = s_->unfolded;
    for (size_t i = 0; i < out.results.size() && i < s_->outputs.size(); ++i)
      out.results[i].first = s_->outputs[i].any_name();
    return out;
  });
}

// ---- text ----

namespace {

std::string info_list(const std::vector<Info>& infos) {
  std::string out;
  for (const Info& i : infos) out += (out.empty() ? "" : ", ") + text(i);
  return out;
}

std::string part_title(const ModelPart& p, size_t index) {
  return text(" Part ", index, " on ", p.device, p.phase ? text(", after phase ", p.phase - 1) : "", "\n");
}

std::string crossings_text(const Explanation& e) {
  std::string out =
      e.crossings.empty() ? "\nNo value goes from part to part\n" : "\nValues that go from part to part\n";
  size_t bytes = 0, copied = 0;
  bool open = false;
  for (const Crossing& c : e.crossings) {
    std::string way =
        text(c.source, " (", e.parts[c.source].device, ") -> ", c.target, " (", e.parts[c.target].device, ")");
    std::string size = c.bytes ? text(*c.bytes, " bytes") : "size depends on the data";
    out += text("  ", padded(c.value, 28), ' ', padded(way, 34), ' ', padded(text(c.info), 22), ' ', size,
                c.copied ? "" : ", not copied", "\n");
    bytes += c.bytes.value_or(0), copied += c.copied ? c.bytes.value_or(0) : 0;
    open |= !c.bytes;
  }
  if (!e.crossings.empty())
    out += text("  ", e.crossings.size(), e.crossings.size() == 1 ? " value, " : " values, ", open ? "at least " : "",
                bytes, " bytes, ", copied, " copied\n");
  return out;
}

}  // namespace

std::string Explanation::to_text() const {
  std::string out = unfolded.nodes.empty() ? "" : text("Folding ", unfolded.to_text(), "\n\n");
  out += text("Kernels on ", device, "\n");
  for (size_t i = 0; i < choices.size(); ++i) {
    const Choice& c = choices[i];
    bool split = c.part < parts.size();
    if (split && (i == 0 || choices[i - 1].part != c.part)) out += part_title(parts[c.part], c.part);
    const std::string& on = split ? parts[c.part].device : device;
    std::string how = c.kernel.empty() ? c.note : c.kernel + (c.device != on ? " (" + c.device + ")" : "");
    out +=
        text("  ", padded(c.node, 28), ' ', padded(c.type, 22), ' ', padded(how, 26), ' ', info_list(c.outputs), "\n");
    if (!c.kernel.empty() && !c.note.empty()) out += text("  ", padded("", 28), "   ", c.note, "\n");
    for (const auto& [kernel, why] : c.declined)
      out += text("  ", padded("", 28), "   ", kernel, " declined: ", why, "\n");
  }
  if (plans_memory)
    out += text("\nMemory: ", arena_bytes, " bytes for activations and scratch (", unshared_bytes,
                " without memory reuse), ", constant_bytes, " bytes of constants\n");
  if (!parts.empty()) out += crossings_text(*this);
  return out;
}

std::string PassInfo::to_text() const {
  return text(padded(name, 24), ' ', padded(phase, 6), ' ', doc, on_request ? " (off by default)" : "",
              origin == "built-in" ? "" : text(" (", origin, ")"), "\n");
}

std::string PassEffect::to_text() const {
  constexpr size_t most = 12;
  std::string out = text(padded(name, 24), ' ', changes, changes == 1 ? " change, " : " changes, ", nodes_before,
                         " -> ", nodes_after, " nodes\n");
  for (size_t i = 0; i < places.size() && i < most; ++i) out += text("    ", places[i], "\n");
  if (places.size() > most) out += text("    and ", places.size() - most, " more\n");
  return out;
}

std::string profile_text(std::vector<ProfilingInfo> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.microseconds > b.microseconds; });
  double total = 0;
  for (const ProfilingInfo& r : rows) total += r.microseconds;
  auto line = [](std::string_view name, std::string_view type, std::string_view kernel, const std::string& time,
                 const std::string& calls, const std::string& share) {
    return text(padded(name, 36), ' ', padded(type, 22), ' ', padded(kernel, 26), ' ', padded_left(time, 10), ' ',
                padded_left(calls, 8), ' ', padded_left(share, 7), "\n");
  };
  std::string out = line("operation", "type", "kernel", "us/call", "calls", "share");
  for (const ProfilingInfo& r : rows) {
    if (!r.calls) continue;
    std::string name = r.node_name.size() > 36 ? "..." + r.node_name.substr(r.node_name.size() - 33) : r.node_name;
    out += line(name, r.node_type, r.kernel, fixed(r.microseconds / static_cast<double>(r.calls), 2), text(r.calls),
                fixed(total > 0 ? 100 * r.microseconds / total : 0, 1) + "%");
  }
  return out;
}

}  // namespace graft

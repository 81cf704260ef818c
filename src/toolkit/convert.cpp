// Conversion to IR: preprocessing, passes, precision, writing, and the report.
#include <algorithm>
#include <filesystem>
#include <graft/app/convert.hpp>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/pattern.hpp"
#include "base/text.hpp"
#include "infer/decompose.hpp"
#include "ir/ir.hpp"
#include "ir/target.hpp"
#include "passes/compress_to_f16.hpp"
#include "passes/make_stateful.hpp"
#include "passes/preprocess.hpp"
#include "toolkit/columns.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/read.hpp"

namespace graft {
namespace {

// Regular expressions for names; they come from the user, not from the model.
std::vector<Pattern> kept_names(const ConvertOptions& o) {
  std::vector<Pattern> out;
  for (const std::string& source : o.keep) try {
      out.emplace_back(source);
    } catch (const Error& e) {
      throw RequestError(text("`keep`: ", e.message()), e.hint());
    }
  return out;
}

void check_options(const Registry& registry, const ConvertOptions& o) {
  if (o.ir_version != 10 && o.ir_version != 11)
    throw RequestError(text("`ir_version`: expected 10 or 11, got ", o.ir_version),
                       "OpenVINO supports IR version 10 since 2020.1 and version 11 since 2022.1");
  int newest = 0;
  for (const OpDef* op : registry.ops()) newest = std::max(newest, opset_number(op->opset()));
  if (o.max_opset && (*o.max_opset < 1 || *o.max_opset > newest))
    throw RequestError(text("`max_opset`: expected 1 to ", newest, ", got ", *o.max_opset),
                       "opset8 was introduced in OpenVINO 2022.1, opset13 in 2023.2");
  if (!o.target.empty() && o.target != openvino_target)
    throw RequestError(text("`target`: expected ", openvino_target, ", got '", o.target, "'"));
  if (!o.recurrent_state.empty() && o.recurrent_state != "zeros" && o.recurrent_state != "initial")
    throw RequestError(text("`recurrent_state`: expected zeros or initial, got '", o.recurrent_state, "'"));
  as_request([&] {
    check_pass_names(registry, o.disabled_passes);
    check_pass_names(registry, o.enabled_passes);
  });
  kept_names(o);
}

// The names of all nodes of a type; nodes in bodies are prefixed with the name of their owner.
void collect_named(const Graph& g, std::string_view type, const std::string& prefix, std::vector<std::string>& out) {
  for (NodeId id = 0; id < g.end_id(); ++id) {
    if (!g[id].alive) continue;
    if (g[id].is(type)) out.push_back(prefix + g[id].name);
    for (const Body& b : g[id].bodies) collect_named(*b.graph, type, prefix + g[id].name + "/", out);
  }
}

// The graph of a model, taken from it if this is its last handle, otherwise copied.
Graph graph_of(Model model) {
  std::shared_ptr<Model::State> state = model.state();
  model = Model(nullptr);
  std::shared_ptr<const Graph> graph = state->current();
  if (state.use_count() > 1) return graph->clone();
  state->graph.reset();
  return graph.use_count() > 1 ? graph->clone() : std::move(*std::const_pointer_cast<Graph>(graph));
}

class Conversion {
 public:
  Conversion(Model model, const ConvertOptions& options)
      : origin_(model.state()->origin), o_(options), graph_(graph_of(std::move(model))) {}

  ConvertReport run(const std::string& xml_path) {
    require_written();
    step("inserting preprocessing");
    insert_preprocessing();
    make_state();
    step("running passes");
    std::vector<Pattern> kept = kept_names(o_);
    warn_of_unmatched(kept);
    if (!o_.target.empty()) decompose_opset(graph_, registry(), "graft");
    run_all_passes(std::move(kept));
    if (o_.compress_to_f16) compress_to_f16(graph_, registry(), done_.f16.emplace());
    warn_of_losses();
    check_target(graph_, registry(), {o_.ir_version, o_.max_opset, !o_.target.empty()});
    warn_of_rt_info();
    step("writing the IR");
    write(xml_path);
    describe();
    step("done");
    return std::move(done_);
  }

 private:
  const Registry& registry() const { return *origin_->registry; }
  void step(const char* what) const {
    if (o_.progress) o_.progress(what);
  }
  template <class... Parts>
  void warn(const Parts&... parts) {
    done_.warnings.push_back(text(parts...));
    log_warning(done_.warnings.back());
  }

  void require_written() {
    const ImportReport& report = origin_->report;
    if (report.complete()) return;
    std::string verdict = report_of(*origin_).to_text();
    if (!o_.stub_unknown || !report.only_unknown())
      throw Error(
          ErrorKind::unsupported, text("nothing was written: ", verdict),
          report.only_unknown() ? "use `stub_unknown` to write the IR anyway and keep these layers unchanged" : "");
    warn("the IR contains layers that could not be imported\n", verdict);
  }

  void insert_preprocessing() {
    Preprocess before{o_.preprocess, origin_->conventions.channels_last && !o_.channels_first, {}};
    for (const CutInput& i : origin_->options.read.cut.inputs)
      for (const auto& asked : origin_->report.cut_inputs)
        if (i.listed && asked.first == i.place) before.order.push_back(asked);
    StepTime time;
    for (const std::string& w : preprocess(graph_, registry(), before)) warn(w);
    if (!before.empty()) log_info("inserted preprocessing", time.text());
  }

  void make_state() {
    if (!o_.state.empty()) make_stateful(graph_, registry(), o_.state);
    if (o_.recurrent_state.empty()) return;
    bool zeros = o_.recurrent_state == "zeros";
    for (const std::string& w : keep_recurrent_state(graph_, registry(), zeros)) warn(w);
  }

  void warn_of_unmatched(const std::vector<Pattern>& kept) {
    for (const Pattern& p : kept) {
      bool found = false;
      for (NodeId id = 0; id < graph_.end_id() && !found; ++id) found = graph_[id].alive && p.begins(graph_[id].name);
      if (!found) warn("`keep`: no node name matches '", p.source(), "'");
    }
  }

  void run_all_passes(std::vector<Pattern> kept) {
    PassOptions passes;
    passes.phases = PassPhases::writing;
    passes.disabled = o_.disabled_passes, passes.enabled = o_.enabled_passes;
    if (!o_.target.empty())
      for (std::string& p : target_passes()) passes.enabled.push_back(std::move(p));
    passes.calls = pass_options(origin_->report).calls;
    passes.limits = origin_->options.limits;
    if (!kept.empty())
      passes.is_kept = [kept = std::move(kept)](const std::string& name) {
        return std::any_of(kept.begin(), kept.end(), [&](const Pattern& p) { return p.begins(name); });
      };
    done_.passes = run_passes(graph_, registry(), passes);
    done_.passes.insert(done_.passes.begin(), origin_->front.begin(), origin_->front.end());
  }

  void warn_of_losses() {
    constexpr size_t most = 8;
    if (!done_.f16) return;
    const std::vector<F16Report::Loss>& losses = done_.f16->losses;
    for (size_t i = 0; i < losses.size() && i < most; ++i) {
      const F16Report::Loss& l = losses[i];
      if (l.clipped)
        warn(l.clipped, " of ", l.elements, " values of '", l.constant, "' are too large for f16 and were clipped");
      if (l.vanished)
        warn(l.vanished, " of ", l.elements, " values of '", l.constant, "' are too small for f16 and became 0");
    }
    if (losses.size() > most) warn("values of ", losses.size() - most, " more constants were clipped or became 0");
  }

  void warn_of_rt_info() {
    size_t lost = o_.ir_version == 10 ? count_rt_info(graph_) : 0;
    if (lost)
      warn("IR version 10 cannot store runtime information (layouts, names of fused layers): omitted for ", lost,
           lost == 1 ? " layer or port" : " layers and ports");
  }

  void write(const std::string& xml_path) {
    if (graph_.name.empty() || !o_.name.empty()) graph_.name = o_.name.empty() ? stem_of(xml_path) : o_.name;
    if (std::string folder = folder_of(xml_path); !folder.empty()) as_request([&] { make_folder(folder); });
    StepTime time;
    done_.xml = xml_path;
    done_.bin = write_ir(graph_, registry(), xml_path, o_.ir_version, origin_->options.limits);
    log_info("wrote '", done_.xml, "' and '", done_.bin, "'", time.text());
  }

  void describe() {
    done_.name = graph_.name;
    done_.framework = origin_->framework;
    done_.file_layers = origin_->report.layers;
    done_.ir_layers = graph_.node_count();
    for (const Claim& c : origin_->report.claims) done_.by_extensions += c.extension;
    done_.ir_version = o_.ir_version;
    done_.opset = highest_opset(graph_);
    done_.inputs = input_ports(graph_), done_.outputs = output_ports(graph_);
    done_.input_groups = input_groups(graph_), done_.output_groups = output_groups(graph_);
    collect_named(graph_, "Transpose", "", done_.transposes);
    done_.unknown = origin_->report.unknown;
    done_.passed_on = origin_->report.passed_on;
  }

  std::shared_ptr<const ModelOrigin> origin_;
  const ConvertOptions& o_;
  Graph graph_;
  ConvertReport done_;
};

}  // namespace

void Core::check(const ConvertOptions& options) const {
  as_errors([&] { check_options(*s_->registry(), options); });
}

ConvertReport convert_model(Model model, const std::string& xml_path, const ConvertOptions& options) {
  return as_errors([&] {
    check_options(*model.state()->origin->registry, options);
    return Conversion(std::move(model), options).run(xml_path);
  });
}

std::string ConvertReport::to_text() const { return text(xml, "\n", bin, "\n", summary()); }

std::string ConvertReport::summary() const {
  std::string out = text(framework, " model, ", file_layers, " layers -> ", ir_layers, " IR layers");
  if (by_extensions) out += text(", ", by_extensions, " imported by extensions");
  if (!transposes.empty()) out += text(", ", transposes.size(), transposes.size() == 1 ? " Transpose" : " Transposes");
  if (f16) out += text("\n", f16->compressed, " constants stored as f16, ", f16->kept, " kept as f32");
  return out + text("\nIR version ", ir_version, ", opsets up to opset", opset, "\n");
}

std::string ConvertReport::passes_text() const {
  std::string out;
  for (const PassEffect& e : passes)
    if (e.changes) out += e.to_text();
  for (const std::string& t : transposes) out += text(padded("remaining Transpose", 24), ' ', t, "\n");
  return out;
}

}  // namespace graft

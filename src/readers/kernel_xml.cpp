#include "readers/kernel_xml.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "readers/work_size.hpp"
#include "readers/xml_source.hpp"

namespace graft {
namespace {

using pugi::xml_attribute;
using pugi::xml_node;
using Words = std::vector<std::string>;

const Words vpu_formats = {"BFYX", "BYXF", "FYX", "YXF", "BF", "ANY"};

class KernelXmlReader {
 public:
  KernelXmlReader(std::string_view xml, const std::string& file, const KernelXmlLimits& limits)
      : source_(xml, file), limits_(limits) {}

  std::vector<KernelDescription> run() {
    pugi::xml_document doc;
    source_.parse(doc, limits_.bytes);
    std::vector<KernelDescription> out;
    for (xml_node n : elements(doc)) {
      if (name_of(n) != "CustomLayer") broken(n, "expected <CustomLayer>, got <", n.name(), ">");
      KernelDescription d = layer(n);
      if (int64_t stage = d.stages[0].stage; d.stages.size() == 1 && stage > 0) add_stage(n, d, stage, out);
      else out.push_back(std::move(d));
    }
    for (const KernelDescription& d : out) check_buffers(d);
    if (out.empty()) throw_user(source_.file(), ": the file has no <CustomLayer> element");
    return out;
  }

 private:
  template <class... Parts>
  [[noreturn]] void broken(xml_node n, const Parts&... parts) const {
    source_.broken(n, parts...);
  }

  // ---- elements and attributes. Names of the VPU are not case-sensitive. ----

  std::string name_of(xml_node n) const {
    static const Words known = {"CustomLayer", "Kernel",          "Source",    "Define", "Buffers",    "Tensor",
                                "Data",        "CompilerOptions", "WorkSizes", "Where",  "Parameters", "Scalar"};
    for (const std::string& k : known)
      if (device_ == KernelDevice::vpu && equal_ignoring_case(k, n.name())) return k;
    return n.name();
  }
  std::vector<xml_node> elements(xml_node parent) {
    std::vector<xml_node> out;
    for (xml_node n : parent.children()) {
      if (n.type() == pugi::node_pcdata || n.type() == pugi::node_cdata)
        broken(parent, "expected elements in <", parent.name(), ">, got the text '",
               std::string_view(trim(n.value())).substr(0, 40), "'");
      if (n.type() != pugi::node_element) continue;
      if (++count_ > limits_.elements) broken(n, "expected at most ", limits_.elements, " elements, got more");
      out.push_back(n);
    }
    return out;
  }
  [[noreturn]] void unexpected(xml_node n, const Words& known) const {
    auto close = nearest(n.name(), known);
    broken(n, "unexpected <", n.name(), "> in <", n.parent().name(), ">, ",
           close ? text("did you mean <", *close, ">?") : text("expected one of ", join(known, ", ")));
  }
  void check_attributes(xml_node n, const Words& known) const {
    for (xml_attribute a : n.attributes())
      if (device_ == KernelDevice::vpu && std::string_view(a.value()).empty())
        broken(n, "the attribute '", a.name(), "' of <", n.name(), "> is empty");
    source_.check_attributes(n, known);
  }
  std::string required(xml_node n, const char* name) const { return source_.required(n, name); }
  std::optional<int64_t> integer(xml_node n, const char* name, bool is_required) const {
    if (!is_required && !n.attribute(name)) return std::nullopt;
    std::string word = required(n, name);
    auto v = parse_int(word);
    if (!v || *v < 0 || *v > INT32_MAX) broken(n, "attribute '", name, "': expected a number from 0, got '", word, "'");
    return *v;
  }
  std::string one_of(xml_node n, const char* name, const Words& allowed, bool any_case) const {
    std::string word = required(n, name);
    for (const std::string& a : allowed)
      if (word == a || (any_case && equal_ignoring_case(word, a))) return a;
    broken(n, "attribute '", name, "': expected one of ", join(allowed, ", "), ", got '", word, "'");
  }
  std::string format_of(xml_node n, const Words& allowed) const {
    if (!n.attribute("format")) return "BFYX";
    if (device_ == KernelDevice::vpu) return one_of(n, "format", allowed, true);
    std::string word = required(n, "format");
    // Upper or lower case, but not mixed.
    return word == to_lower(word) && word != to_upper(word) ? to_upper(one_of(n, "format", lower(allowed), false))
                                                            : one_of(n, "format", allowed, false);
  }
  static Words lower(Words words) {
    for (std::string& w : words) w = to_lower(w);
    return words;
  }
  // The only child of this name, or none.
  xml_node single(const std::vector<xml_node>& children, const std::string& name) const {
    xml_node out;
    for (xml_node n : children)
      if (name_of(n) == name) {
        if (out) broken(n, "<", n.parent().name(), "> has more than one <", name, ">");
        out = n;
      }
    return out;
  }
  void check_children(const std::vector<xml_node>& children, const Words& known) const {
    for (xml_node n : children)
      if (std::find(known.begin(), known.end(), name_of(n)) == known.end()) unexpected(n, known);
  }
  void no_children(xml_node n) {
    if (auto inside = elements(n); !inside.empty())
      broken(inside[0], "unexpected <", inside[0].name(), "> in <", n.name(), ">");
  }

  // ---- layers ----

  KernelDescription layer(xml_node n) {
    device_ = KernelDevice::gpu;
    KernelDescription out;
    out.line = source_.line_of(n), out.at = source_.place_of(n);
    out.layer = required(n, "name");
    std::string type = required(n, "type");
    if (type == "SimpleGPU") device_ = KernelDevice::gpu;
    else if (equal_ignoring_case(type, "MVCL")) device_ = KernelDevice::vpu;
    else broken(n, "attribute 'type': expected SimpleGPU or MVCL, got '", type, "'");
    out.device = device_;
    if (auto v = integer(n, "version", true); *v != 1) broken(n, "attribute 'version': expected 1, got ", *v);
    if (device_ == KernelDevice::gpu) gpu_layer(n, out);
    else vpu_layer(n, out);
    return out;
  }

  void sources(const std::vector<xml_node>& children, KernelStage& out) {
    for (xml_node n : children) {
      if (name_of(n) != "Source") continue;
      check_attributes(n, {"filename"});
      no_children(n);
      out.sources.push_back(required(n, "filename"));
    }
  }

  void formulas(xml_node n, const char* name, Words& out) const {
    if (!n.attribute(name)) return;
    std::string all = required(n, name);
    for (std::string_view part : split(all, ',')) {
      std::string formula(trim(part));
      check_formula(n, name, formula);
      out.push_back(formula);
    }
    if (all.ends_with(',') || out.size() > 3)
      broken(n, "attribute '", name, "': expected 1 to 3 formulas, got '", all, "'");
  }
  void check_formula(xml_node n, const char* name, const std::string& formula) const {
    bool gpu = device_ == KernelDevice::gpu;
    try {
      evaluate_work_size(formula, gpu ? FormulaKind::gpu : FormulaKind::vpu, [&](std::string_view variable) -> double {
        bool letter = variable.size() == 1 && std::string_view("BFYXbfyx").find(variable[0]) != std::string_view::npos;
        if (gpu && !letter && !(std::string_view(name) == "size" && variable.ends_with(']')))
          throw_user("formula '", formula, "': expected one of B, F, Y, X, got '", variable, "'");
        return 1;
      });
    } catch (const Error& e) {
      broken(n, "attribute '", name, "': ", e.message());
    }
  }
  // "input,1", "output"; the GPU's default is the output.
  std::pair<bool, size_t> dim_of(xml_node n) const {
    std::string word = required(n, "dim");
    size_t comma = word.find(',');
    std::string_view kind = trim(std::string_view(word).substr(0, comma));
    auto port =
        comma == word.npos ? std::optional<int64_t>(0) : parse_int(trim(std::string_view(word).substr(comma + 1)));
    bool vpu = device_ == KernelDevice::vpu, input = vpu ? equal_ignoring_case(kind, "input") : kind == "input";
    bool output = vpu ? equal_ignoring_case(kind, "output") : kind == "output";
    if ((!input && !output) || !port || *port < 0 || (vpu && comma == word.npos))
      broken(n, "attribute 'dim': expected ", vpu ? "input,N or output,N" : "output, input or input,N", ", got '", word,
             "'");
    return {input, static_cast<size_t>(*port)};
  }

  // ---- GPU ----

  void gpu_layer(xml_node n, KernelDescription& out) {
    check_attributes(n, {"name", "type", "version"});
    std::vector<xml_node> children = elements(n);
    check_children(children, {"Kernel", "Buffers", "CompilerOptions", "WorkSizes"});
    xml_node kernel = single(children, "Kernel"), buffers = single(children, "Buffers"),
             options = single(children, "CompilerOptions"), work = single(children, "WorkSizes");
    if (!kernel) broken(n, "<CustomLayer> '", out.layer, "' has no <Kernel>");
    if (!buffers) broken(n, "<CustomLayer> '", out.layer, "' has no <Buffers>");
    KernelStage& s = out.stages.emplace_back();
    gpu_kernel(kernel, s);
    for (xml_node b : elements(buffers)) s.arguments.push_back(gpu_argument(b));
    check_indices(buffers, s);
    if (options) {
      check_attributes(options, {"options"});
      s.options = options.attribute("options").value();
    }
    if (!work) return;
    check_attributes(work, {"global", "local", "dim"});
    formulas(work, "global", s.global);
    formulas(work, "local", s.local);
    if (work.attribute("dim")) s.dim = dim_of(work);
  }

  void gpu_kernel(xml_node n, KernelStage& s) {
    check_attributes(n, {"entry"});
    s.entry = required(n, "entry");
    s.at = source_.place_of(n);
    std::vector<xml_node> children = elements(n);
    check_children(children, {"Source", "Define"});
    sources(children, s);
    if (s.sources.empty()) broken(n, "<Kernel> has no <Source>");
    for (xml_node d : children) {
      if (name_of(d) != "Define") continue;
      check_attributes(d, {"name", "param", "type", "default"});
      no_children(d);
      KernelDefine define{required(d, "name"), d.attribute("param").value(), d.attribute("type").value(), std::nullopt};
      if (d.attribute("default")) define.preset = d.attribute("default").value();
      s.defines.push_back(std::move(define));
    }
  }

  KernelArgument gpu_argument(xml_node n) {
    static const Words formats = {"BFYX", "BYXF", "FYXB", "YXFB", "ANY"};
    KernelArgument a;
    a.at = source_.place_of(n);
    if (name_of(n) == "Data") {
      check_attributes(n, {"arg-index", "name"});
      a.kind = KernelArgument::Kind::data;
      a.index = *integer(n, "arg-index", true);
      a.name = required(n, "name");
      return a;
    }
    if (name_of(n) != "Tensor") unexpected(n, {"Tensor", "Data"});
    check_attributes(n, {"arg-index", "type", "port-index", "format", "size"});
    no_children(n);
    a.index = *integer(n, "arg-index", true);
    a.port = integer(n, "port-index", true);
    a.type = one_of(n, "type", {"input", "output", "internal"}, false);
    a.format = format_of(n, formats);
    if ((a.type == "internal") != static_cast<bool>(n.attribute("size")))
      broken(n, a.type == "internal" ? "<Tensor> of type internal has no attribute 'size'"
                                     : "the attribute 'size' requires type internal");
    if (a.type != "internal") return a;
    a.size = required(n, "size");
    check_formula(n, "size", a.size);
    return a;
  }

  // Every argument from 0 on, once.
  void check_indices(xml_node buffers, const KernelStage& s) const {
    std::vector<bool> seen(s.arguments.size());
    for (const KernelArgument& a : s.arguments) {
      auto i = static_cast<size_t>(a.index);
      if (i >= seen.size())
        throw_user(source_.file(), ':', a.at, ": arg-index: expected 0 to ", seen.size() - 1,
                   ", one per argument, got ", i);
      if (seen[i]) throw_user(source_.file(), ':', a.at, ": arg-index ", i, " is a duplicate");
      seen[i] = true;
    }
    if (seen.empty()) broken(buffers, "<Buffers> describes no argument");
  }

  // ---- VPU ----

  void vpu_layer(xml_node n, KernelDescription& out) {
    check_attributes(n, {"name", "type", "version", "stage", "max-shaves"});
    std::vector<xml_node> children = elements(n);
    check_children(children, {"Where", "Kernel", "Parameters", "WorkSizes"});
    if (xml_node where = single(children, "Where")) {
      no_children(where);
      for (xml_attribute a : where.attributes()) out.where.emplace_back(a.name(), required(where, a.name()));
    }
    for (xml_node k : children)
      if (name_of(k) == "Kernel") out.stages.push_back(vpu_kernel(k, children));
    if (out.stages.empty()) broken(n, "<CustomLayer> '", out.layer, "' has no <Kernel>");
    std::sort(out.stages.begin(), out.stages.end(),
              [](const KernelStage& a, const KernelStage& b) { return a.stage < b.stage; });
    for (size_t i = 0; i < out.stages.size() && out.stages.size() > 1; ++i)
      if (out.stages[i].stage != static_cast<int64_t>(i))
        throw_user(source_.file(), ':', out.stages[i].at, ": stage: expected ", i, ", got ", out.stages[i].stage,
                   "; stages count from 0 without gaps");
  }

  // Before 2020.4, each stage was a layer of its own, with the same name.
  void add_stage(xml_node n, KernelDescription& d, int64_t stage, std::vector<KernelDescription>& all) const {
    auto before = std::find_if(all.rbegin(), all.rend(),
                               [&](const KernelDescription& o) { return o.device == d.device && o.layer == d.layer; });
    size_t count = before == all.rend() ? 0 : before->stages.size();
    if (stage != static_cast<int64_t>(count))
      broken(n, "stage: expected ", count, ", got ", stage, "; stages count from 0 without gaps");
    if (!d.where.empty() && d.where != before->where) broken(n, "<Where>: expected that of stage 0 of '", d.layer, "'");
    before->stages.push_back(std::move(d.stages[0]));
  }

  // A stage reads only buffers that an earlier stage has written.
  void check_buffers(const KernelDescription& d) const {
    std::vector<int64_t> written;
    for (const KernelStage& s : d.stages) {
      for (const KernelArgument& a : s.arguments)
        if (a.type == "input_buffer" && std::find(written.begin(), written.end(), *a.port) == written.end())
          throw_user(source_.file(), ':', a.at, ": no stage before this one has an output_buffer ", *a.port);
      for (const KernelArgument& a : s.arguments)
        if (a.type == "output_buffer") written.push_back(*a.port);
    }
  }

  // Before 2020.4, Parameters and WorkSizes were beside the kernel instead of inside.
  KernelStage vpu_kernel(xml_node n, const std::vector<xml_node>& siblings) {
    check_attributes(n, {"entry", "stage", "max-shaves"});
    KernelStage s;
    s.at = source_.place_of(n);
    s.entry = required(n, "entry");
    bool several =
        std::count_if(siblings.begin(), siblings.end(), [&](xml_node k) { return name_of(k) == "Kernel"; }) > 1;
    s.stage = integer(n, "stage", several).value_or(integer(n.parent(), "stage", false).value_or(0));
    s.most_shaves = integer(n, "max-shaves", false).value_or(integer(n.parent(), "max-shaves", false).value_or(0));
    std::vector<xml_node> children = elements(n);
    check_children(children, {"Source", "Parameters", "WorkSizes"});
    sources(children, s);
    if (s.sources.empty()) broken(n, "<Kernel> has no <Source>");
    auto find = [&](const char* name) {
      xml_node inside = single(children, name), beside = several ? xml_node() : single(siblings, name);
      if (inside && beside) broken(beside, "<", name, "> is given twice, inside and beside <Kernel>");
      if (!inside && !beside) broken(n, "<Kernel> has no <", name, ">");
      return inside ? inside : beside;
    };
    for (xml_node p : elements(find("Parameters"))) s.arguments.push_back(vpu_argument(p));
    xml_node work = find("WorkSizes");
    check_attributes(work, {"dim", "global", "local"});
    s.dim = dim_of(work);
    required(work, "global");
    formulas(work, "global", s.global);
    formulas(work, "local", s.local);
    check_names(s);
    return s;
  }

  void check_names(const KernelStage& s) const {
    Words seen;
    for (const KernelArgument& a : s.arguments) {
      if (std::find(seen.begin(), seen.end(), a.name) != seen.end())
        throw_user(source_.file(), ':', a.at, ": arg-name '", a.name, "' is a duplicate");
      seen.push_back(a.name);
    }
  }

  KernelArgument vpu_argument(xml_node n) {
    KernelArgument a;
    a.at = source_.place_of(n);
    a.name = required(n, "arg-name");
    no_children(n);
    if (name_of(n) == "Tensor") vpu_tensor(n, a);
    else if (name_of(n) == "Data") vpu_data(n, a);
    else if (name_of(n) == "Scalar") {
      check_attributes(n, {"arg-name", "type", "port-index", "source"});
      a.kind = KernelArgument::Kind::scalar;
      a.type = one_of(n, "type", {"int", "float"}, true);
      a.source = required(n, "source");
      a.port = integer(n, "port-index", false);
    } else unexpected(n, {"Tensor", "Data", "Scalar"});
    return a;
  }

  void buffer_size(xml_node n, KernelArgument& a) {
    a.dim = dim_of(n);
    a.size = required(n, "size");
    check_formula(n, "size", a.size);
  }

  void vpu_tensor(xml_node n, KernelArgument& a) {
    check_attributes(n, {"arg-name", "type", "port-index", "format", "dim", "size", "source"});
    a.type = one_of(n, "type", {"input", "output", "input_buffer", "output_buffer", "data"}, true);
    a.port = integer(n, "port-index", a.type != "data" || !n.attribute("source"));
    a.format = format_of(n, vpu_formats);
    if (a.type == "data" && n.attribute("source")) a.source = required(n, "source");
    else if (n.attribute("source")) broken(n, "the attribute 'source' requires type data");
    if (a.type.ends_with("_buffer")) buffer_size(n, a);
    else if (n.attribute("size")) broken(n, "the attribute 'size' requires type input_buffer or output_buffer");
  }

  void vpu_data(xml_node n, KernelArgument& a) {
    check_attributes(n, {"arg-name", "type", "source", "format", "dim", "size"});
    a.kind = KernelArgument::Kind::data;
    a.type = one_of(n, "type", {"data", "local_data"}, true);
    if (static_cast<bool>(n.attribute("source")) == static_cast<bool>(n.attribute("dim")))
      broken(n, "<Data>: expected either 'source' or 'dim', got ", n.attribute("source") ? "both" : "neither");
    if ((a.type == "data") != static_cast<bool>(n.attribute("source")))
      broken(n, "<Data> of type ", a.type, " has no attribute '", a.type == "data" ? "source" : "dim", "'");
    if (n.attribute("format")) format_of(n, vpu_formats);
    if (a.type == "data") a.source = required(n, "source");
    else buffer_size(n, a);
  }

  XmlSource source_;
  KernelXmlLimits limits_;
  KernelDevice device_ = KernelDevice::gpu;
  size_t count_ = 0;
};

}  // namespace

std::vector<KernelDescription> parse_kernel_xml(std::string_view xml, const std::string& name,
                                                const KernelXmlLimits& limits) {
  return KernelXmlReader(xml, name, limits).run();
}
std::vector<KernelDescription> read_kernel_xml(const std::string& path, const KernelXmlLimits& limits) {
  return parse_kernel_xml(MappedFile::open(path)->chars(), path, limits);
}

}  // namespace graft

#include "devices/vpu/layer.hpp"

#include <algorithm>
#include <map>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "devices/vpu/conversion.hpp"
#include "devices/vpu/source.hpp"
#include "devices/vpu/values.hpp"
#include "devices/vpu/vpu.hpp"

namespace graft {
namespace {

struct VpuLayer {
  std::string file;
  KernelDescription what;
  std::vector<VpuSource> sources;  // per stage

  template <class... Parts>
  [[noreturn]] void broken(const std::string& at, const Parts&... parts) const {
    fail(file, ":", at, ": ", parts...);
  }
  // Whether no tensor must be reordered.
  bool plain() const {
    for (const KernelStage& s : what.stages)
      for (const KernelArgument& a : s.arguments)
        if (a.format == "BYXF" || a.format == "YXF") return false;
    return true;
  }
};

// The launches of one node. Everything is decided before the first launch, so that another layer may be tried.
class VpuLaunches {
 public:
  VpuLaunches(const VpuLayer& layer, Emit& node) : layer_(layer), node_(node), values_(node, layer.what) {
    std::vector<bool> bound(node.outputs(), false);
    for (const KernelStage& s : layer.what.stages)
      for (const KernelArgument& a : s.arguments)
        if (a.type == "output" && static_cast<size_t>(*a.port) < bound.size())
          bound[static_cast<size_t>(*a.port)] = true;
    for (size_t i = 0; i < bound.size(); ++i)
      if (!bound[i]) unsupported("no argument is bound to output ", i, " of the operation");
    for (size_t i = 0; i < layer.what.stages.size(); ++i) stages_.push_back(stage(i));
  }

  void emit() {
    if (values_.batch() == 0) return launch_nothing();
    for (int64_t item = 0; item < values_.batch(); ++item) {
      for (Copy& c : copies_)
        if (c.input && (c.split || item == 0)) move(c, item);
      for (const Launch& l : stages_) node_.launch(l);
      for (Copy& c : copies_)
        if (!c.input) move(c, item);
    }
  }

 private:
  // A batch without items.
  void launch_nothing() {
    Launch l = stages_[0];
    l.global = {0}, l.local.clear();
    node_.launch(l);
  }

  // A tensor in the form that a kernel expects.
  struct Copy {
    bool input, split;
    size_t port, scratch;
    VpuConversion conversion;
  };

  void move(Copy& c, int64_t item) {
    c.conversion.offset = c.split ? item * c.conversion.elements() : 0;
    Argument scratch = Argument::scratch(c.scratch);
    if (c.input) node_.launch(c.conversion.launch(Argument::input(c.port), scratch, true));
    else node_.launch(c.conversion.launch(scratch, Argument::output(c.port), false));
  }

  Launch stage(size_t index) {
    const KernelStage& s = layer_.what.stages[index];
    const VpuSource& source = layer_.sources[index];
    Launch l;
    l.sources = vpu_sources_for_machine(source);
    l.entry = source.entry;
    size_t local = 0;
    for (const ClArgument& declared : source.arguments) {
      auto a = std::find_if(s.arguments.begin(), s.arguments.end(),
                            [&](const KernelArgument& k) { return k.name == declared.name; });
      if (a->type == "local_data") local += static_cast<size_t>(bytes(*a));
      l.arguments.push_back(argument(*a, declared));
    }
    // The next group's data arrives while a group runs.
    if (source.dma) local *= 2;
    if (local > vpu_local_memory)
      layer_.broken(s.at, "the kernel '", s.entry, "' uses ", local, " bytes of local memory in a work group",
                    source.dma ? " (manual DMA needs it twice)" : "", ", the ", vpu_name, " has ", vpu_local_memory);
    l.global = sizes(s, s.global, "global");
    if (s.local.empty()) l.local.assign(l.global.size(), 1);
    else l.local = sizes(s, s.local, "local");
    bool work = std::find(l.global.begin(), l.global.end(), 0u) == l.global.end();
    for (size_t v : l.local)
      if (work && v == 0) layer_.broken(s.at, "expected a local work size of at least 1, got 0");
    return l;
  }

  std::vector<size_t> sizes(const KernelStage& s, const std::vector<std::string>& formulas, const char* which) const {
    std::vector<size_t> out;
    for (const std::string& f : formulas) {
      int64_t v = values_.formula(f, s.dim);
      if (v < 0) layer_.broken(s.at, "expected a ", which, " work size of at least 0, got ", f, " = ", v);
      out.push_back(static_cast<size_t>(v));
    }
    return out;
  }

  int64_t bytes(const KernelArgument& a) const {
    int64_t v = values_.formula(a.size, *a.dim);
    if (v < 0) layer_.broken(a.at, "expected a size of at least 0 of the buffer, got ", a.size, " = ", v);
    return std::max<int64_t>(v, 1);
  }

  Argument argument(const KernelArgument& a, const ClArgument& declared) {
    bool scalar = a.kind == KernelArgument::Kind::scalar;
    if (scalar == declared.pointer)
      layer_.broken(a.at, "argument '", a.name, "' is ", scalar ? "a pointer" : "no pointer", " in the source");
    if (a.type == "int") return Argument::number(static_cast<int32_t>(values_.scalar(a)));
    if (a.type == "float") return Argument::real(static_cast<float>(values_.scalar(a)));
    if (a.type == "local_data") {
      if (declared.space != "local") layer_.broken(a.at, "argument '", a.name, "' does not point to local memory");
      return Argument::local(static_cast<size_t>(bytes(a)));
    }
    if (declared.space == "local") layer_.broken(a.at, "argument '", a.name, "' points to local memory");
    if (a.type.ends_with("_buffer")) return Argument::scratch(buffer(a));
    if (a.type == "data") return tensor(a, declared, true, weights(a));
    return tensor(a, declared, a.type == "input", static_cast<size_t>(*a.port));
  }

  // Stages share buffers by their number. The first stage that has it decides how large it is.
  size_t buffer(const KernelArgument& a) {
    auto size = static_cast<size_t>(bytes(a));
    auto [at, fresh] = buffers_.try_emplace(*a.port, 0, size);
    if (fresh) at->second.first = node_.scratch(size);
    if (size > at->second.second)
      layer_.broken(a.at, "expected at most ", at->second.second, " bytes, the size of buffer ", *a.port, ", got ",
                    size);
    return at->second.first;
  }

  // Weights of a layer are its constant inputs: "weights" the first, "biases" the second.
  size_t weights(const KernelArgument& a) const {
    if (a.source.empty()) return static_cast<size_t>(*a.port);
    size_t which = equal_ignoring_case(a.source, "weights")  ? 0
                   : equal_ignoring_case(a.source, "biases") ? 1
                                                             : SIZE_MAX;
    if (which == SIZE_MAX)
      layer_.broken(a.at, "expected weights or biases as source of argument '", a.name, "', got '", a.source, "'");
    for (size_t i = 0; i < node_.inputs(); ++i)
      if (node_.constant(i) && which-- == 0) return i;
    unsupported("argument '", a.name, "': the operation has no constant input for '", a.source, "'");
  }

  Argument tensor(const KernelArgument& a, const ClArgument& declared, bool input, size_t port) {
    Info seen = values_.seen(input, port);
    std::optional<DType> element = vpu_element(declared.type);
    if (!element)
      layer_.broken(a.at, "expected argument '", a.name, "' to point to half, float, int or the like, got '",
                    declared.type, "'");
    if (seen.type == DType::bf16 || is_real(seen.type) != is_real(*element))
      unsupported("argument '", a.name, "' points to ", *element, ", the tensor has elements of ", seen.type);
    bool flat = a.type == "data";  // weights have no format
    VpuConversion conversion{seen.type, *element, seen.shape.values(), flat ? "BFYX" : a.format, 0};
    bool split = values_.is_split(input, port);
    if (conversion.plain() && !split) return input ? Argument::input(port) : Argument::output(port);
    for (const Copy& c : copies_) {
      bool same = c.conversion.kernel == conversion.kernel && c.conversion.format == conversion.format;
      if (c.input != input || c.port != port) continue;
      if (same) return Argument::scratch(c.scratch);
      if (!input) unsupported("output ", port, " is bound with different types or formats");
    }
    size_t scratch = node_.scratch(bytes_for(*element, conversion.elements()));
    copies_.push_back({input, split, port, scratch, conversion});
    return Argument::scratch(scratch);
  }

  const VpuLayer& layer_;
  Emit& node_;
  VpuValues values_;
  std::vector<Launch> stages_;
  std::vector<Copy> copies_;
  std::map<int64_t, std::pair<size_t, size_t>> buffers_;  // scratch and bytes
};

using Alternatives = std::vector<VpuLayer>;

// Errors of the library as those of a kernel.
template <class F>
void as_failures(F&& body) {
  try {
    body();
  } catch (const Error& e) {
    throw Failure{static_cast<graft_status>(e.kind()), e.message(), e.hint()};
  }
}

// The alternatives whose conditions hold, those first that need no reordering. Declines if there is none.
std::vector<const VpuLayer*> suitable(const Alternatives& all, const Accept& node) {
  std::vector<const VpuLayer*> out;
  std::string reasons;
  for (const VpuLayer& l : all) {
    std::string why = vpu_where_fails(node, l.what);
    if (why.empty()) out.push_back(&l);
    else reasons += text(reasons.empty() ? "" : "; ", l.file, ":", l.what.at, ": ", why);
  }
  if (out.empty()) unsupported(reasons);
  std::stable_partition(out.begin(), out.end(), [](const VpuLayer* l) { return l->plain(); });
  return out;
}

void emit_alternatives(const Alternatives& all, Emit& node) {
  std::string reasons;
  for (const VpuLayer* l : suitable(all, node)) try {
      VpuLaunches launches(*l, node);
      launches.emit();
      return;
    } catch (const Failure& f) {
      if (f.kind != GRAFT_UNSUPPORTED) throw;
      reasons += text(reasons.empty() ? "" : "; ", l->file, ":", l->what.at, ": ", f.message);
    }
  unsupported(reasons);
}

VpuLayer load_layer(const std::string& xml, KernelDescription d) {
  VpuLayer out{xml, std::move(d), {}};
  for (const KernelStage& s : out.what.stages) {
    std::optional<std::vector<KernelText>> files = read_kernel_sources(xml, s);
    if (!files)
      throw Error(ErrorKind::unsupported,
                  text(xml, ":", s.at, ": '", join(s.sources, "', '"),
                       "' is compiled for a SHAVE processor, and there is no .cl file beside it"),
                  "put the source beside it, with the same name and the ending .cl");
    check_kernel_arguments(xml, s, KernelDevice::vpu, *files);
    out.sources.push_back(vpu_source(xml, s, *files));
  }
  return out;
}

}  // namespace

std::vector<SourceKernel> load_vpu_layers(const std::string& xml, std::vector<KernelDescription> descriptions) {
  std::vector<std::pair<std::string, std::shared_ptr<Alternatives>>> layers;
  for (KernelDescription& d : descriptions) {
    auto at = std::find_if(layers.begin(), layers.end(), [&](const auto& l) { return l.first == d.layer; });
    if (at == layers.end()) at = layers.insert(layers.end(), {d.layer, std::make_shared<Alternatives>()});
    at->second->push_back(load_layer(xml, std::move(d)));
  }
  std::vector<SourceKernel> out;
  for (const auto& [name, all] : layers) {
    SourceKernel kernel(vpu_name, "custom_layer");
    kernel.of(name).configured();
    kernel.accept([all = all](Accept& node) { as_failures([&] { suitable(*all, node); }); });
    kernel.emit([all = all](Emit& node) { as_failures([&] { emit_alternatives(*all, node); }); });
    out.push_back(std::move(kernel));
  }
  return out;
}

}  // namespace graft

#include "devices/gpu/layer.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "devices/gpu/gpu.hpp"
#include "readers/kernel_sources.hpp"

namespace graft {
namespace {

struct CustomLayer {
  std::string file;
  KernelDescription what;
  std::vector<Launch::Source> sources;

  const KernelStage& stage() const { return what.stages[0]; }
};

Format format_of(const std::string& name) {
  if (name == "BYXF") return Format::byxf;
  if (name == "YXFB") return Format::yxfb;
  if (name == "FYXB") return Format::fyxb;
  return Format::bfyx;  // and ANY
}

void check_outputs(const CustomLayer& layer, const Emit& ctx) {
  std::vector<size_t> ports;
  for (const KernelArgument& a : layer.stage().arguments)
    if (a.type == "output") ports.push_back(static_cast<size_t>(*a.port));
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  if (ports.size() != ctx.outputs())
    fail(layer.file, ":", layer.what.at, ": <Buffers> describes ", ports.size(), " outputs, the operation has ",
         ctx.outputs());
}

size_t internal_buffer(const CustomLayer& layer, const KernelArgument& a, Emit& ctx) {
  int64_t count = ctx.work_size(a.size);
  if (count <= 0) fail(layer.file, ":", a.at, ": expected a positive size of the buffer, got ", count);
  return ctx.scratch(static_cast<size_t>(count) * static_cast<size_t>(bits_of(ctx.type(0))) / 8);
}

std::vector<size_t> sizes(const CustomLayer& layer, const std::vector<std::string>& formulas, Emit& ctx) {
  const auto& [of_input, port] = layer.stage().dim;
  std::vector<size_t> out;
  for (const std::string& f : formulas) {
    int64_t v = ctx.work_size(f, of_input, port);
    if (v < 0) fail(layer.file, ":", layer.what.at, ": expected a work size of at least 0, got ", f, " = ", v);
    out.push_back(static_cast<size_t>(v));
  }
  return out;
}

void emit_layer(const CustomLayer& layer, Emit& ctx) {
  const KernelStage& s = layer.stage();
  check_outputs(layer, ctx);
  Launch l;
  l.macros = true;
  l.sources = layer.sources;
  l.entry = s.entry, l.options = s.options;
  for (const KernelDefine& d : s.defines) {
    std::optional<std::string> value = d.parameter.empty() ? std::nullopt : ctx.define_value(d.parameter);
    std::string plain = value.value_or(d.preset.value_or(""));
    // Without const, NVIDIA's compiler loses the array where the index is not a constant.
    bool list = d.type == "int[]" || d.type == "float[]";
    l.defines.emplace_back(d.name, list ? text("(const ", d.type, ") {", plain, "}") : plain);
  }
  std::vector<KernelArgument> arguments = s.arguments;
  std::sort(arguments.begin(), arguments.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  for (const KernelArgument& a : arguments) {
    auto port = static_cast<size_t>(*a.port);
    if (a.type == "input") l.arguments.push_back(Argument::input(port, format_of(a.format)));
    else if (a.type == "output") l.arguments.push_back(Argument::output(port, format_of(a.format)));
    else l.arguments.push_back(Argument::scratch(internal_buffer(layer, a, ctx)));
  }
  if (s.global.empty()) l.global = {static_cast<size_t>(ctx.output(0).shape.elements().value())};
  else l.global = sizes(layer, s.global, ctx);
  l.local = sizes(layer, s.local, ctx);
  ctx.launch(l);
}

CustomLayer load_layer(const std::string& file, KernelDescription d) {
  CustomLayer out{file, std::move(d), {}};
  for (const KernelArgument& a : out.stage().arguments)
    if (a.kind == KernelArgument::Kind::data)
      throw Error(ErrorKind::unsupported, text(file, ":", a.at, ": <Data> arguments are not supported"),
                  "weights are inputs of the operation: <Tensor type=\"input\" port-index=\"...\">");
  std::optional<std::vector<KernelText>> files = read_kernel_sources(file, out.stage());
  if (!files) throw_user(file, ":", out.stage().at, ": expected OpenCL source, got a compiled kernel");
  for (KernelText& f : *files) out.sources.push_back({std::move(f.text), std::move(f.file)});
  return out;
}

}  // namespace

std::vector<SourceKernel> load_gpu_layers(const std::string& xml, std::vector<KernelDescription> descriptions) {
  std::vector<SourceKernel> out;
  for (KernelDescription& d : descriptions) {
    auto layer = std::make_shared<const CustomLayer>(load_layer(xml, std::move(d)));
    out.emplace_back(gpu_name, "custom_layer").of(layer->what.layer).configured().emit([layer](Emit& ctx) {
      emit_layer(*layer, ctx);
    });
  }
  return out;
}

}  // namespace graft

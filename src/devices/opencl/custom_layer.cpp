#include "devices/opencl/custom_layer.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <graft/extension.hpp>
#include <graft/files.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "devices/opencl/opencl.hpp"
#include "devices/vpu/layer.hpp"
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

// A description has no shapes: they are those that the IR declares.
void infer_layer(Infer& ctx, const NoAttributes&) {
  bool known = true;
  for (size_t i = 0; i < ctx.inputs(); ++i) known = known && (!ctx.has_input(i) || ctx.shape(i).is_static());
  for (size_t i = 0; i < std::max<size_t>(ctx.outputs(), 1); ++i) {
    std::optional<Info> declared = ctx.declared(i);
    // A port without dimensions is a scalar, or of unknown rank.
    bool has_dims = declared && declared->shape.ranked() && declared->shape.rank() > 0;
    if (has_dims && (declared->shape.is_static() || !known)) {
      ctx.output(i, declared->type, declared->shape);
      continue;
    }
    if (!known) {
      ctx.output(i, declared ? declared->type : DType::undefined, Shape::unknown());
      continue;
    }
    throw Failure{GRAFT_USER,
                  text("the shape of output ", i, " of ", ctx.op_type(),
                       " is unknown: a kernel file has no shape function, and the model declares ",
                       has_dims ? text(declared->shape, " only") : "no shape for inputs of these shapes"),
                  "use inputs of the shapes that the model was converted with, convert it with other ones, or load an "
                  "extension that defines the operation"};
  }
}

// The operation of a layer that nothing else defines.
Op layer_operation(const std::string& name) {
  return op<NoAttributes>(name, "extension")
      .doc("a custom layer; shapes as the IR declares them")
      .inputs("inputs...")
      .outputs("outputs...")
      .any_attributes()
      .weak()
      .infer(infer_layer);
}

// The definitions of a file, and the names that they refer to.
struct CustomLayers {
  std::deque<std::string> names;
  std::unique_ptr<Library> library;
};
// Never destroyed, like other definitions; the list keeps them reachable for leak checkers.
CustomLayers& keep_layers() {
  static std::mutex mutex;
  static auto* all = new std::deque<CustomLayers>;
  std::lock_guard lock(mutex);
  return all->emplace_back();
}

}  // namespace

std::shared_ptr<const Records> open_custom_layers(const std::string& path) {
  return with_context(
      [&] {
        std::error_code ec;
        std::string full = std::filesystem::canonical(path, ec).string();
        if (ec) throw_io("cannot open '", path, "': ", ec.message());
        CustomLayers& kept = keep_layers();
        Definitions all;
        std::vector<KernelDescription> for_vpu;
        for (KernelDescription& d : read_kernel_xml(path)) {
          if (std::find(kept.names.begin(), kept.names.end(), d.layer) == kept.names.end())
            all += layer_operation(kept.names.emplace_back(d.layer));
          if (d.device == KernelDevice::vpu) {
            for_vpu.push_back(std::move(d));
            continue;
          }
          auto layer = std::make_shared<const CustomLayer>(load_layer(path, std::move(d)));
          SourceKernel kernel(gpu_name, "custom_layer");
          kernel.of(layer->what.layer).configured().emit([layer](Emit& ctx) { emit_layer(*layer, ctx); });
          all += kernel;
        }
        for (SourceKernel& k : load_vpu_layers(path, std::move(for_vpu))) all += k;
        kept.library = std::make_unique<Library>(stem_of(full), "1", std::move(all));
        return read_records(*kept.library->record(), Source::library, full);
      },
      [&] { return text("loading the custom layers of '", path, "'"); });
}

}  // namespace graft

#include "extensions/custom_layers.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <graft/extension.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "devices/gpu/layer.hpp"
#include "devices/vpu/layer.hpp"

namespace graft {
namespace {

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
        std::vector<KernelDescription> for_gpu, for_vpu;
        for (KernelDescription& d : read_kernel_xml(path)) {
          if (std::find(kept.names.begin(), kept.names.end(), d.layer) == kept.names.end())
            all += layer_operation(kept.names.emplace_back(d.layer));
          (d.device == KernelDevice::vpu ? for_vpu : for_gpu).push_back(std::move(d));
        }
        for (SourceKernel& k : load_gpu_layers(path, std::move(for_gpu))) all += k;
        for (SourceKernel& k : load_vpu_layers(path, std::move(for_vpu))) all += k;
        kept.library = std::make_unique<Library>(stem_of(full), "1", std::move(all));
        return read_records(*kept.library->record(), Source::library, full);
      },
      [&] { return text("loading the custom layers of '", path, "'"); });
}

}  // namespace graft

// Runs the cases of cases.json manifests in this process and compares the results.
//
//   graft_cases [options] MANIFEST...
//     --device DEVICE          where to run (CPU); exit code 77 where this machine does not have it
//     --affinities SEED        with --device HETERO:A,B: every layer on a device that is drawn at random, of those that
//                              support it
//     --through-ir             by way of a written and re-read IR
//     --only REGEX             cases whose group/name matches
//     --exclude FILE           cases that are known not to pass, "group/name  reason" a line; one that passes is a
//                              failure. "!group/name" is not even tried, "?group/name" runs, and is not compared
//     --timeout SECONDS        of processor time for running one case (60)
//     --extensions PATH,...    libraries to load
//     --skip-missing           a manifest that is not there is skipped, not an error
//     -v                       every failure with its reason
#include <regex.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "compare.hpp"
#include "toolkit/state.hpp"

namespace graft::cases {
namespace {

struct Options {
  std::string device = "CPU", only, exclude, extensions;
  int timeout = 60, affinities = -1;
  bool through_ir = false, skip_missing = false, verbose = false;
  std::vector<std::string> manifests;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    auto value = [&]() -> std::string {
      if (i + 1 >= argc) throw_user(a, " wants a value");
      return argv[++i];
    };
    if (a == "--device") o.device = value();
    else if (a == "--only") o.only = value();
    else if (a == "--exclude") o.exclude = value();
    else if (a == "--extensions") o.extensions = value();
    else if (a == "--affinities") o.affinities = std::stoi(value());
    else if (a == "--timeout") o.timeout = std::stoi(value());
    else if (a == "--through-ir") o.through_ir = true;
    else if (a == "--skip-missing") o.skip_missing = true;
    else if (a == "-v") o.verbose = true;
    else if (a.starts_with("-")) throw_user("there is no option '", a, "'");
    else o.manifests.push_back(a);
  }
  return o;
}

std::map<std::string, std::string> read_exclusions(const std::string& path) {
  std::map<std::string, std::string> out;
  if (path.empty()) return out;
  std::string content = read_text_file(path);
  for (std::string_view line : split(content, '\n')) {
    line = trim(line);
    if (line.empty() || line.starts_with("#")) continue;
    size_t space = line.find(' ');
    if (space == line.npos) throw_user("'", line, "' is excluded without a reason");
    out.emplace(line.substr(0, space), trim(line.substr(space)));
  }
  return out;
}

// Takes what a regular expression matches; an empty one matches all.
class Filter {
 public:
  explicit Filter(const std::string& expression) {
    if (::regcomp(&compiled_, expression.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
      throw_user("'", expression, "' is not a regular expression");
  }
  Filter(const Filter&) = delete;
  ~Filter() { ::regfree(&compiled_); }
  bool takes(const std::string& text) const { return ::regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0; }

 private:
  regex_t compiled_;
};

// One value per input of the model, in its order.
std::vector<Datum> input_values(const Model& model, const std::string& folder, const nlohmann::json& c) {
  std::vector<Group> groups = model.input_groups();
  std::vector<Port> ports = model.inputs();
  std::vector<Datum> out(groups.size());
  for (size_t i = 0; i < c["inputs"].size(); ++i) {
    const auto& spec = c["inputs"][i];
    std::string name = spec.value("name", "");
    size_t index = i;
    if (!name.empty()) {
      auto named = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.name == name; });
      // Other names of a tensor, and the message where there is none.
      if (named == groups.end()) {
        size_t port = find_port(ports, name, "input");
        named = std::find_if(groups.begin(), groups.end(),
                             [&](const Group& g) { return g.kind == Group::Kind::tensor && g.port == port; });
      }
      index = static_cast<size_t>(named - groups.begin());
    }
    if (index >= groups.size()) throw_user("the model has ", groups.size(), " inputs, there is no input ", index);
    out[index] = load(folder, spec);
  }
  return out;
}

// With --affinities, each layer on one of the devices that support it, drawn at random.
graft::Options compile_options(const Core& core, const Model& model, const Options& o) {
  graft::Options out;
  if (o.affinities < 0) return out;
  std::mt19937 random(static_cast<unsigned>(o.affinities));
  std::map<std::string, std::vector<std::string>> able;
  graft::Options as_it_is;
  as_it_is.passes = false;
  for (std::string_view device : split(std::string_view(o.device).substr(o.device.find(':') + 1), ','))
    for (const auto& [layer, d] : core.query_model(model, std::string(device), as_it_is).assigned())
      able[layer].push_back(d);
  for (const auto& [layer, devices] : able) out.affinities[layer] = devices[random() % devices.size()];
  return out;
}

// Why the case fails; empty when it passes.
// Waits while the program has used less than `seconds` of processor time since then: the clock depends on what else runs
// on the machine, so it only ends what hangs.
bool wait_for_result(InferRequest& request, int seconds) {
  constexpr int hangs = 60;  // times as long by the clock
  auto used = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  double start = used();
  for (auto late = std::chrono::steady_clock::now() + std::chrono::seconds(hangs) * seconds;
       used() - start < seconds && std::chrono::steady_clock::now() < late;)
    if (request.wait_for(std::chrono::milliseconds(200))) return true;
  return false;
}

std::string run_case(Core& core, const Options& o, const std::string& folder, const nlohmann::json& c) {
  std::vector<std::string> files;
  for (const auto& f : c["model"]) files.push_back(folder + "/" + f.get<std::string>());
  Model model = core.read_model(files);
  // Data of another size than the file says: the model is made for it.
  ReadOptions resized;
  for (const auto& spec : c["inputs"]) {
    std::string name = spec.value("name", "");
    if (name.empty()) continue;
    std::vector<Port> ports = model.inputs();
    for (const Port& p : ports) {
      bool sized = c.value("framework", "") == "caffe" || c.value("framework", "") == "mxnet";
      if (std::find(p.names.begin(), p.names.end(), name) == p.names.end() || !sized) continue;
      Shape shape = Shape::of(load(folder, spec).value.dims());
      if (!p.shape.is_static() || p.shape != shape) resized.shapes[name] = shape;
    }
  }
  if (!resized.shapes.empty()) model = core.read_model(files, resized);
  std::shared_ptr<const ModelOrigin> origin = model.state()->origin;
  const ImportReport& report = origin->report;
  if (!report.unknown.empty()) {
    std::string all = "unknown:";
    for (const UnknownType& u : report.unknown) all += text(" ", u.domain, "::", u.type);
    return all;
  }
  std::vector<Datum> values = input_values(model, folder, c);
  // Sequences, and values that decide about them: the model is made for those that are given.
  bool structured = any_structure(model.state()->current()->input_forms) || !report.decisive.empty();
  if (structured) {
    Fitted made = fit_model(model, values);
    model = made.model, values = made.values;
  }
  if (o.through_ir) model = model.through_ir();
  // TensorFlow runs a model with other shapes than its signature says; here one asks for them.
  if (c["framework"] == "tensorflow") {
    std::vector<Port> ports = model.inputs();
    std::map<std::string, Shape> shapes;
    for (const auto& spec : c["inputs"]) {
      const Port& p = ports[find_port(ports, spec["name"], "input")];
      Tensor value = load(folder, spec).value;
      if (!p.takes(value.dims())) shapes[spec["name"]] = Shape::of(value.dims());
    }
    if (!shapes.empty()) model.reshape(shapes);
  }
  CompiledModel compiled = core.compile_model(model, o.device, compile_options(core, model, o));
  std::vector<Port> in = compiled.inputs(), out = compiled.outputs();
  InferRequest request = compiled.create_infer_request();
  std::vector<Tensor> tensors = port_tensors(compiled.input_groups(), values, in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    Tensor t = tensors[i];
    if (!t) continue;  // the request says that it is missing
    if (in[i].type == DType::bf16 && t.type() == DType::u16)
      t = Tensor::wrap(DType::bf16, t.dims(), t.data(), std::make_shared<Tensor>(t));
    request.set_input_tensor(i, t);
  }
  request.start_async();
  if (!wait_for_result(request, o.timeout)) {
    request.cancel();
    return text("is not done after ", o.timeout, " seconds of processor time");
  }
  request.wait();
  for (size_t i = 0; i < c["outputs"].size(); ++i) {
    const auto& spec = c["outputs"][i];
    std::string name = spec.value("name", "");
    // Outputs of PyTorch that are None are counted, but not listed, and several may share a name.
    bool in_order = c["framework"] == "pytorch";
    size_t index = in_order ? i : spec.value("index", i);
    std::vector<Group> groups = compiled.output_groups();
    for (size_t k = 0; !in_order && k < groups.size(); ++k) {
      const Group& g = groups[k];
      bool also = g.kind == Group::Kind::tensor && std::count(out[g.port].names.begin(), out[g.port].names.end(), name);
      if (g.name == name || also) index = k;
    }
    if (index >= groups.size()) return text("there is no output ", index);
    Datum got = gathered(groups[index], [&](size_t port) { return request.get_output_tensor(port); });
    std::string why = compare(load(folder, spec), got, c, spec);
    if (!why.empty()) return text("output ", name, ": ", why);
  }
  return "";
}

int main(int argc, char** argv) {
  Options o = parse(argc, argv);
  Core core;
  for (std::string_view e : split(o.extensions, ',')) core.add_extension(std::string(e));
  for (const auto& [name, why] : core.unavailable_devices()) {
    if (o.device.find(name) == o.device.npos) continue;
    std::printf("skipped: %s: %s\n", name.c_str(), why.c_str());
    return 77;
  }
  std::map<std::string, std::string> excluded = read_exclusions(o.exclude);
  Filter filter(o.only);
  int passed = 0, failed = 0, skipped = 0;
  std::map<std::string, int> unknown;
  for (const std::string& manifest : o.manifests) {
    std::string folder = folder_of(manifest), group = std::filesystem::path(folder).filename().string();
    if (!std::filesystem::exists(manifest)) {
      if (!o.skip_missing) throw_user("there is no manifest '", manifest, "'");
      std::printf("%-20s skipped: there is no %s\n", group.c_str(), manifest.c_str());
      ++skipped;
      continue;
    }
    int p = 0, f = 0, x = 0;
    for (const auto& c : nlohmann::json::parse(std::ifstream(manifest))) {
      std::string id = group + "/" + c["name"].get<std::string>(), why;
      if (!filter.takes(id)) continue;
      if (excluded.count("!" + id)) {
        ++x;
        continue;
      }
      try {
        why = run_case(core, o, folder, c);
      } catch (const std::exception& e) {
        why = text("error: ", e.what());
      }
      if (why.starts_with("unknown:"))
        for (std::string_view w : split(std::string_view(why).substr(9), ' ')) ++unknown[std::string(w)];
      // Numbers drawn at random agree with recorded ones by chance only; that the model runs is checked.
      bool random = excluded.count("?" + id) && !why.starts_with("error:");
      bool known = excluded.count(id) || random;
      if (known && !random && why.empty()) why = text("passes, but is excluded: ", excluded[id]);
      else if (known) {
        ++x;
        continue;
      }
      why.empty() ? ++p : ++f;
      if (!why.empty() && o.verbose) std::printf("FAIL %s: %s\n", id.c_str(), why.substr(0, 400).c_str());
    }
    std::printf("%-20s %5d passed %5d failed %5d excluded  (%s%s)\n", group.c_str(), p, f, x, o.device.c_str(),
                o.through_ir ? ", through the IR" : "");
    passed += p, failed += f, skipped += x;
  }
  for (const auto& [name, count] : unknown) std::printf("unknown %-40s in %d cases\n", name.c_str(), count);
  std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace graft::cases

int main(int argc, char** argv) {
  try {
    return graft::cases::main(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 2;
  }
}

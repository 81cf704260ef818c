#include "execute.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "base/file.hpp"
#include "base/temporary.hpp"
#include "base/tensor.hpp"
#include "common.hpp"
#include "devices/cpu/cpu.hpp"
#include "devices/gpu/gpu.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "import/importer.hpp"
#include "infer/evaluate.hpp"
#include "ir/ir.hpp"
#include "mutate.hpp"
#include "passes/pass.hpp"
#include "readers/caffe/caffe.hpp"
#include "readers/kaldi/kaldi.hpp"
#include "readers/mxnet/mxnet.hpp"
#include "readers/onnx/onnx.hpp"
#include "readers/tensorflow/tensorflow.hpp"

namespace graft::fuzzing {

const std::array<std::string_view, count_size> count_names{
    "executions",       "unreadable", "refused",   "refused by one device",
    "compared",         "too large",  "cancelled", "random",
    "unstable results", "overflow",   "through IR"};

namespace {

constexpr int64_t most_elements = 1 << 14;      // of an input
constexpr size_t most_bytes = size_t{1} << 22;  // of a value
constexpr double most_work = 1e7;               // of a node
constexpr auto most_time = std::chrono::seconds(2);

Limits small_limits() {
  Limits out;
  out.fold_value = size_t{1} << 20, out.fold_bytes = size_t{1} << 22, out.fold_work = 2'000'000,
  out.body_nodes = 20'000;
  out.value_bytes = most_bytes;
  out.inlined = 10'000;
  return out;
}

// Sets a flag when time is up; one thread for the whole process.
class Watch {
 public:
  static Watch& shared() {
    static auto* watch = new Watch;
    return *watch;
  }
  void start() {
    std::lock_guard lock(mutex_);
    up_ = false;
    end_ = std::chrono::steady_clock::now() + most_time;
    changed_.notify_one();
  }
  const std::atomic<bool>* up() const { return &up_; }

 private:
  Watch() {
    std::thread([this] {
      std::unique_lock lock(mutex_);
      for (;;) {
        if (up_) changed_.wait(lock);
        else if (changed_.wait_until(lock, end_) == std::cv_status::timeout && std::chrono::steady_clock::now() >= end_)
          up_ = true;
      }
    }).detach();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> up_{true};
  std::chrono::steady_clock::time_point end_;
};

uint64_t hash_of(std::string_view s) {
  uint64_t h = 0xcbf29ce484222325;
  for (char c : s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

// What stands before the first zero byte, and behind it.
std::pair<std::string_view, std::string_view> halves(std::string_view bytes) {
  size_t zero = std::min(bytes.find('\0'), bytes.size());
  return {bytes.substr(0, zero), bytes.substr(std::min(zero + 1, bytes.size()))};
}

RawModel read_raw(Format format, const std::shared_ptr<std::string>& file, const ImportOptions& options) {
  auto [first, second] = halves(*file);
  switch (format) {
    case Format::onnx: return read_onnx(*file, file, "/nonexistent");
    case Format::tensorflow: return read_tensorflow(*file, file, "/nonexistent");
    case Format::kaldi: return read_kaldi(*file, "fuzz", options.read, options.limits);
    case Format::mxnet: {
      MxnetParams params = second.empty() ? MxnetParams() : read_mxnet_params(second, file, options.limits);
      return read_mxnet(first, "fuzz", params, options.read, options.limits);
    }
    default: return read_caffe(first, "net", second, file);
  }
}

Graph load(Format format, std::string_view bytes) {
  const Registry& registry = fuzz_registry();
  if (format == Format::ir) {
    auto [first, second] = halves(bytes);
    // The tensors of the graph point into it.
    auto weights = std::make_shared<std::string>(second);
    return read_ir(first, *weights, weights, registry, small_limits());
  }
  ImportOptions options;
  options.limits = small_limits();
  if (format == Format::kaldi) options.read.streaming = hash_of(bytes) % 4 == 0;
  RawModel raw = read_raw(format, std::make_shared<std::string>(bytes), options);
  Imported m = import_model(raw, registry, options);
  verify(m.graph);
  for (const Problem& p : m.report.problems) throw p.error;
  if (!m.report.complete()) throw_unsupported("layers without a rule");
  return std::move(m.graph);
}

// ---- inputs ----

Tensor some_values(DType type, const std::vector<int64_t>& dims, Random& r) {
  int64_t count = count_checked(dims);
  if (type == DType::string) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < count; ++i) texts.push_back(std::string(r.below(4), static_cast<char>('a' + r.below(3))));
    return Tensor::strings(dims, texts);
  }
  if (is_real(type)) {
    std::vector<double> v;
    for (int64_t i = 0; i < count; ++i) v.push_back(r.unit() * 4 - 2);
    return make_tensor<double>(dims, v).to(type);
  }
  std::vector<int64_t> v;
  bool any = r.one_in(6);
  for (int64_t i = 0; i < count; ++i)
    v.push_back(static_cast<int64_t>(any ? r.below(300) : r.below(4)) - (any ? 100 : r.one_in(8)));
  return make_tensor<int64_t>(dims, v).to(type);
}

Tensor given_values(DType type, const std::vector<int64_t>& dims, const std::vector<int64_t>& given) {
  std::vector<int64_t> v;
  for (int64_t i = count_checked(dims); i > 0; --i) v.push_back(given[v.size() % given.size()]);
  return make_tensor<int64_t>(dims, v).to(type);
}

// Values for all inputs; none if there would be too many.
std::optional<std::vector<Tensor>> some_inputs(const Graph& g, Random& r, const GivenInputs& given) {
  std::vector<Tensor> out;
  std::map<uint32_t, int64_t> symbols;
  for (NodeId id : g.parameters()) {
    const Info& info = g.info({id, 0});
    std::vector<int64_t> dims;
    int64_t count = 1;
    Shape shape = info.shape.ranked() ? info.shape : Shape::of_rank(r.below(5));
    for (const Dim& d : shape) {
      int64_t v = std::clamp<int64_t>(1 + static_cast<int64_t>(r.below(4)), d.min(), d.max());
      if (d.symbol() && !d.known()) v = symbols.emplace(d.symbol(), v).first->second;
      if (v > most_elements || (count *= v) > most_elements) return std::nullopt;
      dims.push_back(v);
    }
    auto it = given.find(g[id].name);
    bool is_given = it != given.end() && !it->second.empty() && is_integer(info.type);
    out.push_back(is_given ? given_values(info.type, dims, it->second)
                           : some_values(info.type == DType::undefined ? DType::f32 : info.type, dims, r));
  }
  return out;
}

// ---- running ----

struct Run {
  std::vector<Tensor> outputs;
  std::optional<Error> error;
  bool overflow = false;  // of a value on the way
};

template <class F>
Run attempt(F&& body) {
  Run run;
  try {
    run.outputs = body(run);
  } catch (...) {
    run.error = current_error();
  }
  return run;
}

double largest(DType type) {
  return type == DType::f16 ? 3e4 : bits_of(type) <= 8 ? 100 : type == DType::f64 ? 1e150 : 1e15;
}

Run run_reference(const Graph& g, std::span<const Tensor> inputs) {
  return attempt([&](Run& run) {
    Variables variables;
    Evaluation how{fuzz_registry()};
    how.max_bytes = most_bytes;
    how.max_work = most_work;
    how.variables = &variables;
    how.cancel = Watch::shared().up();
    how.observe_arg = &run;
    how.observe = [](void* arg, const Graph&, NodeId, double, std::span<const Tensor> outputs) {
      for (const Tensor& t : outputs)
        if (t && is_real(t.type()) && !static_cast<Run*>(arg)->overflow)
          for (double v : values_of<double>(t))
            if (!(std::fabs(v) < largest(t.type()))) static_cast<Run*>(arg)->overflow = true;
    };
    return evaluate_graph(how, g, inputs);
  });
}

// With other shapes in between now and then: nothing may be left over in the memory of the request.
Run run_device(Device& device, const Graph& g, std::span<const Tensor> inputs, Random& r) {
  return attempt([&](Run&) {
    Graph optimized = g.clone();
    PassOptions passes;
    passes.limits = small_limits();
    run_passes(optimized, fuzz_registry(), passes);
    verify(optimized);
    CompileOptions options;
    options.limits = small_limits();
    options.threads = 1 + static_cast<int>(r.below(2));
    auto program = device.compile(std::move(optimized), fuzz_registry(), options);
    auto execution = program->create_execution();
    std::vector<Tensor> outputs;
    if (r.one_in(4))
      if (auto others = some_inputs(g, r, {})) try {
          execution->run(*others, outputs, Watch::shared().up());
        } catch (...) {
          if (current_error().kind() == ErrorKind::internal) throw;
        }
    outputs.clear();
    execution->variables.clear();
    execution->run(inputs, outputs, Watch::shared().up());
    for (Tensor& t : outputs) t = t.clone();
    return outputs;
  });
}

Run run_through_ir(const Graph& g, std::span<const Tensor> inputs, bool& written) {
  return attempt([&](Run&) {
    Graph w = g.clone();
    PassOptions options;
    options.phases = PassPhases::writing;
    run_passes(w, fuzz_registry(), options);
    TemporaryFolder folder;
    write_ir(w, fuzz_registry(), folder.path() + "/m.xml");
    written = true;
    Graph again = read_ir(folder.path() + "/m.xml", "", fuzz_registry());
    written = false;  // from here on a refusal is that of the model
    Run run = run_reference(again, inputs);
    if (run.error) throw *run.error;
    return run.outputs;
  });
}

// ---- comparing ----

double tolerance(DType type) {
  switch (type) {
    case DType::f64:
    case DType::f32: return 1e-3;
    case DType::f16: return 2e-2;
    case DType::bf16: return 1e-1;
    default: return 0.5;
  }
}

// Empty when equal within the tolerance, which is relative to the largest value of the tensor.
std::string difference(const Tensor& want, const Tensor& got, double part = 1) {
  if (want.type() != got.type()) return text("type ", got.type(), ", REFERENCE has ", want.type());
  if (want.dims() != got.dims()) return text("shape ", got.dims(), ", REFERENCE has ", want.dims());
  // Bits behind the last element of a packed type do not count.
  auto same = [&] {
    return is_packed(want.type()) || want.type() == DType::boolean ? values_of<int64_t>(want) == values_of<int64_t>(got)
                                                                   : same_content(want, got);
  };
  if (!is_real(want.type())) return same() ? "" : text(print(got, 32), ", REFERENCE has ", print(want, 32));
  std::vector<double> a = values_of<double>(want), b = values_of<double>(got);
  double scale = 1;
  for (double v : a)
    if (std::isfinite(v)) scale = std::max(scale, std::fabs(v));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::fabs(a[i] - b[i]) <= part * tolerance(want.type()) * scale))
      return text("element ", i, " is ", b[i], ", REFERENCE has ", a[i], "; all: ", print(got, 16), ", REFERENCE ",
                  print(want, 16));
  }
  return "";
}
std::string difference(const Run& want, const Run& got, double part = 1) {
  if (want.outputs.size() != got.outputs.size())
    return text(got.outputs.size(), " results, REFERENCE has ", want.outputs.size());
  for (size_t i = 0; i < want.outputs.size(); ++i)
    if (std::string d = difference(want.outputs[i], got.outputs[i], part); !d.empty())
      return text("result ", i, ": ", d);
  return "";
}

// Real numbers changed by about as much as rounding changes them.
Tensor nudged(const Tensor& t, Random& r) {
  if (!t || !is_real(t.type()) || bits_of(t.type()) < 16) return t;
  double step = t.type() == DType::f16 ? 1e-3 : t.type() == DType::bf16 ? 8e-3 : 2e-6;
  std::vector<double> v = values_of<double>(t);
  for (double& x : v) x += step * (4 * r.unit() - 2) * std::max(std::fabs(x), 0.1);
  return make_tensor<double>(t.dims(), v).to(t.type());
}
void nudge_constants(Graph& g, Random& r) {
  for (NodeId id = 0; id < g.end_id(); ++id) {
    if (!g[id].alive) continue;
    for (Body& b : g[id].bodies) nudge_constants(*b.graph, r);
    if (g[id].is("Constant")) g[id].attrs["value"] = nudged(g[id].attrs.find("value")->as<Tensor>(), r);
  }
}

// Multiplies what nodes read by almost 1: a constant that is used twice, as the scale of a quantization is, may cancel.
void nudge_values(Graph& g, Random& r) {
  NodeId end = g.end_id();
  for (NodeId id = 0; id < end; ++id) {
    if (!g[id].alive || g[id].is("Result")) continue;
    for (Body& b : g[id].bodies) nudge_values(*b.graph, r);
    for (size_t i = 0; i < g[id].inputs.size(); ++i) {
      ValueId v = g[id].inputs[i];
      if (!v.present() || !is_real(g.info(v).type) || bits_of(g.info(v).type) < 16) continue;
      Info whole = g.info(v);
      Node one{"Constant", "opset1", g.unique_name("one"), {}, {}, {}, {}, {}, {}, {}};
      one.attrs["value"] = nudged(make_tensor<double>({}, {1}).to(whole.type), r);
      one.outputs.push_back({Info{whole.type, Shape::of({})}, {}, {}, {}});
      Node times{"Multiply", "opset1", g.unique_name("times"), {}, {v, {g.add(std::move(one)), 0}}, {}, {}, {}, {}, {}};
      times.attrs["auto_broadcast"] = std::string("numpy");
      times.outputs.push_back({whole, {}, {}, {}});
      ValueId changed{g.add(std::move(times)), 0};
      g[id].inputs[i] = changed;
    }
  }
}

// Whether equal inputs need not give equal results.
bool is_random(const Graph& g) {
  for (NodeId id : g.topological_order()) {
    const Node& n = g[id];
    for (const Body& b : n.bodies)
      if (is_random(*b.graph)) return true;
    const OpDef* op = fuzz_registry().find(n.type, n.opset);
    bool state = n.is("Parameter") || n.is("Result") || n.is("ReadValue") || n.is("Assign");
    if (op && !op->has(GRAFT_OP_PURE) && n.bodies.empty() && !state) return true;
  }
  return false;
}

// Why a difference says nothing about us; none if it does.
std::optional<Count> excuse(const Graph& g, const std::vector<Tensor>& inputs, const Run& reference, Random& r) {
  if (is_random(g)) return excused_random;
  if (reference.overflow) return excused_overflow;
  for (int attempt = 0; attempt < 16; ++attempt) {
    Graph other = g.clone();
    if (attempt % 2) nudge_values(other, r);
    else nudge_constants(other, r);
    std::vector<Tensor> in;
    for (const Tensor& t : inputs) in.push_back(nudged(t, r));
    Run run = run_reference(other, in);
    if (run.error || !difference(reference, run, 0.05).empty()) return excused_unstable;
  }
  return std::nullopt;
}

std::optional<Finding> contradiction(const Graph& g, const Run& run) {
  for (size_t i = 0; i < run.outputs.size() && i < g.results().size(); ++i) {
    const Info& info = g.info(g[g.results()[i]].inputs[0]);
    const Tensor& t = run.outputs[i];
    bool fits = !info.shape.ranked() || info.shape.rank() == t.dims().size();
    for (size_t k = 0; fits && info.shape.ranked() && k < t.dims().size(); ++k)
      fits = info.shape[k].can_be(t.dims()[k]);
    if (!fits || (info.type != DType::undefined && info.type != t.type()))
      return Finding{"shape inference", text("result ", i, " is ", t.info(), ", inferred is ", info)};
  }
  return std::nullopt;
}

bool is_limit(const Run& run) {
  return run.error && (is_limit_error(*run.error) || (run.error->kind() == ErrorKind::unsupported &&
                                                      run.error->message().ends_with("to be computed here")));
}

bool is_cancelled(const Run& run) { return run.error && run.error->kind() == ErrorKind::cancelled; }

class Executor {
 public:
  Executor(Counts& counts, uint64_t seed, const GivenInputs& given, OtherDevice device)
      : counts_(counts),
        r_(seed),
        given_(given),
        name_(device == OtherDevice::cpu ? "CPU" : "GPU"),
        device_(device == OtherDevice::cpu ? make_cpu_device() : make_gpu_device()) {}

  std::optional<Finding> run(Format format, std::string_view bytes) {
    count(executions);
    Watch::shared().start();
    Graph g;
    Run read = attempt([&](Run&) {
      g = load(format, bytes);
      return std::vector<Tensor>();
    });
    if (read.error) return refuse(read, "importing", unreadable);
    auto inputs = some_inputs(g, r_, given_);
    if (!inputs) return count(too_large);
    Run reference = run_reference(g, *inputs);
    if (is_limit(reference)) return count(too_large);
    if (is_cancelled(reference)) return count(cancelled);
    if (auto f = bug(reference, "REFERENCE")) return f;
    Run cpu = run_device(*device_, g, *inputs, r_);
    if (auto f = bug(cpu, name_)) return f;
    if (is_cancelled(cpu)) return count(cancelled);
    if (is_limit(cpu)) return count(too_large);
    if (cpu.error && reference.error) return count(refused);
    if (cpu.error || reference.error) return count(refused_by_one);
    if (auto f = contradiction(g, reference)) return f;
    if (auto f = compare(g, *inputs, reference, cpu, name_)) return f;
    count(compared);
    return r_.one_in(4) ? convert(g, *inputs, reference) : std::nullopt;
  }

 private:
  std::nullopt_t count(Count c) {
    ++counts_[c];
    return std::nullopt;
  }
  static std::optional<Finding> bug(const Run& run, std::string_view where) {
    if (!run.error || run.error->kind() != ErrorKind::internal) return std::nullopt;
    return Finding{"internal error", text(where, ": ", run.error->what())};
  }
  std::optional<Finding> refuse(const Run& run, std::string_view where, Count c) {
    if (auto f = bug(run, where)) return f;
    return count(c);
  }
  std::optional<Finding> compare(const Graph& g, const std::vector<Tensor>& inputs, const Run& reference,
                                 const Run& got, std::string_view who) {
    std::string d = difference(reference, got);
    if (d.empty()) return std::nullopt;
    if (auto why = excuse(g, inputs, reference, r_)) return count(*why);
    std::string graph = print(g);
    return Finding{"values", text(who, ": ", d, "\n", graph.substr(0, 4000))};
  }
  std::optional<Finding> convert(const Graph& g, const std::vector<Tensor>& inputs, const Run& reference) {
    count(through_ir);
    bool written = false;
    Run run = run_through_ir(g, inputs, written);
    if (auto f = bug(run, "through IR")) return f;
    if (run.error && written)
      return Finding{"written IR refused", text(run.error->what(), "\n", print(g).substr(0, 4000))};
    if (run.error) return count(refused_by_one);
    return compare(g, inputs, reference, run, "through IR");
  }

  Counts& counts_;
  Random r_;
  const GivenInputs& given_;
  std::string_view name_;
  std::unique_ptr<Device> device_;
};

}  // namespace

std::optional<Finding> execute(Format format, std::string_view bytes, Counts& counts, const GivenInputs& given,
                               OtherDevice device) {
  return Executor(counts, hash_of(bytes), given, device).run(format, bytes);
}

}  // namespace graft::fuzzing

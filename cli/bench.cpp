// graft bench: measures latency and throughput. Option names are benchmark_app's.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>

#include "inputs.hpp"
#include "thread_options.hpp"

namespace graft::cli {
namespace {

using Clock = std::chrono::steady_clock;
double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

struct BenchOptions {
  ModelOptions model;
  InputOptions inputs;
  int64_t iterations = 0;
  double seconds = 0;
  int requests = 0, streams = 0;
  ThreadOptions threads{.hint = "throughput"};
  std::string api = "async";
  bool counters = false, json = false, no_warmup = false;
};

struct Result {
  std::vector<double> latencies;  // ms
  double duration = 0;            // ms
};

// Keeps all requests in flight until the time has elapsed or the number of iterations is reached.
Result measure(std::vector<InferRequest>& requests, const BenchOptions& o, bool async) {
  Result result;
  auto start = Clock::now(),
       deadline = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(o.seconds));
  auto more = [&](int64_t begun) { return o.iterations > 0 ? begun < o.iterations : Clock::now() < deadline; };
  if (!async) {
    for (int64_t begun = 0; more(begun); ++begun) {
      auto t = Clock::now();
      requests[0].infer();
      result.latencies.push_back(milliseconds(Clock::now() - t));
    }
    result.duration = milliseconds(Clock::now() - start);
    return result;
  }
  std::vector<Clock::time_point> begin(requests.size()), end(requests.size());
  int64_t begun = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].set_callback([&end, i](std::exception_ptr) { end[i] = Clock::now(); });
    if (!more(begun)) continue;
    begin[i] = Clock::now();
    requests[i].start_async();
    ++begun;
  }
  // Round-robin: with equal work the oldest request is the next to finish.
  std::vector<bool> flying(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) flying[i] = begin[i] != Clock::time_point();
  bool any = true;
  while (any) {
    any = false;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (!flying[i]) continue;
      requests[i].wait();
      result.latencies.push_back(milliseconds(end[i] - begin[i]));
      flying[i] = more(begun);
      if (!flying[i]) continue;
      any = true;
      begin[i] = Clock::now();
      requests[i].start_async();
      ++begun;
    }
    any = any || std::find(flying.begin(), flying.end(), true) != flying.end();
  }
  result.duration = milliseconds(Clock::now() - start);
  for (InferRequest& r : requests) r.set_callback(nullptr);
  return result;
}

double percentile(const std::vector<double>& sorted, double p) {
  return sorted.empty()
             ? 0
             : sorted[std::min(sorted.size() - 1, static_cast<size_t>(static_cast<double>(sorted.size()) * p / 100))];
}

// Size of a file, or of all files of a SavedModel.
size_t size_on_disk(const std::string& path) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(path)) return fs::file_size(path);
  size_t sum = 0;
  for (const fs::directory_entry& e : fs::recursive_directory_iterator(path))
    if (e.is_regular_file()) sum += e.file_size();
  return sum;
}

void bench(BenchOptions o) {
  bool async = o.api == "async";
  if (o.threads.hint == "latency") async = false;
  if (o.iterations <= 0 && o.seconds <= 0) o.seconds = 5;
  Core core = make_core(o.model);
  auto t0 = Clock::now();
  Model model = load(core, o.model);
  auto t1 = Clock::now();
  size_t before = peak_memory();
  Options options = o.model.compile_options();
  options.profile = o.counters;
  o.threads.apply(core, options);
  options.streams = async ? o.streams : 1;
  CompiledModel compiled = core.compile_model(model, o.model.device, options);
  options = compiled.options();
  auto t2 = Clock::now();
  int count = !async ? 1 : o.requests > 0 ? o.requests : options.streams;
  std::vector<Group> groups = compiled.input_groups();
  std::vector<Port> ports = compiled.inputs();
  o.inputs.limits = o.model.limit_changes();
  std::vector<Tensor> values = port_tensors(groups, make_inputs(o.inputs, groups, ports), ports.size());
  std::vector<InferRequest> requests;
  for (int i = 0; i < count; ++i) {
    requests.push_back(compiled.create_infer_request());
    for (size_t k = 0; k < values.size(); ++k) requests.back().set_input_tensor(k, values[k]);
  }
  auto t3 = Clock::now();
  requests[0].infer();
  double first = milliseconds(Clock::now() - t3);
  if (!o.no_warmup)
    for (InferRequest& r : requests) r.infer();

  Result r = measure(requests, o, async);
  std::vector<double> sorted = r.latencies;
  std::sort(sorted.begin(), sorted.end());
  double average =
      sorted.empty() ? 0 : std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  double throughput = r.duration > 0 ? 1000.0 * static_cast<double>(sorted.size()) / r.duration : 0;
  size_t weights = 0;
  for (const std::string& f : o.model.all_files()) weights += size_on_disk(f);
  std::vector<ProfilingInfo> counters;
  if (o.counters)
    for (InferRequest& q : requests) {
      std::vector<ProfilingInfo> one = q.get_profiling_info();
      if (counters.empty()) counters = one;
      else
        for (size_t i = 0; i < one.size() && i < counters.size(); ++i)
          counters[i].microseconds += one[i].microseconds, counters[i].calls += one[i].calls;
    }
  if (o.json) {
    nlohmann::json j{{"model", o.model.all_files()[0]},
                     {"device", o.model.device},
                     {"api", async ? "async" : "sync"},
                     {"streams", options.streams},
                     {"threads", options.threads},
                     {"requests", count},
                     {"read_ms", milliseconds(t1 - t0)},
                     {"compile_ms", milliseconds(t2 - t1)},
                     {"first_inference_ms", first},
                     {"iterations", sorted.size()},
                     {"duration_ms", r.duration},
                     {"latency_ms",
                      {{"median", percentile(sorted, 50)},
                       {"p90", percentile(sorted, 90)},
                       {"p99", percentile(sorted, 99)},
                       {"average", average},
                       {"min", sorted.empty() ? 0 : sorted.front()},
                       {"max", sorted.empty() ? 0 : sorted.back()}}},
                     {"throughput_fps", throughput},
                     {"peak_memory_bytes", peak_memory()},
                     {"model_bytes", weights}};
    for (const ProfilingInfo& c : counters)
      j["operations"].push_back({{"name", c.node_name},
                                 {"type", c.node_type},
                                 {"kernel", c.kernel},
                                 {"microseconds", c.microseconds},
                                 {"calls", c.calls}});
    return print_json(j);
  }
  auto line = [](const char* name, const std::string& value) { std::printf("%-18s %s\n", name, value.c_str()); };
  auto ms = [](double v) {
    char b[32];
    std::snprintf(b, sizeof b, "%.3f ms", v);
    return std::string(b);
  };
  line("Model", o.model.all_files()[0]);
  line("Device", text(o.model.device, " (", core.device_description(o.model.device), ")"));
  line("Mode", text(async ? "async, " : "sync, ", count, count == 1 ? " request, " : " requests, ", options.streams,
                    options.streams == 1 ? " stream, " : " streams, ", options.threads,
                    options.threads == 1 ? " thread" : " threads"));
  line("Read model", ms(milliseconds(t1 - t0)));
  line("Compile model", ms(milliseconds(t2 - t1)));
  line("First inference", ms(first));
  line("Count", text(sorted.size(), " iterations"));
  line("Duration", ms(r.duration));
  line("Latency", "");
  line("   Median", ms(percentile(sorted, 50)));
  line("   90th percentile", ms(percentile(sorted, 90)));
  line("   99th percentile", ms(percentile(sorted, 99)));
  line("   Average", ms(average));
  line("   Min", ms(sorted.empty() ? 0 : sorted.front()));
  line("   Max", ms(sorted.empty() ? 0 : sorted.back()));
  char fps[32];
  std::snprintf(fps, sizeof fps, "%.2f FPS", throughput);
  line("Throughput", fps);
  auto mib = [](size_t b) {
    char s[32];
    std::snprintf(s, sizeof s, "%.1f MiB", static_cast<double>(b) / 1048576);
    return std::string(s);
  };
  line("Peak memory",
       text(mib(peak_memory()), " (", mib(before), " before compilation; model files: ", mib(weights), ")"));
  if (o.counters) std::printf("\n%s", profile_text(counters).c_str());
}

}  // namespace

void add_bench(CLI::App& app) {
  auto o = std::make_shared<BenchOptions>();
  CLI::App* c = app.add_subcommand("bench", "measure inference latency and throughput");
  o->model.add_files(*c);
  o->model.add_extensions(*c);
  o->model.add_device(*c);
  o->model.add_shapes(*c);
  o->model.add_items(*c);
  o->inputs.add(*c);
  c->add_option("--niter", o->iterations, "number of iterations; 0: run until --time has elapsed")
      ->capture_default_str()
      ->group("Measurement");
  c->add_option("--time,-t", o->seconds, "measurement time in seconds (default: 5 unless --niter is given)")
      ->group("Measurement");
  c->add_option("--api", o->api, "sync: run requests one after another; async: keep several requests in flight")
      ->check(CLI::IsMember({"sync", "async"}))
      ->capture_default_str()
      ->group("Measurement");
  c->add_option("--nireq", o->requests, "number of infer requests in flight (default: one per stream)")
      ->group("Measurement");
  c->add_option("--nstreams", o->streams,
                "number of execution streams (default: with --hint throughput one per thread, else 1)")
      ->check(CLI::Range(0, 1024))
      ->group("Measurement");
  o->threads.add(*c, "--nthreads", "Measurement");  // --hint latency implies --api sync
  c->add_flag("--no_warmup", o->no_warmup, "skip the warm-up inference of each request")->group("Measurement");
  c->add_flag("--pc", o->counters, "print performance counters for each operation")->group("Report");
  c->add_flag("--json,--json_stats", o->json, "print JSON")->group("Report");
  c->callback([o] { bench(*o); });
}

}  // namespace graft::cli

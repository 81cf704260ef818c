// The implementation behind the handles of toolkit.hpp.
#pragma once

#include <condition_variable>
#include <graft/toolkit.hpp>
#include <mutex>

#include "devices/hetero/hetero.hpp"
#include "import/importer.hpp"
#include "passes/pass.hpp"
#include "runtime/device.hpp"

namespace graft {

// Definitions change by replacing the registry as a whole: what was read or compiled keeps the one that it was made
// with.
struct Core::State {
  struct Added {
    ExtensionInfo info;
    std::vector<std::shared_ptr<const Records>> records;
  };
  // What an extension consists of, and where it is; empty: in the program itself.
  struct Group {
    std::string path;
    std::vector<std::shared_ptr<const Records>> records;
  };
  DeviceList devices;  // fixed

  State();
  // The device of a name as applications write it, see device_name.hpp.
  std::shared_ptr<const Device> device(const std::string& name) const;
  // The devices that a model is split among; one, unless it is HETERO's list.
  DeviceList devices_of(const std::string& name) const;
  void set(const std::string& device, const Properties& given);
  std::string property(const std::string& device, const std::string& name) const;
  // Options that are left at their defaults get the values of properties.
  Options with_properties(const std::string& device, Options options) const;
  // Values of the devices' own properties.
  std::map<std::string, Properties> device_properties() const;
  std::shared_ptr<const Registry> registry() const;
  std::vector<Added> added() const;
  // Adds extensions, all or none; one that is there already is found by its path.
  std::vector<ExtensionId> add(const std::vector<Group>& groups);
  void remove(ExtensionId id);

 private:
  static std::shared_ptr<const Registry> registry_of(const std::vector<Added>& added);
  std::optional<std::string> property_set(const std::string& device, const std::string& name) const;
  void load_layers(const std::string& device, const std::string& property, const std::string& path);
  void publish(std::shared_ptr<const Registry> registry, std::vector<Added> added);
  std::mutex changing_;       // held while a new registry is built
  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const Registry> registry_;
  std::vector<Added> added_;
  uint64_t last_id_ = 0;
  std::map<std::string, Properties> properties_;  // by device; "" for all
  // Loaded through properties that name files of custom layers, by device and property.
  std::map<std::pair<std::string, std::string>, ExtensionId> layer_files_;
};

// How a model was read; never changes.
struct ModelOrigin {
  std::shared_ptr<const Registry> registry;
  std::vector<std::string> files;
  ImportOptions options;
  std::string framework, path;
  Conventions conventions;  // of the framework; those of a graph are the defaults
  ImportReport report;
  std::vector<PassEffect> front;  // effects of extensions' front passes
};

// The graph is replaced as a whole, so that a thread that looks at it keeps what it looks at.
struct Model::State {
  std::shared_ptr<const ModelOrigin> origin;
  std::shared_ptr<const Graph> graph;  // guarded by `mutex`
  mutable std::mutex mutex;
  std::mutex changing;  // held while a changed graph is made

  std::shared_ptr<const Graph> current() const {
    std::lock_guard lock(mutex);
    return graph;
  }
  // Applies `change` to a copy, which becomes the graph unless it throws.
  template <class Change>
  auto update(Change&& change) {
    std::lock_guard serial(changing);
    auto fresh = std::make_shared<Graph>(current()->clone());
    auto publish = [&] {
      std::lock_guard lock(mutex);
      graph = fresh;
    };
    if constexpr (std::is_void_v<decltype(change(*fresh))>) {
      change(*fresh);
      publish();
    } else {
      auto result = change(*fresh);
      publish();
      return result;
    }
  }
};

class Streams;

struct CompiledModel::State {
  std::shared_ptr<const Registry> registry;  // outlives the program
  std::string device;
  Options options;
  std::vector<Port> inputs, outputs;
  std::vector<Group> input_groups, output_groups;
  std::vector<PassEffect> passes;
  Unfolded unfolded;
  std::unique_ptr<Program> program;
  std::unique_ptr<Streams> streams;
};

struct InferRequest::State : std::enable_shared_from_this<InferRequest::State> {
  std::shared_ptr<CompiledModel::State> model;
  std::unique_ptr<Execution> execution;
  std::vector<Tensor> inputs, outputs;
  std::vector<bool> given;  // outputs with memory set by the caller

  mutable std::mutex mutex;
  std::condition_variable done;
  bool running = false;
  int notifying = 0;  // running callbacks; one that starts the next run may overlap with the callback of that run
  std::atomic<bool> cancel{false};
  std::exception_ptr error;
  std::function<void(std::exception_ptr)> callback;

  void begin();  // throws when busy
  void run();    // the inference itself
  void end(std::exception_ptr e);
  // No run and no callback is in progress. Inside a callback, its own end is not waited for.
  bool idle() const { return !running && (notifying == 0 || notified == this); }
  static thread_local const State* notified;  // whose callback this thread is in
};

std::vector<Port> input_ports(const Graph& g);
std::vector<Port> output_ports(const Graph& g);
std::vector<Group> input_groups(const Graph& g);
std::vector<Group> output_groups(const Graph& g);

}  // namespace graft

// What extgen generates. questions.cpp and config.cpp fill it in, generate.cpp turns it into files.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace graft::cli::extgen {

enum class Framework { caffe, mxnet, tf, onnx, kaldi };
enum class Device { cpu, gpu, vpu };

struct Parameter {
  std::string old_name;   // in the framework's model
  std::string new_name;   // of the attribute
  std::string type;       // one of the types of the framework or device; empty: none given
  nlohmann::json preset;  // the value if the model has none; null: none given
};

// A class that reads the attributes of a framework's layer.
struct Extractor {
  Framework framework = Framework::caffe;
  std::string layer;     // type of the layer; the class of a Python layer
  std::string op;        // operation that the layer becomes
  bool special = false;  // Caffe: a Python layer; MXNet: a layer of type Custom
  std::string module;    // of a Python layer
  std::string message;   // Caffe: field of the layer that holds the parameters
  bool copy_all = false, omit_unset = false, flatten = false, rename = false;
  std::vector<Parameter> parameters;  // to copy or, with copy_all, to rename
  std::string op_class, op_path;      // class of the operation and its module; empty: found by the name
};

// A class that describes an operation: attributes and output shape.
struct Operation {
  std::string op;  // module.Class for a Python layer of Caffe without an extractor
  bool pythonic = false;
  std::vector<std::string> attributes;  // written to the IR
  std::vector<std::string> internal;    // not written
  bool changes_shape = false;
  bool has_infer = true;  // false: left to the framework
};

// An implementation for a device.
struct Kernel {
  Device device = Device::cpu;
  std::string op;
  std::vector<Parameter> parameters;  // new_name, type, preset
};

struct Specification {
  std::vector<Extractor> extractors;
  std::optional<Operation> operation;
  std::vector<Kernel> kernels;

  const Extractor* find(Framework f) const {
    for (const Extractor& e : extractors)
      if (e.framework == f) return &e;
    return nullptr;
  }
};

}  // namespace graft::cli::extgen

// Cases of .test files.
//
//   == negative numbers
//   graph (x: f32[3]) { return Elu(x) {alpha = 0.5} }
//   x = {-1, 0, 2}
//   -> f32[3] {-0.31606, 0, 2}
//   tolerance 1e-5
//
// What is tested stands first:
//
//   graph ...            a graph in the textual form
//   onnx {...}           an ONNX file, written down field by field (see wire_text.hpp)
//   caffe <<< ... >>>    a prototxt, then, where it has any, `weights {...}`: a caffemodel like an ONNX file
//   mxnet <<< ... >>>    a symbol, then, where it has any, `weights {"arg:w": f32[1] {2}}` or the bytes of a params
//   file tflite <<< ... >>>   the bytes of a .tflite file in hexadecimal tensorflow {...}     a GraphDef or SavedModel,
//   likewise, or, between <<< and >>>, as text (.pbtxt) ir <<< ... >>>       an IR's XML, then, where it has any,
//   `weights "00 00 80 3f"` text <<< ... >>>     the textual form itself, right or wrong mapping <<< ... >>>  behind a
//   caffe block: a CustomLayersMapping.xml that goes with it replacements <<< ... >>>  behind a framework's model: a
//   file for --transformations_config like NAME            what another case of the file has; `replace "a" "b"` lines
//   change it
//
// A model with layers that only a mapping file knows is refused with "passed on: type@opset attributes -> outputs".
//
// Then values of the inputs by name, results in order; type and shape may be left out where the graph tells them.
// `error: text` instead of results: refusing is what is wanted, with this message. `only reference cpu`: the ways it is
// run, all when it is not said. `left: Convolution, Add`: what stands in the graph after the passes, constants and the
// border aside. `written: MaxPool@1, Add@1`: what is in the IR that graft convert writes. `enable: NAME`: also this
// pass, which runs only on request. Without results, what the reference computes is expected of all other ways; inputs
// may be `random`.
#pragma once

#include <optional>
#include <set>

#include "graph/text.hpp"
#include "runtime/device.hpp"
#include "schema/registry.hpp"

namespace graft::testing {

struct Case {
  std::string file, name;
  int line = 0;
  std::string body;
};

// The cases of a text, `like` resolved; `path` is for messages.
std::vector<Case> parse_cases(std::string_view content, const std::string& path);
// The cases of a file. What stands before the first `==` must be blank or comment.
std::vector<Case> read_cases(const std::string& path);

// A case, read: the model and what is expected of it.
struct Test {
  std::string kind;                   // "graph", "onnx", "caffe", "mxnet", "tensorflow", "tflite", "ir", "text"
  std::string source;                 // bytes of the file, for all but "graph"
  std::string weights;                // of an IR, of a Caffe net, of an MXNet symbol
  std::string mapping, replacements;  // that go with a framework's model
  Graph graph;
  std::vector<std::pair<std::string, Tensor>> inputs;
  std::vector<Tensor> expected;
  std::string error;    // wanted
  std::string refusal;  // got, while the model was read
  double tolerance = 1e-5;
  std::set<std::string> only;
  std::optional<std::string> left;     // types of operations after the passes
  std::optional<std::string> written;  // types and opsets of operations in the IR
  std::vector<std::string> enabled;    // passes
};

Test read_test(const Case& c, const Registry& registry);

// Empty when all is well, else what went wrong.
std::string run_case(const Case& c, const Registry& registry);
// The same on one device, with its results alone. `unsupported` says why the device does not take the case, if so.
std::string run_case_on(const Device& device, const Case& c, const Registry& registry, std::string& unsupported);

// The values of the graph's inputs, in order; throws if one is missing.
std::vector<Tensor> ordered_inputs(const Test& test, const Graph& graph);

}  // namespace graft::testing

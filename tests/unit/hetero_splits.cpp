// Graphs that are split at random compute, bit by bit, what the whole graph does.
#include <cstring>
#include <filesystem>
#include <random>

#include "base/tensor.hpp"
#include "devices/hetero/hetero.hpp"
#include "devices/reference/reference.hpp"
#include "toolkit.hpp"
#include "toolkit/state.hpp"

namespace graft {
namespace {

// The reference device under another name: results of a split graph must be equal to the bit.
class Renamed final : public Device {
 public:
  explicit Renamed(std::string name) : name_(std::move(name)), device_(make_reference_device()) {}
  std::string name() const override { return name_; }
  std::string description() const override { return "for tests"; }
  bool wants_passes() const override { return false; }
  std::vector<Support> query(const Graph& g, const Registry& r, const CompileOptions& o) const override {
    return device_->query(g, r, o);
  }
  std::unique_ptr<Program> compile(Graph g, const Registry& r, const CompileOptions& o) const override {
    return device_->compile(std::move(g), r, o);
  }

 private:
  std::string name_;
  std::unique_ptr<Device> device_;
};

constexpr const char* branches = R"(graph (x: f32[2,4,6,6], y: f32[?,4]) {
  w = Multiply(f32[4,4,3,3] random(1, -1, 1), f32[] {0.5})
  c1 = Convolution(x, w) {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]}
  r1 = Relu(c1)
  s = Split(r1, i64[] {1}) {num_splits = 2}
  j = Concat(s.1, s) {axis = 1}
  c2 = Convolution(j, w) {strides = [1, 1], pads_begin = [1, 1], pads_end = [1, 1], dilations = [1, 1]}
  t = Add(c2, r1)
  m = ReduceMean(t, i64[2] {2, 3}) {keep_dims = false}
  sh = ShapeOf@3(y)
  z = Reshape(MatMul(y, f32[4,4] random(2, -1, 1)) , sh) {special_zero = false}
  found = NonZero(Relu(z))
  k = Softmax(m) {axis = 1}
  sum = Loop@5(i64[] {3}, boolean[] {true}, k)
    body (i <- iteration, s <- 2) -> (next -> 0, go -> condition) feed (next -> s)
    graph (i: i64[], s: f32[2,4]) {
      n = Add(s, Convert(i) {destination_type = f32})
      yes = boolean[] {true}
      return next = n, go = yes
    }
  v = ReadValue@6(f32[2,4] fill(1)) {variable_id = "v", variable_type = f32, variable_shape = [2,4]}
  u = Assign@6(Add(v, sum)) {variable_id = "v"}
  return t, found, sum, v, ReduceMax(z, i64[1] {1}) {keep_dims = true}
})";

class RandomSplits : public ToolkitTest {
 protected:
  RandomSplits() {
    for (const char* name : {"A", "B", "C"}) devices_.push_back(std::make_shared<Renamed>(name));
  }
  using Inputs = std::vector<std::vector<Tensor>>;  // of several runs of one request

  static std::vector<Tensor> results(Program& program, const Inputs& runs) {
    std::unique_ptr<Execution> e = program.create_execution();
    std::vector<Tensor> all, out;
    for (const std::vector<Tensor>& in : runs) {
      e->run(in, out, nullptr);
      for (Tensor& t : out) all.push_back(t.clone());
    }
    return all;
  }
  // Returns the largest number of parts.
  size_t compare(const Model& model, const Inputs& runs, unsigned seeds) {
    std::shared_ptr<const Graph> graph = model.state()->current();
    std::shared_ptr<const Registry> registry = core_.state()->registry();
    auto hetero = make_hetero_device(devices_);
    auto whole = devices_[0]->compile(graph->clone(), *registry, {});
    std::vector<Tensor> expected = results(*whole, runs);
    std::vector<Info> infos;
    for (const Tensor& t : runs[0]) infos.push_back(t.info());
    size_t most = 0;
    for (unsigned seed = 0; seed < seeds; ++seed) {
      std::mt19937 random(seed);
      CompileOptions options;
      for (NodeId id : graph->topological_order())
        options.affinities[(*graph)[id].name] = devices_[random() % devices_.size()]->name();
      auto program = hetero->compile(graph->clone(), *registry, options);
      expect_equal(expected, results(*program, runs), text(model.path(), ", seed ", seed));
      most = std::max(most, program->explain(infos).parts.size());
    }
    return most;
  }
  static Tensor numbers(const std::vector<int64_t>& dims, int seed) {
    Tensor t(DType::f32, dims);
    for (int64_t i = 0; i < t.size(); ++i) t.data<float>()[i] = static_cast<float>((i * 7 + seed * 13) % 23) - 8;
    return t;
  }
  static void expect_equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const std::string& where) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].type(), b[i].type()) << where;
      ASSERT_EQ(a[i].dims(), b[i].dims()) << where;
      EXPECT_EQ(std::memcmp(a[i].data(), b[i].data(), a[i].bytes()), 0) << where << ", output " << i;
    }
  }
  DeviceList devices_;
  Core core_;
};

TEST_F(RandomSplits, OfAGraphWithBranchesLoopsStateAndDataDependentShapes) {
  Inputs runs;
  for (int64_t rows : {3, 3, 1, 5})
    runs.push_back({numbers({2, 4, 6, 6}, static_cast<int>(rows)), numbers({rows, 4}, 7)});
  EXPECT_GT(compare(core_.read_model(file("branches.graph", branches)), runs, 200), 8u) << "the test splits the graph";
}

TEST_F(RandomSplits, OfRealModels) {
  std::string data = std::string(GRAFT_TEST_DATA) + "/real-";
  // Files, and what the files of their inputs begin with.
  const std::vector<std::pair<std::vector<std::string>, std::string>> models{
      {{"onnx/mnist.onnx"}, "onnx/winml_mnist."},
      {{"onnx/silero_vad_16k_op15.onnx"}, "onnx/silero_vad_16k."},
      {{"tensorflow/mnist_lstm.pb"}, "tensorflow/mnist_lstm."},
      {{"caffe/mtcnn_det2.prototxt", "caffe/mtcnn_det2.caffemodel"}, "caffe/mtcnn_det2."}};
  if (!std::filesystem::exists(data + models[0].first[0])) GTEST_SKIP() << "there are no recorded models";
  for (const auto& [names, inputs] : models) {
    std::vector<std::string> files;
    for (const std::string& name : names) files.push_back(data + name);
    Model model = core_.read_model(files);
    std::vector<Tensor> run;
    for (const Port& port : model.inputs()) {
      Tensor recorded = read_tensor(data + inputs + port.any_name() + ".npy").to(port.type);
      run.push_back(port.takes(recorded.dims()) ? recorded : random_tensors({port}, 1)[0]);
    }
    EXPECT_GT(compare(model, {run, run}, 8), 4u) << names[0];
  }
}

}  // namespace
}  // namespace graft

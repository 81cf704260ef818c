// All that the commands do, through graft/toolkit.hpp.
#include <algorithm>
#include <filesystem>
#include <new>

#include "base/tensor.hpp"
#include "toolkit.hpp"

namespace graft {
namespace {

using Toolkit = ToolkitTest;

// A message of the wire format, short enough for lengths of one byte.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string number(int field_number, int value) {
  return {static_cast<char>(field_number << 3), static_cast<char>(value)};
}
// An ONNX model: x -> type -> y, both f32[2].
std::string onnx_layer(const std::string& type) {
  std::string shape = field(2, field(1, number(1, 2))), tensor = field(2, field(1, number(1, 1) + shape));
  std::string node = field(1, "x") + field(2, "y") + field(3, "layer") + field(4, type);
  std::string graph =
      field(1, node) + field(2, "g") + field(11, field(1, "x") + tensor) + field(12, field(1, "y") + tensor);
  return number(1, 8) + field(7, graph) + field(8, number(2, 17));
}

ErrorKind kind_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::internal;
}

// ---- reading and the report ----

TEST_F(Toolkit, APartOfAModelIsReadWithOtherInputs) {
  std::string path = file("m.graph", R"(graph (x: f32[4]) {
    a = Abs(x)
    b = Relu(a)
    c = Sqrt(b)
    return y = c
  })");
  ReadOptions options;
  options.cut.inputs = {{.place = "b", .shape = Shape{3}}};
  options.cut.outputs = {"b"};
  Model part = Core().read_model(path, {}, options);
  ASSERT_EQ(part.inputs().size(), 1u);
  EXPECT_EQ(part.inputs()[0].shape, Shape{3});
  EXPECT_EQ(part.node_count(), 3u);  // Parameter, Relu, Result
  options.cut.outputs = {"nothing"};
  EXPECT_EQ(kind_of([&] { Core().read_model(path, {}, options); }), ErrorKind::request);
  ReadOptions shapes;
  shapes.shapes["x"] = Shape{7};
  EXPECT_EQ(Core().read_model({path}, shapes).outputs()[0].shape, Shape{7});
  EXPECT_EQ(recognize_format(path), "text");
}

TEST_F(Toolkit, TheReportSaysWhatIsUnknownAndWhoClaimedWhat) {
  Core core;
  Report known = core.read_model(file("k.onnx", onnx_layer("Relu"))).report();
  EXPECT_TRUE(known.complete());
  ASSERT_EQ(known.claims.size(), 1u);
  EXPECT_EQ(known.claims[0].by, "built-in");
  EXPECT_EQ(known.to_text(), "");
  EXPECT_NE(known.claims_text().find("by built-in"), std::string::npos);

  std::string path = file("u.onnx", onnx_layer("Fold"));
  Model model = core.read_model(path);
  Report report = model.report();
  EXPECT_FALSE(report.complete());
  ASSERT_EQ(report.unknown.size(), 1u);
  EXPECT_EQ(report.unknown[0].type, "Fold");
  EXPECT_EQ(report.unknown[0].layers[0].inputs[0]->shape, Shape{2});
  EXPECT_NE(report.to_text().find("`scaffold[Fold]` " + path), std::string::npos);
  EXPECT_EQ(kind_of([&] { core.compile_model(model); }), ErrorKind::unsupported);
  EXPECT_EQ(kind_of([&] { model.require_complete(); }), ErrorKind::unsupported);

  core.add_extension(definitions("acme", "1", [] {
    return op<NoAttributes>("Fold", "acme")
        .elementwise([](auto x, const NoAttributes&) { return 10 * x; })
        .import(onnx("Fold"));
  }));
  Model claimed = core.read_model(path);
  EXPECT_EQ(claimed.report().claims[0].by, "acme");
  EXPECT_TRUE(claimed.report().claims[0].extension);
  EXPECT_EQ(run(core.compile_model(claimed)), (Values{-10, 30}));
}

TEST_F(Toolkit, ReplacementsAreTriedThenApplied) {
  Core core;
  std::string path = file("m.onnx", onnx_layer("Relu"));
  ReadOptions options;
  options.replacements = file("r.json", R"([{"id": "All", "match_kind": "points", "op": "Fold", "instances":
    {"start_points": ["layer"], "end_points": ["layer"]}}])");
  std::vector<ReplacementOutcome> outcomes = core.try_replacements({path}, options);
  ASSERT_EQ(outcomes.size(), 1u);
  ASSERT_EQ(outcomes[0].matches.size(), 1u) << outcomes[0].to_text();
  EXPECT_EQ(outcomes[0].matches[0].nodes, std::vector<std::string>{"layer"});
  Report report = core.read_model({path}, options).report();
  ASSERT_EQ(report.unknown.size(), 1u);
  EXPECT_TRUE(report.unknown[0].is_operation);
  EXPECT_NE(report.arguments.find("`replacements="), std::string::npos);
  options.replacements = folder_.path() + "/none.json";
  EXPECT_EQ(kind_of([&] { core.read_model({path}, options); }), ErrorKind::request);
}

// ---- converting ----

TEST_F(Toolkit, ConvertsWithPreprocessingPrecisionAndVersions) {
  Core core;
  std::string path = file("m.graph", R"(graph (x: f32[1,2,1,1]) {
    y = Multiply(x, f32[1,2,1,1] {2, 100000})
    return y = y
  })");
  ConvertOptions options;
  options.preprocess.mean = {{"x", {1, 2}}};
  options.compress_to_f16 = true;
  options.ir_version = 10;
  std::vector<std::string> steps;
  options.progress = [&](std::string_view s) { steps.emplace_back(s); };
  std::string xml = folder_.path() + "/out/net.xml";
  ConvertReport done = convert_model(core.read_model(path), xml, options);
  EXPECT_EQ(done.xml, xml);
  EXPECT_TRUE(std::filesystem::exists(done.bin));
  EXPECT_EQ(done.ir_version, 10);
  ASSERT_TRUE(done.f16.has_value());
  EXPECT_FALSE(done.passes.empty());
  EXPECT_EQ(steps, (std::vector<std::string>{"inserting preprocessing", "running passes", "writing the IR", "done"}));
  EXPECT_NE(done.to_text().find("IR version 10"), std::string::npos);
  Model back = core.read_model(xml);
  EXPECT_EQ(back.framework(), "ir");
  InferRequest r = core.compile_model(back).create_infer_request();
  std::vector<float> x{4, 2};
  r.set_input_tensor(0, Tensor::wrap(DType::f32, {1, 2, 1, 1}, x.data()));
  r.infer();
  EXPECT_EQ(r.get_output_tensor(0).data<float>()[0], 6);

  options.ir_version = 9;
  EXPECT_EQ(kind_of([&] { core.check(options); }), ErrorKind::request);
  options.ir_version = 11;
  options.disabled_passes = {"no_such_pass"};
  EXPECT_EQ(kind_of([&] { convert_model(core.read_model(path), xml, options); }), ErrorKind::request);
  options.disabled_passes = {}, options.keep = {"("};
  EXPECT_EQ(kind_of([&] { core.check(options); }), ErrorKind::request);
}

TEST_F(Toolkit, ConvertingLeavesTheModelAloneUnlessItIsTheLastHandle) {
  Core core;
  Model model = core.read_model(file("m.graph", "graph (x: f32[2]) { s = Sigmoid(x) return y = Multiply(x, s) }"));
  size_t nodes = model.node_count();
  ConvertReport done = convert_model(model, folder_.path() + "/m.xml");
  EXPECT_EQ(model.node_count(), nodes);
  EXPECT_LT(done.ir_layers, nodes);  // Swish
  ConvertReport moved = convert_model(std::move(model), folder_.path() + "/n.xml");
  EXPECT_EQ(moved.ir_layers, done.ir_layers);
}

TEST_F(Toolkit, UnknownLayersAreWrittenOnRequest) {
  Core core;
  Model model = core.read_model(file("u.onnx", onnx_layer("Fold")));
  std::string xml = folder_.path() + "/u.xml";
  EXPECT_EQ(kind_of([&] { convert_model(model, xml); }), ErrorKind::unsupported);
  EXPECT_FALSE(std::filesystem::exists(xml));
  ConvertOptions options;
  options.stub_unknown = true;
  EXPECT_EQ(convert_model(model, xml, options).unknown.size(), 1u);
  EXPECT_EQ(core.read_model(xml).unknown_layers().size(), 1u);
}

// ---- explaining ----

TEST_F(Toolkit, AnExplanationIsWhatRuns) {
  Core core;
  Model model = core.read_model(file("m.graph", R"(graph (x: f32[2]) {
    s = Sigmoid(x)
    m = Multiply(x, s)
    flat = Reshape(m, i64[2] {1, 2}) {special_zero = false}
    return y = flat
  })"));
  Options options;
  options.profile = true;
  for (const char* device : {"CPU", "REFERENCE"}) {
    CompiledModel compiled = core.compile_model(model, device, options);
    Explanation e = compiled.explain();
    EXPECT_EQ(e.device, device);
    bool reference = e.device == "REFERENCE";
    EXPECT_EQ(e.passes.empty(), reference);  // REFERENCE runs the graph as it was read
    EXPECT_EQ(e.plans_memory, !reference);
    std::vector<std::string> explained, ran;
    for (const Choice& c : e.choices)
      if (!c.kernel.empty()) explained.push_back(text(c.node, " ", c.type, " ", c.kernel));
    InferRequest r = compiled.create_infer_request();
    r.set_input_tensor(0, random_tensors(compiled.inputs(), 1)[0]);
    r.infer();
    for (const ProfilingInfo& p : r.get_profiling_info())
      if (p.calls) ran.push_back(text(p.node_name, " ", p.node_type, " ", p.kernel));
    EXPECT_EQ(explained, ran) << device;
    EXPECT_NE(profile_text(r.get_profiling_info()).find("us/call"), std::string::npos);
    EXPECT_NE(e.to_text().find(text("Kernels on ", device)), std::string::npos);
    EXPECT_EQ(kind_of([&] { compiled.explain({{2}, {2}}); }), ErrorKind::request);
    EXPECT_EQ(kind_of([&] { compiled.explain({{5}}); }), ErrorKind::request);
  }
}

// The types that run on a kernel, in order.
std::vector<std::string> running(const Explanation& e) {
  std::vector<std::string> types;
  for (const Choice& c : e.choices)
    if (!c.kernel.empty()) types.push_back(c.type);
  return types;
}

// Between convolutions, whose tensors have the channels last, transposes to and from that order have nothing to do.
TEST_F(Toolkit, TransposesBetweenLayoutsAreViews) {
  Core core;
  Explanation e = core.compile_model(core.read_model(file("m.graph", R"(graph (x: f32[1,16,1,1]) {
    w = f32[20,16,1,1] fill(1)
    a = Convolution(Tile(x, i64[4] {1, 1, 4, 5}), w)
    b = CumSum(Transpose(Reshape(a, i64[3] {1, 20, 20}) {special_zero = false}, i64[3] {0, 2, 1}), i64[] {1})
    c = Reshape(Transpose(b, i64[3] {0, 2, 1}), i64[4] {1, 20, 4, 5}) {special_zero = false}
    return y = ReduceMean(Convolution(c, f32[3,20,1,1] fill(1)), i64[2] {2, 3}) {keep_dims = true}
  })")))
                      .explain();
  EXPECT_EQ(running(e), (std::vector<std::string>{"Tile", "Reorder", "FusedConvolution", "CumSum", "FusedConvolution",
                                                  "ReduceMean"}));
}

// What follows a convolution or product is its epilogue, whoever defines it.
TEST_F(Toolkit, ElementwiseOperationsAreEpilogues) {
  Core core;
  core.add_extension(GRAFT_TEST_EXTENSIONS "/activations.so");
  Explanation e = core.compile_model(core.read_model(file("m.graph", R"(graph (x: f32[1,16,8,8], m: f32[4,8]) {
    a = Bend@activations(Convolution(x, f32[16,16,1,1] fill(1))) {slope = 0.5}
    b = HSwish(GroupConvolution(a, f32[16,1,1,3,3] fill(1)))
    c = Relu(Convolution(b, f32[16,16,1,1] fill(1)))
    return y = SlowRoot@activations(c), z = Snake@activations(MatMul(m, f32[8,8] fill(1)))
  })")))
                      .explain();
  std::vector<std::string> applied;
  for (const Choice& c : e.choices)
    if (c.type.starts_with("Fused")) applied.push_back(c.note.substr(0, c.note.find(" (")));
  std::sort(applied.begin(), applied.end());
  EXPECT_EQ(applied, (std::vector<std::string>{"", "applies Bend", "applies HSwish", "applies Snake"}));
  std::vector<std::string> types = running(e);
  EXPECT_EQ(std::count(types.begin(), types.end(), "SlowRoot"), 1);  // bounds are an epilogue: there is one already
  EXPECT_NE(e.to_text().find("applies Bend (vector_f32)"), std::string::npos) << e.to_text();
}

// A dilated window on a small image is left with the one tap that is ever inside it.
TEST_F(Toolkit, TapsInThePaddingAreCutOff) {
  Core core;
  Explanation e = core.compile_model(core.read_model(file("m.graph", R"(graph (x: f32[1,3,6,6]) {
    return y = Convolution(x, f32[4,3,3,3] fill(1)) {dilations = [12,12], pads_begin = [12,12], pads_end = [12,12]}
  })")))
                      .explain();
  auto found =
      std::find_if(e.choices.begin(), e.choices.end(), [](const Choice& c) { return c.type == "FusedConvolution"; });
  ASSERT_NE(found, e.choices.end());
  EXPECT_EQ(found->inputs[1].shape.values(), (std::vector<int64_t>{4, 3, 1, 1}));
}

// Operations with several outputs are computed in f32 like all others.
TEST_F(Toolkit, MaximaOfF16AreNotLeftToTheReference) {
  Core core;
  Explanation e = core.compile_model(core.read_model(file("m.graph", R"(graph (x: f16[1,8,6,6]) {
    m = MaxPool@8(Relu(x)) {kernel = [3,3], strides = [2,2], dilations = [1,1], pads_begin = [1,1], pads_end = [1,1]}
    return y = Abs(m)
  })")))
                      .explain();
  for (const Choice& c : e.choices) EXPECT_NE(c.kernel, "reference") << c.type;
}

// The sum over a dimension that depends on the data has a known shape again, so that a kernel is chosen for what
// follows.
TEST_F(Toolkit, KernelsArePlannedAfterADataDependentShape) {
  Core core;
  CompiledModel compiled = core.compile_model(core.read_model(file("m.graph", R"(graph (x: f32[2,3]) {
    s = ReduceSum(Convert(NonZero@3(x) {output_type = i64}) {destination_type = f32}, i64[1] {1}) {keep_dims = false}
    return y = Exp(s)
  })")));
  Explanation e = compiled.explain();
  auto found = std::find_if(e.choices.begin(), e.choices.end(), [](const Choice& c) { return c.type == "Exp"; });
  ASSERT_NE(found, e.choices.end());
  EXPECT_NE(found->kernel, "");
  InferRequest r = compiled.create_infer_request();
  for (float last : {0.0f, 5.0f}) {
    Tensor x(DType::f32, {2, 3});
    float values[] = {1, 0, 2, 0, 0, last};
    std::copy(values, values + 6, x.data<float>());
    r.set_input_tensor(0, x);
    r.infer();
    const auto* y = r.get_output_tensor(0).data<float>();  // rows 0, 0 (, 1); columns 0, 2 (, 2)
    EXPECT_FLOAT_EQ(y[0], std::exp(last ? 1.0f : 0.0f));
    EXPECT_FLOAT_EQ(y[1], std::exp(last ? 4.0f : 2.0f));
  }
}

TEST_F(Toolkit, PassesAreDisabledByName) {
  Core core;
  Model model = core.read_model(file("m.graph", "graph (x: f32[2]) { s = Sigmoid(x) return y = Multiply(x, s) }"));
  Explanation whole = core.compile_model(model).explain();
  ASSERT_EQ(whole.choices.size(), 1u);
  ASSERT_FALSE(whole.passes.empty());
  Options options;
  for (const PassEffect& e : whole.passes) options.disabled_passes.push_back(e.name);
  Explanation less = core.compile_model(model, "CPU", options).explain();
  EXPECT_EQ(less.choices.size(), 2u);
  EXPECT_TRUE(less.passes.empty());
  options.disabled_passes = {"no_such_pass"};
  EXPECT_EQ(kind_of([&] { core.compile_model(model, "CPU", options); }), ErrorKind::request);
}

TEST_F(Toolkit, ListsWhatThereIs) {
  Core core;
  std::vector<OpInfo> ops = core.operations();
  auto softmax = std::find_if(ops.begin(), ops.end(), [](const OpInfo& o) { return o.name == "Softmax"; });
  ASSERT_NE(softmax, ops.end());
  EXPECT_TRUE(softmax->has_kernel("CPU"));
  EXPECT_NE(softmax->to_text().find("axis"), std::string::npos);
  EXPECT_GT(core.rules().size(), 100u);
  std::vector<PassInfo> passes = core.passes();
  EXPECT_TRUE(std::any_of(passes.begin(), passes.end(), [](const PassInfo& p) { return p.name == "fuse_linear"; }));
  ExtensionId id = core.add_extension(relu_times_2());
  for (const OpInfo& o : core.operations())
    if (o.name == "Relu" && o.opset == "opset1") {
      EXPECT_TRUE(o.overrides && o.origin == "two");
    }
  core.remove_extension(id);
}

// ---- values ----

TEST_F(Toolkit, ValuesAreReadAndWritten) {
  std::string path = folder_.path() + "/v.npy";
  Tensor t = make_tensor<float>({2}, {1, 2});
  write_tensor(path, t);
  EXPECT_TRUE(same_content(read_tensor(path), t));
  std::vector<Port> ports{{"x", {"x"}, DType::f32, Shape{2}}};
  Group group{"x", Group::Kind::tensor, 0, {}};
  EXPECT_TRUE(same_content(read_value(path, group, ports).value, t));
  ports[0].type = DType::i32;
  EXPECT_EQ(kind_of([&] { read_value(path, group, ports); }), ErrorKind::user);
  EXPECT_EQ(kind_of([&] { read_value(folder_.path() + "/none.npy", group, ports); }), ErrorKind::request);
  Notes notes;
  ports[0].shape = Shape{Dim()};
  EXPECT_EQ(sample_dims(ports[0], &notes), (std::vector<int64_t>{1}));
  EXPECT_EQ(notes.size(), 1u);
}

TEST_F(Toolkit, AModelIsFittedToItsValues) {
  Core core;
  Model model = core.read_model(file("m.onnx", onnx_layer("Relu")));
  Fitted made = fit_model(model, {make_tensor<float>({3}, {1, 2, 3})});
  EXPECT_EQ(made.model.inputs()[0].shape, Shape{3});
  EXPECT_EQ(made.notes.size(), 1u);
  EXPECT_EQ(model.inputs()[0].shape, Shape{2});
  EXPECT_EQ(kind_of([&] { fit_model(model, {}); }), ErrorKind::user);
}

// ---- errors ----

Definitions throwing() {
  return op<NoAttributes>("Relu", 1)
      .inputs("data")
      .outputs("output")
      .infer([](Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.input(0)); })
      .reference([](Run&, const NoAttributes&) { throw std::bad_alloc(); });
}

TEST_F(Toolkit, OnlyErrorsAreThrown) {
  Core core;
  EXPECT_EQ(kind_of([&] { core.read_model(folder_.path() + "/missing.onnx"); }), ErrorKind::io);
  EXPECT_EQ(kind_of([&] { core.read_model(std::vector<std::string>{}); }), ErrorKind::user);
  EXPECT_EQ(kind_of([&] { core.add_extension(folder_.path() + "/missing.so"); }), ErrorKind::io);
  EXPECT_EQ(kind_of([&] { core.add_extension([](const graft_host*) -> const graft_extension* { throw 1; }); }),
            ErrorKind::internal);
  EXPECT_EQ(
      kind_of([&] { core.add_extension([](const graft_host*) -> const graft_extension* { throw std::bad_alloc(); }); }),
      ErrorKind::user);
  EXPECT_EQ(
      kind_of([] { gathered({}, [](size_t) -> Tensor { throw std::filesystem::filesystem_error("gone", {}); }); }),
      ErrorKind::io);
  std::vector<Port> huge{{"x", {}, DType::f32, Shape{int64_t{1} << 40, int64_t{1} << 40}}};
  EXPECT_EQ(kind_of([&] { random_tensors(huge, 1); }), ErrorKind::user);
  huge[0].shape = Shape{int64_t{1} << 60};
  EXPECT_EQ(kind_of([&] { random_tensors(huge, 1); }), ErrorKind::user);
  EXPECT_EQ(kind_of([&] { Group{"x", Group::Kind::tensor, 5, {}}.to_text({}); }), ErrorKind::internal);
  EXPECT_EQ(kind_of([&] { core.compile_model(core.read_model(relu()), "NPU"); }), ErrorKind::user);

  core.add_extension(definitions("throwing", "1", throwing));
  InferRequest r = core.compile_model(core.read_model(relu())).create_infer_request();
  EXPECT_EQ(kind_of([&] { r.set_input_tensor(7, {}); }), ErrorKind::user);
  EXPECT_EQ(kind_of([&] { r.infer(); }), ErrorKind::user);  // no tensor is set
  r.set_input_tensor(0, make_tensor<float>({2}, {1, 2}));
  EXPECT_NO_THROW(kind_of([&] { r.infer(); }));
  r.start_async();
  EXPECT_NO_THROW(kind_of([&] { r.wait(); }));
}

TEST_F(Toolkit, TheListenerGetsMessagesUpToItsLevel) {
  std::vector<std::pair<LogLevel, std::string>> heard;
  set_log_listener([&](LogLevel level, std::string_view m) { heard.emplace_back(level, m); }, LogLevel::info);
  Core().read_model(relu());
  EXPECT_TRUE(std::any_of(heard.begin(), heard.end(), [](const auto& h) { return h.second.starts_with("read '"); }));
  heard.clear();
  set_log_level(LogLevel::error);
  Core().read_model(relu());
  EXPECT_TRUE(heard.empty());
  set_log_listener([](LogLevel, std::string_view) { throw 1; });
  EXPECT_NO_THROW(log(LogLevel::error, "x"));
  set_log_listener({}, LogLevel::warning);
  EXPECT_FALSE(is_logged(LogLevel::error));
}

}  // namespace
}  // namespace graft

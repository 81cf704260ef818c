// The C border: records are pinned, malformed ones are refused, an older extension still works.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "schema/host.hpp"
#include "schema/registry.hpp"
#include "toolkit/state.hpp"

// Offsets that an extension built today relies on for ever. A field may be added at the end, nothing may move.
static_assert(sizeof(graft_str) == 16 && sizeof(graft_dim) == 24 && sizeof(graft_shape) == 16 &&
              sizeof(graft_info) == 24);
static_assert(offsetof(graft_tensor, type) == 4 && offsetof(graft_tensor, dims) == 16 &&
              offsetof(graft_tensor, data) == 32);
static_assert(offsetof(graft_value, i) == 8 && offsetof(graft_value, items) == 40 &&
              offsetof(graft_value, tensor) == 72);
static_assert(offsetof(graft_call, inputs) == 16 && offsetof(graft_call, state) == 32 &&
              offsetof(graft_call, runner) == 56);
static_assert(offsetof(graft_kernel, op) == 8 && offsetof(graft_kernel, user) == 72 &&
              offsetof(graft_kernel, run) == 96 && offsetof(graft_kernel, release) == 104);
static_assert(offsetof(graft_op, name) == 8 && offsetof(graft_op, attrs) == 72 && offsetof(graft_op, infer) == 144 &&
              offsetof(graft_op, decomposition) == 152);
static_assert(offsetof(graft_attr, kind) == 8 && offsetof(graft_attr, fallback) == 48 &&
              offsetof(graft_attr, allowed) == 144);
static_assert(offsetof(graft_rule, since) == 56 && offsetof(graft_rule, op) == 72 &&
              offsetof(graft_rule, expand) == 160);
static_assert(offsetof(graft_extension, ops) == 40 && offsetof(graft_extension, rules) == 72);
static_assert(offsetof(graft_host, fail) == 8 && offsetof(graft_host, allocate) == 152 &&
              offsetof(graft_host, import_body) == 328 && offsetof(graft_host, add_nothing) == 440 &&
              offsetof(graft_host, inline_body) == 448 && offsetof(graft_host, layer_fields) == 480);
static_assert(offsetof(graft_kernel, pack) == 112 && offsetof(graft_kernel, layouts) == 128 &&
              offsetof(graft_pass, device) == 112);
static_assert(offsetof(graft_host, input_layout) == 528 && offsetof(graft_host, declared_output) == 544);
static_assert(offsetof(graft_extension, raw_passes) == 104 && offsetof(graft_host, raw) == 488 &&
              offsetof(graft_host, set_node_input) == 496 && offsetof(graft_host, last_failure) == 512 &&
              offsetof(graft_host, ref_outputs) == 520 && offsetof(graft_new_node, infos) == 88 &&
              offsetof(graft_new_node, name) == 104);
static_assert(offsetof(graft_extension, source_kernels) == 120 && offsetof(graft_host, add_launch) == 552 &&
              offsetof(graft_host, work_size) == 568 && offsetof(graft_launch, entry) == 24 &&
              offsetof(graft_launch, global) == 88 && sizeof(graft_argument) == 32 &&
              offsetof(graft_source_kernel, user) == 72 && offsetof(graft_source_kernel, emit) == 88);
static_assert(offsetof(graft_host, take_constant) == 592 && offsetof(graft_host, call_threads) == 600 &&
              offsetof(graft_host, node_traits) == 608 && offsetof(graft_host, layer_framework) == 616);
static_assert(offsetof(graft_kernel, rows) == 152 && offsetof(graft_host, element_rows) == 624 &&
              offsetof(graft_host, has_rows) == 632 && sizeof(graft_rows) == 24);
static_assert(offsetof(graft_kernel, until) == 144 && offsetof(graft_pass, traits) == 128);
static_assert(GRAFT_OP_PURE == 1 && GRAFT_OP_WEAK == 64 && GRAFT_OP_WIDENS == 128 && GRAFT_OP_ROUNDS == 16384);
static_assert(offsetof(graft_extension, readers) == 136 && offsetof(graft_reader, framework) == 8 &&
              offsetof(graft_reader, endings) == 72 && offsetof(graft_reader, user) == 120 &&
              offsetof(graft_reader, read) == 136 && offsetof(graft_model_file, content) == 24 &&
              offsetof(graft_model_file, options) == 40);
static_assert(offsetof(graft_raw_layer, domain) == 40 && offsetof(graft_raw_layer, inputs) == 56 &&
              offsetof(graft_raw_layer, version) == 96 && offsetof(graft_raw_pass, frameworks) == 40 &&
              offsetof(graft_raw_pass, apply) == 64 && sizeof(graft_raw_value) == 56 &&
              sizeof(graft_raw_replacement) == 56);
static_assert(offsetof(graft_raw_host, framework) == 8 && offsetof(graft_raw_host, keep_tensor) == 128 &&
              offsetof(graft_raw_host, add_layer) == 144 && offsetof(graft_raw_host, take_replacement) == 224 &&
              offsetof(graft_raw_host, set_position) == 232 && offsetof(graft_raw_host, set_value_info) == 248);

namespace graft {
namespace {

std::string refusal(const graft_extension& e) {
  Registry r;
  try {
    r.add(read_records(e, Source::library, "lib.so"));
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

graft_extension extension() {
  graft_extension e{};
  e.size = sizeof e;
  e.abi_version = GRAFT_ABI_VERSION;
  e.name = str("x");
  return e;
}
graft_op operation(std::string_view name) {
  graft_op op{};
  op.size = sizeof op;
  op.name = str(name);
  op.opset = str("test");
  return op;
}

TEST(Border, MalformedRecordsAreRefused) {
  graft_extension e = extension();
  EXPECT_EQ(refusal(e), "");
  e.abi_version = 99;
  EXPECT_NE(refusal(e).find("uses version 99"), std::string::npos);
  e = extension();
  e.size = 8;
  EXPECT_NE(refusal(e).find("for the extension, got 8"), std::string::npos);

  graft_op op = operation("");
  const graft_op* ops[] = {&op};
  e = extension();
  e.ops = ops, e.op_count = 1;
  EXPECT_EQ(refusal(e), "an operation has no name");
  op = operation("A");
  op.opset = {};
  EXPECT_EQ(refusal(e), "operation 'A' has no opset");
  ops[0] = nullptr;
  EXPECT_EQ(refusal(e), "an operation is null");
  ops[0] = &op;
  op = operation("A");
  graft_attr a{};
  a.size = sizeof a;
  a.name = str("x");
  a.kind = 77;
  const graft_attr* attrs[] = {&a, &a};
  op.attrs = attrs, op.attr_count = 1;
  EXPECT_EQ(refusal(e), "attribute 'x' of 'A' has unknown kind 77");
  a.kind = GRAFT_INT;
  op.attr_count = 2;
  EXPECT_EQ(refusal(e), "operation 'A' has two attributes 'x'");

  graft_kernel k{};
  k.size = sizeof k;
  k.name = str("k"), k.op = str("A");
  const graft_kernel* kernels[] = {&k};
  e = extension();
  e.kernels = kernels, e.kernel_count = 1;
  EXPECT_EQ(refusal(e), "kernel 'k' of 'A' has no run function");
}

TEST(Border, MalformedReadersAreRefused) {
  graft_reader r{};
  r.size = sizeof r;
  const graft_reader* readers[] = {&r};
  graft_extension e = extension();
  e.readers = readers, e.reader_count = 1;
  EXPECT_EQ(refusal(e), "expected the framework of a reader in lower-case letters and digits, got ''");
  r.framework = str("*");
  EXPECT_EQ(refusal(e), "expected the framework of a reader in lower-case letters and digits, got '*'");
  r.framework = str("ir");
  EXPECT_EQ(refusal(e), "the framework of a reader cannot be called 'ir'");
  r.framework = str("toy");
  EXPECT_EQ(refusal(e), "the reader of 'toy' has no function to recognize or to read files");
  r.recognize = [](const graft_model_file*, void*, int32_t*) -> graft_status { return GRAFT_OK; };
  r.read = [](graft_raw_model*, const graft_model_file* const*, size_t, void*) -> graft_status { return GRAFT_OK; };
  EXPECT_EQ(refusal(e), "");
  r.size = 8;
  EXPECT_EQ(refusal(e), "expected a record of at least 144 bytes for a reader, got 8");
  readers[0] = nullptr;
  EXPECT_EQ(refusal(e), "a reader is null");
  // An extension that ends before this list has none.
  e.size = offsetof(graft_extension, readers);
  EXPECT_EQ(refusal(e), "");
}

// Rules for every framework stand among those of one framework, in the order of their sources.
TEST(Border, RulesOfEveryFramework) {
  auto rule = [](std::string_view framework, std::string_view domain, std::string_view op, uint32_t flags = 0) {
    graft_rule r{};
    r.size = sizeof r, r.flags = flags;
    r.framework = str(framework), r.domain = str(domain), r.type = str("A"), r.op = str(op);
    r.until = INT64_MAX;
    return r;
  };
  Registry registry;
  registry.add(FrameworkTraits{
      .name = "onnx", .title = {}, .aliases = {}, .files = {}, .endings = {}, .conventions = {.domains = true}});
  auto add = [&](std::vector<graft_rule> rules, Source::Origin origin, std::string path) {
    std::vector<const graft_rule*> list;
    for (const graft_rule& r : rules) list.push_back(&r);
    graft_extension e = extension();
    e.rules = list.data(), e.rule_count = list.size();
    registry.add(read_records(e, origin, std::move(path)));
  };
  add({rule("caffe", "", "built in"), rule("onnx", "", "built in")}, Source::built_ins, "");
  add({rule("*", "", "weak", GRAFT_RULE_WEAK), rule("*", "", "first")}, Source::library, "one.so");
  add({rule("caffe", "", "second"), rule("*", "acme", "third")}, Source::library, "two.so");
  auto found = [&](std::string_view framework, std::string_view domain) {
    std::string out;
    for (const RuleDef* r : registry.rules(framework, domain, "A")) out += text(out.empty() ? "" : ", ", r->record->op);
    return out;
  };
  EXPECT_EQ(found("caffe", ""), "second, third, first, weak, built in");
  EXPECT_EQ(found("onnx", ""), "first, weak, built in");
  EXPECT_EQ(found("onnx", "acme"), "third");
  EXPECT_EQ(found("onnx", "other"), "");
  EXPECT_EQ(found("toy", ""), "third, first, weak");
  EXPECT_EQ(found("mxnet", "Custom"), "");  // a domain of its own, though MXNet has no others
  EXPECT_EQ(found("replacement", ""), "");
}

TEST(Border, TwoLibrariesMayNotDefineTheSame) {
  graft_op op = operation("A");
  const graft_op* ops[] = {&op};
  graft_extension e = extension();
  e.ops = ops, e.op_count = 1;
  Registry r;
  r.add(read_records(e, Source::library, "one.so"));
  try {
    r.add(read_records(e, Source::library, "two.so"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "operation 'A' of test is defined by 'one.so' and by 'two.so'");
  }
}

// Written in plain C style against the border alone: no C++ layer, no attributes, a record that ends before `cases`.
graft_status twice_infer(graft_node* n, void*) {
  graft_info info;
  const graft_host& h = host_table();
  if (!h.input(n, 0, &info)) {
    h.fail(GRAFT_USER, str("no input"), {});
    return GRAFT_USER;
  }
  return h.set_output(n, 0, &info);
}
graft_status twice_run(const graft_call* c) {
  auto in = static_cast<const float*>(c->inputs[0]->data);
  auto out = static_cast<float*>(c->outputs[0]->data);
  for (int64_t i = 0; i < c->inputs[0]->dims[0]; ++i) out[i] = 2 * in[i];
  return GRAFT_OK;
}

TEST(Border, AnOlderAndBarerExtensionWorks) {
  graft_op op = operation("Twice");
  op.size = offsetof(graft_op, cases);
  op.flags = GRAFT_OP_PURE;
  op.infer = twice_infer;
  graft_port x{sizeof x, 0, str("x"), {}};
  const graft_port* ports[] = {&x};
  op.inputs = op.outputs = ports;
  op.input_count = op.output_count = 1;
  graft_kernel k{};
  k.size = sizeof k;
  k.op = str("Twice"), k.opset = str("test"), k.device = str("REFERENCE"), k.name = str("plain");
  k.run = twice_run;
  const graft_op* ops[] = {&op};
  const graft_kernel* kernels[] = {&k};
  graft_extension e = extension();
  e.ops = ops, e.op_count = 1, e.kernels = kernels, e.kernel_count = 1;
  Registry registry;
  registry.add(read_records(e, Source::library, "plain.so"));
  const OpDef* def = registry.find("Twice", "test");
  ASSERT_NE(def, nullptr);
  Node node;
  node.type = "Twice", node.opset = "test", node.name = "t";
  node.outputs.resize(1);
  Tensor in(DType::f32, {3});
  for (int i = 0; i < 3; ++i) in.data<float>()[i] = static_cast<float>(i);
  std::vector<Tensor> inputs{in};
  std::vector<Tensor> out = evaluate_node(Evaluation{registry}, node, *def, inputs, 1);
  EXPECT_EQ(out[0].data<float>()[2], 4);
}

// A record with bytes that this host does not know, and one that ends where the first release did.
template <class Record>
struct Longer {
  Record record;
  char more[64];
  explicit Longer(Record r) : record(r) {
    record.size = sizeof *this;
    std::memset(more, 0x7f, sizeof more);
  }
};
template <class Record>
std::vector<unsigned char> shortened(Record r, size_t size) {
  r.size = static_cast<uint32_t>(size);
  std::vector<unsigned char> bytes(size);
  std::memcpy(bytes.data(), &r, size);
  return bytes;
}
template <class Record>
const Record* as(const std::vector<unsigned char>& bytes) {
  return reinterpret_cast<const Record*>(bytes.data());
}

// One record of every kind; `change` returns the pointer that is registered instead.
template <class Change>
std::shared_ptr<const Records> every_kind(Change&& change) {
  graft_attr a{};
  a.size = sizeof a, a.kind = GRAFT_INT, a.name = str("a");
  a.fallback.kind = GRAFT_INT, a.fallback.i = 7;
  graft_port x{sizeof x, GRAFT_PORT_OPTIONAL, str("x"), str("doc")};
  graft_op op = operation("A");
  op.infer = twice_infer;
  const graft_attr* attrs[] = {change(a)};
  const graft_port* ports[] = {change(x)};
  op.attrs = attrs, op.attr_count = 1, op.inputs = op.outputs = ports, op.input_count = op.output_count = 1;
  graft_kernel k{};
  k.size = sizeof k, k.op = str("A"), k.opset = str("test"), k.device = str("CPU"), k.name = str("k");
  k.run = twice_run;
  graft_rule r{};
  r.size = sizeof r, r.framework = str("onnx"), r.type = str("A"), r.op = str("A");
  graft_pass p{};
  p.size = sizeof p, p.name = str("p"), p.visit = [](graft_builder*, void*) -> graft_status { return GRAFT_OK; };
  const graft_op* ops[] = {change(op)};
  const graft_kernel* kernels[] = {change(k)};
  const graft_rule* rules[] = {change(r)};
  const graft_pass* passes[] = {change(p)};
  graft_extension e = extension();
  e.ops = ops, e.op_count = 1, e.kernels = kernels, e.kernel_count = 1;
  e.rules = rules, e.rule_count = 1, e.passes = passes, e.pass_count = 1;
  return read_records(*change(e), Source::library, "lib.so");
}

void expect_every_kind(const Records& r) {
  ASSERT_EQ(r.ops.size(), 1u);
  ASSERT_EQ(r.kernels.size(), 1u);
  ASSERT_EQ(r.rules.size(), 1u);
  EXPECT_EQ(r.ops[0].attrs[0]->fallback.i, 7);
  EXPECT_EQ(view(r.ops[0].inputs[0]->name), "x");
  EXPECT_EQ(view(r.kernels[0].name), "k");
  EXPECT_EQ(view(r.rules[0].op), "A");
}

TEST(Border, LongerRecordsOfEveryKindLoad) {
  std::deque<std::shared_ptr<void>> kept;
  auto longer = [&]<class R>(const R& r) -> const R* {
    auto copy = std::make_shared<Longer<R>>(r);
    kept.push_back(copy);
    return &copy->record;
  };
  auto records = every_kind(longer);
  expect_every_kind(*records);
  ASSERT_EQ(records->passes.size(), 1u);
}

TEST(Border, RecordsOfTheFirstReleaseLoad) {
  std::deque<std::vector<unsigned char>> kept;
  size_t less = 0;
  auto cut = [&]<class R>(const R& r) -> const R* {
    size_t size = sizeof r;
    if constexpr (std::is_same_v<R, graft_attr>) size = GRAFT_ATTR_MIN_SIZE;
    if constexpr (std::is_same_v<R, graft_port>) size = GRAFT_PORT_MIN_SIZE;
    if constexpr (std::is_same_v<R, graft_op>) size = GRAFT_OP_MIN_SIZE;
    if constexpr (std::is_same_v<R, graft_kernel>) size = GRAFT_KERNEL_MIN_SIZE;
    if constexpr (std::is_same_v<R, graft_rule>) size = GRAFT_RULE_MIN_SIZE;
    if constexpr (std::is_same_v<R, graft_extension>) size = GRAFT_EXTENSION_MIN_SIZE;
    kept.push_back(shortened(r, size - less));
    return as<R>(kept.back());
  };
  auto records = every_kind(cut);
  expect_every_kind(*records);
  EXPECT_EQ(records->ops[0].cost, nullptr);
  EXPECT_EQ(records->rules[0].rank_count, 0u);
  EXPECT_TRUE(records->passes.empty());  // the first release had none
  less = 1;
  EXPECT_THROW(every_kind(cut), Error);
}

// `constant` cannot tell "failed" from "not known": the callback goes on, the user still gets the reason.
struct FailingNode final : graft_node {
  graft_str name() const override { return str("n"); }
  graft_str type() const override { return str("T"); }
  graft_str opset() const override { return str("test"); }
  const graft_value* attribute(std::string_view) const override { return nullptr; }
  std::span<const graft_named_value> attributes() const override { return {}; }
  size_t input_count() const override { return 1; }
  size_t output_count() const override { return 1; }
  bool input(size_t, graft_info&) const override { return false; }
  bool output(size_t, graft_info&) const override { return false; }
  const graft_tensor* constant(size_t) const override { throw_user("the constant cannot be computed"); }
  bool known_values(size_t, graft_shape&) const override { return false; }
  void set_output(size_t, const graft_info&) override { throw_user("this output is refused"); }
  void set_known_values(size_t, const graft_shape&) override {}
  size_t body_count() const override { return 0; }
  const graft_body* body(size_t) const override { return nullptr; }
  const graft_info* infer_body(size_t, const graft_info*) override { return nullptr; }
  void request_scratch(size_t) override {}
};
std::string reason(graft_status status) {
  try {
    check_callback(status);
    return "";
  } catch (const Error& e) {
    return e.message();
  }
}

TEST(Border, AFailureIsNeverTakenForAbsence) {
  FailingNode node;
  const graft_host& h = host_table();
  EXPECT_EQ(h.constant(&node, 0), nullptr);
  EXPECT_EQ(reason(GRAFT_OK), "the constant cannot be computed");
  EXPECT_EQ(reason(GRAFT_OK), "");
  // What the callback complains about later is a consequence.
  EXPECT_EQ(h.constant(&node, 0), nullptr);
  h.fail(GRAFT_USER, str("expected a constant"), {});
  EXPECT_EQ(reason(GRAFT_USER), "the constant cannot be computed");
  // A status is visible: a callback that ignores it has decided so.
  EXPECT_NE(h.set_output(&node, 0, nullptr), GRAFT_OK);
  EXPECT_EQ(reason(GRAFT_OK), "");
}

TEST(Border, ANullPointerIsAnError) {
  FailingNode node;
  const graft_host& h = host_table();
  EXPECT_EQ(h.input(&node, 0, nullptr), 0);
  EXPECT_EQ(reason(GRAFT_OK), "expected an argument of a host function, got a null pointer");
  EXPECT_NE(h.set_output(&node, 0, nullptr), GRAFT_OK);
  EXPECT_EQ(reason(GRAFT_USER), "expected an argument of a host function, got a null pointer");
}

TEST(Border, ACallbackThatGivesNoReasonIsStillAnError) {
  try {
    check_callback(GRAFT_UNSUPPORTED);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::unsupported);
  }
}

}  // namespace
}  // namespace graft

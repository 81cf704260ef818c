// The C border: records are pinned, malformed ones are refused, an older extension still works.
#include <gtest/gtest.h>

#include <cstring>

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
              offsetof(graft_host, inline_body) == 448);

namespace graft {
namespace {

std::string refusal(const graft_extension& e) {
  Registry r;
  try {
    r.add(e, Source::library, "lib.so");
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

TEST(Border, TwoLibrariesMayNotDefineTheSame) {
  graft_op op = operation("A");
  const graft_op* ops[] = {&op};
  graft_extension e = extension();
  e.ops = ops, e.op_count = 1;
  Registry r;
  r.add(e, Source::library, "one.so");
  try {
    r.add(e, Source::library, "two.so");
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
  registry.add(e, Source::library, "plain.so");
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

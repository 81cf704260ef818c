// An extension that was built against the first abi.h: one record of every kind, without the C++ layer. Cases are in
// first_release.test.
#include "first_release_abi.h"

namespace {

const graft_host* host;

constexpr graft_str str(const char* s) {
  size_t n = 0;
  while (s[n]) ++n;
  return {s, n};
}

graft_status scale_infer(graft_node* node, void*) {
  graft_info info;
  if (!host->input(node, 0, &info)) {
    host->fail(GRAFT_USER, str("expected one input"), {});
    return GRAFT_USER;
  }
  return host->set_output(node, 0, &info);
}

graft_status scale_prepare(graft_node* node, void*, void** state) {
  *state = new double(host->attribute(node, str("factor"))->f);
  return GRAFT_OK;
}
graft_status scale_run(const graft_call* call) {
  const graft_tensor& x = *call->inputs[0];
  int64_t n = 1;
  for (int32_t i = 0; i < x.rank; ++i) n *= x.dims[i];
  for (int64_t i = 0; i < n; ++i)
    static_cast<float*>(call->outputs[0]->data)[i] =
        static_cast<float>(static_cast<const float*>(x.data)[i] * *static_cast<double*>(call->state));
  return GRAFT_OK;
}
void scale_release(void* state, void*) { delete static_cast<double*>(state); }

const graft_attr factor = [] {
  graft_attr a{};
  a.size = sizeof a;
  a.kind = GRAFT_FLOAT;
  a.name = str("factor");
  a.doc = str("what every element is multiplied by");
  a.fallback.kind = GRAFT_FLOAT, a.fallback.f = 2;
  a.min = 0, a.max = 100;
  return a;
}();
const graft_attr* const attrs[] = {&factor};
const graft_port x{sizeof x, 0, str("x"), {}}, y{sizeof y, 0, str("y"), {}};
const graft_port* const inputs[] = {&x};
const graft_port* const outputs[] = {&y};

const graft_op scale = [] {
  graft_op op{};
  op.size = sizeof op;
  op.flags = GRAFT_OP_PURE;
  op.name = str("Scale"), op.opset = str("first");
  op.attrs = attrs, op.attr_count = 1;
  op.inputs = inputs, op.input_count = 1;
  op.outputs = outputs, op.output_count = 1;
  op.infer = scale_infer;
  return op;
}();

const graft_kernel kernel = [] {
  graft_kernel k{};
  k.size = sizeof k;
  k.op = str("Scale"), k.opset = str("first"), k.device = str("REFERENCE"), k.name = str("plain");
  k.prepare = scale_prepare, k.run = scale_run, k.release = scale_release;
  return k;
}();

// A layer "Doubled" of ONNX becomes two operations.
graft_status doubled_expand(graft_import* layer, void*) {
  graft_ref in = host->layer_input(layer, 0), once = 0, twice = 0;
  graft_named_value by{str("factor"), {}};
  by.value.kind = GRAFT_FLOAT, by.value.f = 4;
  graft_new_node node{};
  node.size = sizeof node;
  node.op = str("Scale"), node.opset = str("first");
  node.inputs = &in, node.input_count = 1;
  node.attrs = &by, node.attr_count = 1;
  if (graft_status s = host->add_node(layer, &node, &once, 1)) return s;
  node.inputs = &once;
  node.attr_count = 0;
  if (graft_status s = host->add_node(layer, &node, &twice, 1)) return s;
  return host->set_layer_output(layer, 0, twice);
}
const graft_rule rule = [] {
  graft_rule r{};
  r.size = sizeof r;
  r.framework = str("onnx"), r.domain = str("first"), r.type = str("Doubled");
  r.until = INT64_MAX;
  r.expand = doubled_expand;
  return r;
}();

// Scale by 1 is the identity.
graft_status without_scale(graft_import* at, void*) {
  const graft_value* v = host->attribute(host->visited(at), str("factor"));
  return v && v->f == 1 ? host->set_layer_output(at, 0, host->node_input(at, host->visited(at), 0)) : GRAFT_OK;
}
const graft_str visited[] = {str("Scale")};
const graft_pass pass = [] {
  graft_pass p{};
  p.size = sizeof p;
  p.name = str("remove_scale_by_one");
  p.phase = GRAFT_MIDDLE;
  p.types = visited, p.type_count = 1;
  p.visit = without_scale;
  return p;
}();

const graft_op* const ops[] = {&scale};
const graft_kernel* const kernels[] = {&kernel};
const graft_rule* const rules[] = {&rule};
const graft_pass* const passes[] = {&pass};

}  // namespace

extern "C" __attribute__((visibility("default"))) const graft_extension* graft_extension_entry(const graft_host* h) {
  host = h;
  static graft_extension e{};
  e.size = sizeof e;
  e.abi_version = GRAFT_ABI_VERSION;
  e.name = str("first"), e.version = str("0.1");
  e.ops = ops, e.op_count = 1;
  e.kernels = kernels, e.kernel_count = 1;
  e.rules = rules, e.rule_count = 1;
  e.passes = passes, e.pass_count = 1;
  return &e;
}

// If: runs one of two bodies.
#include <graft/op.hpp>

namespace graft {
namespace {

std::vector<Info> branch_parameters(Infer& ctx, size_t index) {
  BodyView body = ctx.body(index);
  std::vector<Info> parameters(body.parameters());
  for (const graft_port_map& m : body.inputs())
    parameters[static_cast<size_t>(m.internal)] = ctx.input(static_cast<size_t>(m.external));
  return parameters;
}

// The results of a body. Models guard shapes with If ("squeeze the last axis if it is 1"), so a body that does not fit
// the actual shapes is an error only if it runs. Unless `certain` to run, such a body contributes no information.
std::optional<std::vector<Info>> branch_infer(Infer& ctx, size_t index, bool certain) {
  std::vector<Info> parameters = branch_parameters(ctx, index);
  try {
    return ctx.infer_body(index, parameters);
  } catch (const Failure&) {
    if (certain) throw;
    return std::nullopt;
  }
}

void if_infer(Infer& ctx, const NoAttributes&) {
  if (ctx.bodies() != 2) fail("expected two bodies (then and else), got fewer");
  if (Shape s = ctx.shape(0); s.ranked() && !s.elements().can_be(1))
    fail("expected a condition with a single element, got shape ", s);
  // If the condition is known, only the branch taken matters.
  std::optional<size_t> taken;
  if (auto c = ctx.known(0); c && c->rank() == 1 && (*c)[0].known()) taken = (*c)[0].min() ? 0 : 1;
  std::optional<std::vector<Info>> results[2];
  for (size_t i : {size_t{0}, size_t{1}}) results[i] = branch_infer(ctx, i, taken == i);
  if (!results[0] && !results[1]) branch_infer(ctx, 0, true);
  auto result = [&](size_t branch, int64_t port) {
    return results[branch] ? (*results[branch])[static_cast<size_t>(port)] : Info{DType::undefined, Shape::unknown()};
  };
  BodyView then_body = ctx.body(0), else_body = ctx.body(1);
  for (const graft_port_map& a : then_body.outputs())
    for (const graft_port_map& b : else_body.outputs()) {
      if (a.external != b.external) continue;
      Info x = result(0, a.internal), y = result(1, b.internal);
      if (x.type != y.type && x.type != DType::undefined && y.type != DType::undefined)
        fail("output ", a.external, " is ", x.type, " in one branch and ", y.type, " in the other");
      Info out{x.type == DType::undefined ? y.type : x.type, either(x.shape, y.shape)};
      if (taken) out = *taken == 0 ? x : y;
      ctx.output(static_cast<size_t>(a.external), out);
    }
  for (auto [one, other] : {std::pair(then_body, else_body), std::pair(else_body, then_body)})
    for (const graft_port_map& a : one.outputs())
      if (std::none_of(other.outputs().begin(), other.outputs().end(),
                       [&](const graft_port_map& b) { return a.external == b.external; }))
        fail("output ", a.external, " is missing from one of the branches");
}

// The port maps of both bodies, kept from `prepare` for the calls.
struct Branch {
  size_t parameters, results;
  std::vector<graft_port_map> inputs, outputs;
};
std::vector<Branch> if_prepare(Prepare& ctx, const NoAttributes&) {
  std::vector<Branch> branches;
  for (size_t i = 0; i < 2; ++i) {
    BodyView b = ctx.body(i);
    branches.push_back({b.parameters(),
                        b.results(),
                        {b.inputs().begin(), b.inputs().end()},
                        {b.outputs().begin(), b.outputs().end()}});
  }
  return branches;
}

void if_run(Run& ctx, const NoAttributes&, const std::vector<Branch>& branches) {
  size_t which = ctx.input(0).scalar<bool>() ? 0 : 1;
  const Branch& b = branches[which];
  std::vector<TensorView> parameters(b.parameters);
  for (const graft_port_map& m : b.inputs)
    parameters[static_cast<size_t>(m.internal)] = ctx.input(static_cast<size_t>(m.external));
  std::vector<TensorView> results = ctx.run_body(which, parameters, b.results);
  for (const graft_port_map& m : b.outputs) {
    auto o = static_cast<size_t>(m.external);
    if (!ctx.output_used(o)) continue;
    TensorView r = results[static_cast<size_t>(m.internal)];
    ctx.allocate(o, r.dims()).assign(r);
  }
}

std::vector<Value> import_if(Builder& layer) {
  Value condition = layer.input(0);
  // If the condition is constant, the branch is inlined; its outputs may then be sequences of any length or optionals.
  if (auto known = condition.values<double>(); known && known->size() == 1)
    return layer.inlined((*known)[0] != 0 ? "then_branch" : "else_branch", {});
  if (layer.output_used(0) && condition.type() != DType::boolean) condition = convert(condition, DType::boolean);
  // An output may be a sequence whose items are separate results: their number, or none for a tensor.
  std::vector<std::optional<size_t>> lengths[2];
  auto branch = [&](std::string_view path, size_t which) {
    return layer.body(path, {}, nullptr, [&lengths, which](Builder& body) {
      for (size_t i = 0; i < body.inputs(); ++i) {
        if (!body.has_input(i))
          unsupported("an empty optional as an output of a branch of a data-dependent condition is not supported");
        auto items = body.input(i).items();
        if (items && std::any_of(items->begin(), items->end(), [](const Value& v) { return v.items().has_value(); }))
          unsupported("a sequence of data-dependent length as an output of a branch is not supported");
        lengths[which].push_back(items ? std::optional(items->size()) : std::nullopt);
        body.output(i, body.input(i));
      }
    });
  };
  ImportedBody bodies[2] = {branch("then_branch", 0), branch("else_branch", 1)};
  std::vector<Value> inputs{condition};
  std::vector<BodyUse> uses;
  for (ImportedBody& b : bodies) {
    BodyUse use{b.id, {}, {}, {}};
    for (size_t i = 0; i < b.captured.size(); ++i) {
      use.inputs.push_back({static_cast<int64_t>(inputs.size()), static_cast<int64_t>(i), 0, 0, 0, 0, 0, 0, 0});
      inputs.push_back(b.captured[i]);
    }
    for (size_t i = 0; i < b.results.size(); ++i)
      use.outputs.push_back({static_cast<int64_t>(i), static_cast<int64_t>(i), 0, 0, 0, 0, 0, 0, 0});
    uses.push_back(std::move(use));
  }
  if (lengths[0].size() != lengths[1].size())
    fail("expected branches with the same number of outputs, got ", lengths[0].size(), " and ", lengths[1].size());
  if (lengths[0] != lengths[1])
    unsupported("a sequence whose length differs between the branches of a data-dependent condition is not supported");
  std::vector<Value> results = layer.make("If", inputs, {}, bodies[0].results.size(), uses), outputs;
  auto next = results.begin();
  for (const std::optional<size_t>& length : lengths[0]) {
    std::vector<Value> items(next, next + static_cast<ptrdiff_t>(length.value_or(1)));
    next += static_cast<ptrdiff_t>(items.size());
    outputs.push_back(length ? layer.list(items) : items[0]);
  }
  return outputs;
}

}  // namespace

Definitions define_if() {
  return op("If", 8)
      .doc("Run the then-body if the condition is true, the else-body otherwise")
      .inputs("cond, inputs...")
      .outputs("outputs...")
      .body("then_")
      .body("else_")
      .infer(if_infer)
      .reference(if_prepare, if_run)
      .import(onnx("If").expand(import_if))
      .import(tensorflow("If").domain("graft").expand(import_if))
      .import(mxnet("If").domain("graft").expand(import_if))
      .import(torch("If").domain("graft").expand(import_if))
      .import(tflite("If").domain("graft").expand(import_if));
}

}  // namespace graft

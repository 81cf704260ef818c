// What kernels apply to their results: every function of rows that a CPU kernel of a built-in operation has,
// hand-written ones and those of formulas, against the reference kernel over the whole domain. It walks the registry,
// so that a new row is covered.
#include <gtest/gtest.h>

#include <cmath>

#include "base/tensor.hpp"
#include "infer/evaluate.hpp"
#include "kernels/rows.hpp"
#include "schema/resolve.hpp"
#include "toolkit/built_ins.hpp"

namespace graft {
namespace {

std::vector<float> domain() {
  std::vector<float> x;
  for (int i = -8000; i <= 8000; ++i) x.push_back(static_cast<float>(i) * 0.013f);
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 0.00037f);
  for (float v : {0.0f, 0.5f, 1.0f, 1.5f, 2.5f, 1e-20f, 8388607.5f, 3.4028235e38f, HUGE_VALF})
    x.push_back(v), x.push_back(-v);
  x.push_back(std::numeric_limits<float>::quiet_NaN());
  return x;
}

// Rounding of the argument where the slope is steep, and of what is below the smallest normal number.
bool is_close(float got, double exact) {
  if (std::isnan(got) || std::isnan(exact)) return std::isnan(got) == std::isnan(exact);
  constexpr double large = 3.4028e38;
  if (std::fabs(exact) > large || std::isinf(got)) return std::fabs(exact) > large && std::fabs(double{got}) > large;
  return std::fabs(got - exact) <= 4e-5 * std::fabs(exact) + 1e-37;
}

// The attributes of an operation that are tried: numbers without a default get some, and each word of a list its turn.
std::vector<Attributes> variants(const OpDef& op) {
  std::vector<Attributes> all(1);
  double next = -1;
  for (const graft_attr* a : op.attrs()) {
    std::string name(view(a->name));
    if (a->flags & GRAFT_ATTR_REQUIRED && a->kind == GRAFT_FLOAT) {
      for (Attributes& v : all) v[name] = Attribute(next);
      next += 3;
    }
    if (a->kind != GRAFT_TEXT || view(a->name) == "auto_broadcast") continue;
    std::vector<Attributes> more;
    for (const Attributes& v : all)
      for (size_t i = 0; i < a->allowed_count; ++i) {
        more.push_back(v);
        more.back()[name] = Attribute(std::string(view(a->allowed[i])));
      }
    if (!more.empty()) all = std::move(more);
  }
  return all;
}

void compare(const Registry& registry, const OpDef& op, const Attributes& attributes, const graft_kernel& kernel) {
  std::vector<float> numbers, x = domain();
  for (size_t i = 1; i < op.inputs().size(); ++i) numbers.push_back(i == 1 ? 0.75f : 0.5f);
  auto make = [&] {
    Node n;
    n.type = op.name(), n.opset = op.opset(), n.attrs = attributes;
    return n;
  };
  PreparedKernel rows;
  try {
    rows = prepare_rows(registry, make(), numbers, view(kernel.name));
  } catch (const Error& e) {
    ASSERT_EQ(e.kind(), ErrorKind::unsupported) << op.name() << ": " << e.message();
    return;  // not these attributes
  }
  // As double, the reference kernel's results are not rounded.
  auto count = static_cast<int64_t>(x.size());
  std::vector<Tensor> inputs;
  Tensor wide(DType::f64, {count});
  std::copy(x.begin(), x.end(), static_cast<double*>(wide.data()));
  inputs.push_back(wide);
  for (float n : numbers) {
    Tensor number(DType::f64, {});
    *static_cast<double*>(number.data()) = n;
    inputs.push_back(number);
  }
  Node node = make();
  node.inputs.assign(inputs.size(), ValueId{0, 0});
  resolve(node, op, Extras::refuse);
  Tensor exact;
  try {
    exact = evaluate_node(Evaluation{registry}, node, op, inputs, 1)[0];
  } catch (const Error&) {
    return;  // an operation of integers
  }
  ASSERT_EQ(exact.type(), DType::f64) << op.name();
  // In rows of 100 that are 128 apart, and a row of the rest.
  constexpr int64_t length = 100, step = 128;
  int64_t whole = count / length;
  std::vector<float> y(static_cast<size_t>(whole * step), 7.0f), rest(x.begin() + whole * length, x.end());
  for (int64_t i = 0; i < whole * length; ++i)
    y[static_cast<size_t>(i / length * step + i % length)] = x[static_cast<size_t>(i)];
  auto apply = [&](float* to, int64_t n, int64_t size) {
    check_callback(rows.kernel->rows(rows.state(), rows.kernel->user, numbers.data(), to, n, step, size));
  };
  apply(y.data(), whole, length);
  apply(rest.data(), 1, static_cast<int64_t>(rest.size()));
  size_t wrong = 0;
  for (int64_t i = 0; i < count && wrong < 3; ++i) {
    float got = i < whole * length ? y[static_cast<size_t>(i / length * step + i % length)]
                                   : rest[static_cast<size_t>(i - whole * length)];
    double expected = static_cast<const double*>(exact.data())[i];
    if (is_close(got, expected)) continue;
    ADD_FAILURE() << op.name() << "@" << op.opset() << ", kernel " << view(kernel.name) << ", of "
                  << x[static_cast<size_t>(i)] << ": " << got << ", exactly " << expected;
    ++wrong;
  }
  for (int64_t r = 0; r < whole; ++r)
    for (int64_t i = length; i < step; ++i) ASSERT_EQ(y[static_cast<size_t>(r * step + i)], 7.0f) << op.name();
}

TEST(ElementRows, AllKernelsAreTheReference) {
  Registry registry;
  add_built_ins(registry);
  size_t compared = 0;
  for (const OpDef* op : registry.ops())
    for (const KernelDef& k : registry.kernels(*op, cpu_device)) {
      if (!k.record->rows) continue;
      for (const Attributes& v : variants(*op)) compare(registry, *op, v, *k.record), ++compared;
    }
  EXPECT_GT(compared, 60u);
}

}  // namespace
}  // namespace graft

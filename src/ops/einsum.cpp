// Einsum: sums of products over labeled axes.
#include <graft/kit/einsum.hpp>
#include <graft/numeric.hpp>
#include <graft/op.hpp>
#include <map>

namespace graft {
namespace {

struct Einsum {
  std::string equation;
  static constexpr std::tuple schema{
      attr("equation", &Einsum::equation, "equation in Einstein notation, for example \"bij,bjk->bik\"").required()};
};

void einsum_infer(Infer& ctx, const Einsum& a) {
  EinsumEquation e = parse_einsum(a.equation);
  if (e.inputs.size() != ctx.inputs())
    fail("expected ", e.inputs.size(), " inputs for the equation '", a.equation, "', got ", ctx.inputs());
  std::map<char, Dim> sizes;
  Shape dots;
  for (size_t i = 0; i < e.inputs.size(); ++i) {
    Shape s = ctx.shape(i);
    const std::string& names = e.inputs[i];
    if (!s.ranked()) {
      if (names.find('.') != names.npos) dots = Shape::unknown();
      for (char c : names)
        if (c != '.') sizes.emplace(c, Dim());
      continue;
    }
    size_t many = einsum_ellipsis(names, s.rank(), i), axis = 0;
    std::map<char, Dim> own;
    for (char c : names) {
      if (c == '.') {
        auto first = s.begin() + static_cast<ptrdiff_t>(axis);
        dots = broadcast(dots, Shape(std::vector<Dim>(first, first + static_cast<ptrdiff_t>(many))));
        axis += many;
        continue;
      }
      auto [at, fresh] = own.emplace(c, s[axis]);
      if (!fresh) at->second = merge(at->second, s[axis]);
      ++axis;
    }
    for (const auto& [c, d] : own) {
      auto [at, fresh] = sizes.emplace(c, d);
      if (!fresh) at->second = broadcast(at->second, d);
    }
  }
  Shape out;
  for (char c : e.output) {
    if (c != '.') {
      out.push_back(sizes.at(c));
    } else if (!dots.ranked()) {
      out = Shape::unknown();
      break;
    } else {
      for (const Dim& d : dots) out.push_back(d);
    }
  }
  ctx.output(0, common_type(ctx), out);
}

// All labels, those of the output first; the axes of the ellipsis are numbered from the right, with negative labels.
struct EinsumAxes {
  std::vector<int> names;
  std::vector<int64_t> sizes;
  size_t at(int name) {
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return i;
    names.push_back(name);
    sizes.push_back(1);
    return names.size() - 1;
  }
};
void einsum_run(Run& ctx, const Einsum& a) {
  EinsumEquation e = parse_einsum(a.equation);
  OutputView y = ctx.output(0);
  size_t inputs = e.inputs.size(), dots = 0;
  for (size_t i = 0; i < inputs; ++i) dots = std::max(dots, einsum_ellipsis(e.inputs[i], ctx.input(i).rank(), i));
  EinsumAxes axes;
  for (int name : einsum_axes(e.output, dots)) axes.at(name);
  size_t kept = axes.names.size();
  std::vector<std::vector<int>> names;
  for (size_t i = 0; i < inputs; ++i) {
    TensorView x = ctx.input(i);
    names.push_back(einsum_axes(e.inputs[i], einsum_ellipsis(e.inputs[i], x.rank(), i)));
    for (size_t k = 0; k < x.rank(); ++k) {
      int64_t& size = axes.sizes[axes.at(names[i][k])];
      if (x.dim(k) != 1) size = x.dim(k);
    }
  }
  // A repeated label (diagonal) adds up the strides of its axes; an axis of size 1 is broadcast.
  std::vector<std::vector<int64_t>> strides(inputs + 1, std::vector<int64_t>(axes.names.size(), 0));
  for (size_t i = 0; i < inputs; ++i) {
    TensorView x = ctx.input(i);
    std::vector<int64_t> dense = strides_of(x.dims());
    for (size_t k = 0; k < x.rank(); ++k)
      if (x.dim(k) != 1) strides[i][axes.at(names[i][k])] += dense[k];
  }
  std::vector<int64_t> dense = strides_of(std::span(axes.sizes).first(kept));
  std::copy(dense.begin(), dense.end(), strides[inputs].begin());

  with_number_type(y.type(), [&]<class T>(T) {
    std::vector<std::vector<T>> x;
    for (size_t i = 0; i < inputs; ++i) x.push_back(ctx.input(i).to<T>());
    std::vector<T> out(static_cast<size_t>(y.size()));
    Walk walk(axes.sizes, strides);
    if (!walk.empty()) do {
        T product = 1;
        for (size_t i = 0; i < inputs; ++i) product = wrap_mul(product, x[i][static_cast<size_t>(walk[i])]);
        T& o = out[static_cast<size_t>(walk[inputs])];
        o = wrap_add(o, product);
      } while (walk.next());
    y.assign(out);
  });
}

Value import_einsum(Builder& layer) {
  std::vector<Value> inputs;
  for (size_t i = 0; i < layer.inputs(); ++i) inputs.push_back(layer.input(i));
  auto equation = layer.get<std::string>("equation");
  std::erase(equation, ' ');
  return layer.op("Einsum", inputs, {{"equation", equation}});
}

// Every combination of indices is visited, and every index is an axis of some input.
double einsum_cost(const Accept& ctx) {
  double combinations = 1;
  for (size_t i = 0; i < ctx.inputs(); ++i)
    combinations *= std::max(1.0, static_cast<double>(ctx.shape(i).elements().max()));
  return combinations;
}

}  // namespace

Definitions define_einsum() {
  return op<Einsum>("Einsum", 7)
      .doc(
          "Einstein summation: multiply the inputs along axes with equal labels and sum over labels missing from the "
          "output")
      .traits(Trait::widens)
      .inputs("inputs...")
      .infer(einsum_infer)
      .cost(einsum_cost)
      .reference(einsum_run)
      .import(onnx("Einsum").expand(import_einsum));
}

}  // namespace graft

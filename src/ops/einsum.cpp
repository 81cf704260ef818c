// Einsum: sums of products over labeled axes.
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

// The axis labels; '.' stands for all axes of an ellipsis.
struct EinsumEquation {
  std::vector<std::string> inputs;
  std::string output;
};

std::string einsum_term(std::string_view equation, std::string_view term) {
  std::string names;
  for (size_t i = 0; i < term.size(); ++i) {
    char c = term[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      names += c;
    } else if (term.substr(i, 3) == "..." && names.find('.') == names.npos) {
      names += '.';
      i += 2;
    } else {
      fail("expected letters and at most one ellipsis per input in the equation '", equation, "', got '", c, "'");
    }
  }
  return names;
}

EinsumEquation parse_einsum(std::string_view equation) {
  std::string dense;
  for (char c : equation)
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') dense += c;
  std::string_view rest = dense;
  size_t arrow = rest.find("->");
  std::string_view left = rest.substr(0, arrow);
  EinsumEquation e;
  while (true) {
    size_t comma = left.find(',');
    e.inputs.push_back(einsum_term(equation, left.substr(0, comma)));
    if (comma == left.npos) break;
    left.remove_prefix(comma + 1);
  }
  std::map<char, int> uses;
  for (const std::string& names : e.inputs)
    for (char c : names) ++uses[c];
  if (arrow == rest.npos) {
    // In implicit mode, labels that occur once remain, in alphabetical order; '.' sorts before all letters.
    for (auto [c, n] : uses)
      if (n == 1 || c == '.') e.output += c;
    return e;
  }
  e.output = einsum_term(equation, rest.substr(arrow + 2));
  for (size_t i = 0; i < e.output.size(); ++i) {
    char c = e.output[i];
    if (e.output.find(c, i + 1) != e.output.npos)
      fail("label '", c, "' occurs twice in the output of the equation '", equation, "'");
    if (!uses.count(c) && c != '.')
      fail("label '", c, "' in the output of the equation '", equation, "' does not occur in any input");
  }
  return e;
}

// The number of axes that the ellipsis of an input stands for.
size_t einsum_ellipsis(const std::string& names, size_t rank, size_t input) {
  bool dots = names.find('.') != names.npos;
  size_t named = names.size() - (dots ? 1 : 0);
  if (rank < named || (!dots && rank != named))
    fail("expected input ", input, " of rank ", named, " to match the equation, got rank ", rank);
  return rank - named;
}

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
std::vector<int> einsum_axes(const std::string& names, size_t dots) {
  std::vector<int> out;
  for (char c : names) {
    if (c != '.') out.push_back(c);
    else
      for (size_t i = dots; i > 0; --i) out.push_back(-static_cast<int>(i));
  }
  return out;
}

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
      .inputs("inputs...")
      .infer(einsum_infer)
      .cost(einsum_cost)
      .reference(einsum_run)
      .import(onnx("Einsum").expand(import_einsum));
}

}  // namespace graft

// Einsum: a work item per element of the output loops over the labels that are summed.
#include <graft/kit/einsum.hpp>

#include "cl_kernel.hpp"

namespace graft {
namespace {

constexpr size_t most_inputs = 8;

void emit_einsum(Emit& ctx) {
  EinsumEquation equation = parse_einsum(ctx.attr<std::string>("equation"));
  size_t count = ctx.inputs();
  if (count > most_inputs) unsupported("expected at most ", most_inputs, " inputs, got ", count);
  std::map<int, int64_t> sizes;
  std::vector<std::map<int, int64_t>> strides(count);
  size_t most_dots = 0;
  for (size_t i = 0; i < count; ++i) {
    std::vector<int64_t> dims = ctx.shape(i).values(), own = cl_strides(dims);
    size_t dots = einsum_ellipsis(equation.inputs[i], dims.size(), i);
    most_dots = std::max(most_dots, dots);
    std::vector<int> labels = einsum_axes(equation.inputs[i], dots);
    for (size_t a = 0; a < labels.size(); ++a) {
      int64_t& size = sizes.try_emplace(labels[a], 1).first->second;
      size = std::max(size, dims[a]);
      if (dims[a] != 1) strides[i][labels[a]] += own[a];  // a label that occurs twice is a diagonal
      if (dims[a] == 0) unsupported("expected inputs with elements");
    }
  }
  std::vector<int> kept = einsum_axes(equation.output, most_dots);
  std::vector<int64_t> out, summed;
  std::vector<std::vector<int64_t>> outer(count), inner(count);
  auto stride = [&](size_t i, int label) { return strides[i].count(label) ? strides[i][label] : 0; };
  for (int label : kept) {
    out.push_back(sizes.count(label) ? sizes[label] : 1);
    for (size_t i = 0; i < count; ++i) outer[i].push_back(stride(i, label));
  }
  for (const auto& [label, size] : sizes) {
    if (std::find(kept.begin(), kept.end(), label) != kept.end()) continue;
    summed.push_back(size);
    for (size_t i = 0; i < count; ++i) inner[i].push_back(stride(i, label));
  }
  ClKernel k(ctx, "einsum");
  for (size_t i = 0; i < count; ++i) k.input(i, "x" + std::to_string(i));
  k.output(0, "y");
  bool real = is_real(ctx.type(0));
  std::string body = "  int i = get_global_id(0);\n" + ClWalk(out, outer).code(k);
  ClWalk walk(summed, inner);
  k.numbers("q", walk.dims);
  std::string product;
  for (size_t i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    k.numbers("r" + n + "_", walk.strides[i]);
    std::string at = "at_" + n;
    for (size_t a = 0; a < walk.dims.size(); ++a)
      at += " + j" + std::to_string(a) + " * r" + n + "_" + std::to_string(a);
    product += (i ? " * LOAD_x" : std::string(real ? "(SUM)" : "") + "LOAD_x") + n + "(" + at + ")";
  }
  body += real ? "  SUM sum = 0;\n" : "  T_x0 sum = 0;\n";
  for (size_t a = 0; a < walk.dims.size(); ++a) {
    std::string n = std::to_string(a);
    body += "  for (int j" + n + " = 0; j" + n + " < q" + n + "; ++j" + n + ")\n";
  }
  k.run(body + "    sum += " + product + ";\n  STORE_y(i, sum);", {cl_count(out)});
}

}  // namespace

Definitions gpu_einsum() { return SourceKernel("GPU", "einsum").of("Einsum").emit(emit_einsum); }

}  // namespace graft

// Components that multiply with matrices, scale, shift and select columns.
#include <numeric>

#include "kaldi/building.hpp"

namespace graft {
namespace {

// nnet1 stores its parameters without tokens, the others with them.
Value import_kaldi_affine(Builder& layer) {
  Value w = kaldi_weight_or_none(layer, "LinearParams"), b = kaldi_weight_or_none(layer, "BiasParams");
  if (!w) w = kaldi_weight(layer, "0"), b = kaldi_weight(layer, "1");
  return kaldi_affine(layer.input(0), w, b);
}
Value import_kaldi_linear(Builder& layer) {
  for (const char* name : {"Params", "CuMatrix", "0"})
    if (Value w = kaldi_weight_or_none(layer, name)) return kaldi_affine(layer.input(0), w, {});
  fail("expected a matrix in component '", layer.name(), "'");
}

// One input per time offset.
Value import_kaldi_tdnn(Builder& layer) {
  layer.field("TimeOffsets");
  std::vector<Value> parts;
  for (size_t i = 0; i < layer.flows(); ++i) parts.push_back(layer.input(i));
  Value b = kaldi_weight_or_none(layer, "BiasParams");
  Shape s = b ? b.shape() : Shape();
  if (b && s.ranked() && s.rank() == 1 && s[0].known() && s[0].value() == 0) b = {};
  return kaldi_affine(build::concat(parts, 1), kaldi_weight(layer, "LinearParams"), b);
}

// Blocks of rows of the matrix, each for its part of the columns; repeated ones share the same rows.
Value import_kaldi_block_affine(Builder& layer) {
  bool repeated = layer.has("NumRepeats");
  int64_t blocks = kaldi_size(layer, repeated ? "NumRepeats" : "NumBlocks");
  Value x = layer.input(0), w = kaldi_weight(layer, "LinearParams"), b = kaldi_weight(layer, "BiasParams");
  int64_t rows = kaldi_columns(transpose(w, {1, 0})), columns = kaldi_columns(w);
  if (repeated) {
    Value y = build::matmul(reshape(x, {-1, blocks, columns}), w, false, true) + b;
    return reshape(y, {-1, blocks * rows});
  }
  if (rows % blocks != 0) fail("expected a number of rows that ", blocks, " divides, got ", rows);
  // [blocks, frames, columns] x [blocks, columns, rows / blocks]
  Value parts = transpose(reshape(x, {-1, blocks, columns}), {1, 0, 2});
  Value y = build::matmul(parts, reshape(w, {blocks, rows / blocks, columns}), false, true);
  return reshape(transpose(y, {1, 0, 2}), {-1, rows}) + b;
}

Value import_kaldi_scale(Builder& layer) {
  Value x = layer.input(0);
  for (const char* name : {"Params", "Scales", "0"})
    if (Value v = kaldi_weight_or_none(layer, name)) return x * v;
  fail("expected a vector in component '", layer.name(), "'");
}
Value import_kaldi_shift(Builder& layer) {
  Value x = layer.input(0);
  for (const char* name : {"Bias", "Offsets", "0"})
    if (Value v = kaldi_weight_or_none(layer, name)) {
      Shape s = x.shape();
      return x + (s.ranked() && s.rank() == 2 && s[1].known() ? kaldi_tiled(v, s[1].value()) : v);
    }
  fail("expected a vector in component '", layer.name(), "'");
}
Value import_kaldi_scale_and_offset(Builder& layer) {
  Value x = layer.input(0);
  int64_t dim = kaldi_input_dim(layer, x);
  return x * kaldi_tiled(kaldi_weight(layer, "Scales"), dim) + kaldi_tiled(kaldi_weight(layer, "Offsets"), dim);
}
Value import_kaldi_scaled(Builder& layer) { return layer.input(0) * layer.get<float>("Scale", 1); }

// `extra`: frames beside those of the input, for a component that has none of its own.
Value import_kaldi_constant(Builder& layer) {
  Value v = kaldi_weight(layer, "Output");
  Value rows = build::dim(layer.input(0), 0) + layer.ints({layer.get<int64_t>("extra", 0)});
  return build::broadcast(v, build::concat({rows, build::dim(v, 0)}, 0));
}

// ---- columns ----

Value import_kaldi_permute(Builder& layer) {
  if (!layer.has("Reorder"))
    return build::gather(layer.input(0), layer.ints(layer.get<std::vector<int64_t>>("ColumnMap")), 1);
  std::vector<int64_t> to = layer.get<std::vector<int64_t>>("Reorder"), from(to.size(), -1);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] < 0 || static_cast<size_t>(to[i]) >= to.size() || from[static_cast<size_t>(to[i])] >= 0)
      fail("expected a permutation of ", to.size(), " columns");
    from[static_cast<size_t>(to[i])] = static_cast<int64_t>(i);
  }
  return build::gather(layer.input(0), layer.ints(from), 1);
}
Value import_kaldi_copy(Builder& layer) {
  std::vector<int64_t> from = layer.get<std::vector<int64_t>>("Copy.0");
  int64_t dim = kaldi_columns(layer.input(0));
  for (int64_t& c : from) {
    if (c < 1 || c > dim) fail("expected columns of 1 to ", dim, ", got ", c);
    --c;
  }
  return build::gather(layer.input(0), layer.ints(from), 1);
}
Value import_kaldi_dim_range(Builder& layer) {
  int64_t at = kaldi_size(layer, "dim-offset", 0), dim = kaldi_size(layer, "dim");
  Shape s = layer.input(0).shape();
  if (s.ranked() && s.rank() == 2 && s[1].known() && at + dim > s[1].value())
    fail("expected columns ", at, " to ", at + dim - 1, " within ", s[1].value());
  return kaldi_with_columns(build::slice(layer.input(0), 1, at, at + dim), dim);
}

// Groups of columns of equal size: [frames, groups, size].
Value kaldi_groups_of(Builder& layer, const Value& x) {
  int64_t dim = kaldi_input_dim(layer, x), groups = kaldi_size(layer, "OutputDim");
  if (dim % groups != 0) fail("expected an input whose dimension ", groups, " divides, got ", dim);
  return reshape(x, {-1, groups, dim / groups});
}
Value kaldi_reduced(const Value& x, std::string_view op, int64_t axis) {
  return x.in().op(op, {x, x.in().ints({axis})}, {{"keep_dims", false}});
}

Value import_kaldi_pnorm(Builder& layer) {
  double p = layer.get<float>("P", 2);
  if (!(p > 0)) fail("expected a positive P, got ", p);
  Value x = kaldi_groups_of(layer, layer.input(0));
  if (p == 2) return layer.op("Sqrt", {kaldi_reduced(x * x, "ReduceSum", 2)});
  Value size = layer.op("Abs", {x});
  if (p == 1) return kaldi_reduced(size, "ReduceSum", 2);
  Value sum = kaldi_reduced(layer.op("Power", {size, like(x, p)}), "ReduceSum", 2);
  return layer.op("Power", {sum, like(x, 1 / p)});
}
Value import_kaldi_maxout(Builder& layer) {
  return kaldi_reduced(kaldi_groups_of(layer, layer.input(0)), "ReduceMax", 2);
}

// Sums of neighboring columns, `Sizes` of them each.
Value import_kaldi_sum_group(Builder& layer) {
  std::vector<int64_t> sizes = layer.get<std::vector<int64_t>>("Sizes");
  auto groups = static_cast<int64_t>(sizes.size());
  int64_t dim = 0;
  bool equal = true;
  for (int64_t s : sizes) {
    if (s < 1 || s > 1 << 24) fail("expected sizes of 1 to ", 1 << 24, ", got ", s);
    dim += s, equal &= s == sizes[0];
  }
  if (sizes.empty() || dim > 1 << 24) fail("expected 1 to ", 1 << 24, " columns, got ", dim);
  if (equal) return kaldi_reduced(reshape(layer.input(0), {-1, groups, sizes[0]}), "ReduceSum", 2);
  if (dim * groups > 1 << 22) unsupported("sums over ", groups, " groups of ", dim, " columns are not supported");
  std::vector<float> belongs(static_cast<size_t>(dim * groups), 0);
  int64_t column = 0;
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t i = 0; i < sizes[static_cast<size_t>(g)]; ++i) belongs[static_cast<size_t>(column++ * groups + g)] = 1;
  return build::matmul(layer.input(0), layer.constant<float>(std::move(belongs), {dim, groups}));
}
Value import_kaldi_sum_block(Builder& layer) {
  Value x = layer.input(0);
  int64_t dim = kaldi_input_dim(layer, x), out = kaldi_size(layer, "OutputDim");
  if (dim % out != 0) fail("expected an input whose dimension ", out, " divides, got ", dim);
  return kaldi_reduced(reshape(x, {-1, dim / out, out}), "ReduceSum", 1) * layer.get<float>("Scale", 1);
}
Value import_kaldi_product(Builder& layer) {
  Value x = layer.input(0);
  int64_t dim = kaldi_input_dim(layer, x), out = kaldi_size(layer, "OutputDim");
  if (dim % out != 0 || dim / out > 64) fail("expected an input of 1 to 64 times ", out, " columns, got ", dim);
  std::vector<Value> parts = build::split(x, 1, std::vector<int64_t>(static_cast<size_t>(dim / out), out));
  Value y = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) y = y * parts[i];
  return y;
}

}  // namespace

Definitions define_kaldi_linear() {
  Definitions out{
      kaldi_component("LinearTransform").expand(import_kaldi_linear),
      kaldi_component("LinearComponent").expand(import_kaldi_linear),
      kaldi_component("FixedLinearComponent").expand(import_kaldi_linear),
      kaldi_component("TdnnComponent").expand(import_kaldi_tdnn),
      kaldi_component("ScaleAndOffsetComponent").expand(import_kaldi_scale_and_offset),
      kaldi_component("ScaleComponent").expand(import_kaldi_scaled),
      kaldi_component("ConstantComponent").expand(import_kaldi_constant),
      kaldi_component("ConstantFunctionComponent").expand(import_kaldi_constant),
      kaldi_component("PermuteComponent").expand(import_kaldi_permute),
      kaldi_component("Copy").expand(import_kaldi_copy),
      kaldi_component("dim-range-node").expand(import_kaldi_dim_range),
      kaldi_component("PnormComponent").expand(import_kaldi_pnorm),
      kaldi_component("MaxoutComponent").expand(import_kaldi_maxout),
      kaldi_component("SumGroupComponent").expand(import_kaldi_sum_group),
      kaldi_component("SumBlockComponent").expand(import_kaldi_sum_block),
      kaldi_component("ElementwiseProductComponent").expand(import_kaldi_product),
  };
  for (const char* type :
       {"AffineTransform", "AffineComponent", "AffineComponentPreconditioned", "AffineComponentPreconditionedOnline",
        "FixedAffineComponent", "NaturalGradientAffineComponent"})
    out += kaldi_component(type).expand(import_kaldi_affine);
  for (const char* type : {"BlockAffineComponent", "BlockAffineComponentPreconditioned", "RepeatedAffineComponent",
                           "NaturalGradientRepeatedAffineComponent"})
    out += kaldi_component(type).expand(import_kaldi_block_affine);
  for (const char* type :
       {"Rescale", "FixedScaleComponent", "PerElementScaleComponent", "NaturalGradientPerElementScaleComponent"})
    out += kaldi_component(type).expand(import_kaldi_scale);
  for (const char* type : {"AddShift", "FixedBiasComponent", "PerElementOffsetComponent"})
    out += kaldi_component(type).expand(import_kaldi_shift);
  return out;
}

}  // namespace graft

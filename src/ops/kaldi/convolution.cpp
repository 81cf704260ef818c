// Convolutions, pooling over columns, and attention.
#include <algorithm>

#include "kaldi/building.hpp"

namespace graft {
namespace {

// The same filters on every patch: patches [frames, count, size] -> [frames, count * filters].
Value kaldi_filtered(const Value& patches, const Value& filters, const Value& bias) {
  Value y = kaldi_affine(patches, filters, bias);
  Shape s = y.shape();
  if (!s.ranked() || s.rank() != 3 || !s[1].known() || !s[2].known()) unsupported("the number of filters is unknown");
  return reshape(y, {-1, s[1].value() * s[2].value()});
}

// nnet1 and nnet2: along the columns of each spliced frame.
Value import_kaldi_convolutional(Builder& layer) {
  Value x = layer.input(0), filters = kaldi_weight_or_none(layer, "Filters"), bias;
  if (filters) bias = kaldi_weight(layer, "Bias");
  else filters = kaldi_weight(layer, "FilterParams"), bias = kaldi_weight(layer, "BiasParams");
  int64_t size = kaldi_size(layer, "PatchDim"), step = kaldi_size(layer, "PatchStep"),
          stride = kaldi_size(layer, "PatchStride"), dim = kaldi_columns(x);
  bool appended = layer.get<bool>("AppendedConv", false);
  if (dim % stride != 0 || size > stride)
    fail("patches of ", size, " do not fit ", dim, " columns in parts of ", stride);
  int64_t splices = dim / stride, count = 1 + (stride - size) / step;
  kaldi_check_patches(splices * size);
  kaldi_check_patches(count * splices * size);
  std::vector<int64_t> columns;
  for (int64_t p = 0; p < count; ++p)
    for (int64_t s = 0; s < splices; ++s)
      for (int64_t d = 0; d < size; ++d)
        columns.push_back(appended ? (p * step + d) * splices + s : p * step + s * stride + d);
  return kaldi_filtered(kaldi_patches(layer, x, columns, count), filters, bias);
}

// nnet3: over x and y, with z as channels. The columns of the input have z or y as the fastest index.
Value import_kaldi_convolution(Builder& layer) {
  Value x = layer.input(0);
  int64_t nx = kaldi_size(layer, "InputXDim"), ny = kaldi_size(layer, "InputYDim"), nz = kaldi_size(layer, "InputZDim"),
          fx = kaldi_size(layer, "FiltXDim"), fy = kaldi_size(layer, "FiltYDim"), sx = kaldi_size(layer, "FiltXStep"),
          sy = kaldi_size(layer, "FiltYStep");
  auto order = layer.get<int64_t>("InputVectorization", 0);
  if (order != 0 && order != 1) fail("expected InputVectorization 0 or 1, got ", order);
  if (fx > nx || fy > ny) fail("a filter of ", fx, " x ", fy, " does not fit an input of ", nx, " x ", ny);
  int64_t px = 1 + (nx - fx) / sx, py = 1 + (ny - fy) / sy;
  kaldi_check_patches(px * py);
  kaldi_check_patches(fx * fy);
  kaldi_check_patches(fx * fy * nz);
  kaldi_check_patches(px * py, fx * fy * nz);
  // Kaldi calls the orders by the fastest index first: 0 is YZX, 1 is ZYX.
  auto column = [&](int64_t i, int64_t j, int64_t k) {
    return order == 0 ? (i * nz + k) * ny + j : (i * ny + j) * nz + k;
  };
  std::vector<int64_t> columns;
  for (int64_t a = 0; a < px; ++a)
    for (int64_t b = 0; b < py; ++b)
      for (int64_t i = 0; i < fx; ++i)
        for (int64_t j = 0; j < fy; ++j)
          for (int64_t k = 0; k < nz; ++k) columns.push_back(column(a * sx + i, b * sy + j, k));
  return kaldi_filtered(kaldi_patches(layer, x, columns, px * py), kaldi_weight(layer, "FilterParams"),
                        kaldi_weight(layer, "BiasParams"));
}

// One input per time offset; each has `height` groups of filters. Offsets in height beyond the edges see zeros.
Value import_kaldi_time_height(Builder& layer) {
  for (const char* field : {"Model", "ConvolutionModel", "RequiredTimeOffsets"}) layer.field(field);
  int64_t in = kaldi_size(layer, "NumFiltersIn"), height_in = kaldi_size(layer, "HeightIn"),
          height_out = kaldi_size(layer, "HeightOut"), step = kaldi_size(layer, "HeightSubsampleOut");
  std::vector<int64_t> pairs = layer.get<std::vector<int64_t>>("Offsets"), times;
  if (pairs.empty() || pairs.size() % 2 != 0) fail("expected pairs of offsets, got ", pairs.size(), " numbers");
  for (size_t i = 0; i < pairs.size(); i += 2) times.push_back(pairs[i]);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  if (times.size() != layer.flows())
    fail("expected ", times.size(), " inputs, one per time offset, got ", layer.flows());
  auto width = static_cast<int64_t>(pairs.size() / 2);
  kaldi_check_patches(height_in * in);
  kaldi_check_patches(width * in);
  kaldi_check_patches(height_out, width * in);
  std::vector<Value> parts;
  for (size_t i = 0; i < layer.flows(); ++i) parts.push_back(layer.input(i));
  Value zero = build::slice(parts[0], 1, 0, 1) * 0.0;
  int64_t zeros = static_cast<int64_t>(parts.size()) * height_in * in;
  parts.push_back(zero);
  std::vector<int64_t> columns;
  for (int64_t h = 0; h < height_out; ++h)
    for (size_t p = 0; p < pairs.size(); p += 2) {
      int64_t t = std::lower_bound(times.begin(), times.end(), pairs[p]) - times.begin(), at = h * step + pairs[p + 1];
      bool inside = at >= 0 && at < height_in;
      for (int64_t c = 0; c < in; ++c) columns.push_back(inside ? (t * height_in + at) * in + c : zeros);
    }
  layer.field("NumFiltersOut");
  return kaldi_filtered(kaldi_patches(layer, build::concat(parts, 1), columns, height_out),
                        kaldi_weight(layer, "LinearParams"), kaldi_weight(layer, "BiasParams"));
}

// ---- pooling ----

// Reduces the last axis of [frames, pools, size].
Value kaldi_pooled(const Value& patches, std::string_view op) {
  return patches.in().op(op, {patches, patches.in().ints({2})}, {{"keep_dims", false}});
}

// nnet1 and nnet2: over neighboring parts of `stride` columns.
Value import_kaldi_pool(Builder& layer) {
  Value x = layer.input(0);
  int64_t size = kaldi_size(layer, "PoolSize"), stride = kaldi_size(layer, "PoolStride"), dim = kaldi_columns(x);
  int64_t step = layer.has("PoolStep") ? kaldi_size(layer, "PoolStep") : size;
  if (dim % stride != 0 || dim / stride < size)
    fail("pools of ", size, " do not fit ", dim, " columns in parts of ", stride);
  int64_t pools = 1 + (dim / stride - size) / step;
  kaldi_check_patches(pools * size);
  std::vector<int64_t> columns;
  kaldi_check_patches(pools * size, stride);
  for (int64_t q = 0; q < pools; ++q)
    for (int64_t c = 0; c < stride; ++c)
      for (int64_t r = 0; r < size; ++r) columns.push_back((q * step + r) * stride + c);
  return kaldi_pooled(kaldi_patches(layer, x, columns, pools * stride),
                      layer.type() == "AveragePoolingComponent" ? "ReduceMean" : "ReduceMax");
}

// nnet3: over x, y and z.
Value import_kaldi_maxpool3(Builder& layer) {
  if (layer.has("PoolStride")) return import_kaldi_pool(layer);
  int64_t dims[3], sizes[3], steps[3], counts[3], pools = 1, size = 1;
  constexpr const char* names[3][3] = {{"InputXDim", "InputYDim", "InputZDim"},
                                       {"PoolXSize", "PoolYSize", "PoolZSize"},
                                       {"PoolXStep", "PoolYStep", "PoolZStep"}};
  for (size_t i = 0; i < 3; ++i) {
    dims[i] = kaldi_size(layer, names[0][i]), sizes[i] = kaldi_size(layer, names[1][i]);
    steps[i] = kaldi_size(layer, names[2][i]);
    if (sizes[i] > dims[i]) fail("a pool of ", sizes[i], " does not fit ", dims[i], " values");
    counts[i] = 1 + (dims[i] - sizes[i]) / steps[i];
    pools *= counts[i], size *= sizes[i];
    kaldi_check_patches(pools);
    kaldi_check_patches(size);
  }
  kaldi_check_patches(pools, size);
  std::vector<int64_t> columns;
  for (int64_t p = 0; p < pools; ++p)
    for (int64_t q = 0; q < size; ++q) {
      int64_t a[3] = {p / counts[2] / counts[1], p / counts[2] % counts[1], p % counts[2]};
      int64_t b[3] = {q / sizes[2] / sizes[1], q / sizes[2] % sizes[1], q % sizes[2]}, column = 0;
      for (size_t i = 0; i < 3; ++i) column = column * dims[i] + a[i] * steps[i] + b[i];
      columns.push_back(column);
    }
  return kaldi_pooled(kaldi_patches(layer, layer.input(0), columns, pools), "ReduceMax");
}

// ---- attention ----

// One input per position of the context; the middle one (of offset 0) has the queries.
Value import_kaldi_attention(Builder& layer) {
  for (const char* field : {"TimeStride", "NumLeftInputsRequired", "NumRightInputsRequired", "StatsCount"})
    layer.field(field);
  int64_t heads = kaldi_size(layer, "NumHeads"), key = kaldi_size(layer, "KeyDim"),
          value = kaldi_size(layer, "ValueDim"), left = kaldi_size(layer, "NumLeftInputs", 0),
          context = static_cast<int64_t>(layer.flows());
  if (left >= context) fail("expected more than ", left, " inputs, got ", context);
  std::vector<Value> rows;
  for (size_t i = 0; i < layer.flows(); ++i)
    rows.push_back(reshape(layer.input(i), {-1, heads, 1, 2 * key + value + context}));
  Value all = build::concat(rows, 2);  // [frames, heads, context, dimension]
  Value keys = build::slice(all, 3, 0, key), values = build::slice(all, 3, key, key + value);
  Value query = build::slice(rows[static_cast<size_t>(left)], 3, key + value, 2 * key + value + context);
  std::vector<Value> parts = build::split(query, 3, {key, context});
  Value scores = build::matmul(parts[0], keys, false, true) * layer.get<float>("KeyScale") + parts[1];
  Value weights = build::softmax(scores, 3), y = build::matmul(weights, values);  // [frames, heads, 1, ...]
  if (!layer.get<bool>("OutputContext", true)) return reshape(y, {-1, heads * value});
  return reshape(build::concat({y, weights}, 3), {-1, heads * (value + context)});
}

}  // namespace

Definitions define_kaldi_convolution() {
  return {
      kaldi_component("ConvolutionalComponent").expand(import_kaldi_convolutional),
      kaldi_component("Convolutional1dComponent").expand(import_kaldi_convolutional),
      kaldi_component("ConvolutionComponent").expand(import_kaldi_convolution),
      kaldi_component("TimeHeightConvolutionComponent").expand(import_kaldi_time_height),
      kaldi_component("MaxPoolingComponent").expand(import_kaldi_pool),
      kaldi_component("AveragePoolingComponent").expand(import_kaldi_pool),
      kaldi_component("MaxpoolingComponent").expand(import_kaldi_maxpool3),
      kaldi_component("RestrictedAttentionComponent").expand(import_kaldi_attention),
  };
}

}  // namespace graft

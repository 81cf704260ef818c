#include "load.hpp"

#include <cstring>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "readers/kaldi/archive.hpp"
#include "readers/npy.hpp"
#include "readers/onnx/onnx.hpp"
#include "readers/onnx/value.hpp"

namespace graft::cases {
namespace {

Tensor transposed(const Tensor& t, const std::vector<int64_t>& perm) {
  std::vector<int64_t> dims, step(perm.size()), dense(perm.size(), 1);
  for (size_t i = perm.size(); i-- > 1;) dense[i - 1] = dense[i] * t.dims()[i];
  for (size_t i = 0; i < perm.size(); ++i)
    dims.push_back(t.dims()[static_cast<size_t>(perm[i])]), step[i] = dense[static_cast<size_t>(perm[i])];
  Tensor out(t.type(), dims);
  size_t cell = static_cast<size_t>(bits_of(t.type())) / 8;
  std::vector<int64_t> at(dims.size(), 0);
  for (int64_t n = 0; n < out.size(); ++n) {
    int64_t from = 0;
    for (size_t i = 0; i < at.size(); ++i) from += at[i] * step[i];
    std::memcpy(static_cast<char*>(out.data()) + static_cast<size_t>(n) * cell,
                static_cast<const char*>(t.data()) + static_cast<size_t>(from) * cell, cell);
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < dims[i]) break;
      at[i] = 0;
    }
  }
  return out;
}

Tensor rows(const Tensor& t, int64_t from, int64_t to) {
  std::vector<int64_t> dims = t.dims();
  to = std::min(to, dims.at(0));
  dims[0] = to - from;
  Tensor out(t.type(), dims);
  size_t row = t.dims()[0] ? t.bytes() / static_cast<size_t>(t.dims()[0]) : 0;
  std::memcpy(out.data(), static_cast<const char*>(t.data()) + static_cast<size_t>(from) * row, out.bytes());
  return out;
}

// A vector of an archive is a matrix with one row.
Tensor with_rows(const Tensor& t) { return t.dims().size() == 1 ? t.reshaped({1, t.dims()[0]}) : t; }

}  // namespace

Datum load(const std::string& folder, const nlohmann::json& spec) {
  std::string file = spec.at("file"), path = folder + "/" + file, kind = spec.value("kind", "tensor");
  if (kind == "sequence") return read_onnx_value(path, Datum::sequence);
  if (kind == "optional") return read_onnx_value(path, Datum::optional);
  Tensor t;
  if (file.ends_with(".pb")) t = read_onnx_tensor(path);
  else if (file.ends_with(".npy")) t = read_npy(path);
  else if (file.ends_with(".ark")) t = with_rows(read_kaldi_first(path));
  else if (file.ends_with(".txt")) t = read_text_rows(path);
  else throw_unsupported("data file '", file, "'");
  if (spec.contains("rows") && spec["rows"].is_array()) t = rows(t, spec["rows"][0], spec["rows"][1]);
  if (spec.contains("perm")) t = transposed(t, spec["perm"]);
  if (spec.contains("shape")) t = t.reshaped(spec["shape"]);
  if (spec.contains("dtype") && t.type() != DType::string)
    if (auto type = parse_dtype(spec["dtype"].get<std::string>())) t = t.to(*type);
  return t;
}

}  // namespace graft::cases

#include "readers/onnx/tensor.hpp"

#include <algorithm>
#include <cstring>
#include <graft/builder.hpp>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "readers/onnx/onnx.hpp"

namespace graft {

namespace {

// Typed data of one tensor, before its element type is known.
struct Parts {
  std::vector<float> floats;
  std::vector<int64_t> ints;  // int32_data, int64_data and uint64_data
  std::vector<double> doubles;
  std::vector<std::string> texts;
};

Tensor from_parts(DType type, const std::vector<int64_t>& dims, Parts& p) {
  int64_t count = count_checked(dims);
  auto need = [&](size_t have, size_t want) {
    if (have != want) throw_user("expected ", want, " values for shape ", dims, ", got ", have);
  };
  auto n = static_cast<size_t>(count);
  switch (type) {
    case DType::f32: need(p.floats.size(), n); return make_tensor<float>(dims, p.floats);
    case DType::f64: need(p.doubles.size(), n); return make_tensor<double>(dims, p.doubles);
    case DType::string: need(p.texts.size(), n); return Tensor::strings(dims, std::move(p.texts));
    default: break;
  }
  if (is_packed(type)) {  // each entry holds one byte of packed elements
    need(p.ints.size(), bytes_for(type, count));
    Tensor t(type, dims);
    for (size_t i = 0; i < p.ints.size(); ++i) static_cast<uint8_t*>(t.data())[i] = static_cast<uint8_t>(p.ints[i]);
    return t;
  }
  need(p.ints.size(), n);
  if (is_real(type)) {  // 16- and 8-bit floats are stored as their bits
    Tensor t(type, dims);
    for (size_t i = 0; i < n; ++i) {
      if (bits_of(type) == 16) static_cast<uint16_t*>(t.data())[i] = static_cast<uint16_t>(p.ints[i]);
      else static_cast<uint8_t*>(t.data())[i] = static_cast<uint8_t>(p.ints[i]);
    }
    return t;
  }
  return make_tensor<int64_t>(dims, p.ints).to(type);
}

}  // namespace

std::pair<std::string, Tensor> OnnxTensors::tensor(Wire w) {
  std::string name;
  std::vector<int64_t> dims;
  int32_t code = 0;
  Parts parts;
  std::string_view raw;
  bool has_raw = false, is_external = false;
  External where;
  while (w.next()) switch (w.field()) {
      case 1: w.integers([&](int64_t d) { dims.push_back(d); }); break;
      case 2: code = w.small(); break;
      case 3: throw_unsupported("segmented tensors are not supported");
      case 4: w.fixed<float>([&](float v) { parts.floats.push_back(v); }); break;
      case 5:
      case 7:
      case 11: w.integers([&](int64_t v) { parts.ints.push_back(v); }); break;
      case 6: parts.texts.push_back(w.text()); break;
      case 8: name = w.text(); break;
      case 9: raw = w.bytes(), has_raw = true; break;
      case 10: w.fixed<double>([&](double v) { parts.doubles.push_back(v); }); break;
      case 13: {
        std::string key, value;
        for (Wire e = w.message("external_data entry"); e.next();) switch (e.field()) {
            case 1: key = e.text(); break;
            case 2: value = e.text(); break;
            default: e.skip();
          }
        auto number = [&]() -> uint64_t {
          auto n = parse_int(value);
          if (!n || *n < 0)
            throw_user("expected a number of bytes as ", key, " of the external data of tensor '", name, "', got '",
                       value, "'");
          return static_cast<uint64_t>(*n);
        };
        if (key == "location") where.location = value;
        else if (key == "offset") where.offset = number();
        else if (key == "length") where.length = number();
        break;
      }
      case 14: is_external = w.small() == 1; break;
      default: w.skip();
    }
  return with_context(
      [&]() -> std::pair<std::string, Tensor> {
        if (dims.size() > limits_.rank)
          throw_limit(&Limits::rank, "expected at most ", limits_.rank, " dimensions, got ", dims.size());
        for (int64_t d : dims) {
          if (d < 0) throw_user("invalid dimension ", d, " in shape ", dims);
          if (static_cast<uint64_t>(d) > limits_.dimension)
            throw_limit(&Limits::dimension, "invalid dimension ", d, " in shape ", dims);
        }
        DType type = onnx_element_type(code);
        if (type == DType::undefined) throw_user("missing or unknown element type");
        if (is_external) return {name, external(name, where, type, dims)};
        if (has_raw && type != DType::string) {
          size_t want = bytes_for(type, count_checked(dims));
          if (raw.size() != want)
            throw_user("expected ", want, " bytes of data for shape ", dims, " of ", type, ", got ", raw.size());
          return {name, tensor_in_file(type, dims, raw.data(), keeper_)};
        }
        return {name, from_parts(type, dims, parts)};
      },
      [&] { return text("reading tensor '", name, "'"); });
}

Tensor OnnxTensors::external(const std::string& name, const External& where, DType type, std::vector<int64_t> dims) {
  if (type == DType::string) throw_user("strings are stored in an external file, which ONNX does not allow");
  auto& file = files_[where.location];
  if (!file) {
    if (files_.size() > limits_.files)
      throw_limit(&Limits::files, "the model refers to more than ", limits_.files, " files");
    file = open_below(folder_, where.location);
  }
  uint64_t size = file->chars().size(), want = bytes_for(type, count_checked(dims));
  if (where.length && *where.length != want)
    throw_user("expected ", want, " bytes in '", where.location, "' for shape ", dims, " of ", type, ", got ",
               *where.length);
  if (where.offset > size || want > size - where.offset)
    throw_user("the data lies at bytes ", where.offset, " to ", where.offset, "+", want, " of '", where.location,
               "', which has ", size, " bytes");
  if (want > 0) ranges_[where.location].push_back({where.offset, where.offset + want, name});
  return tensor_in_file(type, std::move(dims), file->chars().data() + where.offset, file);
}

void OnnxTensors::check_overlaps() const {
  for (auto [path, ranges] : ranges_) {
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    for (size_t i = 1; i < ranges.size(); ++i) {
      const Range &a = ranges[i - 1], &b = ranges[i];
      bool same = a.begin == b.begin && a.end == b.end;  // tied weights
      if (!same && b.begin < a.end)
        throw_user("tensors '", a.name, "' and '", b.name, "' partly overlap in '", path, "'");
    }
  }
}

// Zeros, and value i at place at[i]. A few bytes of a file may expand to gigabytes of zeros, so there is a limit for
// all sparse tensors of a model together.
Tensor OnnxTensors::dense(const Tensor& values, const std::vector<int64_t>& at, std::vector<int64_t> dims) {
  if (values.type() == DType::string) throw_unsupported("sparse tensors of strings are not supported");
  // Elements below one byte are placed as whole bytes first.
  DType type = values.type(), placed = !is_packed(type) ? type : is_signed_integer(type) ? DType::i8 : DType::u8;
  size_t bytes = bytes_for(placed, count_checked(dims));
  if (bytes > limits_.expanded_bytes - std::min(limits_.expanded_bytes, dense_bytes_))
    throw_limit(&Limits::expanded_bytes, "shape ", dims, " expands the sparse tensors of the model to more than ",
                limits_.expanded_bytes, " bytes");
  dense_bytes_ += bytes;
  Tensor from = values.to(placed), out(placed, std::move(dims));
  std::memset(out.data(), 0, bytes);
  size_t cell = static_cast<size_t>(bits_of(placed)) / 8;
  for (size_t i = 0; i < at.size(); ++i)
    std::memcpy(static_cast<char*>(out.data()) + static_cast<size_t>(at[i]) * cell,
                static_cast<const char*>(from.data()) + i * cell, cell);
  return out.to(type);
}

std::pair<std::string, Tensor> OnnxTensors::sparse(Wire w) {
  std::string name;
  Tensor values, indices;
  std::vector<int64_t> dims;
  while (w.next()) switch (w.field()) {
      case 1: std::tie(name, values) = tensor(w.message("TensorProto")); break;
      case 2: indices = tensor(w.message("TensorProto")).second; break;
      case 3: w.integers([&](int64_t d) { dims.push_back(d); }); break;
      default: w.skip();
    }
  return with_context(
      [&]() -> std::pair<std::string, Tensor> {
        if (!values || !indices) throw_user("missing values or indices");
        if (dims.size() > limits_.rank)
          throw_limit(&Limits::rank, "expected at most ", limits_.rank, " dimensions, got ", dims.size());
        int64_t count = count_checked(dims), given = values.size();
        if (values.dims().size() != 1) throw_user("expected values of rank 1, got shape ", values.dims());
        std::vector<int64_t> at = values_of<int64_t>(indices);
        bool linear = indices.dims().size() == 1;
        auto rank = static_cast<int64_t>(dims.size());
        if (static_cast<int64_t>(at.size()) != given * (linear ? 1 : rank))
          throw_user("expected indices for ", given, " values, got shape ", indices.dims());
        std::vector<int64_t> places;
        for (int64_t i = 0; i < given; ++i) {
          int64_t flat = 0;
          if (linear) flat = at[static_cast<size_t>(i)];
          for (int64_t k = 0; !linear && k < rank; ++k) {
            int64_t x = at[static_cast<size_t>(i * rank + k)];
            if (x < 0 || x >= dims[static_cast<size_t>(k)])
              throw_user("index ", x, " is out of range for shape ", dims);
            flat = flat * dims[static_cast<size_t>(k)] + x;
          }
          if (flat < 0 || flat >= count) throw_user("index ", flat, " is out of range for shape ", dims);
          places.push_back(flat);
        }
        return {name, dense(values, places, dims)};
      },
      [&] { return text("reading sparse tensor '", name, "'"); });
}

Tensor read_onnx_tensor(const std::string& path) {
  return with_context(
      [&] {
        auto file = MappedFile::open(path);
        return OnnxTensors(file, folder_of(path), {}).tensor(Wire(file->chars(), "TensorProto")).second;
      },
      [&] { return text("reading '", path, "' as an ONNX tensor"); });
}

}  // namespace graft

#include "readers/tensorflow/tensor.hpp"

#include <cstring>

#include "base/tensor.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

constexpr int64_t complex64 = 8, complex128 = 18;

struct TypeRow {
  int64_t code;
  DType type;
  const char* name;
};
constexpr TypeRow types[] = {
    {1, DType::f32, "float"},
    {2, DType::f64, "double"},
    {3, DType::i32, "int32"},
    {4, DType::u8, "uint8"},
    {5, DType::i16, "int16"},
    {6, DType::i8, "int8"},
    {7, DType::string, "string"},
    {8, DType::undefined, "complex64"},
    {9, DType::i64, "int64"},
    {10, DType::boolean, "bool"},
    {11, DType::i8, "qint8"},
    {12, DType::u8, "quint8"},
    {13, DType::i32, "qint32"},
    {14, DType::bf16, "bfloat16"},
    {15, DType::i16, "qint16"},
    {16, DType::u16, "quint16"},
    {17, DType::u16, "uint16"},
    {18, DType::undefined, "complex128"},
    {19, DType::f16, "half"},
    {20, DType::undefined, "resource"},
    {21, DType::undefined, "variant"},
    {22, DType::u32, "uint32"},
    {23, DType::u64, "uint64"},
    {24, DType::f8e5m2, "float8_e5m2"},
    {25, DType::f8e4m3, "float8_e4m3fn"},
};
const TypeRow* row_of(int64_t code) {
  if (code > 100) code -= 100;
  for (const TypeRow& r : types)
    if (r.code == code) return &r;
  return nullptr;
}

// The typed values of a tensor, before its element type is known.
struct Values {
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int64_t> ints;  // of every integer type, and the bits of 16-bit floats
  std::vector<std::string> texts;
  std::string_view bytes;  // of 8-bit floats

  size_t count(DType type) const {
    switch (type) {
      case DType::f32: return floats.size();
      case DType::f64: return doubles.size();
      case DType::string: return texts.size();
      case DType::f8e5m2:
      case DType::f8e4m3: return bytes.size();
      default: return ints.size();
    }
  }
};

// Element i is value i; the last value is repeated for the rest, and without any value all elements are zero.
template <class T>
void spread(const std::vector<T>& values, T* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = values.empty() ? T{} : values[std::min(i, values.size() - 1)];
}

template <class T>
void repeat_last_pair(std::vector<T>& values, size_t n) {
  while (values.size() >= 2 && values.size() < n) values.push_back(values[values.size() - 2]);
}

Tensor from_values(DType type, const std::vector<int64_t>& dims, size_t n, Values& v) {
  if (type == DType::string) {
    v.texts.resize(n, v.texts.empty() ? std::string() : v.texts.back());
    return Tensor::strings(dims, std::move(v.texts));
  }
  Tensor t(type, dims);
  if (type == DType::f32) {
    spread(v.floats, t.data<float>(), n);
  } else if (type == DType::f64) {
    spread(v.doubles, t.data<double>(), n);
  } else if (type == DType::f16 || type == DType::bf16) {
    spread(std::vector<uint16_t>(v.ints.begin(), v.ints.end()), static_cast<uint16_t*>(t.data()), n);
  } else if (type == DType::f8e5m2 || type == DType::f8e4m3) {
    spread(std::vector<uint8_t>(v.bytes.begin(), v.bytes.end()), static_cast<uint8_t*>(t.data()), n);
  } else {
    // The few values that are there in their own type, then copies of the last.
    size_t have = v.ints.size(), cell = static_cast<size_t>(bits_of(type)) / 8;
    Tensor given = make_tensor<int64_t>({static_cast<int64_t>(have)}, v.ints).to(type);
    auto* to = static_cast<char*>(t.data());
    if (have == 0) std::memset(to, 0, t.bytes());
    for (size_t i = 0; i < n && have > 0; ++i)
      std::memcpy(to + i * cell, static_cast<const char*>(given.data()) + std::min(i, have - 1) * cell, cell);
  }
  return t;
}

}  // namespace

DType tensorflow_element_type(int64_t code) {
  const TypeRow* r = row_of(code);
  return r ? r->type : DType::undefined;
}
std::string tensorflow_type_name(int64_t code) {
  const TypeRow* r = row_of(code);
  return r ? r->name : text("number ", code);
}

std::optional<int64_t> tensorflow_type_code(std::string_view name) {
  if (!name.starts_with("DT_")) return std::nullopt;
  name.remove_prefix(3);
  bool reference = name.ends_with("_REF");
  if (reference) name.remove_suffix(4);
  for (const TypeRow& r : types)
    if (equal_ignoring_case(r.name, name)) return r.code + (reference ? 100 : 0);
  if (name == "INVALID") return 0;
  return std::nullopt;
}

Shape TensorFlowTensors::shape(Wire w) const {
  Shape s;
  bool unknown = false;
  while (w.next()) switch (w.field()) {
      case 2: {
        if (s.dims().size() >= limits_.rank)
          over_limit(&Limits::rank, [&] { w.broken("has more than ", limits_.rank, " dimensions"); });
        int64_t size = 0;
        for (Wire d = w.message("dimension"); d.next();)
          if (d.field() == 1) size = d.integer();
          else d.skip();
        if (size > static_cast<int64_t>(limits_.dimension))
          over_limit(&Limits::dimension,
                     [&] { w.broken("has dimension ", size, ", expected at most ", limits_.dimension); });
        s.push_back(size < 0 ? Dim() : Dim(size));
        break;
      }
      case 3: unknown = w.varint() != 0; break;
      default: w.skip();
    }
  return unknown ? Shape::unknown() : s;
}

Tensor TensorFlowTensors::tensor(Wire w) {
  int64_t code = 0;
  Shape shape;
  std::string_view content;
  Values v;
  auto whole = [&] { w.integers([&](int64_t x) { v.ints.push_back(x); }); };
  while (w.next()) switch (w.field()) {
      case 1: code = w.small(); break;
      case 2: shape = this->shape(w.message("TensorShapeProto")); break;
      case 4: content = w.bytes(); break;
      case 5: w.fixed<float>([&](float x) { v.floats.push_back(x); }); break;
      case 6: w.fixed<double>([&](double x) { v.doubles.push_back(x); }); break;
      case 8: v.texts.push_back(w.text()); break;
      case 7:
      case 10:
      case 11:
      case 13:
      case 16:
      case 17: whole(); break;
      case 9: w.fixed<float>([&](float x) { v.floats.push_back(x); }); break;
      case 12: w.fixed<double>([&](double x) { v.doubles.push_back(x); }); break;
      case 18: v.bytes = w.bytes(); break;
      default: w.skip();
    }
  // Complex numbers are pairs of real ones along a last axis.
  bool pairs = code == complex64 || code == complex128;
  if (pairs) code = code == complex64 ? 1 : 2;
  if (!row_of(code)) w.broken("has unknown element type ", code);
  DType type = tensorflow_element_type(code);
  if (type == DType::undefined) return {};
  if (!shape.is_static()) w.broken("has shape ", shape, ", expected a static shape");
  std::vector<int64_t> dims = shape.values();
  if (pairs) dims.push_back(2);
  int64_t count = count_checked(dims);
  auto n = static_cast<size_t>(count);
  size_t want = type == DType::string ? n : bytes_for(type, count);
  if (!content.empty() && type != DType::string) {
    if (content.size() != want)
      w.broken("has ", content.size(), " bytes of tensor_content, expected ", want, " for shape ", dims, " of ", type);
    return tensor_in_file(type, std::move(dims), content.data(), keeper_);
  }
  size_t have = v.count(type);
  if (have > n) w.broken("has ", have, " values, expected ", n, " for shape ", dims);
  if (have < n) {
    // A few bytes may expand to many by repetition: limit the total, so that a small file cannot exhaust memory.
    size_t one = type != DType::string ? want / n : v.texts.empty() ? 32 : v.texts.back().size() + 32;
    size_t most = limits_.expanded_bytes;
    repeated_ = n - have > most / one ? most + 1 : repeated_ + (n - have) * one;
    if (repeated_ > most)
      over_limit(&Limits::expanded_bytes, [&] {
        w.broken("has ", have, " values repeated to ", n, ": the tensors of the model become too large");
      });
  }
  if (pairs && have % 2) w.broken("has ", have, " values, expected an even number for complex numbers");
  if (pairs) repeat_last_pair(v.floats, n), repeat_last_pair(v.doubles, n);
  return from_values(type, dims, n, v);
}

}  // namespace graft

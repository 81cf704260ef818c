#include "readers/onnx/value.hpp"

#include <graft/builder.hpp>
#include <numeric>

#include "base/tensor.hpp"
#include "readers/onnx/tensor.hpp"
#include "readers/wire.hpp"

namespace graft {
namespace {

constexpr const char* value_messages[] = {"TensorProto", "SequenceProto", "OptionalProto", "MapProto"};

class ValueReader {
 public:
  ValueReader(std::shared_ptr<const void> keeper, const std::string& folder, const Limits& limits)
      : limits_(limits), tensors_(std::move(keeper), folder, limits) {}

  Datum value(Wire w, Datum::Kind kind, int depth = 0) {
    if (depth > limits_.levels())
      over_limit(&Limits::depth, [&] { w.broken("is nested more than ", limits_.depth, " deep"); });
    switch (kind) {
      case Datum::sequence: return sequence(w, depth);
      case Datum::optional: return optional(w, depth);
      case Datum::map: return map(w, depth);
      case Datum::tensor: break;
    }
    return tensors_.tensor(w).second;
  }

 private:
  // Elements of a sequence and the value of an optional are fields of the same numbers.
  std::optional<Datum> element(Wire& w, int depth) {
    switch (w.field()) {
      case 3: return value(w.message("TensorProto"), Datum::tensor, depth + 1);
      case 4: return Datum(tensors_.sparse(w.message("SparseTensorProto")).second);
      case 5: return value(w.message("SequenceProto"), Datum::sequence, depth + 1);
      case 6: return value(w.message("MapProto"), Datum::map, depth + 1);
      case 7: return value(w.message("OptionalProto"), Datum::optional, depth + 1);
      default: w.skip(); return std::nullopt;
    }
  }

  Datum sequence(Wire w, int depth) {
    Datum out(Datum::sequence, {});
    while (w.next()) {
      std::optional<Datum> item = element(w, depth);
      if (!item) continue;
      if (++items_ > limits_.items)
        over_limit(&Limits::items, [&] { w.broken("has more than ", limits_.items, " items"); });
      if (!out.parts.empty()) check_alike(w, out.parts[0], *item);
      out.parts.push_back(std::move(*item));
    }
    return out;
  }
  static void check_alike(Wire& w, const Datum& first, const Datum& item) {
    if (first.kind != item.kind) w.broken("has items of different kinds");
    if (item.kind == Datum::tensor && first.value.type() != item.value.type())
      w.broken("has items of ", first.value.type(), " and of ", item.value.type(), ", expected one type");
  }

  Datum optional(Wire w, int depth) {
    Datum out(Datum::optional, {});
    int32_t declared = 0;
    while (w.next()) {
      if (w.field() == 2) {
        declared = w.small();
        continue;
      }
      if (std::optional<Datum> item = element(w, depth)) {
        if (!out.parts.empty()) w.broken("has more than one value");
        out.parts.push_back(std::move(*item));
      }
    }
    if (declared != 0 && out.parts.empty()) w.broken("declares elements of kind ", declared, ", but has no value");
    return out;
  }

  Datum map(Wire w, int depth) {
    std::vector<int64_t> numbers;
    std::vector<std::string> words;
    std::optional<Datum> values;
    int32_t type = 0;
    while (w.next()) switch (w.field()) {
        case 2: type = w.small(); break;
        case 3: w.integers([&](int64_t k) { numbers.push_back(k); }); break;
        case 4: words.push_back(w.text()); break;
        case 5:
          if (values) w.broken("has values twice");
          values = sequence(w.message("SequenceProto"), depth + 1);
          break;
        default: w.skip();
      }
    if (!numbers.empty() && !words.empty()) w.broken("has keys of two types");
    size_t count = std::max(numbers.size(), words.size()), given = values ? values->parts.size() : 0;
    if (count > limits_.items) over_limit(&Limits::items, [&] { w.broken("has more than ", limits_.items, " keys"); });
    if (count != given) w.broken("has ", count, " keys and ", given, " values");
    DType key = type ? onnx_element_type(type) : words.empty() ? DType::i64 : DType::string;
    if ((key == DType::string) != !words.empty() && count) w.broken("has keys that are not of their type ", key);
    if (key != DType::string && !is_integer(key)) w.broken("has keys of ", key, ", expected integers or strings");
    auto n = static_cast<int64_t>(count);
    Tensor keys =
        key == DType::string ? Tensor::strings({n}, std::move(words)) : make_tensor<int64_t>({n}, numbers).to(key);
    return {Datum::map, {keys, joined(w, values ? values->parts : std::vector<Datum>())}};
  }

  // The values of a map, one element each, as one list.
  static Tensor joined(Wire& w, const std::vector<Datum>& items) {
    if (items.empty()) return Tensor(DType::f32, {0});
    for (const Datum& d : items)
      if (d.kind != Datum::tensor || d.value.size() != 1) w.broken("has values that are not single elements");
    DType type = items[0].value.type();
    auto n = static_cast<int64_t>(items.size());
    if (type == DType::string) {
      std::vector<std::string> words;
      for (const Datum& d : items) words.emplace_back(d.value.text_at(0));
      return Tensor::strings({n}, std::move(words));
    }
    if (is_packed(type)) w.broken("has values of unsupported type ", type);
    Tensor out(type, {n});
    size_t each = out.bytes() / items.size();
    for (size_t i = 0; i < items.size(); ++i)
      std::memcpy(static_cast<char*>(out.data()) + i * each, items[i].value.data(), each);
    return out;
  }

  Limits limits_;
  OnnxTensors tensors_;
  size_t items_ = 0;
};

}  // namespace

Datum read_onnx_value(std::string_view bytes, std::shared_ptr<const void> keeper, const std::string& folder,
                      Datum::Kind kind, const Limits& limits) {
  return ValueReader(std::move(keeper), folder, limits).value(Wire(bytes, value_messages[kind]), kind);
}

Datum read_onnx_value(const std::string& path, Datum::Kind kind, const Limits& limits) {
  return with_context(
      [&] {
        auto file = MappedFile::open(path);
        return read_onnx_value(file->chars(), file, folder_of(path), kind, limits);
      },
      [&] { return text("reading '", path, "' as an ONNX ", value_messages[kind]); });
}

}  // namespace graft

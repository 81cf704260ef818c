#include "readers/pytorch/tensors.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/tensor.hpp"
#include "readers/json.hpp"
#include "readers/pytorch/pickle.hpp"

namespace graft {
namespace {

using nlohmann::json;

constexpr size_t config_values = 20'000'000;

// sizes of one dimension above what memory can address overflow nothing: products are checked.
uint64_t checked_elements(const std::vector<int64_t>& sizes, const Limits& limits) {
  uint64_t n = 1;
  for (int64_t d : sizes) {
    if (d < 0 || static_cast<uint64_t>(d) > limits.dimension)
      throw_user("expected sizes of 0 to ", limits.dimension, ", got ", d);
    if (d != 0 && n > limits.value_bytes / static_cast<uint64_t>(d))
      throw_limit(&Limits::value_bytes, "a tensor has more than ", limits.value_bytes, " elements");
    n *= static_cast<uint64_t>(d);
  }
  return n;
}

// How far the last element is from the first, in elements; fails if that does not fit the storage.
void check_extent(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t offset,
                  uint64_t available) {
  int64_t last = offset;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] < 0) throw_user("expected strides of at least 0, got ", strides[i]);
    int64_t step = 0;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) || __builtin_add_overflow(last, step, &last))
      last = INT64_MAX;
  }
  if (static_cast<uint64_t>(last) >= available)
    throw_user("expected a storage of more than ", available, " elements for sizes ", sizes, ", strides ", strides,
               " and offset ", offset);
}

bool is_dense(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != step) return false;
    step *= sizes[i];
  }
  return true;
}

Tensor gathered(const char* from, DType type, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  Tensor out(type, sizes);
  auto cell = static_cast<size_t>(bits_of(type)) / 8;
  auto* to = static_cast<char*>(out.data());
  std::vector<int64_t> at(sizes.size(), 0);
  int64_t place = 0;
  for (int64_t n = out.size(); n-- > 0; to += cell) {
    std::memcpy(to, from + static_cast<size_t>(place) * cell, cell);
    for (size_t i = sizes.size(); i-- > 0;) {
      place += strides[i];
      if (++at[i] < sizes[i]) break;
      place -= strides[i] * sizes[i];
      at[i] = 0;
    }
  }
  return out;
}

int64_t whole(const json& v) {
  const json& n = v.is_object() && v.contains("as_int") ? v["as_int"] : v;
  if (!n.is_number_integer()) throw_user("expected an integer as size, stride or offset");
  return n.get<int64_t>();
}
std::vector<int64_t> wholes(const json& v, const Limits& limits) {
  if (!v.is_array() || v.size() > limits.rank) throw_user("expected a list of at most ", limits.rank, " sizes");
  std::vector<int64_t> out;
  for (const json& i : v) out.push_back(whole(i));
  return out;
}

Tensor raw_tensor(const ZipArchive& archive, const std::string& folder, const json& entry, const Limits& limits) {
  if (!entry.contains("path_name") || !entry["path_name"].is_string() || !entry.contains("tensor_meta"))
    throw_user("expected a path and a description of the tensor");
  auto path = entry["path_name"].get<std::string>();
  const ZipEntry* e = archive.find(folder + path);
  if (!e) throw_user("the archive has no entry '", folder, path, "'");
  ZipContent c = archive.content(*e);
  const json& meta = entry["tensor_meta"];
  for (const char* key : {"dtype", "sizes", "strides", "storage_offset"})
    if (!meta.contains(key)) throw_user("expected '", key, "' in the description of the tensor");
  DType type = pytorch_element_type(whole(meta["dtype"]));
  if (type == DType::undefined) throw_unsupported("element type number ", whole(meta["dtype"]), " is not supported");
  return strided_tensor(c.bytes, c.keeper, type, wholes(meta["sizes"], limits), wholes(meta["strides"], limits),
                        whole(meta["storage_offset"]), limits);
}

void add_pickled(std::map<std::string, Tensor>& out, const ZipContent& saved, const Limits& limits) {
  if (saved.bytes.empty()) return;
  PickledRef all = read_torch_save(saved, limits);
  if (all->kind != Pickled::dict) throw_user("expected a dict of tensors");
  for (size_t i = 0; i + 1 < all->items.size(); i += 2)
    if (all->items[i]->kind == Pickled::text && all->items[i + 1]->kind == Pickled::tensor)
      out[all->items[i]->chars] = all->items[i + 1]->data;
}

void add_raw(std::map<std::string, Tensor>& out, const ZipArchive& archive, const ZipEntry& config,
             const Limits& limits) {
  JsonRules rules;
  rules.values = config_values;
  json all = parse_json(archive.content(config).bytes, config.name, rules);
  std::string folder = config.name.substr(0, config.name.rfind('/') + 1);
  if (!all.is_object() || !all.contains("config") || !all["config"].is_object())
    throw_user("expected an object 'config' in '", config.name, "'");
  for (const auto& [name, entry] : all["config"].items())
    with_context(
        [&] {
          if (!entry.is_object()) throw_user("expected an object");
          if (!entry.value("use_pickle", false)) {
            out[name] = raw_tensor(archive, folder, entry, limits);
            return;
          }
          const ZipEntry* e = archive.find(folder + entry.value("path_name", ""));
          if (!e) throw_user("the archive has no entry for it");
          PickledRef v = read_torch_save(archive.content(*e), limits);
          if (v->kind != Pickled::tensor) throw_unsupported("expected a tensor, got another object");
          out[name] = v->data;
        },
        [&, name = name] { return text("reading tensor '", name, "'"); });
}

}  // namespace

DType pytorch_element_type(int64_t number) {
  switch (number) {
    case 1: return DType::u8;
    case 2: return DType::i8;
    case 3: return DType::i16;
    case 4: return DType::i32;
    case 5: return DType::i64;
    case 6: return DType::f16;
    case 7: return DType::f32;
    case 8: return DType::f64;
    case 12: return DType::boolean;
    case 13: return DType::bf16;
    case 28: return DType::u16;
    case 29: return DType::f8e4m3;
    case 30: return DType::f8e5m2;
    case 31: return DType::f8e4m3fnuz;
    case 32: return DType::f8e5m2fnuz;
    default: return DType::undefined;
  }
}

Tensor strided_tensor(std::string_view storage, std::shared_ptr<const void> keeper, DType type,
                      std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset, const Limits& limits) {
  if (sizes.size() != strides.size() || sizes.size() > limits.rank)
    throw_user("expected as many strides as sizes, at most ", limits.rank, ", got ", strides.size(), " and ",
               sizes.size());
  auto cell = static_cast<uint64_t>(bits_of(type)) / 8;
  if (offset < 0) throw_user("expected an offset of at least 0, got ", offset);
  if (checked_elements(sizes, limits) == 0) return Tensor(type, sizes);
  check_extent(sizes, strides, offset, storage.size() / cell);
  const char* first = storage.data() + static_cast<uint64_t>(offset) * cell;
  bool aligned = reinterpret_cast<uintptr_t>(first) % cell == 0;
  if (is_dense(sizes, strides) && aligned)
    return Tensor::wrap(type, std::move(sizes), const_cast<char*>(first), std::move(keeper));
  return gathered(first, type, sizes, strides);
}

std::map<std::string, Tensor> pytorch_tensors(const ZipArchive& archive, const Limits& limits) {
  std::map<std::string, Tensor> out;
  for (const char* name : {"serialized_state_dict.pt", "serialized_constants.pt", "weights/model.pt",
                           "constants/model.pt", "serialized_state_dict.json"})
    if (const ZipEntry* e = archive.ending(name))
      with_context([&] { add_pickled(out, archive.content(*e), limits); },
                   [&] { return text("reading '", e->name, "'"); });
  for (const char* name : {"model_weights_config.json", "model_constants_config.json"})
    if (const ZipEntry* e = archive.ending(name))
      with_context([&] { add_raw(out, archive, *e, limits); }, [&] { return text("reading '", e->name, "'"); });
  return out;
}

}  // namespace graft

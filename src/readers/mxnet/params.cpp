// Lists of NDArrays: .params and .nd.
#include <cstring>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "readers/mxnet/mxnet.hpp"

namespace graft {
namespace {

constexpr uint64_t list_magic = 0x112;
constexpr uint32_t array_v1 = 0xF993fac8, array_v2 = 0xF993fac9, array_v3 = 0xF993faca;
constexpr DType element_types[] = {DType::f32, DType::f64, DType::f16,     DType::u8,  DType::i32,
                                   DType::i8,  DType::i64, DType::boolean, DType::i16, DType::u16,
                                   DType::u32, DType::u64, DType::bf16};

class ParamsReader {
 public:
  ParamsReader(std::string_view bytes, std::shared_ptr<const void> keeper, const Limits& limits)
      : bytes_(bytes), keeper_(std::move(keeper)), limits_(limits) {}

  MxnetParams read() {
    if (!looks_like_mxnet_params(bytes_)) throw_user("expected a list of arrays, got other data");
    at_ = 16;
    size_t count = length("arrays", 4);
    std::vector<Tensor> arrays;
    std::vector<std::string> kinds;
    for (size_t i = 0; i < count; ++i) {
      std::string sparse;
      arrays.push_back(array(i, sparse));
      kinds.push_back(std::move(sparse));
    }
    size_t names = length("names", 8);
    if (names != count)
      throw Error(ErrorKind::user, text("expected ", count, " names, one per array, got ", names),
                  names ? "" : "the arrays were saved as a list; save them as a dictionary");
    MxnetParams out;
    for (size_t i = 0; i < count; ++i) add(out, name(), arrays[i], kinds[i]);
    if (at_ != bytes_.size())
      throw_user("expected the end of the file after the names, got ", bytes_.size() - at_, " bytes");
    return out;
  }

 private:
  template <class T>
  T number(std::string_view what) {
    T v;
    if (bytes_.size() - at_ < sizeof v) throw_user("the file ends at byte ", bytes_.size(), " inside ", what);
    std::memcpy(&v, bytes_.data() + at_, sizeof v);
    at_ += sizeof v;
    return v;
  }
  // A count of items of which each takes at least `least` bytes.
  size_t length(std::string_view what, size_t least) {
    auto n = number<uint64_t>(text("the number of ", what));
    if (n > limits_.nodes) throw_limit(&Limits::nodes, "expected at most ", limits_.nodes, ' ', what, ", got ", n);
    if (n > (bytes_.size() - at_) / least)
      throw_user("expected ", n, ' ', what, ", but the file ends after ", bytes_.size(), " bytes");
    return static_cast<size_t>(n);
  }

  std::vector<int64_t> dims(size_t rank, bool wide) {
    if (rank > limits_.rank)
      throw_limit(&Limits::rank, "expected at most ", limits_.rank, " dimensions at byte ", at_, ", got ", rank);
    std::vector<int64_t> out;
    for (size_t i = 0; i < rank; ++i) {
      int64_t d = wide ? number<int64_t>("a shape") : static_cast<int64_t>(number<uint32_t>("a shape"));
      if (d < 0 || static_cast<uint64_t>(d) > limits_.dimension)
        throw_limit(&Limits::dimension, "expected a dimension of 0 to ", limits_.dimension, " at byte ",
                    at_ - (wide ? 8 : 4), ", got ", d);
      out.push_back(d);
    }
    return out;
  }

  DType element_type() {
    auto code = number<int32_t>("an element type");
    if (code < 0 || code >= static_cast<int32_t>(std::size(element_types)))
      throw_user("unknown element type ", code, " at byte ", at_ - 4);
    return element_types[code];
  }
  std::string_view content(DType type, const std::vector<int64_t>& shape) {
    size_t size = bytes_for(type, count_checked(shape));
    if (size > bytes_.size() - at_)
      throw_user("the file ends at byte ", bytes_.size(), " inside an array of shape ", shape, " of ", type,
                 " at byte ", at_);
    std::string_view out = bytes_.substr(at_, size);
    at_ += size;
    return out;
  }

  // Empty for an array without a value; sets `sparse` for one that cannot be used.
  Tensor array(size_t index, std::string& sparse) {
    auto magic = number<uint32_t>(text("array ", index));
    int storage = 0;
    std::vector<int64_t> shape;
    if (magic == array_v2 || magic == array_v3) {
      storage = number<int32_t>("a storage type");
      if (storage < 0 || storage > 2)
        throw_user("unknown storage type ", storage, " of array ", index, " at byte ", at_ - 4);
    }
    std::vector<int64_t> stored;
    if (storage) stored = dims(number<uint32_t>("a shape"), true);
    if (magic == array_v1 || magic == array_v2 || magic == array_v3) {
      auto rank = number<int32_t>("a shape");
      if (rank < (magic == array_v3 ? 0 : 1)) return {};
      shape = dims(static_cast<size_t>(rank), true);
    } else {  // the first files have the rank in this place
      if (magic > limits_.rank) throw_user("unknown format ", magic, " of array ", index, " at byte ", at_ - 4);
      if (magic == 0) return {};
      shape = dims(magic, false);
    }
    number<int32_t>("a device"), number<int32_t>("a device");
    DType type = element_type();
    if (storage) {
      sparse = storage == 1 ? "row_sparse" : "csr";
      skip_sparse(type, stored, storage);
      return {};
    }
    std::string_view data = content(type, shape);
    return tensor_in_file(type, shape, data.data(), keeper_);
  }
  void skip_sparse(DType type, const std::vector<int64_t>& stored, int storage) {
    std::vector<std::pair<DType, std::vector<int64_t>>> indices;
    for (int i = 0; i < storage; ++i) {
      DType t = element_type();
      indices.emplace_back(t, dims(number<uint32_t>("a shape"), true));
    }
    content(type, stored);
    for (const auto& [t, shape] : indices) content(t, shape);
  }

  std::string name() {
    auto size = number<uint64_t>("a name");
    if (size > bytes_.size() - at_) throw_user("the file ends at byte ", bytes_.size(), " inside a name");
    std::string out(bytes_.substr(at_, size));
    at_ += size;
    return out;
  }

  static void add(MxnetParams& out, std::string name, const Tensor& t, const std::string& sparse) {
    bool auxiliary = name.starts_with("aux:");
    if (auxiliary || name.starts_with("arg:")) name = name.substr(4);
    if (!sparse.empty())
      throw Error(ErrorKind::unsupported,
                  text("the array '", name, "' has storage type ", sparse, ", which is not supported"),
                  "save the model with dense arrays: array.tostype('default')");
    if (!t) return;  // a variable without a value
    if (!out.arrays.emplace(name, t).second) throw_user("duplicate array '", name, "'");
    out.auxiliary[name] = auxiliary;
  }

  std::string_view bytes_;
  std::shared_ptr<const void> keeper_;
  const Limits& limits_;
  size_t at_ = 0;
};

struct TextSink {
  std::string bytes;
  void write(const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); }
};

template <class Out, class T>
void put(Out& out, T value) {
  out.write(&value, sizeof value);
}

int32_t code_of(DType type) {
  for (size_t i = 0; i < std::size(element_types); ++i)
    if (element_types[i] == type) return static_cast<int32_t>(i);
  throw_unsupported("MXNet has no arrays of ", type);
}

template <class Out>
void put_params(Out& out, const MxnetParams& params) {
  auto count = static_cast<uint64_t>(params.arrays.size());
  put(out, list_magic), put(out, uint64_t{0}), put(out, count);
  for (const auto& [name, t] : params.arrays) {
    bool scalar = t.dims().empty();  // only the latest form has them
    put(out, scalar ? array_v3 : array_v2), put(out, int32_t{0});
    put(out, static_cast<uint32_t>(t.dims().size()));
    for (int64_t d : t.dims()) put(out, d);
    put(out, int32_t{1}), put(out, int32_t{0}), put(out, code_of(t.type()));
    out.write(t.data(), t.bytes());
  }
  put(out, count);
  for (const auto& [name, t] : params.arrays) {
    auto it = params.auxiliary.find(name);
    std::string full = (it != params.auxiliary.end() && it->second ? "aux:" : "arg:") + name;
    put(out, static_cast<uint64_t>(full.size()));
    out.write(full.data(), full.size());
  }
}

}  // namespace

bool looks_like_mxnet_params(std::string_view bytes) {
  uint64_t magic[2];
  if (bytes.size() < sizeof magic) return false;
  std::memcpy(magic, bytes.data(), sizeof magic);
  return magic[0] == list_magic && magic[1] == 0;
}

MxnetParams read_mxnet_params(std::string_view bytes, std::shared_ptr<const void> keeper, const Limits& limits) {
  return ParamsReader(bytes, std::move(keeper), limits).read();
}

void write_mxnet_params(const std::string& path, const MxnetParams& params) {
  OutputFile out(path);
  put_params(out, params);
  out.commit();
}

std::string mxnet_params_bytes(const MxnetParams& params) {
  TextSink out;
  put_params(out, params);
  return std::move(out.bytes);
}

}  // namespace graft

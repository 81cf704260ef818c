// Values of inputs from files, and random ones.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <graft/app/values.hpp>
#include <optional>
#include <random>

#include "base/file.hpp"
#include "base/request.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "readers/caffe/caffe.hpp"
#include "readers/image.hpp"
#include "readers/npy.hpp"
#include "readers/npz.hpp"
#include "readers/onnx/onnx.hpp"
#include "readers/onnx/value.hpp"
#include "toolkit/errors.hpp"

namespace graft {
namespace {

template <class... Parts>
void add_note(Notes* notes, const Parts&... parts) {
  if (notes) notes->push_back(text(parts...));
}

// How an image lies in an input: [N,C,H,W], [N,H,W,C], [C,H,W], [H,W,C] or [H,W].
struct ImageLayout {
  bool batch = false, planar = false;
  int64_t height = 0, width = 0, channels = 1;
  size_t rank = 0;

  ImageLayout(const Port& port, const Tensor& image) {
    const Shape& s = port.shape;
    auto refuse = [&] {
      throw_user("input '", port.any_name(), "': expected an image shape such as [1,3,H,W] or [H,W,3], got ", s);
    };
    if (!s.ranked() || s.rank() < 2 || s.rank() > 4) refuse();
    rank = s.rank();
    std::vector<Dim> d(s.begin(), s.end());
    batch = d.size() == 4;
    if (batch && !d[0].can_be(1))
      throw_user("input '", port.any_name(), "': expected a batch size of 1 for an image, got shape ", s);
    if (batch) d.erase(d.begin());
    auto channels_at = [&](size_t i) {
      return d[i].can_be(image.dims()[2]) || (d[i].known() && (d[i].value() == 1 || d[i].value() == 3));
    };
    planar = d.size() == 3 && channels_at(0) && (d[0].known() || !d[2].known());
    if (d.size() == 3 && !planar && !channels_at(2)) refuse();
    auto size = [&](const Dim& want, size_t axis) { return want.known() ? want.value() : image.dims()[axis]; };
    height = size(d.size() == 2 ? d[0] : d[planar ? 1 : 0], 0);
    width = size(d.size() == 2 ? d[1] : d[planar ? 2 : 1], 1);
    channels = size(d.size() == 2 ? Dim(1) : d[planar ? 0 : 2], 2);
  }
  std::vector<int64_t> dims() const {
    std::vector<int64_t> out;
    if (batch) out.push_back(1);
    if (rank == 2) return {height, width};
    if (planar) out.insert(out.end(), {channels, height, width});
    else out.insert(out.end(), {height, width, channels});
    return out;
  }
};

Tensor image_for(const std::string& path, const Port& port, Notes* notes, const Limits& limits) {
  Tensor image = read_image(path, limits);
  ImageLayout to(port, image);
  if (to.height != image.dims()[0] || to.width != image.dims()[1]) {
    add_note(notes, "'", path, "' is ", image.dims()[1], " x ", image.dims()[0], " pixels, resized to ", to.width,
             " x ", to.height);
    image = resize_image(image, to.height, to.width, limits);
  }
  int64_t have = image.dims()[2], c = to.channels, h = to.height, w = to.width;
  auto* p = static_cast<const unsigned char*>(image.data());
  auto pixel = [&](int64_t y, int64_t x, int64_t k) -> double {
    const unsigned char* at = p + (y * w + x) * have;
    if (have == c) return at[k];
    return have == 1 ? at[0] : 0.299 * at[0] + 0.587 * at[1] + 0.114 * at[2];
  };
  if (have != c) add_note(notes, "'", path, "' has ", have, " channels, converted to ", c);
  // Row by row: an image as real numbers is many times as large.
  Tensor out(port.type == DType::undefined ? DType::f32 : port.type, to.dims());
  auto* place = static_cast<char*>(out.data());
  std::vector<double> row(static_cast<size_t>(to.planar ? w : w * c));
  auto put_row = [&] {
    Tensor t = make_tensor<double>({static_cast<int64_t>(row.size())}, row).to(out.type());
    std::memcpy(place, t.data(), t.bytes());
    place += t.bytes();
  };
  for (int64_t k = 0; to.planar && k < c; ++k)
    for (int64_t y = 0; y < h; ++y) {
      for (int64_t x = 0; x < w; ++x) row[static_cast<size_t>(x)] = pixel(y, x, k);
      put_row();
    }
  for (int64_t y = 0; !to.planar && y < h; ++y) {
    for (int64_t x = 0; x < w; ++x)
      for (int64_t k = 0; k < c; ++k) row[static_cast<size_t>(x * c + k)] = pixel(y, x, k);
    put_row();
  }
  return out;
}

void require_existing(const std::string& path, const std::string& input, const char* hint) {
  std::error_code ec;
  if (!std::filesystem::exists(path, ec))
    throw RequestError(text("file not found: '", path, "' (value of input '", input, "')"), hint);
}

Tensor array_in(const std::string& path, const Limits& limits) {
  std::string ending = extension_of(path);
  if (ending == ".npy") return read_npy(path, limits);
  if (ending == ".pb") return read_onnx_tensor(path);
  throw RequestError(text("unsupported input file format: '", path, "'"),
                     "use .npy, .npz, .pb (an ONNX tensor), .png, .jpg, .ppm or .bmp");
}

// A model that decodes pictures itself takes the bytes of the file: one string, or a vector of u8.
std::optional<Tensor> file_for(const std::string& path, const Port& port, Notes* notes) {
  bool whole = port.type == DType::string && (!port.shape.ranked() || port.shape.elements().can_be(1));
  bool bytes = port.type == DType::u8 && port.shape.ranked() && port.shape.rank() == 1;
  if (!whole && !bytes) return std::nullopt;
  auto file = MappedFile::open(path);
  std::string_view content = file->chars();
  add_note(notes, "input '", port.any_name(), "' is the ", content.size(), " bytes of '", path, "', not decoded");
  if (whole) {
    size_t rank = port.shape.ranked() ? port.shape.rank() : 0;
    return Tensor::strings(std::vector<int64_t>(rank, 1), {std::string(content)});
  }
  Tensor out(DType::u8, {static_cast<int64_t>(content.size())});
  if (!content.empty()) std::memcpy(out.data(), content.data(), content.size());
  return out;
}

Tensor tensor_for(const std::string& path, const Port& port, Notes* notes, const Limits& limits) {
  require_existing(path, port.any_name(), "");
  if (is_image_name(path))
    if (auto file = file_for(path, port, notes)) return *file;
  if (is_image_name(path)) return image_for(path, port, notes, limits);
  Tensor t = array_in(path, limits);
  // Formats without bf16 and f8 store their bits as integers.
  bool bits = (port.type == DType::bf16 && t.type() == DType::u16) ||
              (is_real(port.type) && bits_of(port.type) == 8 && t.type() == DType::u8);
  if (!bits) return t;
  add_note(notes, "'", path, "' holds ", t.type(), ", interpreted as the bits of ", port.type);
  return Tensor::wrap(port.type, t.dims(), t.data(), std::make_shared<Tensor>(t));
}

Datum arrays_for(const std::string& file, const Group& g, const Limits& limits) {
  bool map = g.kind == Group::Kind::map ||
             (g.kind == Group::Kind::optional && !g.parts.empty() && g.parts[0].kind == Group::Kind::map);
  Datum out(map ? Datum::map : Datum::sequence, {});
  auto list = read_npz(file, limits);
  if (map)
    for (const char* part : {"keys", "values"})
      for (auto& [name, t] : list)
        if (name == part) out.parts.emplace_back(t);
  if (map && out.parts.size() != 2)
    throw RequestError(text("map '", g.name, "': expected the arrays 'keys' and 'values' in '", file, "'"));
  if (!map)
    for (auto& [name, t] : list) out.parts.emplace_back(t);
  return out;
}

Datum value_in(const std::string& file, const Group& g, const std::vector<Port>& ports, Notes* notes,
               const Limits& limits) {
  if (g.kind == Group::Kind::tensor) return tensor_for(file, ports.at(g.port), notes, limits);
  if (file == "none") return {Datum::optional, {}};
  if (file == "empty") return {Datum::sequence, {}};
  require_existing(file, g.name, "use none for an optional without a value, empty for a sequence without items");
  std::string ending = extension_of(file);
  if (ending == ".pb") {
    auto kind = g.kind == Group::Kind::optional ? Datum::optional
                : g.kind == Group::Kind::map    ? Datum::map
                                                : Datum::sequence;
    return read_onnx_value(file, kind, limits);
  }
  if (ending == ".npz") return arrays_for(file, g, limits);
  if (ending == ".npy") return read_npy(file, limits);
  throw RequestError(text("unsupported file format for a sequence, optional or map: '", file, "'"),
                     "use .pb (SequenceProto, OptionalProto, MapProto), .npz, or .npy for each item");
}

void check_value(const Datum& d, const Group& g, const std::vector<Port>& ports, const std::string& from) {
  if (d.kind != Datum::tensor) {
    for (const Datum& part : d.parts)
      if (g.kind != Group::Kind::map) check_value(part, g, ports, from);
    return;
  }
  const Group* at = &g;
  while (at->kind != Group::Kind::tensor && !at->parts.empty()) at = &at->parts[0];
  if (at->kind != Group::Kind::tensor) return;
  DType type = ports.at(at->port).type;
  if (type != DType::undefined && d.value.type() != type)
    throw Error(ErrorKind::user,
                text("input '", g.name, "': expected ", type, ", got ", d.value.type(), " in '", from, "'"),
                text("element types are not converted; save the values as ", type));
}

}  // namespace

Tensor read_tensor(const std::string& path, const LimitChanges& limits) {
  return as_errors([&] {
    Limits changed = changed_limits(limits);
    return is_image_name(path) ? read_image(path, changed) : array_in(path, changed);
  });
}
std::vector<std::pair<std::string, Tensor>> read_tensors(const std::string& path, const LimitChanges& limits) {
  return as_errors([&] { return read_npz(path, changed_limits(limits)); });
}
void write_tensor(const std::string& path, const Tensor& tensor) {
  as_errors([&] {
    if (!tensor) throw_user("expected a tensor to write to '", path, "', got an empty one");
    write_npy(path, tensor);
  });
}

Tensor read_mean_image(const std::string& path) {
  return as_errors([&] {
    std::error_code ec;
    if (!std::filesystem::is_regular_file(path, ec)) throw RequestError(text("mean file not found: '", path, "'"));
    Tensor t =
        with_context([&] { return read_caffe_blob(path); }, [&] { return text("reading the mean file '", path, "'"); });
    if (t.size() == 0)
      throw Error(ErrorKind::user, text("the mean file '", path, "' has no values"),
                  "create it with Caffe's compute_image_mean");
    return t;
  });
}

Datum read_value(const std::string& path, const Group& input, const std::vector<Port>& ports, Notes* notes,
                 const LimitChanges& limits) {
  return as_errors([&] {
    Datum out = value_in(path, input, ports, notes, changed_limits(limits));
    check_value(out, input, ports, path);
    return out;
  });
}
void check_types(const Datum& value, const Group& input, const std::vector<Port>& ports, const std::string& from) {
  as_errors([&] { check_value(value, input, ports, from); });
}

std::vector<int64_t> sample_dims(const Port& port, Notes* notes) {
  if (!port.shape.ranked())
    throw RequestError(text("cannot generate a random value for input '", port.any_name(), "': its rank is unknown"),
                       text("specify its shape: ", Remedy{"shapes", port.any_name(), "[1,3,224,224]"}));
  std::vector<int64_t> dims;
  for (const Dim& d : port.shape) dims.push_back(d.known() ? d.value() : std::max<int64_t>(d.min(), 1));
  if (!port.shape.is_static())
    add_note(notes, "input '", port.any_name(), "' has dynamic shape ", port.shape, ", using ", dims);
  return dims;
}

std::vector<Tensor> random_tensors(const std::vector<Port>& ports, uint64_t seed, Notes* notes) {
  return as_errors([&] {
    std::vector<Tensor> out;
    std::mt19937_64 engine(seed);
    for (const Port& p : ports) {
      std::vector<int64_t> dims = sample_dims(p, notes);
      int64_t n = count_checked(dims);
      if (p.type == DType::string) {
        out.push_back(Tensor::strings(dims, std::vector<std::string>(static_cast<size_t>(n), "text")));
        continue;
      }
      std::vector<double> v(static_cast<size_t>(n));
      for (double& x : v) {
        double u = static_cast<double>(engine() >> 11) * 0x1.0p-53;
        x = is_real(p.type) || p.type == DType::undefined ? u
            : p.type == DType::boolean                    ? (u < 0.5 ? 0 : 1)
                                                          : std::floor(u * 10);
      }
      out.push_back(make_tensor<double>(dims, v).to(p.type == DType::undefined ? DType::f32 : p.type));
    }
    return out;
  });
}

}  // namespace graft

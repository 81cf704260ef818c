#include "inputs.hpp"

#include <filesystem>
#include <random>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "readers/image.hpp"
#include "readers/npy.hpp"
#include "readers/npz.hpp"
#include "readers/onnx.hpp"
#include "readers/onnx_value.hpp"

namespace graft::cli {
namespace {

// An image in the layout of the input: [N,C,H,W], [N,H,W,C], [C,H,W], [H,W,C] or [H,W].
Tensor image_for(const std::string& path, const Port& port) {
  Tensor image = read_image(path);
  const Shape& s = port.shape;
  if (!s.ranked() || s.rank() < 2 || s.rank() > 4)
    throw_user("input '", port.any_name(), "': expected an image shape such as [1,3,H,W] or [H,W,3], got ", s);
  std::vector<Dim> d(s.begin(), s.end());
  bool batch = d.size() == 4;
  if (batch && !d[0].can_be(1))
    throw_user("input '", port.any_name(), "': expected a batch size of 1 for an image, got shape ", s);
  if (batch) d.erase(d.begin());
  auto channels_at = [&](size_t i) {
    return d[i].can_be(image.dims()[2]) || (d[i].known() && (d[i].value() == 1 || d[i].value() == 3));
  };
  bool planar = d.size() == 3 && channels_at(0) && (d[0].known() || !d[2].known());
  if (d.size() == 3 && !planar && !channels_at(2))
    throw_user("input '", port.any_name(), "': expected an image shape such as [1,3,H,W] or [H,W,3], got ", s);
  Dim want_h = d.size() == 2 ? d[0] : d[planar ? 1 : 0], want_w = d.size() == 2 ? d[1] : d[planar ? 2 : 1],
      want_c = d.size() == 2 ? Dim(1) : d[planar ? 0 : 2];
  int64_t h = want_h.known() ? want_h.value() : image.dims()[0], w = want_w.known() ? want_w.value() : image.dims()[1];
  int64_t c = want_c.known() ? want_c.value() : image.dims()[2];
  if (h != image.dims()[0] || w != image.dims()[1]) {
    note(text("'", path, "' is ", image.dims()[1], " x ", image.dims()[0], " pixels, resized to ", w, " x ", h));
    image = resize_image(image, h, w);
  }
  int64_t have = image.dims()[2];
  auto* p = static_cast<const unsigned char*>(image.data());
  std::vector<double> out;
  auto pixel = [&](int64_t y, int64_t x, int64_t k) -> double {
    const unsigned char* at = p + (y * w + x) * have;
    if (have == c) return at[k];
    return have == 1 ? at[0] : 0.299 * at[0] + 0.587 * at[1] + 0.114 * at[2];
  };
  if (have != c) note(text("'", path, "' has ", have, " channels, converted to ", c));
  if (planar)
    for (int64_t k = 0; k < c; ++k)
      for (int64_t y = 0; y < h; ++y)
        for (int64_t x = 0; x < w; ++x) out.push_back(pixel(y, x, k));
  else
    for (int64_t y = 0; y < h; ++y)
      for (int64_t x = 0; x < w; ++x)
        for (int64_t k = 0; k < c; ++k) out.push_back(pixel(y, x, k));
  std::vector<int64_t> dims;
  if (batch) dims.push_back(1);
  if (s.rank() == 2) dims = {h, w};
  else if (planar) dims.insert(dims.end(), {c, h, w});
  else dims.insert(dims.end(), {h, w, c});
  return make_tensor<double>(dims, out).to(port.type == DType::undefined ? DType::f32 : port.type);
}

Tensor tensor_for(const std::string& path, const Port& port) {
  std::error_code ec;
  if (!std::filesystem::exists(path, ec))
    throw UsageError(text("file not found: '", path, "' (value of input '", port.any_name(), "')"));
  if (is_image_name(path)) return image_for(path, port);
  std::string ending = extension_of(path);
  Tensor t;
  if (ending == ".npy") t = read_npy(path);
  else if (ending == ".pb") t = read_onnx_tensor(path);
  else
    throw UsageError(text("unsupported input file format: '", path, "'"),
                     "use .npy, .npz, .pb (an ONNX tensor), .png, .jpg, .ppm or .bmp");
  // Formats without bf16 and f8 store their bits as integers.
  bool bits = (port.type == DType::bf16 && t.type() == DType::u16) ||
              (is_real(port.type) && bits_of(port.type) == 8 && t.type() == DType::u8);
  if (bits) {
    note(text("'", path, "' holds ", t.type(), ", interpreted as the bits of ", port.type));
    t = Tensor::wrap(port.type, t.dims(), t.data(), std::make_shared<Tensor>(t));
  }
  return t;
}

}  // namespace

void InputOptions::add(CLI::App& app) {
  app.add_option(
         "--input,-i", given,
         "file with the value of an input (.npy .npz .pb .png .jpg .ppm .bmp); without NAME, the next input in order. "
         "For a sequence, repeat the option for each item, or pass one .npz or .pb; none: an optional without a value")
      ->type_name("NAME=FILE")
      ->group("Inputs")
      ->allow_extra_args(false);
  app.add_option("--seed", seed, "seed of the random input values that are used if no --input is given")
      ->group("Inputs")
      ->capture_default_str();
}

std::vector<Tensor> random_inputs(const std::vector<Port>& ports, uint64_t seed) {
  std::vector<Tensor> out;
  std::mt19937_64 engine(seed);
  for (const Port& p : ports) {
    if (!p.shape.ranked())
      throw UsageError(text("cannot generate a random value for input '", p.any_name(), "': its rank is unknown"),
                       text("specify its shape: --input_shape ", p.any_name(), "[1,3,224,224]"));
    std::vector<int64_t> dims;
    for (const Dim& d : p.shape) dims.push_back(d.known() ? d.value() : std::max<int64_t>(d.min(), 1));
    if (!p.shape.is_static()) note(text("input '", p.any_name(), "' has dynamic shape ", p.shape, ", using ", dims));
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
}

namespace {

// Collects the input values given on the command line.
class Collected {
 public:
  Collected(const std::vector<Group>& groups, const std::vector<Port>& ports)
      : groups_(groups), ports_(ports), values_(groups.size()) {}

  void take(const std::string& argument) {
    auto [name, file] = split_argument(argument);
    if (extension_of(file) == ".npz" && name.empty()) {
      for (auto& [array, t] : read_npz(file)) put(index_of(array), t, file);
      return;
    }
    size_t i = name.empty() ? position_ : index_of(name);
    if (i >= groups_.size()) throw UsageError(text("expected at most ", groups_.size(), " inputs, got more"));
    position_ = i + 1;
    put(i, read(file, groups_[i]), file);
  }

  std::vector<Datum> done() {
    std::vector<Datum> out;
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (!values_[i])
        throw UsageError(text("no value for input '", groups_[i].name, "'"),
                         text("add --input ", quoted_for_shell(groups_[i].name),
                              "=FILE, or omit --input altogether to use random values"));
      out.push_back(std::move(*values_[i]));
    }
    return out;
  }

 private:
  // A name may contain '=': uses the longest prefix that names an input.
  std::pair<std::string, std::string> split_argument(const std::string& g) const {
    size_t equals = g.find('=');
    std::string name = equals == g.npos ? "" : g.substr(0, equals), file = equals == g.npos ? g : g.substr(equals + 1);
    auto longer = [&](const std::string& n) {
      if (n.size() > name.size() && g.starts_with(n + "=")) name = n, file = g.substr(n.size() + 1);
    };
    for (const Group& group : groups_) longer(group.name);
    for (const Port& p : ports_)
      for (const std::string& n : p.names) longer(n);
    return {name, file};
  }

  size_t index_of(const std::string& name) const {
    for (size_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].name == name) return i;
    // Then tries the other names of a port.
    auto port = position_of(ports_, name);
    for (size_t i = 0; port && i < groups_.size(); ++i)
      if (groups_[i].kind == Group::Kind::tensor && groups_[i].port == *port) return i;
    std::vector<std::string> names;
    for (const Group& g : groups_) names.push_back(g.name);
    throw UsageError(text("the model has no input '", name, "'"),
                     names.empty() ? "the model has no inputs" : text("inputs: ", join(names, ", ")));
  }

  Datum read(const std::string& file, const Group& g) const {
    if (g.kind == Group::Kind::tensor) return tensor_for(file, ports_[g.port]);
    if (file == "none") return {Datum::optional, {}};
    if (file == "empty") return {Datum::sequence, {}};
    std::error_code ec;
    if (!std::filesystem::exists(file, ec))
      throw UsageError(text("file not found: '", file, "' (value of input '", g.name, "')"),
                       "use none for an optional without a value, empty for a sequence without items");
    std::string ending = extension_of(file);
    if (ending == ".pb") {
      auto kind = g.kind == Group::Kind::optional ? Datum::optional
                  : g.kind == Group::Kind::map    ? Datum::map
                                                  : Datum::sequence;
      return read_onnx_value(file, kind);
    }
    if (ending == ".npz") return arrays(file, g);
    if (ending == ".npy") return read_npy(file);
    throw UsageError(text("unsupported file format for a sequence, optional or map: '", file, "'"),
                     "use .pb (SequenceProto, OptionalProto, MapProto), .npz, or .npy for each item");
  }
  static Datum arrays(const std::string& file, const Group& g) {
    bool map = g.kind == Group::Kind::map ||
               (g.kind == Group::Kind::optional && !g.parts.empty() && g.parts[0].kind == Group::Kind::map);
    Datum out(map ? Datum::map : Datum::sequence, {});
    auto list = read_npz(file);
    if (map)
      for (const char* part : {"keys", "values"})
        for (auto& [name, t] : list)
          if (name == part) out.parts.push_back(t);
    if (map && out.parts.size() != 2)
      throw UsageError(text("map '", g.name, "': expected the arrays 'keys' and 'values' in '", file, "'"));
    if (!map)
      for (auto& [name, t] : list) out.parts.push_back(t);
    return out;
  }

  void put(size_t i, Datum d, const std::string& from) {
    const Group& g = groups_[i];
    std::optional<Datum>& place = values_[i];
    // Several files with one tensor each are the items of a sequence, in order.
    bool item = d.kind == Datum::tensor && holds_sequence(g);
    if (item) check_type(g, d, from);
    if (item && place && place->kind == Datum::sequence) {
      place->parts.push_back(std::move(d));
      return;
    }
    if (place) throw UsageError(text("input '", g.name, "' has more than one value"));
    if (!item) check_type(g, d, from);
    place = item ? Datum(Datum::sequence, {std::move(d)}) : std::move(d);
  }
  static bool holds_sequence(const Group& g) {
    return g.kind == Group::Kind::sequence ||
           (g.kind == Group::Kind::optional && !g.parts.empty() && g.parts[0].kind == Group::Kind::sequence);
  }

  void check_type(const Group& g, const Datum& d, const std::string& from) const {
    if (d.kind != Datum::tensor) {
      for (const Datum& part : d.parts)
        if (g.kind != Group::Kind::map) check_type(g, part, from);
      return;
    }
    const Group* at = &g;
    while (at->kind != Group::Kind::tensor && !at->parts.empty()) at = &at->parts[0];
    if (at->kind != Group::Kind::tensor) return;
    DType type = ports_[at->port].type;
    if (type != DType::undefined && d.value.type() != type)
      throw Error(ErrorKind::user,
                  text("input '", g.name, "': expected ", type, ", got ", d.value.type(), " in '", from, "'"),
                  text("element types are not converted; save the values as ", type));
  }

  const std::vector<Group>& groups_;
  const std::vector<Port>& ports_;
  std::vector<std::optional<Datum>> values_;
  size_t position_ = 0;
};

}  // namespace

std::vector<Datum> make_inputs(const InputOptions& o, const std::vector<Group>& groups,
                               const std::vector<Port>& ports) {
  if (o.given.empty()) {
    if (!ports.empty()) note(text("no inputs given: random values (--seed ", o.seed, ")"));
    std::vector<Tensor> random = random_inputs(ports, o.seed);
    std::vector<Datum> out;
    for (const Group& g : groups) out.push_back(gathered(g, [&](size_t port) { return random.at(port); }));
    return out;
  }
  Collected collected(groups, ports);
  for (const std::string& g : o.given) collected.take(g);
  return collected.done();
}

}  // namespace graft::cli

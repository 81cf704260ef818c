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

namespace graft::cli {
namespace {

// A picture in the layout of the input: [N,C,H,W], [N,H,W,C], [C,H,W], [H,W,C] or [H,W].
Tensor image_for(const std::string& path, const Port& port) {
  Tensor image = read_image(path);
  const Shape& s = port.shape;
  if (!s.ranked() || s.rank() < 2 || s.rank() > 4)
    throw_user("input '", port.any_name(), "' has shape ", s, ", which a picture does not fit");
  std::vector<Dim> d(s.begin(), s.end());
  bool batch = d.size() == 4;
  if (batch && !d[0].can_be(1))
    throw_user("input '", port.any_name(), "' has shape ", s, ", a picture is a batch of one");
  if (batch) d.erase(d.begin());
  auto channels_at = [&](size_t i) {
    return d[i].can_be(image.dims()[2]) || (d[i].known() && (d[i].value() == 1 || d[i].value() == 3));
  };
  bool planar = d.size() == 3 && channels_at(0) && (d[0].known() || !d[2].known());
  if (d.size() == 3 && !planar && !channels_at(2))
    throw_user("input '", port.any_name(), "' has shape ", s, ", which a picture does not fit");
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
  if (have != c) note(text("'", path, "' has ", have, " channels, made ", c));
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
    throw UsageError(text("there is no file '", path, "' for input '", port.any_name(), "'"));
  if (is_image_name(path)) return image_for(path, port);
  std::string ending = extension_of(path);
  Tensor t;
  if (ending == ".npy") t = read_npy(path);
  else if (ending == ".pb") t = read_onnx_tensor(path);
  else
    throw UsageError(text("'", path, "' is not a kind of file that inputs are read from"),
                     "use .npy, .npz, .pb (an ONNX tensor), .png, .jpg, .ppm or .bmp");
  // Files that predate bf16 and f8 hold their bits as whole numbers.
  bool bits = (port.type == DType::bf16 && t.type() == DType::u16) ||
              (is_real(port.type) && bits_of(port.type) == 8 && t.type() == DType::u8);
  if (bits) {
    note(text("'", path, "' holds ", t.type(), ", taken as the bits of ", port.type));
    t = Tensor::wrap(port.type, t.dims(), t.data(), std::make_shared<Tensor>(t));
  }
  return t;
}

}  // namespace

void InputOptions::add(CLI::App& app) {
  app.add_option("--input,-i", given,
                 "value of an input; an empty NAME goes by position. Files: .npy .npz .pb .png .jpg .ppm .bmp")
      ->type_name("NAME=FILE")
      ->group("Inputs")
      ->allow_extra_args(false);
  app.add_option("--seed", seed, "for the random values that inputs get when none is given")
      ->group("Inputs")
      ->capture_default_str();
}

std::vector<Tensor> random_inputs(const std::vector<Port>& ports, uint64_t seed) {
  std::vector<Tensor> out;
  std::mt19937_64 engine(seed);
  for (const Port& p : ports) {
    if (!p.shape.ranked())
      throw UsageError(text("input '", p.any_name(), "' has no known rank, so no random value can be made"),
                       text("give it a shape: --input_shape ", p.any_name(), "[1,3,224,224]"));
    std::vector<int64_t> dims;
    for (const Dim& d : p.shape) dims.push_back(d.known() ? d.value() : std::max<int64_t>(d.min(), 1));
    if (!p.shape.is_static()) note(text("input '", p.any_name(), "' has shape ", p.shape, ", taken as ", dims));
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

std::vector<Tensor> make_inputs(const InputOptions& o, const std::vector<Port>& ports) {
  if (o.given.empty()) {
    if (!ports.empty()) note(text("no inputs given: random values (--seed ", o.seed, ")"));
    return random_inputs(ports, o.seed);
  }
  std::vector<Tensor> out(ports.size());
  size_t position = 0;
  auto put = [&](size_t i, Tensor t, const std::string& from) {
    if (out[i]) throw UsageError(text("input '", ports[i].any_name(), "' is given twice"));
    if (ports[i].type != DType::undefined && t.type() != ports[i].type)
      throw Error(ErrorKind::user,
                  text("input '", ports[i].any_name(), "' is ", ports[i].type, ", '", from, "' holds ", t.type()),
                  text("values are not converted here; save them as ", ports[i].type));
    out[i] = std::move(t);
  };
  auto index_of = [&](const std::string& name) { return as_usage([&] { return find_port(ports, name, "input"); }); };
  for (const std::string& g : o.given) {
    size_t equals = g.find('=');
    std::string name = equals == g.npos ? "" : g.substr(0, equals), file = equals == g.npos ? g : g.substr(equals + 1);
    // A name may hold '=' itself: take the longest one that is an input.
    for (const Port& p : ports)
      for (const std::string& n : p.names)
        if (n.size() > name.size() && g.starts_with(n + "=")) name = n, file = g.substr(n.size() + 1);
    if (extension_of(file) == ".npz" && name.empty()) {
      for (auto& [array, t] : read_npz(file)) put(index_of(array), t, file);
      continue;
    }
    size_t i = name.empty() ? position : index_of(name);
    if (i >= ports.size()) throw UsageError(text("the model has ", ports.size(), " inputs, more are given"));
    position = i + 1;
    put(i, tensor_for(file, ports[i]), file);
  }
  for (size_t i = 0; i < out.size(); ++i)
    if (!out[i])
      throw UsageError(
          text("input '", ports[i].any_name(), "' is not given"),
          text("add --input ", quoted_for_shell(ports[i].any_name()), "=FILE, or give none at all for random values"));
  return out;
}

}  // namespace graft::cli

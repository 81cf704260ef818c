#include <cmath>
#include <cstring>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "readers/caffe/caffe.hpp"
#include "readers/caffe/parts.hpp"

namespace graft {
namespace {

// The numbers of a repeated field: a single packed piece is used in place.
struct BlobData {
  std::string_view piece;
  std::string joined;
  size_t pieces = 0;

  void add(Wire& w, size_t width) {
    if (w.type() == Wire::bytes_type) {
      std::string_view bytes = w.bytes();
      if (bytes.size() % width) w.broken("has ", bytes.size(), " bytes of packed data, expected a multiple of ", width);
      if (pieces++ == 0) piece = bytes;
      else join(bytes);
    } else if (width == 4) {
      w.fixed<float>([&](float v) { join({reinterpret_cast<const char*>(&v), sizeof v}); });
      ++pieces;
    } else {
      w.fixed<double>([&](double v) { join({reinterpret_cast<const char*>(&v), sizeof v}); });
      ++pieces;
    }
  }
  size_t bytes() const { return joined.empty() ? piece.size() : joined.size(); }

 private:
  void join(std::string_view more) {
    if (joined.empty()) joined = piece;
    joined += more;
  }
};

Tensor blob_tensor(DType type, const std::vector<int64_t>& dims, BlobData& data,
                   const std::shared_ptr<const void>& keeper) {
  if (data.joined.empty()) return Tensor::wrap(type, dims, const_cast<char*>(data.piece.data()), keeper).to(DType::f32);
  Tensor t(type, dims);
  std::memcpy(t.data(), data.joined.data(), data.joined.size());
  return t.to(DType::f32);
}

struct NamedBlobs {
  std::string name;
  std::vector<Tensor> blobs;
};

NamedBlobs layer_blobs(Wire w, uint32_t name, uint32_t blobs, uint32_t older, const std::shared_ptr<const void>& keeper,
                       const Limits& limits) {
  NamedBlobs out;
  while (w.next()) {
    if (w.field() == name) out.name = w.text();
    else if (w.field() == blobs) out.blobs.push_back(caffe_blob(w.message("BlobProto"), keeper, limits));
    else if (w.field() == older && older) {
      NamedBlobs inner = layer_blobs(w.message("V0LayerParameter"), 1, 50, 0, keeper, limits);
      out.name = inner.name;
      for (Tensor& t : inner.blobs) out.blobs.push_back(std::move(t));
    }
  }
  return out;
}

}  // namespace

Tensor caffe_blob(Wire w, const std::shared_ptr<const void>& keeper, const Limits& limits) {
  std::vector<int64_t> dims, legacy(4, 0);
  bool has_shape = false, has_legacy = false;
  BlobData floats, doubles;
  std::string_view raw;
  bool has_raw = false;
  int32_t raw_type = 0;
  while (w.next()) switch (w.field()) {
      case 1:
      case 2:
      case 3:
      case 4: legacy[w.field() - 1] = w.small(), has_legacy = true; break;
      case 5: floats.add(w, 4); break;
      case 7:
        has_shape = true;
        for (Wire s = w.message("BlobShape"); s.next();)
          if (s.field() == 1) s.integers([&](int64_t d) { dims.push_back(d); });
        break;
      case 8: doubles.add(w, 8); break;
      case 10: raw_type = w.small(); break;
      case 12: raw = w.bytes(), has_raw = true; break;
      default: w.skip();
    }
  DType type = DType::f32;
  size_t bytes = floats.bytes();
  if (has_raw) {
    constexpr DType types[] = {DType::f64, DType::f32, DType::f16, DType::i32, DType::u32};
    if (raw_type < 0 || raw_type > 4) w.broken("has raw data of unknown type ", raw_type);
    type = types[raw_type];
    bytes = raw.size();
    floats = BlobData{raw, {}, 1};
  } else if (doubles.pieces && !floats.pieces) {
    type = DType::f64;
    bytes = doubles.bytes();
    std::swap(floats, doubles);
  }
  size_t width = static_cast<size_t>(bits_of(type)) / 8;
  if (!has_shape && has_legacy) dims = legacy;
  else if (!has_shape) dims = {static_cast<int64_t>(bytes / width)};
  if (dims.size() > limits.rank)
    over_limit(&Limits::rank, [&] { w.broken("has ", dims.size(), " dimensions, expected at most ", limits.rank); });
  for (int64_t d : dims)
    if (d < 0 || static_cast<uint64_t>(d) > limits.dimension) w.broken("has dimension ", d, " in its shape ", dims);
  size_t want = bytes_for(type, count_checked(dims));
  if (bytes != want) w.broken("has ", bytes, " bytes of data, expected ", want, " for shape ", dims, " of ", type);
  return blob_tensor(type, dims, floats, keeper);
}

CaffeBlobs read_caffe_blobs(std::string_view caffemodel, const std::shared_ptr<const void>& keeper,
                            const Limits& limits) {
  CaffeBlobs out;
  size_t layers = 0;
  for (Wire w(caffemodel, "NetParameter"); w.next();) {
    if (w.field() != 100 && w.field() != 2) continue;
    if (++layers > limits.nodes)
      over_limit(&Limits::nodes, [&] { w.broken("has more than ", limits.nodes, " layers"); });
    NamedBlobs l = w.field() == 100 ? layer_blobs(w.message("LayerParameter"), 1, 7, 0, keeper, limits)
                                    : layer_blobs(w.message("V1LayerParameter"), 4, 6, 1, keeper, limits);
    if (!l.blobs.empty()) out.emplace(std::move(l.name), std::move(l.blobs));
  }
  return out;
}

Tensor read_caffe_blob(const std::string& path) {
  return with_context(
      [&] {
        auto file = MappedFile::open(path);
        if (file->chars().empty()) throw_user("the file is empty");
        return caffe_blob(Wire(file->chars(), "BlobProto"), file, {});
      },
      [&] { return text("reading '", path, "' as a Caffe blob"); });
}

}  // namespace graft

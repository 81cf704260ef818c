// w = f32[...]                w' = f16[...]
// y = Convolution(x, w)   =>  w = Convert(w') {destination_type = f32}, marked "decompression"
//                             y = Convolution(x, w)
#include "passes/compress_to_f16.hpp"

#include <cmath>

#include "base/tensor.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

constexpr float f16_largest = 65504;

// Inputs whose exact value determines sizes, positions or quantization.
bool needs_f32(const Registry& registry, const Node& reader, uint32_t input) {
  if (reader.opaque || reader.is("Range")) return true;
  const OpDef* op = registry.find(reader.type, reader.opset);
  return input > 0 && (reader.is("Interpolate") || (op && op->has(GRAFT_OP_ROUNDS)));
}

// The tensor in f16; empty when most elements would overflow or become zero.
Tensor halved(const Tensor& given, F16Report::Loss& loss) {
  Tensor t = is_aligned(given) ? given : given.clone();
  Tensor clipped(DType::f32, t.dims());
  const float* from = t.data<float>();
  float* to = clipped.data<float>();
  loss.elements = t.size();
  for (int64_t i = 0; i < t.size(); ++i) {
    bool beyond = std::isfinite(from[i]) && std::abs(from[i]) > f16_largest;
    loss.clipped += beyond;
    to[i] = beyond ? std::copysign(f16_largest, from[i]) : from[i];
  }
  Tensor half = clipped.to(DType::f16);
  const uint16_t* bits = static_cast<const uint16_t*>(half.data());
  for (int64_t i = 0; i < t.size(); ++i) loss.vanished += from[i] != 0 && (bits[i] & 0x7fff) == 0;
  return 4 * (loss.clipped + loss.vanished) >= 3 * t.size() ? Tensor() : half;
}

std::shared_ptr<const Xml> decompression_mark() {
  static const auto mark = std::make_shared<const Xml>(
      Xml{"rt_info", {}, {}, {{"attribute", {{"name", "decompression"}, {"version", "0"}}, {}, {}}}});
  return mark;
}

}  // namespace

void compress_to_f16(Graph& g, const Registry& registry, F16Report& report) {
  Users users(g);
  NodeId end = g.end_id();
  for (NodeId id = 0; id < end; ++id) {
    if (!g[id].alive) continue;
    for (Body& b : g[id].bodies) compress_to_f16(*b.graph, registry, report);
    if (!g[id].is("Constant")) continue;
    const Tensor& t = g[id].attrs.find("value")->as<Tensor>();
    if (t.type() != DType::f32 || t.size() == 0) continue;
    bool exact = users.of({id, 0}).empty();
    for (Use u : users.of({id, 0})) exact |= needs_f32(registry, g[u.node], u.input);
    F16Report::Loss loss{g[id].name};
    Tensor half = exact ? Tensor() : halved(t, loss);
    if (!half) {
      ++report.kept;
      continue;
    }
    ++report.compressed;
    if (loss.clipped || loss.vanished) report.losses.push_back(loss);
    Node c;
    c.type = "Convert", c.opset = "opset1";
    c.attrs["destination_type"] = DType::f32;
    c.inputs = {{id, 0}};
    c.outputs.push_back(g[id].outputs[0]);
    c.origin = g[id].origin;
    c.name = g[id].name;
    c.rt_info = decompression_mark();
    resolve(c, definition(registry, c), Extras::refuse);
    g[id].name = g.unique_name(c.name + "/compressed");
    g[id].attrs["value"] = half;
    g[id].outputs[0].names.clear();
    g[id].outputs[0].info.type = DType::f16;
    NodeId convert = g.add(std::move(c));
    users.replace({id, 0}, {convert, 0});
    g[convert].inputs = {{id, 0}};
  }
}

}  // namespace graft

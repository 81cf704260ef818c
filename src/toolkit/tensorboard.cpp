// The graph of a model as an event file of TensorBoard: a TensorFlow GraphDef in one record.
#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <graft/app/convert.hpp>
#include <unordered_map>
#include <unordered_set>

#include "base/file.hpp"
#include "base/request.hpp"
#include "base/text.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/state.hpp"

namespace graft {
namespace {

// ---- protocol buffers ----

void put_varint(std::string& out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}
void put_number(std::string& out, uint32_t field, uint64_t v) {
  put_varint(out, field << 3);
  put_varint(out, v);
}
void put_bytes(std::string& out, uint32_t field, std::string_view s) {
  put_varint(out, field << 3 | 2);
  put_varint(out, s.size());
  out += s;
}
template <class T>
void put_fixed(std::string& out, T v) {
  char bytes[sizeof v];
  std::memcpy(bytes, &v, sizeof v);  // little-endian, as all machines that Graft runs on
  out.append(bytes, sizeof v);
}

// TensorShapeProto
std::string shape_message(const Shape& shape) {
  std::string out;
  if (!shape.ranked()) put_number(out, 3, 1);
  for (size_t i = 0; shape.ranked() && i < shape.rank(); ++i) {
    std::string dim;
    put_number(dim, 1, static_cast<uint64_t>(shape[i].known() ? shape[i].value() : -1));
    put_bytes(out, 2, dim);
  }
  return out;
}

// An entry of NodeDef's map of attributes; `value` is an AttrValue.
void put_attribute(std::string& node, std::string_view name, const std::string& value) {
  std::string entry;
  put_bytes(entry, 1, name);
  put_bytes(entry, 2, value);
  put_bytes(node, 5, entry);
}

// ---- the graph ----

// TensorBoard divides names at '/', and names of inputs at ':'; a leading '^' or '_' means something else.
std::string board_name(std::string_view name) {
  std::string out;
  for (char c : name) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += plain || (!out.empty() && (c == '/' || c == '-' || c == '_')) || c == '.' ? c : '_';
  }
  if (out.empty() || out[0] == '_') out.insert(0, "n");
  return out;
}

std::string node_message(const Graph& g, NodeId id, const std::unordered_map<NodeId, std::string>& names) {
  const Node& n = g[id];
  std::string out, shapes;
  put_bytes(out, 1, names.at(id));
  put_bytes(out, 2, n.is("Parameter") ? "Placeholder" : n.is("Constant") ? "Const" : n.type);
  for (ValueId v : n.inputs)
    if (v.present()) put_bytes(out, 3, v.port ? text(names.at(v.node), ':', v.port) : names.at(v.node));
  for (const Output& o : n.outputs) put_bytes(shapes, 7, shape_message(o.info.shape));
  std::string list;
  put_bytes(list, 1, shapes);
  if (!n.outputs.empty()) put_attribute(out, "_output_shapes", list);
  for (const auto& [name, value] : n.attrs) {
    if (value.kind() == GRAFT_TENSOR) continue;
    std::string s;
    put_bytes(s, 2, print(value));
    put_attribute(out, name, s);
  }
  return out;
}

std::string graph_message(const Graph& g) {
  std::unordered_map<NodeId, std::string> names;
  std::unordered_set<std::string> taken;
  for (NodeId id : g.topological_order()) {
    std::string base = board_name(g[id].name), name = base;
    for (size_t k = 1; !taken.insert(name).second; ++k) name = text(base, '_', k);
    names[id] = name;
  }
  std::string out, versions;
  for (NodeId id : g.topological_order()) put_bytes(out, 1, node_message(g, id, names));
  put_number(versions, 1, 27);  // the producer, of the first GraphDef that all readers take
  put_bytes(out, 4, versions);
  return out;
}

// ---- records ----

// CRC-32C, turned round as TensorFlow stores it.
uint32_t masked_crc(std::string_view s) {
  uint32_t crc = ~0u;
  for (char c : s) {
    crc ^= static_cast<unsigned char>(c);
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return std::rotr(~crc, 15) + 0xa282ead8u;
}

void put_record(std::string& out, std::string_view event) {
  std::string length;
  put_fixed<uint64_t>(length, event.size());
  out += length;
  put_fixed(out, masked_crc(length));
  out += event;
  put_fixed(out, masked_crc(event));
}

std::string event_message(double time, uint32_t field, std::string_view content) {
  std::string out;
  put_varint(out, 1 << 3 | 1);
  put_fixed(out, time);
  put_bytes(out, field, content);
  return out;
}

}  // namespace

std::string write_tensorboard(const Model& model, const std::string& folder) {
  return as_errors([&] {
    auto now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    std::string content;
    put_record(content, event_message(now, 3, "brain.Event:2"));
    put_record(content, event_message(now, 4, graph_message(*model.state()->current())));
    as_request([&] { make_folder(folder); });
    std::string name = text("events.out.tfevents.", static_cast<int64_t>(now), ".graft");
    OutputFile file((std::filesystem::path(folder) / name).string());
    file.write(content);
    file.commit();
    return file.path();
  });
}

}  // namespace graft

#include "result_json.hpp"

namespace graft::cli {

json shape_json(const Shape& s) {
  if (!s.ranked()) return "...";
  json out = json::array();
  for (const Dim& d : s) {
    if (d.known()) out.push_back(d.value());
    else out.push_back(text(d));
  }
  return out;
}
json value_json(const Shape& s) { return shape_json(s); }
json value_json(const Info& i) { return {{"type", name_of(i.type)}, {"shape", shape_json(i.shape)}}; }
json value_json(const Port& p) {
  return {{"name", p.any_name()},
          {"layer", p.name},
          {"names", p.names},
          {"type", name_of(p.type)},
          {"shape", shape_json(p.shape)}};
}
json value_json(const Attribute& a) { return a.kind() == GRAFT_TENSOR ? text(a.as<Tensor>().info()) : print(a); }
json value_json(const Error& e) { return {{"message", e.message()}, {"context", e.context()}, {"hint", e.hint()}}; }

}  // namespace graft::cli

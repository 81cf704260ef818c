#include "base/given.hpp"

#include "base/text.hpp"

namespace graft {

std::string_view given_text(graft_str s, std::string_view what) {
  if (!s.data && s.size) throw_user("expected ", what, " of ", s.size, " bytes, got a null pointer");
  return view(s);
}

Shape given_shape(const graft_shape& s) {
  if (s.rank > 0) given_list(s.dims, static_cast<size_t>(s.rank), "dimensions");
  return Shape(s);
}

Info given_info(const graft_info& i) { return {static_cast<DType>(i.type), given_shape(i.shape)}; }

Tensor copy_of(const graft_tensor& t) {
  auto type = static_cast<DType>(t.type);
  if (bits_of(type) == 0) throw_unsupported("a constant requires a known element type");
  if (t.rank < 0) throw_user("expected a tensor of known rank, got rank ", t.rank);
  auto dims = given_list(t.dims, static_cast<size_t>(t.rank), "dimensions of a tensor");
  Tensor view = Tensor::wrap(type, {dims.begin(), dims.end()}, t.data);
  auto count = static_cast<size_t>(view.size());
  given_list(static_cast<const char*>(t.data), count, "elements of a tensor");
  if (type == DType::string)
    for (graft_str s : std::span(static_cast<const graft_str*>(t.data), count)) given_text(s, "a string of a tensor");
  return view.clone();
}

}  // namespace graft

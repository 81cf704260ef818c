// Strings in shape functions and kernels.
#pragma once

#include <graft/op.hpp>

namespace graft {

inline void strings_expect(const NodeView& ctx, size_t input = 0) {
  if (DType t = ctx.type(input); t != DType::string && t != DType::undefined)
    fail("expected strings in input ", input, ", got ", t);
}
inline std::string_view string_of(const TensorView& t, int64_t i) { return view(t.data<graft_str>()[i]); }

template <class A>
void string_map_infer(Infer& ctx, const A&) {
  strings_expect(ctx);
  ctx.output(0, DType::string, ctx.shape(0));
}
// Each string of the output is f of the one in input 0.
template <class F>
void string_map(Run& ctx, F f) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  for (int64_t i = 0; i < x.size(); ++i) ctx.store(y, i, f(string_of(x, i)));
}
// A new 1-D output with these strings.
inline void store_strings(Run& ctx, size_t output, const std::vector<std::string>& strings) {
  OutputView y = ctx.allocate(output, {static_cast<int64_t>(strings.size())});
  for (size_t i = 0; i < strings.size(); ++i) ctx.store(y, static_cast<int64_t>(i), strings[i]);
}

}  // namespace graft

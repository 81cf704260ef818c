// Writing updates into a copy of the data, shared by the three scatter operations.
#pragma once

#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/numeric.hpp>

namespace graft {

// How an update is combined with the existing element.
enum class ScatterMeeting { none, sum, sub, prod, min, max, mean };

template <class T>
T scatter_meet(ScatterMeeting how, T there, T update, bool truth) {
  switch (how) {
    case ScatterMeeting::sum:
    case ScatterMeeting::mean: return truth ? T(there != 0 || update != 0) : wrap_add(there, update);
    case ScatterMeeting::sub: return truth ? T(there != update) : wrap_sub(there, update);
    case ScatterMeeting::prod: return wrap_mul(there, update);
    case ScatterMeeting::min: return there != there || there < update ? there : update;
    case ScatterMeeting::max: return there != there || there > update ? there : update;
    case ScatterMeeting::none: break;
  }
  return update;
}

// Copies the data, then applies run `i` of the updates to the elements from `targets[i]` on. Without `from_data`, the
// original element does not take part in the reduction.
inline void scatter_runs(Run& ctx, const std::vector<int64_t>& targets, int64_t run, ScatterMeeting how,
                         bool from_data) {
  TensorView x = ctx.input(0), updates = ctx.input(2);
  OutputView y = ctx.output(0);
  if (updates.size() != static_cast<int64_t>(targets.size()) * run)
    fail("updates of shape ", updates.info().shape, " do not match the indices");
  if (how == ScatterMeeting::none) {
    Cells data(x), from(updates);
    OutputCells to(y);
    copy_box(y.dims(), to.cell_size(), to.data(), dense_box(y.dims()), data.data(), dense_box(y.dims()));
    size_t bytes = static_cast<size_t>(run) * to.cell_size();
    for (size_t i = 0; bytes && i < targets.size(); ++i)
      std::memcpy(to.data() + static_cast<size_t>(targets[i]) * to.cell_size(), from.data() + i * bytes, bytes);
    return to.write_back();
  }
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> out = x.to<T>(), with = updates.to<T>();
    std::vector<int64_t> met(out.size(), from_data ? 1 : 0);
    bool truth = x.type() == DType::boolean;
    for (size_t i = 0; i < with.size(); ++i) {
      auto at = static_cast<size_t>(targets[i / static_cast<size_t>(run)]) + i % static_cast<size_t>(run);
      out[at] = met[at]++ ? scatter_meet(how, out[at], with[i], truth) : with[i];
    }
    if (how == ScatterMeeting::mean) {
      if (truth) fail("reduction 'mean' is not defined for booleans");
      for (size_t i = 0; i < out.size(); ++i)
        if (met[i] > 1) {
          if constexpr (std::is_floating_point_v<T>) out[i] /= static_cast<T>(met[i]);
          else out[i] = floor_div(out[i], static_cast<T>(met[i]));
        }
    }
    y.assign(out);
  });
}

}  // namespace graft

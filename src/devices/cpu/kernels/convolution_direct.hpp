// What the inner loop of the direct convolution takes.
#pragma once

#include <cstdint>

namespace graft {
// One panel of output channels for `count` positions that are `x_step` apart in the input and `y_step` in the output.
struct DirectJob {
  const float* x;
  int64_t count, x_step, y_step;
  const int64_t* offsets;  // of the runs of `run` consecutive elements under the window
  int64_t runs, run;
  const float* w;     // [runs * run][panel]
  int64_t columns;    // of the panel that exist
  const float* bias;  // null: none
  const float* sum;   // null: none
  float* y;
  float low, high;    // bounds of the result
  const float* next;  // weights that are needed later and fetched meanwhile; null: none
  int64_t next_size;
  bool* odd;  // set if a sum is not finite; null: not checked
};

// The inner loop and the columns of a panel, for this processor.
struct Direct {
  void (*line)(const DirectJob&);
  int64_t panel;
};
const Direct& direct();
}  // namespace graft

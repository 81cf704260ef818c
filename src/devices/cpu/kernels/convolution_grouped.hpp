// What the inner loop of the grouped convolution takes.
#pragma once

#include <graft/kit/windows.hpp>

namespace graft {

// One row of the output.
struct GroupedRow {
  const WindowAxis *ay, *ax;
  int64_t group, channels, oy;  // channels of a group, and of all
  const float* x;               // the image
  const float* w;               // [vector][tap][input][element]
  const float *bias, *sum;      // null: none
  float* y;
  float low, high;  // bounds of the result
};

struct GroupedFunctions {
  void (*row)(const GroupedRow&);
  int64_t lanes;  // elements of a vector
};

}  // namespace graft

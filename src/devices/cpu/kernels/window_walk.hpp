// How a direct convolution of tensors with the channels last passes over its input and divides its work, whatever the
// type of the elements. Input elements are used where they lie; if windows reach over the edge, or positions compete
// for lines of the cache, an item copies the rows that it needs.
#pragma once

#include <utility>
#include <vector>

#include "convolution.hpp"

namespace graft {

// Packed weights: per group, panels of output channels with `depth` elements per column.
struct PanelWeights {
  int64_t groups = 0, inputs = 0, outputs = 0, panels = 0, depth = 0;  // inputs and outputs per group
};

// Some lines of an image, and the panels from `panel` to `panels_end` of a group. Items of one block have their input
// in common.
struct WindowItem {
  int64_t block, image, first, lines, group, panel, panels_end;
};

struct WindowWalk {
  const PanelWeights* panels = nullptr;
  WindowAxes axes;
  int64_t batch = 0, channels = 0, outputs = 0;  // of all groups
  std::vector<int64_t> offsets;                  // of the runs of consecutive elements under a window
  bool copied = false;                           // rows are copied, with their padding
  int64_t tap_rows = 0;          // of the copy from one tap to the next below; rows in between are left out
  int64_t width = 0;             // of a row, in positions
  int64_t pitch = 0;             // elements from one position to the next
  bool pointwise = false;        // the images are one long row, and a line is a piece of it
  int64_t lines = 0, count = 0;  // lines of the output in an image, positions in a line
  int64_t positions = 0;         // in all images
  int64_t lines_per_item = 1, panels_per_item = 1;

  int64_t line_items() const { return (lines + lines_per_item - 1) / lines_per_item; }
  int64_t panel_items() const { return (panels->panels + panels_per_item - 1) / panels_per_item; }
  int64_t items() const { return batch * line_items() * panels->groups * panel_items(); }
  int64_t x_step() const { return axes[2].stride * pitch; }
  // Input rows under `n` lines.
  int64_t rows(int64_t n) const { return (n - 1) * axes[1].stride + (axes[1].kernel - 1) * axes[1].dilation + 1; }

  WindowItem item(int64_t i) const {
    int64_t block = i / panel_items() / panels->groups, first = block % line_items() * lines_per_item;
    int64_t n = std::min(lines_per_item, lines - first), group = i / panel_items() % panels->groups;
    int64_t panel = i % panel_items() * panels_per_item, end = std::min(panel + panels_per_item, panels->panels);
    return {block, block / line_items(), first, n, group, panel, end};
  }
  // The first position of a line in the output of all images.
  int64_t position(const WindowItem& i, int64_t line) const { return (i.image * lines + i.first + line) * count; }
};

// Whether windows reach over the ends of an axis.
inline bool reaches_over(const WindowAxis& w) {
  return w.begin > 0 || (w.output - 1) * w.stride + w.offset(w.kernel - 1) >= w.input;
}

// All but the division of the work and the offsets, which depends on it. `gap`: elements between positions, in copies.
// `piece`: positions of a line if the windows are points.
inline void prepare_walk(WindowWalk& s, const ConvolutionSizes& sizes, bool copied, int64_t gap, int64_t piece) {
  s.axes = sizes.axes, s.batch = sizes.batch;
  s.channels = sizes.inputs * sizes.groups, s.outputs = sizes.outputs * sizes.groups;
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  s.pointwise = true;
  for (const WindowAxis* w : {&ay, &ax})
    s.pointwise &= w->kernel == 1 && w->stride == 1 && w->input == w->output && w->begin == 0;
  s.copied = copied;
  s.pitch = s.channels + gap;
  s.width = copied ? (ax.output - 1) * ax.stride + (ax.kernel - 1) * ax.dilation + 1 : ax.input;
  s.tap_rows = ay.dilation;
  s.lines = ay.output, s.count = ax.output;
  s.positions = s.batch * s.lines * s.count;
  if (!s.pointwise) return;
  s.batch = 1;
  s.lines = (s.positions + piece - 1) / piece;
  s.count = std::min(piece, s.positions);
}

// `joined`: the taps of a row are one run.
inline void set_offsets(WindowWalk& s, bool joined) {
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  for (int64_t y = 0; y < ay.kernel; ++y)
    for (int64_t x = 0; x < (joined ? 1 : ax.kernel); ++x)
      s.offsets.push_back((y * s.tap_rows * s.width + x * ax.dilation) * s.pitch);
}

// ---- copies of the input; `zero` stands for padding ----

template <class T>
T* copy_positions(const WindowWalk& s, const T* from, int64_t n, T* to) {
  if (s.pitch == s.channels) return std::copy(from, from + n * s.channels, to);
  for (int64_t i = 0; i < n; ++i, to += s.pitch, from += s.channels) std::copy(from, from + s.channels, to);
  return to;
}

// An input row with its padding.
template <class T>
void copy_row(const WindowWalk& s, const T* image, int64_t y, T zero, T* line) {
  const WindowAxis& ax = s.axes[2];
  int64_t before = std::clamp<int64_t>(ax.begin, 0, s.width), skipped = std::max<int64_t>(-ax.begin, 0);
  int64_t n = std::clamp<int64_t>(ax.input - skipped, 0, s.width - before);
  std::fill(line, line + before * s.pitch, zero);
  T* end = copy_positions(s, image + (y * ax.input + skipped) * s.channels, n, line + before * s.pitch);
  std::fill(end, line + s.width * s.pitch, zero);
}

// Elements that the copy of some lines takes.
inline int64_t copy_size(const WindowWalk& s, int64_t lines) {
  if (s.pointwise) return lines * s.count * s.pitch;
  bool dense = s.tap_rows == s.axes[1].dilation;
  int64_t under = (lines - 1) * s.axes[1].stride + 1;  // rows under one tap
  return (dense ? s.rows(lines) : (s.axes[1].kernel - 1) * s.tap_rows + under) * s.width * s.pitch;
}

// The input of some lines: its positions, or its rows. Those above and below the image are filled with `zero` if
// `edges`, otherwise not written.
template <bool edges, class T>
void copy_lines(const WindowWalk& s, const T* x, int64_t image, int64_t first, int64_t lines, T zero, T* to) {
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  if (s.pointwise) {
    int64_t at = first * s.count;
    copy_positions(s, x + at * s.channels, std::min(lines * s.count, s.positions - at), to);
    return;
  }
  x += image * ay.input * ax.input * s.channels;
  bool dense = s.tap_rows == ay.dilation;
  int64_t parts = dense ? 1 : ay.kernel, rows = dense ? s.rows(lines) : (lines - 1) * ay.stride + 1;
  for (int64_t t = 0; t < parts; ++t)
    for (int64_t r = 0; r < rows; ++r) {
      int64_t y = first * ay.stride - ay.begin + t * ay.dilation + r;
      T* line = to + (t * s.tap_rows + r) * s.width * s.pitch;
      if (y >= 0 && y < ay.input) copy_row(s, x, y, zero, line);
      else if (edges) std::fill(line, line + s.width * s.pitch, zero);
    }
}

// Elements from the input of one line to that of the next.
inline int64_t line_step(const WindowWalk& s) {
  return s.pointwise ? s.count * s.pitch : s.axes[1].stride * s.width * s.pitch;
}

// The input of the first line of an item, which may be a copy in memory of the thread.
template <bool edges, class T>
const T* item_input(const WindowWalk& s, const T* x, const WindowItem& i, T zero) {
  if (s.copied) {
    // The end of the last run may be read beyond the copy.
    auto size = static_cast<size_t>(copy_size(s, i.lines)) * sizeof(T) / sizeof(float) + 2;
    T* to = reinterpret_cast<T*>(thread_floats(size));
    copy_lines<edges>(s, x, i.image, i.first, i.lines, zero, to);
    return to;
  }
  if (s.pointwise) return x + i.first * line_step(s);
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  return x + ((i.image * ay.input + i.first * ay.stride - ay.begin) * ax.input - ax.begin) * s.channels;
}

}  // namespace graft

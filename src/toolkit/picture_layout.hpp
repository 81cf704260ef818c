// Places the boxes of a directed acyclic graph in layers, from top to bottom.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace graft {

struct PlacedBox {
  double width = 0;     // given
  double x = 0, y = 0;  // of its center: found
};

struct PlacedEdge {
  size_t from = 0, to = 0;                         // given; from < to
  std::vector<std::pair<double, double>> bends{};  // found: where it passes the layers in between
};

struct PictureLayout {
  std::vector<PlacedBox> boxes;
  std::vector<PlacedEdge> edges;
  double width = 0, height = 0;
};

// A box is in the layer below the lowest of those that it depends on; boxes are ordered by the centers of their
// neighbors, so that few edges cross. `box_height` and `gap` are distances of the drawing.
void place_boxes(PictureLayout& layout, double box_height, double gap);

}  // namespace graft

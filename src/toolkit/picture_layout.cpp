#include "toolkit/picture_layout.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace graft {
namespace {

constexpr size_t most_points = 200'000;  // beyond, edges are drawn straight
constexpr int sweeps = 8;

// A box, or the place where an edge passes a layer.
struct Point {
  double width = 0, x = 0;
  size_t layer = 0;
  std::vector<size_t> above, below;
};

class Placing {
 public:
  Placing(PictureLayout& layout, double box_height, double gap) : l_(layout), box_height_(box_height), gap_(gap) {}

  void run() {
    if (l_.boxes.empty()) return;
    make_points();
    for (size_t i = 0; i < points_.size(); ++i) layers_[points_[i].layer].push_back(i);
    for (auto& layer : layers_) pack(layer);
    for (int s = 0; s < sweeps; ++s) {
      bool down = s % 2 == 0;
      for (size_t i = 1; i < layers_.size(); ++i) {
        auto& layer = layers_[down ? i : layers_.size() - 1 - i];
        sort(layer, down);
        pull(layer, down);
      }
    }
    finish();
  }

 private:
  void make_points() {
    std::vector<size_t> layer(l_.boxes.size(), 0);
    for (const PlacedEdge& e : sorted_edges()) layer[e.to] = std::max(layer[e.to], layer[e.from] + 1);
    raise_sources(layer);
    size_t bends = 0;
    for (const PlacedEdge& e : l_.edges) bends += layer[e.to] - layer[e.from] - 1;
    bool straight = bends > most_points;
    for (size_t i = 0; i < l_.boxes.size(); ++i) points_.push_back({l_.boxes[i].width, 0, layer[i], {}, {}});
    ways_.resize(l_.edges.size());
    for (size_t i = 0; i < l_.edges.size(); ++i) {
      size_t at = l_.edges[i].from;
      for (size_t k = layer[at] + 1; !straight && k < layer[l_.edges[i].to]; ++k) {
        points_.push_back({10, 0, k, {}, {}});
        connect(at, points_.size() - 1);
        at = points_.size() - 1;
        ways_[i].push_back(at);
      }
      connect(at, l_.edges[i].to);
    }
    layers_.resize(1 + *std::max_element(layer.begin(), layer.end()));
  }
  std::vector<PlacedEdge> sorted_edges() const {
    std::vector<PlacedEdge> edges = l_.edges;
    std::stable_sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.to < b.to; });
    return edges;
  }
  // Boxes without inputs go next to the first that uses them.
  void raise_sources(std::vector<size_t>& layer) const {
    std::vector<size_t> first(layer.size(), SIZE_MAX);
    std::vector<bool> source(layer.size(), true);
    for (const PlacedEdge& e : l_.edges) first[e.from] = std::min(first[e.from], layer[e.to]), source[e.to] = false;
    for (size_t i = 0; i < layer.size(); ++i)
      if (source[i] && first[i] != SIZE_MAX && first[i] > 0) layer[i] = first[i] - 1;
  }
  void connect(size_t above, size_t below) {
    points_[above].below.push_back(below);
    points_[below].above.push_back(above);
  }

  double center(const Point& p, bool of_above) const {
    const std::vector<size_t>& list = of_above ? p.above : p.below;
    if (list.empty()) return p.x;
    double sum = 0;
    for (size_t i : list) sum += points_[i].x;
    return sum / static_cast<double>(list.size());
  }
  void pack(std::vector<size_t>& layer) {
    double x = 0;
    for (size_t i : layer) {
      points_[i].x = x + points_[i].width / 2;
      x += points_[i].width + gap_;
    }
    for (size_t i : layer) points_[i].x -= x / 2;
  }
  void sort(std::vector<size_t>& layer, bool down) {
    std::vector<double> key(points_.size());
    for (size_t i : layer) key[i] = center(points_[i], down);
    std::stable_sort(layer.begin(), layer.end(), [&](size_t a, size_t b) { return key[a] < key[b]; });
  }
  // Each point to the center of its neighbors; where they would overlap, a run of them is centered as a whole.
  void pull(std::vector<size_t>& layer, bool down) {
    struct Run {
      size_t first, count;
      double start, width, pull;  // of the first's left edge; the sum of where each would have it
    };
    std::vector<Run> runs;
    for (size_t k = 0; k < layer.size(); ++k) {
      const Point& p = points_[layer[k]];
      double width = p.width + gap_, start = center(p, down) - width / 2;
      runs.push_back({k, 1, start, width, start});
      while (runs.size() > 1 && runs[runs.size() - 2].start + runs[runs.size() - 2].width > runs.back().start) {
        Run last = runs.back();
        runs.pop_back();
        Run& r = runs.back();
        r.pull += last.pull - static_cast<double>(last.count) * r.width;
        r.width += last.width, r.count += last.count;
        r.start = r.pull / static_cast<double>(r.count);
      }
    }
    for (const Run& r : runs) {
      double x = r.start;
      for (size_t k = r.first; k < r.first + r.count; ++k) {
        Point& p = points_[layer[k]];
        p.x = x + (p.width + gap_) / 2;
        x += p.width + gap_;
      }
    }
  }

  void finish() {
    double left = points_[0].x, right = left, pitch = box_height_ + 2 * gap_;
    for (const Point& p : points_) left = std::min(left, p.x - p.width / 2), right = std::max(right, p.x + p.width / 2);
    auto place = [&](const Point& p) {
      return std::pair(p.x - left, static_cast<double>(p.layer) * pitch + box_height_ / 2);
    };
    for (size_t i = 0; i < l_.boxes.size(); ++i) std::tie(l_.boxes[i].x, l_.boxes[i].y) = place(points_[i]);
    for (size_t i = 0; i < l_.edges.size(); ++i)
      for (size_t p : ways_[i]) l_.edges[i].bends.push_back(place(points_[p]));
    l_.width = right - left;
    l_.height = static_cast<double>(layers_.size() - 1) * pitch + box_height_;
  }

  PictureLayout& l_;
  double box_height_, gap_;
  std::vector<Point> points_;  // the boxes first
  std::vector<std::vector<size_t>> layers_, ways_;
};

}  // namespace

void place_boxes(PictureLayout& layout, double box_height, double gap) { Placing(layout, box_height, gap).run(); }

}  // namespace graft

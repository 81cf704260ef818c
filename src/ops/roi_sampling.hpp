// Bins of regions sampled by bilinear interpolation: shared by ROIAlign and its relatives. Coordinates are computed in
// f32 like OpenVINO, because rounding decides whether a sample lies outside the map.
#pragma once

#include "detection.hpp"

namespace graft {

// A region given by its first corner and its size, in feature map pixels; if rotated, relative to the center.
struct Region {
  float x, y, width, height;
  float cosine = 1, sine = 0, center_x = 0, center_y = 0;
};

enum class RegionPool {
  average,
  largest,        // sample, or 0
  largest_corner  // of the four weighted pixels around any sample
};

// One image: `channels` planes of height * width.
struct FeatureMap {
  const float* data;
  int64_t channels, height, width;
};

struct RegionSample {
  size_t pixel[4];
  float weight[4];
};

// The samples of one bin; samples outside the map have weight 0.
inline std::vector<RegionSample> bin_samples(const FeatureMap& map, const Region& r, float x, float y, float bin_width,
                                             float bin_height, int64_t across, int64_t down) {
  std::vector<RegionSample> out;
  auto on_axis = [](float v, int64_t size, int64_t& low, int64_t& high) {
    v = std::max(v, 0.0f);
    low = static_cast<int64_t>(v);
    if (low >= size - 1) {
      low = high = size - 1;
      return 0.0f;
    }
    high = low + 1;
    return v - static_cast<float>(low);
  };
  for (int64_t j = 0; j < down; ++j)
    for (int64_t i = 0; i < across; ++i) {
      float u = x + bin_width / static_cast<float>(across) * (static_cast<float>(i) + 0.5f);
      float v = y + bin_height / static_cast<float>(down) * (static_cast<float>(j) + 0.5f);
      float px = v * r.sine + u * r.cosine + r.center_x, py = v * r.cosine - u * r.sine + r.center_y;
      RegionSample s{};
      bool on_map = px >= -1 && px <= static_cast<float>(map.width) && py >= -1 && py <= static_cast<float>(map.height);
      if (on_map && map.width > 0 && map.height > 0) {
        int64_t left, right, top, bottom;
        float lx = on_axis(px, map.width, left, right), ly = on_axis(py, map.height, top, bottom);
        auto at = [&](int64_t row, int64_t column) { return static_cast<size_t>(row * map.width + column); };
        s = {{at(top, left), at(top, right), at(bottom, left), at(bottom, right)},
             {(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx}};
      }
      out.push_back(s);
    }
  return out;
}

// Writes channels * rows * columns values. Without a sampling ratio, a bin has about one sample per pixel.
inline void pool_region(const FeatureMap& map, const Region& r, int64_t rows, int64_t columns, int64_t sampling_ratio,
                        RegionPool how, float* out) {
  float bin_width = r.width / static_cast<float>(columns), bin_height = r.height / static_cast<float>(rows);
  auto samples_for = [&](float size) {
    if (sampling_ratio > 0) return sampling_ratio;
    if (!(size < 1 << 15)) fail("a region of ", r.width, " x ", r.height, " pixels requires too many samples");
    return static_cast<int64_t>(std::max(0.0f, std::ceil(size)));
  };
  int64_t across = samples_for(bin_width), down = samples_for(bin_height);
  if (across > (1 << 26) / std::max<int64_t>(1, down)) fail("a bin of ", across, " x ", down, " samples is too large");
  auto plane = static_cast<size_t>(map.height * map.width), bins = static_cast<size_t>(rows * columns);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      std::vector<RegionSample> samples =
          bin_samples(map, r, r.x + static_cast<float>(column) * bin_width, r.y + static_cast<float>(row) * bin_height,
                      bin_width, bin_height, across, down);
      for (size_t c = 0; c < static_cast<size_t>(map.channels); ++c) {
        double sum = 0;
        float most = how == RegionPool::largest_corner && !samples.empty() ? -INFINITY : 0;
        for (const RegionSample& s : samples) {
          float value = 0;
          for (size_t k = 0; k < 4; ++k) {
            float part = plane ? s.weight[k] * map.data[c * plane + s.pixel[k]] : 0;
            value += part;
            if (how == RegionPool::largest_corner) most = std::max(most, part);
          }
          sum += static_cast<double>(value);
          if (how == RegionPool::largest) most = std::max(most, value);
        }
        auto count = static_cast<double>(std::max<size_t>(1, samples.size()));
        out[c * bins + static_cast<size_t>(row * columns + column)] =
            how == RegionPool::average ? static_cast<float>(sum / count) : most;
      }
    }
}

}  // namespace graft

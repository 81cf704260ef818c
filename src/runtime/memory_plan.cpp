#include "runtime/memory_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/tensor.hpp"

namespace graft {
namespace {

// Free ranges, by offset and by size; adjacent ones are merged.
class FreeList {
 public:
  size_t end = 0;  // of the block so far

  size_t take(size_t bytes) {
    auto it = by_size_.lower_bound({bytes, 0});
    if (it != by_size_.end()) {  // the smallest that fits
      auto [size, at] = *it;
      erase(at, size);
      if (size > bytes) insert(at + bytes, size - bytes);
      return at;
    }
    // Grow the block, using a free range at its end first.
    size_t at = end;
    if (!by_start_.empty()) {
      auto [start, size] = *by_start_.rbegin();
      if (start + size == end) {
        erase(start, size);
        at = start;
      }
    }
    end = at + bytes;
    return at;
  }
  void give(size_t at, size_t bytes) {
    auto next = by_start_.lower_bound(at);
    if (next != by_start_.end() && at + bytes == next->first) {
      bytes += next->second;
      erase(next->first, next->second);
    }
    auto after = by_start_.lower_bound(at);
    if (after != by_start_.begin()) {
      auto before = std::prev(after);
      if (before->first + before->second == at) {
        at = before->first;
        bytes += before->second;
        erase(before->first, before->second);
      }
    }
    insert(at, bytes);
  }

 private:
  void insert(size_t at, size_t bytes) {
    by_start_.emplace(at, bytes);
    by_size_.emplace(bytes, at);
  }
  void erase(size_t at, size_t bytes) {
    by_start_.erase(at);
    by_size_.erase({bytes, at});
  }
  std::map<size_t, size_t> by_start_;
  std::set<std::pair<size_t, size_t>> by_size_;
};

}  // namespace

size_t plan_memory(std::vector<Lifetime>& values) {
  std::vector<size_t> starts(values.size()), ends(values.size());
  std::iota(starts.begin(), starts.end(), 0);
  std::iota(ends.begin(), ends.end(), 0);
  // Among lifetimes that begin together, place larger ones first: this packs better.
  std::stable_sort(starts.begin(), starts.end(), [&](size_t a, size_t b) {
    return values[a].first != values[b].first ? values[a].first < values[b].first : values[a].bytes > values[b].bytes;
  });
  std::stable_sort(ends.begin(), ends.end(), [&](size_t a, size_t b) { return values[a].last < values[b].last; });
  auto padded = [&](size_t i) {
    return (std::max<size_t>(values[i].bytes, 1) + tensor_alignment - 1) / tensor_alignment * tensor_alignment;
  };
  FreeList list;
  size_t ended = 0;
  for (size_t i : starts) {
    while (ended < ends.size() && values[ends[ended]].last < values[i].first) {
      list.give(values[ends[ended]].offset, padded(ends[ended]));
      ++ended;
    }
    values[i].offset = list.take(padded(i));
  }
  return list.end;
}

}  // namespace graft

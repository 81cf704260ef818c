#include "check/pieces.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "base/text.hpp"
#include "check/interleave.hpp"

namespace graft::testing {
namespace {

// What memory contains, to be compared and put back.
class Snapshot {
 public:
  explicit Snapshot(std::span<const LoopMemory> of) : of_(of) {
    for (const LoopMemory& m : of) bytes_.emplace_back(m.data, m.data + m.bytes);
  }
  void restore() const {
    for (size_t i = 0; i < of_.size(); ++i)
      if (of_[i].bytes) std::memcpy(of_[i].data, bytes_[i].data(), of_[i].bytes);
  }
  // The first memory that is different now.
  const LoopMemory* changed() const {
    for (size_t i = 0; i < of_.size(); ++i)
      if (of_[i].bytes && std::memcmp(of_[i].data, bytes_[i].data(), of_[i].bytes) != 0) return &of_[i];
    return nullptr;
  }
  // Calls f(memory, byte) for each byte that is different now, until it gives false.
  template <class F>
  void each_change(F f) const {
    constexpr size_t block = 256;
    for (size_t m = 0; m < of_.size(); ++m)
      for (size_t from = 0; from < of_[m].bytes; from += block) {
        size_t to = std::min(from + block, of_[m].bytes);
        if (std::memcmp(of_[m].data + from, bytes_[m].data() + from, to - from) == 0) continue;
        for (size_t i = from; i < to; ++i)
          if (of_[m].data[i] != bytes_[m][i] && !f(m, i)) return;
      }
  }
  std::vector<std::vector<uint8_t>> bytes() const { return bytes_; }

 private:
  std::span<const LoopMemory> of_;
  std::vector<std::vector<uint8_t>> bytes_;
};

// As small as a piece may be; some of them larger where there would be too many to compare so much memory with each.
std::vector<std::pair<int64_t, int64_t>> scrambled(const Loop& loop, size_t bytes) {
  const int64_t most = std::clamp<int64_t>((8 << 20) / static_cast<int64_t>(bytes + 1), 24, 128), small = most / 4;
  int64_t step = std::max<int64_t>(1, loop.grain), begin = 0;
  std::vector<std::pair<int64_t, int64_t>> out;
  while (begin < loop.count) {
    int64_t left = loop.count - begin;
    bool many = (left + step - 1) / step > most - static_cast<int64_t>(out.size());
    int64_t size = many && static_cast<int64_t>(out.size()) >= small
                       ? std::max(step, left / (most - static_cast<int64_t>(out.size())) + 1)
                       : step;
    size = std::min(size, left);
    out.emplace_back(begin, begin + size);
    begin += size;
  }
  std::shuffle(out.begin(), out.end(), std::mt19937_64(static_cast<uint64_t>(loop.count)));
  return out;
}

}  // namespace

std::optional<std::string> run_pieces(const Loop& loop, std::span<const LoopMemory> outputs) {
  std::optional<std::string> found;
  Snapshot before(outputs);
  std::vector<std::vector<uint8_t>> result = before.bytes();
  std::vector<std::vector<bool>> written;
  for (const LoopMemory& m : outputs) written.emplace_back(m.bytes);
  size_t bytes = 0;
  for (const LoopMemory& m : outputs) bytes += m.bytes;
  for (auto [begin, end] : scrambled(loop, bytes)) {
    before.restore();
    loop.run(begin, end);
    before.each_change([&](size_t m, size_t i) {
      if (written[m][i])
        found = text("two pieces of a parallel_for write ", outputs[m].packed ? "parts of byte " : "byte ", i, " of ",
                     outputs[m].name);
      written[m][i] = true;
      result[m][i] = outputs[m].data[i];
      return !found;
    });
    if (found) return found;
  }
  for (size_t m = 0; m < outputs.size(); ++m)
    if (outputs[m].bytes) std::memcpy(outputs[m].data, result[m].data(), outputs[m].bytes);
  return found;
}

std::optional<std::string> run_pieces_at_once(const Loop& loop, const SharedMemory& memory) {
  int64_t step = std::max<int64_t>(1, loop.grain), half = std::min(loop.count, step),
          both = std::min(loop.count, 2 * step);
  if (half == both || !memory.allocations || !can_interleave()) {
    loop.run(0, loop.count);
    return std::nullopt;
  }
  auto first = [&] { loop.run(0, half); };
  auto second = [&] { loop.run(half, both); };
  // The stack is compared and put back, too: a sum that all pieces add to may be there.
  std::vector<LoopMemory> compared = memory.outputs;
  compared.push_back({"a variable that it captures by reference", memory.stack_begin,
                      static_cast<size_t>(memory.stack_end - memory.stack_begin)});
  auto page = [](const uint8_t* p) { return reinterpret_cast<uintptr_t>(p) / page_size() * page_size(); };
  std::vector<Pages> watched = memory.watched;
  watched.push_back({reinterpret_cast<void*>(page(memory.stack_begin)),
                     page(memory.stack_end) + page_size() - page(memory.stack_begin)});
  Snapshot before(compared), scratch(memory.scratch);
  uint64_t allocated = memory.allocations();
  first();
  second();
  auto rest = [&] {
    if (both < loop.count) loop.run(both, loop.count);
  };
  // A container that grows cannot be put back.
  if (memory.allocations() != allocated) return rest(), std::nullopt;
  Snapshot expected(compared);
  // Nor what pieces add to elsewhere, such as sums of each thread on the heap.
  before.restore();
  scratch.restore();
  first();
  second();
  if (expected.changed()) return rest(), std::nullopt;
  auto again = [&](Meeting m) {
    before.restore();
    scratch.restore();
    Interleaving how = run_interleaved(watched, first, second, m);
    if (!how.met) second();
    return how;
  };
  size_t writes = again({WriteWatch::Moment::never, 0}).writes;
  std::optional<std::string> found;
  int blocked = 0;
  for (Meeting m : meetings(writes)) {
    Interleaving how = again(m);
    if (const LoopMemory* changed = expected.changed())
      found = text(changed->name,
                   " is different when two pieces of a parallel_for run at the same time; both write memory "
                   "that the pieces share");
    if (found || (blocked += how.blocked) > 2) break;
  }
  expected.restore();
  rest();
  return found;
}

}  // namespace graft::testing

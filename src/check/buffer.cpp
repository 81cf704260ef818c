#include "check/buffer.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "base/error.hpp"

namespace graft::testing {
namespace {
size_t whole_pages(size_t bytes) { return (bytes + page_size() - 1) / page_size() * page_size(); }
}  // namespace

GuardedBuffer::GuardedBuffer(size_t bytes, size_t salt, size_t alignment)
    : bytes_(bytes),
      zone_(whole_pages(std::clamp<size_t>(bytes, 1024, 1 << 19))),
      inner_(whole_pages(std::max<size_t>(bytes, 1))),
      salt_(salt),
      alignment_(alignment),
      offset_(zone_) {
  // Inaccessible guard pages surround the zones: a write far outside ends the process instead of corrupting its memory.
  size_t size = inner_ + 2 * zone_;
  void* p = ::mmap(nullptr, size + 2 * page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw_user("not enough memory for ", size, " bytes");
  memory_ = static_cast<uint8_t*>(p) + page_size();
  if (::mprotect(memory_, size, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(p, size + 2 * page_size());
    throw_user("not enough memory for ", size, " bytes");
  }
}

GuardedBuffer::~GuardedBuffer() {
  before_.open();
  after_.open();
  ::munmap(memory_ - page_size(), inner_ + 2 * zone_ + 2 * page_size());
}

std::pair<size_t, size_t> GuardedBuffer::patterned() const {
  if (placement_ != Placement::between_patterns) return {zone_, zone_ + inner_};
  size_t around = std::clamp<size_t>(bytes_, 1024, zone_);
  return {offset_ - around, std::min(offset_ + bytes_ + around, inner_ + 2 * zone_)};
}

void GuardedBuffer::fill(Poison p, Placement placement) {
  before_.open();
  after_.open();
  pattern_ = p, placement_ = placement;
  switch (placement) {
    case Placement::between_patterns: offset_ = zone_ + (p == Poison::second ? alignment_ : 0); break;
    case Placement::at_the_end: offset_ = (zone_ + inner_ - bytes_) / alignment_ * alignment_; break;
    case Placement::at_the_start: offset_ = zone_; break;
  }
  auto [from, to] = patterned();
  for (size_t i = from; i < to; ++i) begin()[i] = expected(p, i);
  if (placement == Placement::between_patterns) return;
  before_.close(begin(), zone_);
  after_.close(begin() + zone_ + inner_, zone_);
}

std::optional<GuardedBuffer::Damage> GuardedBuffer::damage() {
  auto [from, to] = patterned();
  auto relative = [&](size_t i) { return static_cast<int64_t>(i) - static_cast<int64_t>(offset_); };
  for (size_t i = offset_; i-- > from;)
    if (begin()[i] != expected(pattern_, i)) return Damage{relative(i), false};
  for (size_t i = offset_ + bytes_; i < to; ++i)
    if (begin()[i] != expected(pattern_, i)) return Damage{relative(i), false};
  for (ForbiddenPages* pages : {&before_, &after_})
    if (std::optional<ForbiddenPages::Access> a = pages->open())
      return Damage{relative(a->address - reinterpret_cast<uintptr_t>(begin())), !a->write.value_or(false)};
  return std::nullopt;
}

}  // namespace graft::testing

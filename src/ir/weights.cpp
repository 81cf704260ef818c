#include "ir/weights.hpp"

#include "base/error.hpp"
#include "base/tensor.hpp"

namespace graft {
namespace {

// The format of strings: count, then the offset of every string and of the end, then the characters. Passes the pieces
// to `put`, which returns whether to go on.
template <class Put>
bool string_pieces(const Tensor& t, Put&& put) {
  size_t end = 0;
  auto number = [&](size_t n) {
    if (n > INT32_MAX) throw_unsupported("a constant of strings is larger than the IR allows");
    auto v = static_cast<int32_t>(n);
    return put({reinterpret_cast<const char*>(&v), sizeof v});
  };
  if (!number(static_cast<size_t>(t.size())) || !number(0)) return false;
  for (int64_t i = 0; i < t.size(); ++i)
    if (!number(end += t.text_at(i).size())) return false;
  for (int64_t i = 0; i < t.size(); ++i)
    if (!put(t.text_at(i))) return false;
  return true;
}

std::string_view bytes_of(const Tensor& t) { return {static_cast<const char*>(t.data()), t.bytes()}; }

// Equal constants of different types or shapes are stored once, too.
bool same_bytes(const Tensor& a, const Tensor& b) {
  if ((a.type() == DType::string) != (b.type() == DType::string)) return false;
  if (a.type() != DType::string) return bytes_of(a) == bytes_of(b);
  return a.size() == b.size() && same_content(a.reshaped({a.size()}), b.reshaped({b.size()}));
}

}  // namespace

WeightsPlace NewWeights::add(const Tensor& t) {
  ContentHash own;
  auto each = [&](auto&& put) {
    if (t.type() == DType::string) string_pieces(t, put);
    else put(bytes_of(t));
  };
  each([&](std::string_view bytes) {
    own.add(bytes);
    return true;
  });
  auto [first, last] = seen_.equal_range(own.value());
  for (auto it = first; it != last; ++it)
    if (same_bytes(it->second.first, t)) {
      places_.push_back(it->second.second);
      return places_.back();
    }
  WeightsPlace place{file_.written(), own.size()};
  each([&](std::string_view bytes) {
    file_.write(bytes);
    hash_.add(bytes);
    return true;
  });
  seen_.emplace(own.value(), std::pair(t, place));
  places_.push_back(place);
  return place;
}

WeightsPlace WrittenWeights::add(const Tensor& t) {
  const std::vector<WeightsPlace>& places = made_.places();
  while (next_ < places.size()) {
    // Layers that are kept as text have no constants of their own; theirs are passed over.
    WeightsPlace p = places[next_++];
    std::string_view there = bytes_.substr(p.offset, p.size), left = there;
    if (t.type() != DType::string) {
      if (p.size == t.bytes() && there.data() == t.data()) return p;
      continue;
    }
    auto take = [&](std::string_view piece) {
      if (!left.starts_with(piece)) return false;
      left.remove_prefix(piece.size());
      return true;
    };
    bool same = string_pieces(t, take) && left.empty();
    forget_pages(there.data(), there.size());
    if (same) return p;
  }
  return {SIZE_MAX, SIZE_MAX};
}

void check_weights(std::string_view weights, const WeightsRecord& record) {
  std::string got = text(weights.size(), " bytes");
  if (weights.size() == record.size) {
    constexpr size_t chunk = size_t{8} << 20;
    ContentHash hash;
    for (size_t at = 0; at < weights.size(); at += chunk) {
      std::string_view part = weights.substr(at, chunk);
      hash.add(part);
      forget_pages(part.data(), part.size());
    }
    if (hash.text() == record.hash) return;
    got += " with hash " + hash.text();
  }
  throw Error(ErrorKind::user,
              text("expected weights of ", record.size, " bytes with hash ", record.hash, ", got ", got),
              "convert the model again, or pass the .bin that belongs to this .xml");
}

}  // namespace graft

#include "ir/weights.hpp"

#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

// Count, then the offset of every string and of the end, then the characters.
std::string string_bytes(const Tensor& t) {
  std::string out, texts;
  auto number = [&](size_t n) {
    if (n > INT32_MAX) throw_unsupported("a constant of strings is larger than the IR allows");
    auto v = static_cast<int32_t>(n);
    out.append(reinterpret_cast<const char*>(&v), 4);
  };
  number(static_cast<size_t>(t.size()));
  number(0);
  for (int64_t i = 0; i < t.size(); ++i) {
    texts += t.text_at(i);
    number(texts.size());
  }
  return out + texts;
}

std::string_view bytes_of(const Tensor& t) { return {static_cast<const char*>(t.data()), t.bytes()}; }

}  // namespace

WeightsPlace NewWeights::add(const Tensor& t) {
  WeightsPlace place{};
  if (t.type() == DType::string) {
    auto held = std::make_shared<std::string>(string_bytes(t));
    place = add_view(*held, Tensor::wrap(DType::u8, {static_cast<int64_t>(held->size())}, held->data(), held));
  } else {
    place = add_view(bytes_of(t), t);
  }
  places_.push_back(place);
  return place;
}

WeightsPlace NewWeights::add_view(std::string_view bytes, Tensor keeper) {
  ContentHash own;
  own.add(bytes);
  size_t hash = own.value();
  auto [first, last] = seen_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (it->second.first == bytes) return {it->second.second, bytes.size()};
  WeightsPlace place{file_.written(), bytes.size()};
  file_.write(bytes);
  hash_.add(bytes);
  seen_.emplace(hash, std::pair(bytes, place.offset));
  kept_.push_back(std::move(keeper));
  return place;
}

WeightsPlace WrittenWeights::add(const Tensor& t) {
  std::string held;
  std::string_view bytes = t.type() == DType::string ? held = string_bytes(t) : bytes_of(t);
  const std::vector<WeightsPlace>& places = made_.places();
  while (next_ < places.size()) {
    // Layers that are kept as text have no constants of their own; theirs are passed over.
    WeightsPlace p = places[next_++];
    if (p.size != bytes.size()) continue;
    std::string_view there = bytes_.substr(p.offset, p.size);
    if (there.data() == bytes.data() || (t.type() == DType::string && there == bytes)) return p;
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

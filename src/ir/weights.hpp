// The .bin of an IR, and how an .xml says which .bin belongs to it:
//
//   <net ...> <layers/> <edges/> <rt_info/> <graft><weights size="4096" hash="0f1e2d3c4b5a6978" /></graft> </net>
//
// Not in <rt_info>: other tools carry that along when they write other weights.
#pragma once

#include <graft/app/memory.hpp>
#include <unordered_map>

#include "base/file.hpp"
#include "base/hash.hpp"

namespace graft {

struct WeightsPlace {
  size_t offset, size;
};
struct WeightsRecord {
  uint64_t size = 0;
  std::string hash;
};

// Where the writer of an .xml puts its constants.
class WeightsStore {
 public:
  virtual ~WeightsStore() = default;
  virtual WeightsPlace add(const Tensor& t) = 0;
  virtual WeightsRecord record() const = 0;
};

// A new .bin: constants one after another, identical ones stored once.
class NewWeights : public WeightsStore {
 public:
  explicit NewWeights(OutputFile& file) : file_(file) {}
  WeightsPlace add(const Tensor& t) override;
  WeightsRecord record() const override { return {hash_.size(), hash_.text()}; }
  const std::vector<WeightsPlace>& places() const { return places_; }  // of all constants, in the order of adding

 private:
  OutputFile& file_;
  ContentHash hash_;
  std::unordered_multimap<uint64_t, std::pair<Tensor, WeightsPlace>> seen_;
  std::vector<WeightsPlace> places_;
};

// A .bin that was just written and is now read back: knows where the constants are, and copies nothing.
class WrittenWeights : public WeightsStore {
 public:
  WrittenWeights(const NewWeights& made, std::string_view bytes) : made_(made), bytes_(bytes) {}
  // An impossible place if the constant is not one of those that were written.
  WeightsPlace add(const Tensor& t) override;
  WeightsRecord record() const override { return made_.record(); }

 private:
  const NewWeights& made_;
  std::string_view bytes_;
  size_t next_ = 0;
};

// Throws if these are other weights than recorded. Reads them all, unless the size differs already.
void check_weights(std::string_view weights, const WeightsRecord& record);

}  // namespace graft

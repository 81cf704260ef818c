// Limits by name, from the tables to the options of an application; and the hash of weights.
#include "base/limits.hpp"

#include <gtest/gtest.h>

#include <graft/toolkit.hpp>
#include <set>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/temporary.hpp"

namespace graft {
namespace {

TEST(Limits, EachHasOneName) {
  std::set<std::string_view> names;
  for (const LimitInfo& l : all_limits()) {
    EXPECT_TRUE(names.insert(l.name).second) << l.name;
    EXPECT_EQ(&limit_info(l.value), &l) << l.name;
    EXPECT_LE(Limits().*l.value, l.highest) << l.name;
  }
  EXPECT_EQ(names.size(), sizeof(Limits) / sizeof(uint64_t));
}

TEST(Limits, AreParsed) {
  EXPECT_EQ(parse_limit("nodes=7").first, "nodes");
  EXPECT_EQ(parse_limit("nodes=7").second, 7u);
  EXPECT_EQ(parse_limit("fold-bytes=2G").second, uint64_t{2} << 30);
  EXPECT_EQ(changed_limits({parse_limit("rank=5")}).rank, 5u);
  for (const char* wrong :
       {"", "=", "nodes", "nodes=", "nodes=x", "nodes=0", "nodes=1T", "NODES=5", "fold-bytes=9223372036854775807G"})
    EXPECT_THROW(parse_limit(wrong), Error) << wrong;
}

TEST(Limits, OfAnApplication) {
  TemporaryFolder folder;
  Core core;
  std::string graph = folder.path() + "/m.graph", xml = folder.path() + "/m.xml";
  OutputFile file(graph);
  file.write("graph (x: f32[2]) { return Relu(Relu(Relu(x))) }");
  file.commit();
  core.read_model(graph).save_ir(xml);
  ReadOptions options;
  options.limits = {{"nodes", 5}};
  EXPECT_NO_THROW(core.read_model(xml, "", options));
  options.limits = {{"nodes", 4}};
  try {
    core.read_model(xml, "", options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "the model has more than 4 layers");
    EXPECT_TRUE(is_limit_error(e)) << e.hint();
  }
  options.limits = {{"node", 4}};
  EXPECT_THROW(core.read_model(xml, "", options), Error);
}

std::string bytes(size_t n) {
  std::string out(n, 0);
  uint64_t state = 1;
  for (char& c : out) c = static_cast<char>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  return out;
}
uint64_t hash_of(std::string_view s) {
  ContentHash h;
  h.add(s);
  return h.value();
}

TEST(ContentHash, DoesNotDependOnThePieces) {
  std::string s = bytes(1000);
  for (size_t piece : {1u, 7u, 63u, 64u, 65u, 128u, 999u}) {
    ContentHash h;
    for (size_t at = 0; at < s.size(); at += piece) h.add(std::string_view(s).substr(at, piece));
    EXPECT_EQ(h.value(), hash_of(s)) << piece;
    EXPECT_EQ(h.size(), s.size());
  }
}

TEST(ContentHash, EveryBitAndLengthMatters) {
  std::string s = bytes(300);
  std::set<uint64_t> seen{hash_of(s)};
  size_t changed = 0;  // of the 64 bits of the hash, over all changes
  for (size_t bit = 0; bit < 8 * s.size(); ++bit) {
    std::string t = s;
    t[bit / 8] = static_cast<char>(t[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(seen.insert(hash_of(t)).second) << bit;
    changed += static_cast<size_t>(__builtin_popcountll(hash_of(t) ^ hash_of(s)));
  }
  double mean = static_cast<double>(changed) / (8.0 * 300);
  EXPECT_GT(mean, 31);
  EXPECT_LT(mean, 33);
  for (size_t n = 0; n < 200; ++n) EXPECT_TRUE(seen.insert(hash_of(std::string(n, 0))).second) << n;
  std::string swapped = s.substr(64, 64) + s.substr(0, 64) + s.substr(128);
  EXPECT_TRUE(seen.insert(hash_of(swapped)).second);
}

}  // namespace
}  // namespace graft

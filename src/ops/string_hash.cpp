#include "fingerprints.hpp"
#include "strings.hpp"

namespace graft {
namespace {

struct StringToHashBucket {
  int64_t num_buckets = 1;
  enum Function { murmur, farm, sip } function = farm;
  std::vector<int64_t> key;
  static constexpr std::tuple schema{
      attr("num_buckets", &StringToHashBucket::num_buckets, "number of buckets").at_least(1).required(),
      attr("function", &StringToHashBucket::function,
           "hash function: MurmurHash64A, Fingerprint64 of FarmHash, SipHash-2-4")
          .one_of("murmur", "farm", "sip"),
      attr("key", &StringToHashBucket::key, "two numbers, the key of SipHash")};
};

void hash_bucket_infer(Infer& ctx, const StringToHashBucket& a) {
  strings_expect(ctx);
  if (a.function == StringToHashBucket::sip && a.key.size() != 2)
    fail("expected a key of 2 numbers, got ", a.key.size());
  ctx.output(0, DType::i64, ctx.shape(0));
}
uint64_t hash_of(std::string_view s, const StringToHashBucket& a) {
  switch (a.function) {
    case StringToHashBucket::murmur: return fingerprints::murmur(s, 0xDECAFCAFFE);
    case StringToHashBucket::farm: return fingerprints::Farm::hash(s);
    case StringToHashBucket::sip:
      return fingerprints::sip(s, static_cast<uint64_t>(a.key.at(0)), static_cast<uint64_t>(a.key.at(1)));
  }
  return 0;
}
void hash_bucket_run(Run& ctx, const StringToHashBucket& a) {
  TensorView x = ctx.input(0);
  std::vector<int64_t> buckets;
  for (int64_t i = 0; i < x.size(); ++i)
    buckets.push_back(static_cast<int64_t>(hash_of(string_of(x, i), a) % static_cast<uint64_t>(a.num_buckets)));
  ctx.output(0).assign(buckets);
}

template <StringToHashBucket::Function function>
Value tf_hash_bucket(Builder& layer) {
  constexpr std::string_view names[] = {"murmur", "farm", "sip"};
  return layer.op("StringToHashBucket@graft", {layer.input(0)},
                  {{"num_buckets", layer.get<int64_t>("num_buckets")},
                   {"function", std::string(names[function])},
                   {"key", layer.get<std::vector<int64_t>>("key", {})}});
}

}  // namespace

Definitions define_string_hash() {
  return op<StringToHashBucket>("StringToHashBucket", "graft")
      .doc("The hash of each string modulo a number of buckets")
      .inputs("data")
      .infer(hash_bucket_infer)
      .linear()
      .reference(hash_bucket_run)
      .import(tensorflow("StringToHashBucket").expand(tf_hash_bucket<StringToHashBucket::murmur>))
      .import(tensorflow("StringToHashBucketFast").expand(tf_hash_bucket<StringToHashBucket::farm>))
      .import(tensorflow("StringToHashBucketStrong").expand(tf_hash_bucket<StringToHashBucket::sip>));
}

}  // namespace graft

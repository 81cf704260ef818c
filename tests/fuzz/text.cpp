// Any bytes as the textual form: parsed, completed, printed and parsed again.
#include "graph/text.hpp"

#include "common.hpp"
#include "graph/verify.hpp"
#include "infer/complete.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return graft::fuzz([&] {
    graft::Graph g = graft::parse_graph(std::string_view(reinterpret_cast<const char*>(data), size));
    graft::Limits limits;
    limits.fold_value = size_t{1} << 16, limits.fold_bytes = size_t{1} << 20;
    graft::complete(g, graft::fuzz_registry(), graft::Extras::refuse, limits);
    graft::verify(g);
    std::string once = graft::print(g);
    graft::Graph again = graft::parse_graph(once);
    graft::complete(again, graft::fuzz_registry(), graft::Extras::refuse, limits);
    if (graft::print(again) != once) __builtin_trap();
  });
}

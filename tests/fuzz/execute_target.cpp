// libFuzzer over the executor: FUZZ_FORMAT models, changed as models, imported and run on two devices.
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "execute.hpp"
#include "mutate.hpp"

namespace {
using namespace graft::fuzzing;
constexpr Format format = Format::FUZZ_FORMAT;

// Models that were seen lately, as a source of layers and attributes.
std::vector<Document>& seen() {
  static auto* list = new std::vector<Document>;
  return *list;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Counts counts{};
  if (auto f = execute(format, {reinterpret_cast<const char*>(data), size}, counts)) {
    std::fprintf(stderr, "ERROR: %s: %s\n", f->kind.c_str(), f->message.c_str());
    __builtin_trap();
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  try {
    Document d = parse(format, {reinterpret_cast<const char*>(data), size});
    Random r(seed);
    if (seen().size() < 256) seen().push_back(d);
    else r.pick(seen()) = d;
    mutate(d, r, seen());
    std::string bytes = print(d);
    if (bytes.size() > max_size) return size;
    std::memcpy(data, bytes.data(), bytes.size());
    return bytes.size();
  } catch (const graft::Error&) {
    return size;
  }
}

// Any bytes as an IR's XML, behind a zero byte its .bin, else over a fixed one: read, verified, written as text.
#include "ir/ir.hpp"

#include "common.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string weights = [] {
    std::string w(256, '\0');
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<char>(i % 7);
    return w;
  }();
  return graft::fuzz([&] {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    size_t zero = bytes.find('\0');
    std::string_view xml = bytes.substr(0, zero), bin = zero == bytes.npos ? weights : bytes.substr(zero + 1);
    graft::looks_like_ir(xml);
    graft::Limits limits;
    limits.fold_value = size_t{1} << 16, limits.fold_bytes = size_t{1} << 20;
    graft::Graph g = graft::read_ir(xml, bin, nullptr, graft::fuzz_registry(), limits);
    graft::verify(g);
    graft::print(g);
  });
}

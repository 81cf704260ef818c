// Any bytes in the text format of protobuf.
#include "readers/proto_text.hpp"

#include "common.hpp"

namespace {

void look_at(const graft::ProtoNode& node) {
  (void)node.integer();
  (void)node.real();
  (void)node.boolean();
  for (const graft::ProtoNode& f : node.fields) look_at(f);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return graft::fuzz([&] { look_at(graft::parse_proto_text({reinterpret_cast<const char*>(data), size}, "fuzz")); });
}

// Any bytes as a checkpoint's index, over a fixed file of data: every tensor is read.
#include "readers/tensorflow/tensor_bundle.hpp"

#include "base/file.hpp"
#include "base/temporary.hpp"
#include "base/tensor.hpp"
#include "common.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const graft::TemporaryFolder* folder = [] {
    auto* f = new graft::TemporaryFolder;
    graft::OutputFile shard(f->path() + "/v.data-00000-of-00001");
    shard.write(std::string(256, 'x'));
    shard.commit();
    return f;
  }();
  return graft::fuzz([&] {
    graft::TensorBundle bundle({reinterpret_cast<const char*>(data), size}, folder->path(), "v");
    for (const std::string& name : bundle.names())
      graft::fuzz([&] {
        graft::Tensor t = bundle.tensor(name);
        (void)t.clone();  // every byte of it
      });
  });
}

// Any bytes as a Kaldi model, read and imported for whole utterances and for chunks; and as an archive of matrices.
#include "readers/kaldi/kaldi.hpp"

#include "common.hpp"
#include "graph/verify.hpp"
#include "import/importer.hpp"
#include "readers/kaldi/archive.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  graft::fuzz([&] {
    graft::KaldiArchive archive(bytes, "fuzz");
    while (archive.next()) archive.value();
  });
  graft::looks_like_kaldi(bytes);
  for (bool streaming : {false, true})
    graft::fuzz([&] {
      graft::ImportOptions options;
      options.read.streaming = streaming;
      options.limits.fold_value = size_t{1} << 16, options.limits.fold_bytes = size_t{1} << 20;
      graft::Imported m =
          graft::import_model(graft::read_kaldi(bytes, "fuzz", options.read), graft::fuzz_registry(), options);
      graft::verify(m.graph);
    });
  return 0;
}

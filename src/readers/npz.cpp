#include "readers/npz.hpp"

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "readers/npy.hpp"
#include "readers/zip.hpp"

namespace graft {

std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& path, const Limits& limits) {
  return with_context(
      [&] {
        auto file = MappedFile::open(path);
        ZipArchive archive(file->chars(), file, limits);
        std::vector<std::pair<std::string, Tensor>> out;
        for (const ZipEntry& e : archive.entries()) {
          ZipContent c = archive.content(e);
          std::string name = e.name;
          if (name.ends_with(".npy")) name.resize(name.size() - 4);
          out.emplace_back(std::move(name), read_npy(c.bytes, c.keeper, limits));
        }
        return out;
      },
      [&] { return text("reading '", path, "'"); });
}

}  // namespace graft

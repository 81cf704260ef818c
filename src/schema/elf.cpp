#include "schema/elf.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/error.hpp"

namespace graft {
namespace {

using Header = ElfW(Ehdr);
using ProgramHeader = ElfW(Phdr);
using Dynamic = ElfW(Dyn);

#if defined(__x86_64__)
constexpr auto machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr auto machine = EM_AARCH64;
#else
constexpr auto machine = EM_NONE;  // not checked
#endif

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  ElfLibrary read() {
    header();
    for (uint64_t i = 0; i < h_.e_phnum; ++i) segments_.push_back(at<ProgramHeader>(h_.e_phoff + i * h_.e_phentsize));
    ElfLibrary out;
    const ProgramHeader* dynamic = nullptr;
    bool loads = false;
    for (const ProgramHeader& p : segments_) {
      if (p.p_type != PT_LOAD && p.p_type != PT_DYNAMIC) continue;
      require(p.p_offset, p.p_filesz);
      if (p.p_memsz < p.p_filesz || p.p_vaddr > UINT64_MAX - p.p_memsz)
        throw_user("the shared library is corrupt: a segment of ", p.p_filesz, " bytes has ", p.p_memsz, " in memory");
      if (p.p_type == PT_DYNAMIC) dynamic = &p;
      else loads = true;
      if (p.p_type == PT_LOAD && (p.p_flags & PF_X)) out.code.push_back({p.p_vaddr, p.p_vaddr + p.p_memsz});
    }
    if (!loads || !dynamic) throw_user("the shared library is corrupt: it has nothing to load");
    read_dynamic(*dynamic, out);
    return out;
  }

 private:
  // The system that a library of another format is for; null if the format tells none.
  const char* other_system() const {
    std::string_view begin = file_.substr(0, 4);
    if (begin.starts_with("MZ")) return "Windows";
    for (std::string_view magic : {"\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"})
      if (begin == magic) return "macOS";
    return nullptr;
  }
  void header() {
    if (const char* system = other_system())
      throw Error(ErrorKind::user, text("expected a shared library for Linux, got one for ", system),
                  "build the extension here from its source: graft build");
    if (file_.size() < EI_NIDENT || std::memcmp(file_.data(), ELFMAG, SELFMAG) != 0)
      throw_user("expected a shared library, got ", file_.empty() ? "an empty file" : "a file of another format");
    auto kind = [&](int i) { return static_cast<unsigned char>(file_[static_cast<size_t>(i)]); };
    if (kind(EI_CLASS) != (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        kind(EI_DATA) != (std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB))
      throw_user("the shared library is for another kind of machine");
    h_ = at<Header>(0);
    if (machine != EM_NONE && h_.e_machine != machine)
      throw_user("the shared library is for another machine (ELF machine ", h_.e_machine, ", expected ", +machine, ")");
    if (h_.e_type != ET_DYN)
      throw_user("expected a shared library, got ",
                 h_.e_type == ET_REL ? "an object file" : "another kind of ELF file");
    if (h_.e_phentsize != sizeof(ProgramHeader))
      throw_user("the shared library is corrupt: its headers have no segments");
    require(h_.e_phoff, uint64_t{h_.e_phnum} * h_.e_phentsize);
    // They are at the end of a file, so that a part of it lacks them.
    if (h_.e_shoff) require(h_.e_shoff, uint64_t{h_.e_shnum} * h_.e_shentsize);
  }

  void require(uint64_t offset, uint64_t bytes) const {
    if (offset > file_.size() || bytes > file_.size() - offset)
      throw_user("the shared library is truncated: its headers mention byte ",
                 offset + std::max<uint64_t>(bytes, 1) - 1, ", the file has ", file_.size());
  }
  template <class T>
  T at(uint64_t offset) const {
    require(offset, sizeof(T));
    T out;
    std::memcpy(&out, file_.data() + offset, sizeof out);
    return out;
  }
  // The place in the file of an address.
  std::optional<uint64_t> offset_of(uint64_t address) const {
    for (const ProgramHeader& p : segments_)
      if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
        return p.p_offset + (address - p.p_vaddr);
    return std::nullopt;
  }

  void read_dynamic(const ProgramHeader& segment, ElfLibrary& out) const {
    std::vector<Dynamic> entries;
    uint64_t names = 0, names_size = 0;
    for (uint64_t i = 0; i + sizeof(Dynamic) <= segment.p_filesz; i += sizeof(Dynamic)) {
      auto d = at<Dynamic>(segment.p_offset + i);
      if (d.d_tag == DT_NULL) break;
      entries.push_back(d);
      if (d.d_tag == DT_STRTAB) names = d.d_un.d_ptr;
      if (d.d_tag == DT_STRSZ) names_size = d.d_un.d_val;
      for (auto tag : {DT_STRTAB, DT_SYMTAB, DT_HASH, static_cast<int>(DT_GNU_HASH), DT_RELA, DT_REL, DT_JMPREL})
        if (d.d_tag == tag && !offset_of(d.d_un.d_ptr))
          throw_user("the shared library is corrupt: a table of its dynamic section is not in the file");
    }
    std::optional<uint64_t> table = offset_of(names);
    if (!table) throw_user("the shared library is corrupt: it has no table of strings");
    require(*table, names_size);
    std::string_view strings = file_.substr(*table, names_size);
    auto name = [&](uint64_t offset) {
      if (offset >= strings.size() || strings.find('\0', offset) == strings.npos)
        throw_user("the shared library is corrupt: a name is not in its table of strings");
      return std::string(strings.data() + offset);
    };
    for (const Dynamic& d : entries) {
      if (d.d_tag == DT_NEEDED) out.needed.push_back(name(d.d_un.d_val));
      if (d.d_tag != DT_RUNPATH && d.d_tag != DT_RPATH) continue;
      std::string all = name(d.d_un.d_val);
      for (size_t begin = 0; begin <= all.size();) {
        size_t end = std::min(all.find(':', begin), all.size());
        if (end > begin) out.runpaths.push_back(all.substr(begin, end - begin));
        begin = end + 1;
      }
    }
  }

  std::string_view file_;
  Header h_{};
  std::vector<ProgramHeader> segments_;
};

}  // namespace

bool ElfLibrary::is_code(uint64_t address) const {
  return std::any_of(code.begin(), code.end(), [&](const Segment& s) { return s.begin <= address && address < s.end; });
}

ElfLibrary read_elf(std::string_view file) { return Reader(file).read(); }

}  // namespace graft

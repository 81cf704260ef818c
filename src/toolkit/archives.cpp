#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <graft/archives.hpp>

#include "base/request.hpp"
#include "base/text.hpp"
#include "readers/kaldi_archive.hpp"
#include "toolkit/border.hpp"

namespace graft {
namespace {

// "ark,t:file": the kinds and options before the colon.
struct TableName {
  bool script = false, as_text = false;
  std::string file;

  explicit TableName(const std::string& table) {
    size_t colon = table.find(':');
    if (!is_archive_name(table)) throw RequestError(text("expected ark:FILE or scp:FILE, got '", table, "'"));
    file = trim(table.substr(colon + 1));
    for (std::string_view word : split(std::string_view(table).substr(0, colon), ',')) {
      if (word == "scp") script = true;
      else if (word == "t") as_text = true;
      // Kaldi's hints about order and access, and permission to leave utterances out, change nothing here.
      else if (word != "ark" && word != "b" && word != "s" && word != "ns" && word != "cs" && word != "ncs" &&
               word != "o" && word != "no" && word != "f" && word != "nf" && word != "p" && word != "np" &&
               word != "bg")
        throw RequestError(text("unknown option '", word, "' in '", table, "'"));
    }
    if (file.empty()) throw RequestError(text("expected a file name in '", table, "'"));
    if (file.ends_with('|') || file.starts_with('|'))
      throw RequestError(text("'", table, "': commands are not run"),
                         "connect the command by a pipe of the shell, and use '-' as the file");
  }
};

std::string read_standard_input() {
  std::string out;
  char block[65536];
  for (size_t n; (n = std::fread(block, 1, sizeof block, stdin)) > 0;) out.append(block, n);
  return out;
}

// Past the stream, which an application may have made safe for terminals.
void write_standard_output(std::string_view bytes) {
  std::fflush(stdout);
  while (!bytes.empty()) {
    ssize_t n = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) throw Error(ErrorKind::io, "cannot write to the standard output");
    bytes.remove_prefix(n > 0 ? static_cast<size_t>(n) : 0);
  }
}

}  // namespace

bool is_archive_name(std::string_view name) {
  size_t colon = name.find(':');
  if (colon == name.npos) return false;
  bool table = false;
  for (std::string_view word : split(name.substr(0, colon), ',')) {
    if (word.size() > 3) return false;
    table |= word == "ark" || word == "scp";
  }
  return table;
}

// ---- reading ----

struct ArchiveReader::State {
  TableName name;
  Limits limits;
  std::shared_ptr<const MappedFile> file;
  std::string input;  // from the standard input
  std::optional<KaldiArchive> archive;
  std::vector<std::pair<std::string, std::string>> places;  // of a script file: name and "file:offset"
  size_t place = 0;
  std::string key;
  Tensor last;  // of an archive, read already
  bool listed = false;
  std::map<std::string, Tensor> all;
  std::map<std::string, std::string> by_name;
  std::shared_ptr<const MappedFile> open;  // the file that a script named last

  State(const std::string& table, const LimitChanges& changes) : name(table), limits(changed_limits(changes)) {
    std::string_view bytes;
    if (name.file == "-") input = read_standard_input(), bytes = input;
    else {
      file = MappedFile::open(name.file);
      bytes = file->chars();
    }
    if (!name.script) archive.emplace(bytes, name.file, limits);
    else read_script(bytes);
  }

  void read_script(std::string_view bytes) {
    size_t number = 0;
    for (std::string_view line : split(bytes, '\n')) {
      ++number;
      line = trim(line);
      if (line.empty()) continue;
      size_t blank = line.find_first_of(" \t");
      if (blank == line.npos) throw_user(name.file, ':', number, ": expected a name and a file, got '", line, "'");
      places.emplace_back(line.substr(0, blank), trim(line.substr(blank)));
    }
  }

  Tensor at_place(const std::string& where) {
    if (where.ends_with('|')) throw_unsupported("'", where, "': commands are not run, which");
    if (where.ends_with(']')) throw_unsupported("'", where, "': a range of rows");
    std::string path = where;
    size_t offset = 0, colon = where.rfind(':');
    if (colon != where.npos)
      if (auto v = parse_int(std::string_view(where).substr(colon + 1)); v && *v >= 0)
        path = where.substr(0, colon), offset = static_cast<size_t>(*v);
    if (!open || open->path() != path) open = MappedFile::open(path);
    std::string_view bytes = open->chars();
    if (offset >= bytes.size()) throw_user("'", where, "': the file has only ", bytes.size(), " bytes");
    return read_kaldi_value(bytes.substr(offset), path, limits);
  }
};

ArchiveReader::ArchiveReader(const std::string& table, const LimitChanges& limits)
    : s_(at_border([&] { return std::make_unique<State>(table, limits); })) {}
ArchiveReader::~ArchiveReader() = default;
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;

bool ArchiveReader::next() {
  return at_border([&] {
    if (!s_->archive) {
      if (s_->place >= s_->places.size()) return false;
      s_->key = s_->places[s_->place++].first;
      return true;
    }
    std::optional<std::string> key = s_->archive->next();
    if (!key) return false;
    s_->key = *key;
    // What follows cannot be found if this one is broken.
    s_->last = s_->archive->value();
    return true;
  });
}
const std::string& ArchiveReader::key() const { return s_->key; }
Tensor ArchiveReader::value() {
  return at_border([&] { return s_->archive ? s_->last : s_->at_place(s_->places.at(s_->place - 1).second); });
}

Tensor ArchiveReader::find(const std::string& key) {
  return at_border([&] {
    if (!s_->listed) {
      s_->listed = true;
      for (const auto& [name, place] : s_->places) s_->by_name.emplace(name, place);
      while (s_->archive) {
        std::optional<std::string> name = s_->archive->next();
        if (!name) break;
        s_->all.emplace(*name, s_->archive->value());
      }
    }
    if (auto it = s_->all.find(key); it != s_->all.end()) return it->second;
    if (auto it = s_->by_name.find(key); it != s_->by_name.end()) return s_->at_place(it->second);
    return Tensor();
  });
}

// ---- writing ----

struct ArchiveWriter::State {
  explicit State(const std::string& table) : name(table) {}
  TableName name;
  std::optional<OutputFile> file;
};

ArchiveWriter::ArchiveWriter(const std::string& table)
    : s_(at_border([&] {
        auto s = std::make_unique<State>(table);
        if (s->name.script) throw RequestError(text("expected ark:FILE to write to, got '", table, "'"));
        if (s->name.file != "-") s->file.emplace(s->name.file);
        return s;
      })) {}
ArchiveWriter::~ArchiveWriter() = default;
ArchiveWriter::ArchiveWriter(ArchiveWriter&&) noexcept = default;

void ArchiveWriter::write(const std::string& key, const Tensor& value) {
  at_border([&] {
    std::string entry = kaldi_entry(key, value, s_->name.as_text);
    if (s_->file) return s_->file->write(entry);
    write_standard_output(entry);
  });
}
void ArchiveWriter::close() {
  at_border([&] {
    if (s_->file) s_->file->commit();
  });
}

}  // namespace graft

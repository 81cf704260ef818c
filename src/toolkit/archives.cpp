#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <graft/app/archives.hpp>

#include "base/request.hpp"
#include "base/text.hpp"
#include "readers/kaldi/archive.hpp"
#include "toolkit/errors.hpp"

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

// "2:5" of a range of a script file: both ends are included; ":" means all. The last row may be missing by a few
// frames, as for Kaldi's programs, whose tools disagree about the number of frames of a recording.
std::pair<int64_t, int64_t> bounds_of(std::string_view range, int64_t size, int64_t tolerance,
                                      const std::string& where) {
  range = trim(range);
  if (range.empty() || range == ":") return {0, size - 1};
  size_t colon = range.find(':');
  auto first = parse_int(trim(range.substr(0, colon)));
  auto last = colon == range.npos ? first : parse_int(trim(range.substr(colon + 1)));
  if (!first || !last || *first < 0 || *last < *first)
    throw_user("'", where, "': expected a range FIRST:LAST, got '", range, "'");
  if (*first >= size || *last >= size + tolerance)
    throw_user("'", where, "': expected a range within 0:", size - 1, ", got ", *first, ':', *last);
  return {*first, std::min(*last, size - 1)};
}

// Rows, or rows and columns.
Tensor part_of(const Tensor& t, std::string_view range, const std::string& where) {
  std::vector<std::string_view> parts = split(range, ',');
  if (parts.empty() || parts.size() > t.dims().size())
    throw_user("'", where, "': expected ranges of ", t.dims().size(),
               t.dims().size() == 1 ? " dimension" : " dimensions", ", got '", range, "'");
  bool matrix = t.dims().size() == 2;
  int64_t columns = matrix ? t.dims()[1] : 1;
  auto [top, bottom] = bounds_of(parts[0], t.dims()[0], 3, where);
  auto [left, right] = parts.size() > 1 ? bounds_of(parts[1], columns, 0, where) : std::pair{int64_t{0}, columns - 1};
  int64_t width = right - left + 1;
  std::vector<int64_t> dims{bottom - top + 1};
  if (matrix) dims.push_back(width);
  Tensor out(DType::f32, dims);
  for (int64_t r = top; r <= bottom; ++r)
    std::copy_n(t.data<float>() + r * columns + left, width, out.data<float>() + (r - top) * width);
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
    std::string path = where;
    std::string_view range;
    if (size_t open_bracket = where.rfind('['); where.ends_with(']') && open_bracket != where.npos) {
      range = std::string_view(where).substr(open_bracket + 1, where.size() - open_bracket - 2);
      path.resize(open_bracket);
    }
    size_t offset = 0, colon = path.rfind(':');
    if (colon != path.npos)
      if (auto v = parse_int(std::string_view(path).substr(colon + 1)); v && *v >= 0)
        offset = static_cast<size_t>(*v), path.resize(colon);
    if (!open || open->path() != path) open = MappedFile::open(path);
    std::string_view bytes = open->chars();
    if (offset >= bytes.size()) throw_user("'", where, "': the file has only ", bytes.size(), " bytes");
    Tensor t = read_kaldi_named(bytes.substr(offset), path, limits);
    return range.empty() ? t : part_of(t.to(DType::f32), range, where);
  }
};

ArchiveReader::ArchiveReader(const std::string& table, const LimitChanges& limits)
    : s_(as_errors([&] { return std::make_unique<State>(table, limits); })) {}
ArchiveReader::~ArchiveReader() = default;
ArchiveReader::ArchiveReader(ArchiveReader&&) noexcept = default;

bool ArchiveReader::next() {
  return as_errors([&] {
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
  return as_errors([&] { return s_->archive ? s_->last : s_->at_place(s_->places.at(s_->place - 1).second); });
}

Tensor ArchiveReader::find(const std::string& key) {
  return as_errors([&] {
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
    : s_(as_errors([&] {
        auto s = std::make_unique<State>(table);
        if (s->name.script) throw RequestError(text("expected ark:FILE to write to, got '", table, "'"));
        if (s->name.file != "-") s->file.emplace(s->name.file);
        return s;
      })) {}
ArchiveWriter::~ArchiveWriter() = default;
ArchiveWriter::ArchiveWriter(ArchiveWriter&&) noexcept = default;

void ArchiveWriter::write(const std::string& key, const Tensor& value) {
  as_errors([&] {
    std::string entry = kaldi_entry(key, value, s_->name.as_text);
    if (s_->file) return s_->file->write(entry);
    write_standard_output(entry);
  });
}
void ArchiveWriter::close() {
  as_errors([&] {
    if (s_->file) s_->file->commit();
  });
}

}  // namespace graft

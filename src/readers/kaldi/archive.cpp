#include "readers/kaldi/archive.hpp"

#include <algorithm>
#include <charconv>

#include "base/tensor.hpp"

namespace graft {
namespace {

using namespace std::string_view_literals;

bool is_archive_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

std::optional<std::string> KaldiArchive::next() {
  if (pending_) value();
  while (at_ < bytes_.size() && is_archive_blank(bytes_[at_])) ++at_;
  if (at_ >= bytes_.size()) return std::nullopt;
  constexpr size_t longest = 4096;
  size_t begin = at_;
  while (at_ < bytes_.size() && !is_archive_blank(bytes_[at_]) && bytes_[at_] != '\0') ++at_;
  if (at_ >= bytes_.size() || bytes_[at_] == '\0' || at_ == begin || at_ - begin > longest)
    throw_user(file_, ": expected the name of an utterance and a blank at byte ", begin);
  key_ = bytes_.substr(begin, at_ - begin);
  ++at_;
  pending_ = true;
  return key_;
}

Tensor KaldiArchive::value() {
  pending_ = false;
  return with_context(
      [&] {
        std::string_view rest = bytes_.substr(at_);
        bool binary = rest.starts_with("\0B"sv);
        // A text entry ends with its bracket: the lines of the message count from the entry.
        KaldiStream in(rest, file_, limits_);
        Tensor t = in.tensor();
        at_ += in.position();
        if (!binary)
          while (at_ < bytes_.size() && is_archive_blank(bytes_[at_])) ++at_;
        return t;
      },
      [&] { return text("reading entry '", key_, "' at byte ", at_, " of ", file_); });
}

Tensor read_kaldi_value(std::string_view bytes, const std::string& file, const Limits& limits) {
  return KaldiStream(bytes, file, limits).tensor();
}

Tensor read_kaldi_named(std::string_view bytes, const std::string& file, const Limits& limits) {
  KaldiStream in(bytes, file, limits);
  in.hide_content();
  return in.tensor();
}

Tensor read_kaldi_first(const std::string& path, const Limits& limits) {
  auto file = MappedFile::open(path);
  std::string_view bytes = file->chars();
  if (bytes.starts_with("\0B"sv) || trim(bytes.substr(0, 64)).starts_with('['))
    return read_kaldi_value(bytes, path, limits);
  KaldiArchive archive(bytes, path, limits);
  if (!archive.next()) throw_user("the archive '", path, "' has no entries");
  return archive.value();
}

Tensor read_text_rows(const std::string& path, const Limits& limits) {
  auto file = MappedFile::open(path);
  if (file->chars().find('[') != std::string_view::npos) return read_kaldi_first(path, limits);
  std::string content = text("[\n", file->chars(), "]");
  return read_kaldi_value(content, path, limits);
}

std::string kaldi_entry(const std::string& key, const Tensor& value, bool as_text) {
  Tensor t = value.to(DType::f32);
  const std::vector<int64_t>& dims = t.dims();
  if (dims.size() != 1 && dims.size() != 2)
    throw_user("expected a vector or a matrix to write to an archive, got shape ", Shape::of(dims));
  const auto* v = static_cast<const float*>(t.data());
  std::string out = key;
  if (!as_text) {
    auto number = [&](int64_t n) {
      if (n > INT32_MAX) throw_user("a matrix of ", n, " rows or columns is too large for an archive");
      auto i = static_cast<int32_t>(n);
      out += '\4';
      out.append(reinterpret_cast<const char*>(&i), sizeof i);
    };
    out += " \0B"sv;
    out += dims.size() == 2 ? "FM " : "FV ";
    for (int64_t d : dims) number(d);
    out.append(reinterpret_cast<const char*>(v), t.bytes());
    return out;
  }
  out += "  [";
  int64_t rows = dims.size() == 2 ? dims[0] : 1, columns = dims.back();
  for (int64_t r = 0; r < rows; ++r) {
    out += dims.size() == 2 ? "\n  " : " ";
    for (int64_t c = 0; c < columns; ++c) {
      char digits[32];
      auto end = std::to_chars(digits, digits + sizeof digits, v[r * columns + c]).ptr;
      out.append(digits, end);
      out += ' ';
    }
  }
  return out + "]\n";
}

}  // namespace graft

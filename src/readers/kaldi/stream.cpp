#include "readers/kaldi/stream.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

namespace graft {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

// Tokens before lists of integers. A vector of real numbers says so in binary files.
bool is_int_list(std::string_view token) {
  return token == "Context" || token == "Sizes" || token == "ColumnMap" || token == "Reorder" ||
         token == "TimeOffsets" || token == "RequiredTimeOffsets" || token == "Splice" || token == "Copy" ||
         token == "BlockSoftmax";
}
bool is_pair_list(std::string_view token) { return token == "Offsets"; }

}  // namespace

KaldiStream::KaldiStream(std::string_view bytes, std::string file, const Limits& limits)
    : bytes_(bytes), file_(std::move(file)), limits_(limits) {
  using namespace std::string_view_literals;
  binary_ = bytes.starts_with("\0B"sv);
  if (binary_) at_ = 2;
}

std::string KaldiStream::where() const {
  if (binary_) return text(file_, ": byte ", at_);
  auto end = bytes_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, bytes_.size()));
  return text(file_, ':', 1 + std::count(bytes_.begin(), end, '\n'));
}

void KaldiStream::skip_blanks() {
  while (at_ < bytes_.size() && is_blank(bytes_[at_])) ++at_;
}

bool KaldiStream::at_end() {
  skip_blanks();
  return at_ >= bytes_.size();
}

// Whether a whole token begins here. In binary files other bytes may look like the beginning of one.
bool KaldiStream::token_at(size_t position) const {
  constexpr size_t longest = 100;
  if (position >= bytes_.size() || bytes_[position] != '<') return false;
  size_t i = position + 1, first = i;
  if (i < bytes_.size() && (bytes_[i] == '/' || bytes_[i] == '!')) ++i, first = i;
  while (i < bytes_.size() && i - position < longest && is_name(bytes_[i])) ++i;
  return i > first && i < bytes_.size() && bytes_[i] == '>' && (i + 1 == bytes_.size() || is_blank(bytes_[i + 1]));
}

std::string_view KaldiStream::peek_token() {
  skip_blanks();
  if (!token_at(at_)) return {};
  return bytes_.substr(at_ + 1, bytes_.find('>', at_) - at_ - 1);
}

std::string KaldiStream::token() {
  std::string out(peek_token());
  if (out.empty()) {
    if (at_end()) broken("expected a token, got the end of the file");
    broken("expected a token such as <Dim>, got ", found());
  }
  at_ += out.size() + 2;
  if (at_ < bytes_.size()) ++at_;  // the blank behind it: what follows may be binary
  return out;
}

void KaldiStream::expect(std::string_view name) {
  std::string_view next = peek_token();
  if (next == name) return void(token());
  if (next.empty()) broken("expected the token <", name, ">, got ", at_end() ? "the end of the file" : "a value");
  broken("expected the token <", name, ">, got <", next, ">");
}

std::string KaldiStream::word() {
  skip_blanks();
  size_t begin = at_;
  constexpr size_t longest = 4096;
  while (at_ < bytes_.size() && !is_blank(bytes_[at_])) {
    if (at_ - begin > longest) broken("expected a name of at most ", longest, " characters");
    ++at_;
  }
  if (begin == at_) broken("expected a name, got the end of the file");
  std::string out(bytes_.substr(begin, at_ - begin));
  if (at_ < bytes_.size()) ++at_;
  return out;
}

std::string_view KaldiStream::line() {
  size_t end = std::min(bytes_.find('\n', at_), bytes_.size());
  std::string_view out = bytes_.substr(at_, end - at_);
  at_ = std::min(end + 1, bytes_.size());
  return out.ends_with('\r') ? out.substr(0, out.size() - 1) : out;
}

std::string_view KaldiStream::take(size_t count, std::string_view what) {
  if (count > bytes_.size() - at_)
    broken("expected ", count, " bytes of ", what, ", got ", bytes_.size() - at_, ": is the file complete?");
  std::string_view out = bytes_.substr(at_, count);
  at_ += count;
  return out;
}

template <class T>
T KaldiStream::raw(std::string_view what) {
  return kaldi_load<T>(take(sizeof(T), what).data());
}

// An integer with its size in front.
int64_t KaldiStream::sized_int(std::string_view what) {
  int size = raw<int8_t>(what);
  if (size != 4) broken("expected an integer of 4 bytes for ", what, ", got size ", size);
  return raw<int32_t>(what);
}

KaldiItem KaldiStream::item(std::string_view name) {
  skip_blanks();
  if (at_ >= bytes_.size()) broken("expected a value of <", name, ">, got the end of the file");
  return binary_ ? binary_item(name) : text_item(name);
}

int64_t KaldiStream::integer(std::string_view name) {
  skip_blanks();
  if (binary_) return sized_int(text('<', name, '>'));
  double v = at_ < bytes_.size() ? text_number() : 0.5;
  if (v != std::floor(v) || std::fabs(v) > 1e9) broken("expected an integer for <", name, ">");
  return static_cast<int64_t>(v);
}

bool KaldiStream::skip_integer() {
  skip_blanks();
  if (binary_) {
    if (bytes_.size() - at_ < 5 || bytes_[at_] != 4) return false;
    at_ += 5;
    return true;
  }
  double v = 0;
  const char* end = scan_number(v);
  if (!end || v != std::floor(v) || std::fabs(v) > 1e9) return false;
  at_ = static_cast<size_t>(end - bytes_.data());
  return true;
}

// The length of the list that begins here, if one ends where another token begins.
std::optional<size_t> KaldiStream::list_length(bool pairs) const {
  if (bytes_.size() - at_ < 5 || bytes_[at_] != 4) return std::nullopt;
  int64_t count = kaldi_load<int32_t>(bytes_.data() + at_ + 1);
  size_t cell = pairs ? 8 : 4, space = bytes_.size() - at_ - 5;
  if (count < 0 || static_cast<uint64_t>(count) > space / cell) return std::nullopt;
  if (!token_at(at_ + 5 + static_cast<size_t>(count) * cell)) return std::nullopt;
  return static_cast<size_t>(count) * (pairs ? 2 : 1);
}

KaldiItem KaldiStream::binary_item(std::string_view name) {
  KaldiItem out;
  std::string_view next = bytes_.substr(at_, 3);
  if (next.size() == 3 && (next[1] == 'M' || next[1] == 'V') && (next[0] == 'F' || next[0] == 'D') && next[2] == ' ') {
    out.kind = KaldiItem::tensor;
    out.data = tensor();
    return out;
  }
  if (next[0] == 'T' || next[0] == 'F') {
    ++at_;
    out.kind = KaldiItem::flag;
    out.value = next[0] == 'T';
    return out;
  }
  int size = static_cast<signed char>(next[0]);
  std::optional<size_t> length;
  bool listed = is_int_list(name) || is_pair_list(name);
  bool one = token_at(at_ + 5), two = token_at(at_ + 10) && bytes_[at_ + 5] == 4;
  if (listed || (!one && !two)) length = list_length(is_pair_list(name));
  if (listed && !length && size == 4) broken("expected a list of integers for <", name, ">");
  if (length) {
    at_ += 5;
    out.kind = KaldiItem::ints;
    for (size_t i = 0; i < *length; ++i) out.list.push_back(raw<int32_t>(name));
    return out;
  }
  if (size != 4 && size != 8 && size != -4 && size != -8 && size != 1 && size != -1)
    broken("expected a value of <", name, ">, got the byte ", size);
  ++at_;
  if (size == 1 || size == -1) out.value = raw<int8_t>(name);
  else if (size == -4) out.value = raw<uint32_t>(name);
  else if (size == -8) out.value = static_cast<double>(raw<uint64_t>(name));
  else if (size == 8) out.value = static_cast<float>(raw<double>(name));
  else {
    // An integer or a float: no float that a model stores has the bits of a small integer, except 0.
    auto bits = raw<int32_t>(name);
    out.value = bits > -(1 << 24) && bits < 1 << 24 ? double(bits) : double(std::bit_cast<float>(bits));
  }
  return out;
}

const char* KaldiStream::scan_number(double& value) const {
  const char* begin = bytes_.data() + at_;
  if (at_ < bytes_.size() && *begin == '+') ++begin;
  auto [end, error] = std::from_chars(begin, bytes_.data() + bytes_.size(), value);
  if (error == std::errc::result_out_of_range) value = 0;
  else if (error != std::errc()) return nullptr;
  return end;
}

double KaldiStream::text_number() {
  double v = 0;
  const char* end = scan_number(v);
  if (!end) broken("expected a number, got ", found());
  at_ = static_cast<size_t>(end - bytes_.data());
  return v;
}

KaldiItem KaldiStream::text_item(std::string_view name) {
  KaldiItem out;
  char c = bytes_[at_];
  bool alone = at_ + 1 >= bytes_.size() || is_blank(bytes_[at_ + 1]) || bytes_[at_ + 1] == '<';
  if ((c == 'T' || c == 'F') && alone) {
    ++at_;
    out.kind = KaldiItem::flag;
    out.value = c == 'T';
    return out;
  }
  if (c != '[') {
    out.value = static_cast<float>(text_number());
    return out;
  }
  size_t end = bytes_.find(']', at_);
  if (end == bytes_.npos) broken("expected ']' at the end of a list");
  std::string_view list = bytes_.substr(at_, end - at_);
  bool pairs = list.substr(0, list.find('\n')).find(',') != list.npos;
  if (is_int_list(name) || pairs) {
    out.kind = KaldiItem::ints;
    for (++at_; skip_blanks(), bytes_[at_] != ']';) {
      if (bytes_[at_] == ',') {
        ++at_;
        continue;
      }
      double v = text_number();
      if (v != std::floor(v) || std::fabs(v) > 1e9) broken("expected a list of integers for <", name, ">");
      out.list.push_back(static_cast<int64_t>(v));
      if (at_ >= bytes_.size()) broken("expected ']' at the end of a list");
    }
    ++at_;
    return out;
  }
  out.kind = KaldiItem::tensor;
  out.data = text_tensor();
  return out;
}

}  // namespace graft

// Kaldi's binary and text encodings: tokens, and the values that follow them.
//
// Neither encoding has a schema. In binary files an integer and a float look alike, and so do an integer and the length
// of a list; text files do not tell a list of integers from a vector. A number counts as an integer if its value is
// one, so that both encodings of a model read alike; where a list is ambiguous, its token decides (`is_int_list`).
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/text.hpp"
#include "readers/raw.hpp"

namespace graft {

// A number in the byte order of the files, which is that of this machine.
template <class T>
T kaldi_load(const char* from) {
  static_assert(std::endian::native == std::endian::little);
  T v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

struct KaldiItem {
  enum Kind { number, flag, ints, tensor, word };
  Kind kind = number;
  double value = 0;           // of a number or a flag
  std::vector<int64_t> list;  // of integers; pairs are flattened
  Tensor data;                // of f32: a vector or a matrix
  std::string text;
};

class KaldiStream {
 public:
  // `bytes` begins with the mark of binary files, or is text.
  KaldiStream(std::string_view bytes, std::string file, const Limits& limits);

  bool binary() const { return binary_; }
  size_t position() const { return at_; }
  void seek(size_t position) { at_ = position; }
  std::string_view rest() const { return bytes_.substr(at_); }
  bool at_end();

  // The name of the next token, with "/" or "!" if it has one, without the angle brackets; empty if a value is next.
  std::string_view peek_token();
  std::string token();
  void expect(std::string_view token);
  // Up to the next blank.
  std::string word();
  // Up to the end of the line.
  std::string_view line();
  // The next value; `name` is the token that it belongs to.
  KaldiItem item(std::string_view name);
  int64_t integer(std::string_view name);
  // Whether an integer is next; if so, skips it. Makes no error message: those count the lines of the file.
  bool skip_integer();
  // A vector or a matrix in any of Kaldi's encodings, including compressed ones.
  Tensor tensor();

  // Errors do not quote the content: the file was named by another file, and may be any.
  void hide_content() { hidden_ = true; }

  template <class... Parts>
  [[noreturn]] void broken(const Parts&... parts) const {
    throw_user(where(), ": ", parts...);
  }
  std::string where() const;

 private:
  // The next bytes, for an error.
  std::string found() const { return quoted(bytes_.substr(std::min(at_, bytes_.size()), 12)); }
  std::string quoted(std::string_view content) const {
    return hidden_ ? "something else" : text('\'', printable(content.substr(0, 12)), '\'');
  }
  void skip_blanks();
  bool token_at(size_t position) const;
  std::string_view take(size_t count, std::string_view what);
  template <class T>
  T raw(std::string_view what);
  int64_t sized_int(std::string_view what);
  KaldiItem binary_item(std::string_view name);
  KaldiItem text_item(std::string_view name);
  std::optional<size_t> list_length(bool pairs) const;
  Tensor binary_tensor();
  Tensor compressed(std::string_view kind);
  Tensor text_tensor();
  Tensor reals(bool wide, std::vector<int64_t> dims, std::string_view what);
  double text_number();
  // The end of the number that begins here; null: none does.
  const char* scan_number(double& value) const;

  std::string_view bytes_;
  std::string file_;
  Limits limits_;
  size_t at_ = 0;
  bool binary_ = false, hidden_ = false;
};

}  // namespace graft

// Kaldi archives and script files: tables of named vectors and matrices (.ark, .scp).
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "readers/kaldi/stream.hpp"

namespace graft {

// Entries one after the other: "utt1 \0BFM ..." in binary, "utt1  [ ..." in text.
class KaldiArchive {
 public:
  KaldiArchive(std::string_view bytes, std::string file, const Limits& limits = {})
      : bytes_(bytes), file_(std::move(file)), limits_(limits) {}

  // The key of the next entry; none at the end. An entry that was not read is skipped.
  std::optional<std::string> next();
  Tensor value();

 private:
  std::string_view bytes_;
  std::string file_, key_;
  Limits limits_;
  size_t at_ = 0;
  bool pending_ = false;
};

// The vector or matrix at the beginning of the bytes.
Tensor read_kaldi_value(std::string_view bytes, const std::string& file, const Limits& limits = {});
// The same of a file that a script names: errors do not quote what is in it.
Tensor read_kaldi_named(std::string_view bytes, const std::string& file, const Limits& limits);
// The first value of an archive, or a file with a single value.
Tensor read_kaldi_first(const std::string& path, const Limits& limits = {});
// A plain matrix: one row per line.
Tensor read_text_rows(const std::string& path, const Limits& limits = {});

// An entry as it is written to an archive.
std::string kaldi_entry(const std::string& key, const Tensor& value, bool as_text);

}  // namespace graft

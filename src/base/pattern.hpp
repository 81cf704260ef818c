// Regular expressions for names, matched in time linear in the name whatever the expression is.
//
//   Pattern p(".*Ridge/Cell_[ab]");
//   p.begins("net/Ridge/Cell_a/Conv2D");   // true: matches at the start, not necessarily to the end
//
// Literals, . * + ? {2} {2,} {2,5} (lazy forms too), | ( ) (?: ) [a-z] [^0-9] ^ $ and the escapes \d \w \s \D \W \S \n
// \t and \ before any punctuation are supported. Backreferences and lookaround are rejected, since they would break
// linear time. Strings are sequences of bytes; non-ASCII characters match themselves, outside [ ].
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graft {

class Pattern {
 public:
  static constexpr size_t longest = 500;  // characters of a pattern
  static constexpr size_t most_states = 5000;
  static constexpr int deepest = 50;  // of ( ) in ( )

  // Throws an Error with the pattern and the position of the mistake.
  explicit Pattern(std::string_view source);

  const std::string& source() const { return source_; }
  // Does a prefix of the text match?
  bool begins(std::string_view text) const { return !ends(text, true).empty(); }
  // The lengths of all matching prefixes, in ascending order.
  std::vector<size_t> ends(std::string_view text) const { return ends(text, false); }

 private:
  friend class PatternCompiler;
  struct State {
    enum Kind : uint8_t { set, split, jump, at_begin, at_end, accept } kind;
    uint32_t next = 0, other = 0;  // `set` continues with the following state
    uint32_t set_index = 0;
  };
  std::vector<size_t> ends(std::string_view text, bool first_only) const;

  std::string source_;
  std::vector<State> states_;
  std::vector<std::bitset<256>> sets_;
};

// The text with all special characters escaped by a backslash.
std::string pattern_for(std::string_view literal);

}  // namespace graft

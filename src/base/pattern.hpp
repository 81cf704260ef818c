// Regular expressions for names, matched in time linear in the name whatever the expression is.
//
//   Pattern p(".*Ridge/Cell_[ab]");
//   p.begins("net/Ridge/Cell_a/Conv2D");   // true: from the start of the text, its end does not matter
//
// Literals, . * + ? {2} {2,} {2,5} (lazy forms too), | ( ) (?: ) [a-z] [^0-9] ^ $ and the escapes \d \w \s \D \W \S \n
// \t and \ before any sign are understood: what patterns for names use. Back references and looking around are refused.
// A text is a row of bytes; signs beyond ASCII stand for themselves, outside [ ].
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
  static constexpr size_t longest = 500;  // signs of a pattern
  static constexpr size_t most_states = 5000;
  static constexpr int deepest = 50;  // of ( ) in ( )

  // Throws an Error that quotes the pattern and says where it is wrong.
  explicit Pattern(std::string_view source);

  const std::string& source() const { return source_; }
  // Does a match begin where the text begins?
  bool begins(std::string_view text) const { return !ends(text, true).empty(); }
  // Where matches that begin there may end, in rising order.
  std::vector<size_t> ends(std::string_view text) const { return ends(text, false); }

 private:
  friend class PatternCompiler;
  struct State {
    enum Kind : uint8_t { set, split, jump, at_begin, at_end, accept } kind;
    uint32_t next = 0, other = 0;  // `set` goes on to the state behind it
    uint32_t set_index = 0;
  };
  std::vector<size_t> ends(std::string_view text, bool first_only) const;

  std::string source_;
  std::vector<State> states_;
  std::vector<std::bitset<256>> sets_;
};

// The text with a backslash before every sign that would mean something.
std::string pattern_for(std::string_view literal);

}  // namespace graft

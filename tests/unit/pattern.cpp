// Regular expressions for names: what they match, what they refuse, and that they stay linear.
#include "base/pattern.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace graft {
namespace {

TEST(Pattern, MatchesFromTheStart) {
  struct Try {
    std::string_view pattern, text;
    bool begins;
  };
  for (const Try& t : std::initializer_list<Try>{{"abc", "abc", true},
                                                 {"abc", "abcd", true},
                                                 {"abc", "xabc", false},
                                                 {".*abc", "x/abc/y", true},
                                                 {"abc$", "abcd", false},
                                                 {"abc$", "abc", true},
                                                 {"^abc", "abc", true},
                                                 {"a^bc", "abc", false},
                                                 {"a.c", "a/c", true},
                                                 {"a\\.c", "abc", false},
                                                 {"a\\.c", "a.c", true},
                                                 {"ab*c", "ac", true},
                                                 {"ab*c", "abbbc", true},
                                                 {"ab+c", "ac", false},
                                                 {"ab+c", "abc", true},
                                                 {"ab?c$", "abc", true},
                                                 {"ab?c$", "abbc", false},
                                                 {"ab*?c", "abbc", true},
                                                 {"a{3}$", "aaa", true},
                                                 {"a{3}$", "aa", false},
                                                 {"a{3}$", "aaaa", false},
                                                 {"a{2,}$", "aaaaa", true},
                                                 {"a{2,}$", "a", false},
                                                 {"a{1,3}$", "aaa", true},
                                                 {"a{1,3}$", "aaaa", false},
                                                 {"a{0}b", "b", true},
                                                 {"(ab|cd)+e", "abcdabe", true},
                                                 {"(ab|cd)+e", "abce", false},
                                                 {"(?:ab|c(d|e))f", "cef", true},
                                                 {"a||b", "", true},
                                                 {"x(|y)z", "xz", true},
                                                 {"[a-c]+$", "abcabc", true},
                                                 {"[a-c]+$", "abd", false},
                                                 {"[^a-c]$", "d", true},
                                                 {"[^a-c]$", "b", false},
                                                 {"[]a]+$", "]a", true},
                                                 {"[a-]+$", "a-", true},
                                                 {"[\\d_]+$", "1_2", true},
                                                 {"\\w+/\\d$", "block/7", true},
                                                 {"\\D\\W\\S$", "a/b", true},
                                                 {"\\s", "\t", true},
                                                 {"", "anything", true},
                                                 {"(a*)*b", "aaab", true},
                                                 {"(a*)+$", "aaa", true},
                                                 {"\xc3\xa4+$", "\xc3\xa4", true}})
    EXPECT_EQ(Pattern(t.pattern).begins(t.text), t.begins) << t.pattern << " on " << t.text;
}

TEST(Pattern, SaysWhereMatchesEnd) {
  EXPECT_EQ(Pattern("a*").ends("aab"), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(Pattern(".*b").ends("abab"), (std::vector<size_t>{2, 4}));
  EXPECT_TRUE(Pattern("b").ends("abab").empty());
}

TEST(Pattern, RefusesWithThePlace) {
  struct Try {
    std::string pattern;
    std::string_view said;
  };
  for (const Try& t :
       std::initializer_list<Try>{{"(a", "character 3: missing ')'"},
                                  {"a)", "character 2: unmatched ')'"},
                                  {"[a", "missing ']'"},
                                  {"*a", "nothing to repeat before '*'"},
                                  {"a**", "a repetition follows another one"},
                                  {"a{2", "expected '}'"},
                                  {"a{x}", "expected a repetition count"},
                                  {"a{3,1}", "ascending order, got {3,1}"},
                                  {"a{1001}", "at most 1000"},
                                  {"a{99999999999999999999}", "at most 1000"},
                                  {"(?=a)", "'(?' is supported only as '(?:'"},
                                  {"(a)\\1", "unknown escape '\\1'"},
                                  {"\\bx", "unknown escape '\\b'"},
                                  {"a\\", "the pattern ends in a backslash"},
                                  {"[z-a]", "expected an ascending character range inside [ ]"},
                                  {"[\xc3\xa4]", "only ASCII"},
                                  {"((a{100}){100}){100}", "too many states"},
                                  {"(((){1000}){1000}){1000}", "too many states"},
                                  {std::string(60, '(') + "a" + std::string(60, ')'), "nested more than 50 deep"},
                                  {std::string(501, 'a'), "expected a pattern of at most 500 characters, got 501"}}) {
    try {
      Pattern p(t.pattern);
      ADD_FAILURE() << t.pattern << " was taken";
    } catch (const Error& e) {
      EXPECT_NE(e.message().find(t.said), std::string::npos) << e.message();
      EXPECT_EQ(e.kind(), ErrorKind::user);
    }
  }
}

TEST(Pattern, IsLinearWhereOthersAreExponential) {
  std::string many(20'000, 'a');
  EXPECT_FALSE(Pattern("(a|aa)+$").begins(many + "b"));
  EXPECT_FALSE(Pattern("(a+)+$").begins(many + "b"));
  EXPECT_TRUE(Pattern("(.*)(.*)(.*)(.*)(.*)z").begins(many + "z"));
}

TEST(Pattern, QuotesLiterals) {
  std::string name = "a.b*c/[d](e){1}^$|\\+?";
  EXPECT_TRUE(Pattern(pattern_for(name) + "$").begins(name));
  EXPECT_EQ(pattern_for("a.b"), "a\\.b");
}

}  // namespace
}  // namespace graft

#include "base/pattern.hpp"

#include "base/error.hpp"

namespace graft {

// Recursive descent straight to states: each part appends its own, a repetition compiles its part again.
class PatternCompiler {
 public:
  explicit PatternCompiler(Pattern& p) : p_(p), s_(p.source_) {}

  void run() {
    if (s_.size() > Pattern::longest)
      throw_user("expected a pattern of at most ", Pattern::longest, " characters, got ", s_.size(), ": '",
                 s_.substr(0, 40), "...'");
    alternatives(0);
    if (at_ < s_.size()) broken("unmatched ')'");
    add({Pattern::State::accept});
  }

 private:
  using Set = std::bitset<256>;
  using State = Pattern::State;

  template <class... Parts>
  [[noreturn]] void broken(const Parts&... parts) const {
    throw_user("invalid pattern '", p_.source_, "' at character ", at_ + 1, ": ", parts...);
  }
  bool more() const { return at_ < s_.size(); }
  char peek() const { return s_[at_]; }
  bool accept(char c) {
    if (!more() || peek() != c) return false;
    ++at_;
    return true;
  }
  uint32_t here() const { return static_cast<uint32_t>(p_.states_.size()); }
  uint32_t add(State s) {
    work();
    p_.states_.push_back(s);
    return here() - 1;
  }
  // Every step counts toward the limit, so that repetitions of an empty part terminate too.
  void work() {
    if (++work_ > Pattern::most_states) broken("its repetitions expand to too many states");
  }

  void alternatives(int depth) {
    if (depth > Pattern::deepest) broken("groups are nested more than ", Pattern::deepest, " deep");
    // An alternative is compiled before it is known whether another follows, so a state is reserved for the split.
    std::vector<uint32_t> ends;
    while (true) {
      uint32_t split = add({State::jump});
      p_.states_[split].next = here();
      sequence(depth);
      if (!accept('|')) break;
      ends.push_back(add({State::jump}));
      p_.states_[split].kind = State::split;
      p_.states_[split].other = here();
    }
    for (uint32_t e : ends) p_.states_[e].next = here();
  }

  void sequence(int depth) {
    while (more() && peek() != '|' && peek() != ')') repeated(depth);
  }

  void repeated(int depth) {
    work();
    size_t begin = at_;
    uint32_t first = here();
    atom(depth);
    size_t end = at_;
    auto [low, high, given] = count();
    if (!given) return;
    accept('?');  // lazy: which match is taken does not matter here
    if (more() && (peek() == '*' || peek() == '+' || peek() == '?'))
      broken("a repetition follows another one; put ( ) around the first");
    size_t after = at_;
    // Compile the part again from its source.
    auto again = [&] {
      at_ = begin;
      atom(depth);
      if (at_ != end) throw_internal("a part of a pattern was parsed differently the second time");
    };
    p_.states_.resize(first);
    for (int i = 0; i < low; ++i) again();
    if (high < 0) {
      uint32_t split = add({State::split});
      p_.states_[split].next = here();
      again();
      p_.states_[add({State::jump})].next = split;
      p_.states_[split].other = here();
    } else {
      std::vector<uint32_t> splits;
      for (int i = low; i < high; ++i) {
        splits.push_back(add({State::split}));
        p_.states_[splits.back()].next = here();
        again();
      }
      for (uint32_t s : splits) p_.states_[s].other = here();
    }
    at_ = after;
  }

  struct Count {
    int low, high;  // high -1: any number
    bool given;
  };
  Count count() {
    if (accept('*')) return {0, -1, true};
    if (accept('+')) return {1, -1, true};
    if (accept('?')) return {0, 1, true};
    if (!more() || peek() != '{') return {1, 1, false};
    ++at_;
    int low = number(), high = low;
    if (accept(',')) high = more() && peek() == '}' ? -1 : number();
    if (!accept('}')) broken("expected '}' after a repetition count");
    if (high >= 0 && high < low) broken("expected a repetition range in ascending order, got {", low, ",", high, "}");
    return {low, high, true};
  }
  int number() {
    int n = 0;
    size_t begin = at_;
    while (more() && peek() >= '0' && peek() <= '9' && n <= 1000) n = n * 10 + (s_[at_++] - '0');
    if (at_ == begin) broken("expected a repetition count");
    if (n > 1000) broken("expected at most 1000 repetitions");
    return n;
  }

  void atom(int depth) {
    char c = s_[at_++];
    switch (c) {
      case '(':
        if (accept('?') && !accept(':')) broken("'(?' is supported only as '(?:'");
        alternatives(depth + 1);
        if (!accept(')')) broken("missing ')'");
        return;
      case '^': add({State::at_begin}); return point();
      case '$': add({State::at_end}); return point();
      case '.': return set(Set().set());
      case '[': return bracket();
      case '\\': return escape();
      case '*':
      case '+':
      case '?':
      case '{': --at_; broken("nothing to repeat before '", c, "'; write \\", c, " for the character itself");
      default: return set(one(c));
    }
  }
  void point() { p_.states_.back().next = here(); }
  void set(const Set& s) {
    State state{State::set};
    state.set_index = index_of(s);
    add(state);
    point();
  }
  uint32_t index_of(const Set& s) {
    for (size_t i = 0; i < p_.sets_.size(); ++i)
      if (p_.sets_[i] == s) return static_cast<uint32_t>(i);
    p_.sets_.push_back(s);
    return static_cast<uint32_t>(p_.sets_.size() - 1);
  }
  static Set one(char c) { return Set().set(static_cast<unsigned char>(c)); }
  static Set range(char a, char b) {
    Set s;
    for (size_t c = static_cast<unsigned char>(a); c <= static_cast<unsigned char>(b); ++c) s.set(c);
    return s;
  }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  // The character or class after a backslash; `single` when it is one character.
  Set escaped(bool& single, char& sign) {
    if (!more()) broken("the pattern ends in a backslash");
    char c = s_[at_++];
    single = false;
    Set digits = range('0', '9'), words = digits | range('a', 'z') | range('A', 'Z') | one('_'),
        spaces = one(' ') | range('\t', '\r');
    switch (c) {
      case 'd': return digits;
      case 'D': return ~digits;
      case 'w': return words;
      case 'W': return ~words;
      case 's': return spaces;
      case 'S': return ~spaces;
      default: break;
    }
    single = true;
    sign = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'f' ? '\f' : c == 'v' ? '\v' : c;
    if (sign == c && is_word(c)) --at_, broken("unknown escape '\\", c, "'");
    return one(sign);
  }
  void escape() {
    bool single = false;
    char sign = 0;
    set(escaped(single, sign));
  }

  void bracket() {
    Set all;
    bool negated = accept('^'), first = true;
    while (true) {
      if (!more()) broken("missing ']'");
      if (peek() == ']' && !first) break;
      first = false;
      auto sign_or_class = [&](bool& single, char& sign) {
        sign = s_[at_++];
        single = true;
        if (static_cast<unsigned char>(sign) >= 0x80) --at_, broken("only ASCII characters are supported inside [ ]");
        return sign == '\\' ? escaped(single, sign) : one(sign);
      };
      bool single = false;
      char low = 0;
      Set s = sign_or_class(single, low);
      if (single && at_ + 1 < s_.size() && peek() == '-' && s_[at_ + 1] != ']') {
        ++at_;
        bool ends = false;
        char high = 0;
        sign_or_class(ends, high);
        if (!ends || high < low) broken("expected an ascending character range inside [ ]");
        s = range(low, high);
      }
      all |= s;
    }
    ++at_;
    set(negated ? ~all : all);
  }

  Pattern& p_;
  std::string_view s_;
  size_t at_ = 0, work_ = 0;
};

Pattern::Pattern(std::string_view source) : source_(source) { PatternCompiler(*this).run(); }

std::vector<size_t> Pattern::ends(std::string_view text, bool first_only) const {
  std::vector<size_t> out;
  std::vector<uint32_t> now, next, stack;
  std::vector<size_t> seen(states_.size(), SIZE_MAX);  // position at which each state was last entered
  bool accepted = false;
  auto enter = [&](std::vector<uint32_t>& list, uint32_t begin, size_t at) {
    stack.push_back(begin);
    while (!stack.empty()) {
      uint32_t i = stack.back();
      stack.pop_back();
      if (seen[i] == at) continue;
      seen[i] = at;
      const State& s = states_[i];
      switch (s.kind) {
        case State::set: list.push_back(i); break;
        case State::accept: accepted = true; break;
        case State::split: stack.push_back(s.other); [[fallthrough]];
        case State::jump: stack.push_back(s.next); break;
        case State::at_begin:
          if (at == 0) stack.push_back(s.next);
          break;
        case State::at_end:
          if (at == text.size()) stack.push_back(s.next);
          break;
      }
    }
  };
  enter(now, 0, 0);
  for (size_t at = 0;; ++at) {
    if (accepted) {
      out.push_back(at);
      if (first_only) return out;
    }
    if (at == text.size() || now.empty()) return out;
    accepted = false;
    next.clear();
    for (uint32_t i : now)
      if (sets_[states_[i].set_index].test(static_cast<unsigned char>(text[at]))) enter(next, states_[i].next, at + 1);
    now.swap(next);
  }
}

std::string pattern_for(std::string_view literal) {
  std::string out;
  for (char c : literal) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace graft

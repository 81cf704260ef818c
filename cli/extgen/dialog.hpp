// Asks questions on the terminal, or reads the answers from a pipe. In a terminal an invalid answer is asked for again;
// from a pipe it is an error, because the lines after it would answer the wrong questions.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace graft::cli::extgen {

class Dialog {
 public:
  Dialog();
  void say(const std::string& line);
  // One line, without blanks at its ends. Throws UsageError at the end of the input.
  std::string line(const std::string& question);
  bool yes(const std::string& question);  // y or yes; everything else is no
  // Asks until `take` accepts the line; `take` throws UsageError to refuse it.
  void ask(const std::string& question, const std::function<void(const std::string&)>& take);
  // Lines until q; `take` gets each of them.
  void list(const std::string& question, const std::function<void(const std::string&)>& take);

 private:
  std::string next();
  void refused(const std::string& message);
  bool terminal_;
};

// A question of a section. Several sections share one numbering.
struct Question {
  std::function<bool()> applies;  // now, given the other answers
  std::function<void(const std::string& where)> ask;
  std::function<std::string()> answer;  // "layer name: cosh"
  bool asked = false;
};

// Asks what applies, shows the numbered answers, and lets the user change them. `number` is that of the first question
// and afterwards that of the next section.
void ask_section(Dialog& dialog, std::vector<Question>& questions, size_t& number);

}  // namespace graft::cli::extgen

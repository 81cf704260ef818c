#include "dialog.hpp"

#include <unistd.h>

#include <cstdio>

#include "command.hpp"

namespace graft::cli::extgen {

Dialog::Dialog() : terminal_(::isatty(STDIN_FILENO) != 0) {}

void Dialog::say(const std::string& line) { std::printf("%s\n", line.c_str()); }

std::string Dialog::next() {
  constexpr size_t longest = 1 << 16;
  std::printf("> ");
  std::fflush(stdout);
  std::string s;
  int c = std::getchar();
  if (c == EOF) {
    std::printf("\n");
    throw UsageError("the input ended before the last question was answered", "nothing was written");
  }
  for (; c != EOF && c != '\n'; c = std::getchar()) {
    if (s.size() == longest) throw UsageError(text("expected an answer of at most ", longest, " characters"));
    s += static_cast<char>(c);
  }
  s = std::string(trim(s));
  if (!terminal_) say(s);
  return s;
}

void Dialog::refused(const std::string& message) { std::printf("%s\n", message.c_str()); }

std::string Dialog::line(const std::string& question) {
  say(question);
  return next();
}

bool Dialog::yes(const std::string& question) {
  std::string s = to_lower(line(question + " (y/n)"));
  return s == "y" || s == "yes";
}

void Dialog::ask(const std::string& question, const std::function<void(const std::string&)>& take) {
  for (;;) {
    std::string s = line(question);
    try {
      return take(s);
    } catch (const UsageError& e) {
      if (!terminal_) throw;
      refused(e.message());
    }
  }
}

void Dialog::list(const std::string& question, const std::function<void(const std::string&)>& take) {
  say(question);
  say("Enter q when finished.");
  for (std::string s; (s = next()) != "q";) {
    if (s.empty()) continue;
    try {
      take(s);
    } catch (const UsageError& e) {
      if (!terminal_) throw;
      refused(e.message());
    }
  }
}

namespace {

// Asks what applies and is not answered yet; answers that no longer apply are dropped.
void ask_open(std::vector<Question>& questions, size_t first) {
  size_t number = first;
  for (Question& q : questions) {
    bool applies = q.applies();
    if (applies && !q.asked) q.ask(text("answer ", number));
    q.asked = applies;
    number += applies ? 1 : 0;
  }
}

}  // namespace

void ask_section(Dialog& dialog, std::vector<Question>& questions, size_t& number) {
  size_t first = number;
  ask_open(questions, first);
  for (;;) {
    std::vector<size_t> shown;
    for (size_t i = 0; i < questions.size(); ++i)
      if (questions[i].asked) shown.push_back(i);
    number = first + shown.size();
    if (shown.empty()) return;
    dialog.say("");
    for (size_t i = 0; i < shown.size(); ++i) dialog.say(text("  ", first + i, ". ", questions[shown[i]].answer()));
    if (!dialog.yes("Do you want to change any answer? Default: no")) return;
    dialog.ask(text("Number of the answer to change, ", first, " to ", number - 1, ":"), [&](const std::string& s) {
      auto n = parse_int(s);
      if (!n || *n < static_cast<int64_t>(first) || *n >= static_cast<int64_t>(number))
        throw UsageError(text("expected a number from ", first, " to ", number - 1, ", got '", on_one_line(s), "'"));
      questions[shown[static_cast<size_t>(*n) - first]].asked = false;
    });
    ask_open(questions, first);
  }
}

}  // namespace graft::cli::extgen

#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "document_formats.hpp"

namespace graft::fuzzing {
namespace {

// ---- words ----

bool is_config(std::string_view word) {
  return word == "input-node" || word == "component-node" || word == "output-node" || word == "dim-range-node";
}

// Words, with "\n" for the end of a line. A line of a configuration is one word.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < text.size();) {
    char c = text[at];
    if (c == '\n') out.push_back(text.substr(at++, 1));
    else if (c == ' ' || c == '\t' || c == '\r') ++at;
    else if (c == '[' || c == ']' || c == ';') out.push_back(text.substr(at++, 1));
    else {
      size_t end = std::min(text.find_first_of(" \t\r\n[];", at), text.size());
      if (is_config(text.substr(at, end - at))) end = std::min(text.find('\n', at), text.size());
      out.push_back(text.substr(at, end - at));
      at = end;
    }
  }
  return out;
}

bool is_token(std::string_view word) { return word.size() > 2 && word.front() == '<' && word.back() == '>'; }

Tree value_of(std::string_view word) {
  if (auto i = parse_int(word)) return make_tree("number", *i);
  if (auto d = parse_number(word)) return make_tree("number", *d);
  return make_tree(word == "\n" ? "#text" : "word", std::string(word));
}

// "component-node name=a component=b input=Append(x, y)": values go up to the next name.
Tree line_of(std::string_view line) {
  Tree out = make_tree("line");
  size_t at = std::min(line.find(' '), line.size());
  out.children.push_back(make_tree("type", std::string(line.substr(0, at))));
  while (at < line.size()) {
    size_t equals = line.find('=', at);
    if (equals == line.npos) break;
    size_t next = line.find('=', equals + 1), end = line.size();
    if (next != line.npos) end = std::max(equals + 1, std::min(line.rfind(' ', next), line.size()));
    out.children.push_back(make_tree("@" + std::string(trim(line.substr(at, equals - at))),
                                     std::string(trim(line.substr(equals + 1, end - equals - 1)))));
    at = end;
  }
  return out;
}

// ---- structure ----

class KaldiParser {
 public:
  explicit KaldiParser(std::string_view text) : words_(words_of(text)) {
    for (std::string_view w : words_)
      if (is_token(w) && w[1] == '/') ends_.emplace(w);
  }

  Tree parse() {
    Tree root = make_tree("");
    while (at_ < words_.size()) root.children.push_back(next(0));
    return root;
  }

 private:
  Tree next(int depth) {
    if (depth > 64) throw_user("elements are nested too deeply");
    std::string_view word = words_[at_];
    if (word == "[") return matrix();
    ++at_;
    if (is_config(word.substr(0, word.find(' ')))) return line_of(word);
    if (!is_token(word)) return value_of(word);
    std::string end = "</" + std::string(word.substr(1));
    bool closes = word[1] != '/' && ends_.count(end) > 0;
    Tree out = make_tree(closes ? "element" : "field");
    out.children.push_back(make_tree("type", std::string(word)));
    while (at_ < words_.size() && (closes ? words_[at_] != end : !is_token(words_[at_])))
      out.children.push_back(next(depth + 1));
    if (closes && at_ < words_.size()) ++at_;
    return out;
  }

  // "[ 1 2 ]" is a vector; a matrix has rows, each on a line.
  Tree matrix() {
    Tree out = make_tree("matrix");
    out.quoted = at_ + 1 < words_.size() && words_[at_ + 1] == "\n";  // a matrix, not a vector
    out.children.push_back(make_tree("row"));
    for (++at_; at_ < words_.size() && words_[at_] != "]"; ++at_) {
      if (words_[at_] != "\n" && words_[at_] != ";") out.children.back().children.push_back(value_of(words_[at_]));
      else if (!out.children.back().children.empty()) out.children.push_back(make_tree("row"));
    }
    if (out.children.back().children.empty() && out.children.size() > 1) out.children.pop_back();
    if (at_ < words_.size()) ++at_;
    return out;
  }

  std::vector<std::string_view> words_;
  std::set<std::string, std::less<>> ends_;
  size_t at_ = 0;
};

void write_value(const Tree& t, std::string& out) {
  if (const int64_t* i = t.integer()) out += text(*i);
  else if (const double* d = std::get_if<double>(&t.value)) out += number_text(*d);
  else if (t.text()) out += *t.text();
}
void write_tree(const Tree& t, std::string& out) {
  if (t.name == "line") {
    out += t.text_of("type");
    for (const Tree& c : t.children)
      if (c.name.starts_with('@') && c.text()) out += " " + c.name.substr(1) + "=" + *c.text();
    return;
  }
  if (t.name == "matrix") {
    out += '[';
    for (const Tree& row : t.children) {
      out += t.quoted ? "\n " : " ";
      for (const Tree& c : row.children) write_value(c, out), out += ' ';
    }
    out += " ]";
    return;
  }
  if (!t.is_group()) {
    write_value(t, out);
    if (t.name != "#text") out += ' ';
    return;
  }
  for (const Tree& c : t.children) {
    write_tree(c, out);
    if (c.is_group() && c.name != "line") out += ' ';
  }
  if (t.name == "element") out += "</" + t.text_of("type").substr(std::min<size_t>(1, t.text_of("type").size()));
}

}  // namespace

Tree read_kaldi_document(std::string_view bytes) {
  if (bytes.substr(0, 2) == std::string_view("\0B", 2)) throw_user("expected the text form of a model");
  if (bytes.find('\0') != bytes.npos) throw_user("expected text");
  return KaldiParser(bytes).parse();
}
void write_kaldi_document(const Tree& root, std::string& out) { write_tree(root, out); }

}  // namespace graft::fuzzing

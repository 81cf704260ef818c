// XML: fragments that are preserved without interpretation (runtime information of an IR), and a writer for IR files.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graft {

struct Xml {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;
  std::vector<Xml> children;
};

// Elements indented by tabs, empty ones closed in place.
class XmlWriter {
 public:
  std::string out;

  XmlWriter& open(std::string_view name);
  XmlWriter& attribute(std::string_view name, std::string_view value);
  template <class Number>
  requires(std::is_integral_v<Number>) XmlWriter& attribute(std::string_view name, Number value) {
    return attribute(name, std::string_view(std::to_string(value)));
  }
  void close();
  void text_element(std::string_view name, std::string_view text);  // <dim>3</dim>
  void element(const Xml& x);

 private:
  void indent();
  std::vector<std::string> open_;
  bool in_tag_ = false;
};

}  // namespace graft

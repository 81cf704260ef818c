#include "base/xml.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/xml_text.hpp"

namespace graft {
namespace {

void append_escaped(std::string& out, std::string_view s, bool attribute) {
  if (!is_valid_utf8(s)) throw_user("expected UTF-8 in a name or value, got ", in_quotes(s));
  if (!xml_can_hold(s)) throw_user("expected a name or value without NUL characters, got ", in_quotes(s));
  // Readers drop text of blanks alone, and replace carriage returns, unless they are escaped.
  bool blank = !attribute && trim(s).empty();
  for (char c : s) {
    auto u = static_cast<unsigned char>(c);
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>' && !attribute) out += "&gt;";
    else if (c == '"' && attribute) out += "&quot;";
    else if (blank || (u < 32 && (attribute || (c != '\n' && c != '\t'))))
      out += "&#" + std::string(u < 10 ? "0" : "") + std::to_string(u) + ";";
    else out += c;
  }
}

}  // namespace

bool xml_can_hold(std::string_view text) { return is_valid_utf8(text) && text.find('\0') == text.npos; }

bool is_xml_name(std::string_view name) {
  auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || (c & 0x80);
  };
  auto other = [](char c) { return (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return !name.empty() && letter(name[0]) && is_valid_utf8(name) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || other(c); });
}

namespace {
// Names of elements and attributes cannot be escaped: one that is no name would change the document.
void check_name(std::string_view name) {
  if (!is_xml_name(name))
    throw_user("expected a name that XML allows (letters, digits, '_', '-', '.'), got ", in_quotes(name));
}
}  // namespace

void XmlWriter::indent() { out.append(open_.size(), '\t'); }

XmlWriter& XmlWriter::open(std::string_view name) {
  check_name(name);
  if (in_tag_) out += ">\n";
  indent();
  out += '<';
  out += name;
  open_.emplace_back(name);
  in_tag_ = true;
  return *this;
}

XmlWriter& XmlWriter::attribute(std::string_view name, std::string_view value) {
  check_name(name);
  out += ' ';
  out += name;
  out += "=\"";
  append_escaped(out, value, true);
  out += '"';
  return *this;
}

void XmlWriter::close() {
  std::string name = std::move(open_.back());
  open_.pop_back();
  if (in_tag_) {
    out += " />\n";
    in_tag_ = false;
    return;
  }
  indent();
  out += "</" + name + ">\n";
}

void XmlWriter::text_element(std::string_view name, std::string_view text) {
  check_name(name);
  if (in_tag_) out += ">\n";
  in_tag_ = false;
  indent();
  out += '<';
  out += name;
  out += '>';
  append_escaped(out, text, false);
  out += "</";
  out += name;
  out += ">\n";
}

void XmlWriter::element(const Xml& x) {
  if (!x.text.empty() && x.children.empty() && x.attributes.empty()) return text_element(x.name, x.text);
  open(x.name);
  for (const auto& [n, v] : x.attributes) attribute(n, v);
  if (!x.text.empty() && x.children.empty()) {
    out += '>';
    append_escaped(out, x.text, false);
    out += "</" + x.name + ">\n";
    open_.pop_back();
    in_tag_ = false;
    return;
  }
  for (const Xml& c : x.children) element(c);
  close();
}

}  // namespace graft

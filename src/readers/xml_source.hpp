// An XML file with the lines and columns of its elements, for errors: what readers of XML files that people write
// share.
#pragma once

#include <algorithm>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace graft {

class XmlSource {
 public:
  XmlSource(std::string_view xml, std::string file) : xml_(xml), file_(std::move(file)) {}

  const std::string& file() const { return file_; }

  void parse(pugi::xml_document& doc, size_t most_bytes) {
    if (xml_.size() > most_bytes) throw_user(file_, ": expected at most ", most_bytes, " bytes, got ", xml_.size());
    for (size_t at = 0; (at = xml_.find('\n', at)) != xml_.npos; ++at) line_ends_.push_back(at);
    pugi::xml_parse_result parsed = doc.load_buffer(xml_.data(), xml_.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed) throw_user(file_, ':', place_at(parsed.offset), ": invalid XML: ", to_lower(parsed.description()));
  }

  size_t line_of(pugi::xml_node n) const { return line_at(n.offset_debug()); }
  // "LINE:COLUMN" of an element.
  std::string place_of(pugi::xml_node n) const { return place_at(n.offset_debug() - 1); }

  template <class... Parts>
  [[noreturn]] void broken(pugi::xml_node n, const Parts&... parts) const {
    throw_user(file_, ':', place_of(n), ": ", parts...);
  }

  void check_attributes(pugi::xml_node n, const std::vector<std::string>& known) const {
    std::vector<std::string_view> seen;
    for (pugi::xml_attribute a : n.attributes()) {
      std::string_view name = a.name();
      if (std::find(seen.begin(), seen.end(), name) != seen.end())
        broken(n, "<", n.name(), "> has the attribute '", name, "' twice");
      seen.push_back(name);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      auto close = nearest(name, known);
      broken(
          n, "<", n.name(), "> has the unknown attribute '", name, "', ",
          close ? text("did you mean ", *close, "?") : text("expected ", known.empty() ? "none" : join(known, ", ")));
    }
  }

  // The value of an attribute, without blanks around it.
  std::string required(pugi::xml_node n, const char* name) const {
    pugi::xml_attribute a = n.attribute(name);
    if (!a) broken(n, "<", n.name(), "> has no attribute '", name, "'");
    std::string value(trim(a.value()));
    if (value.empty()) broken(n, "the attribute '", name, "' of <", n.name(), "> is empty");
    return value;
  }

 private:
  size_t line_at(ptrdiff_t offset) const {
    auto at = static_cast<size_t>(std::max<ptrdiff_t>(offset, 0));
    return 1 + static_cast<size_t>(std::lower_bound(line_ends_.begin(), line_ends_.end(), at) - line_ends_.begin());
  }
  std::string place_at(ptrdiff_t offset) const {
    auto at = static_cast<size_t>(std::max<ptrdiff_t>(offset, 0));
    size_t line = line_at(offset), start = line > 1 ? line_ends_[line - 2] + 1 : 0;
    return text(line, ":", at - std::min(at, start) + 1);
  }

  std::string_view xml_;
  std::string file_;
  std::vector<size_t> line_ends_;
};

}  // namespace graft

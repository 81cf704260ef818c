#include "layout_text.hpp"

#include <graft/text.hpp>

namespace graft::cli {

std::vector<std::string> layout_entries(std::string_view layout, std::string_view item) {
  std::string_view s = trim(layout);
  if (s.size() > 1 && ((s.front() == '[' && s.back() == ']') || (s.front() == '(' && s.back() == ')')))
    s = trim(s.substr(1, s.size() - 2));
  auto bad = [&](std::string_view why) {
    throw Error(ErrorKind::request, text("the layout '", item, "' ", why),
                "write a letter per dimension, as in nhwc, n...c or [n,h,w,c], and nhwc->nchw to change it");
  };
  if (s.empty()) bad("is empty");
  if (s.find('*') != s.npos) bad("merges dimensions, which is not supported: add a Reshape to the model");
  std::vector<std::string> out;
  if (s.find(',') != s.npos) {
    for (std::string_view part : split(s, ',')) out.push_back(to_upper(trim(part)));
  } else {
    for (size_t i = 0; i < s.size(); ++i) {
      if (s.substr(i).starts_with("...")) out.push_back("..."), i += 2;
      else out.push_back(to_upper(s.substr(i, 1)));
    }
  }
  for (const std::string& e : out)
    if (e != "..." && e != "?" && !(e.size() == 1 && e[0] >= 'A' && e[0] <= 'Z'))
      bad(text("is not valid: expected a letter, got '", e, "'"));
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (out[i] == out[k] && out[i] != "?") bad(text("has '", out[i], "' twice"));
  return out;
}

LayoutRequest layout_change(std::string_view item) {
  LayoutRequest out;
  size_t arrow = item.find("->");
  out.source = layout_entries(item.substr(0, arrow), item);
  if (arrow != item.npos) out.target = layout_entries(item.substr(arrow + 2), item);
  return out;
}

}  // namespace graft::cli

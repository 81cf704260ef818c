// Fills in the templates of cli/extgen/templates. They look like the files that are made from them:
//
//   {{name}}                         the value; alone on its line: all of its lines, indented like it, or no line at
//   all
//   {{#name}} ... {{/name}}          lines that stay if the value is not empty; each mark is alone on its line
//   {{^name}} ... {{/name}}          lines that stay if it is empty
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace graft::cli::extgen {

// The value of a section that stays or goes.
inline std::string flag(bool on) { return on ? "yes" : ""; }

using Values = std::map<std::string, std::string, std::less<>>;

std::string fill(std::string_view text, const Values& values);

// The template of this file name, "tf_ext.py"; the build makes the table from the folder.
std::string_view template_named(std::string_view name);

}  // namespace graft::cli::extgen

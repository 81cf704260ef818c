#include "case.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

namespace graft::testing {

std::vector<Case> read_cases(const std::string& path) {
  std::string content = read_text_file(path);
  std::vector<Case> cases;
  int number = 0;
  for (std::string_view line : split(content, '\n')) {
    ++number;
    if (line.starts_with("== ")) {
      cases.push_back({path, std::string(trim(line.substr(3))), number, {}});
    } else if (!cases.empty()) {
      cases.back().body += line;
      cases.back().body += '\n';
    } else if (!trim(line).empty() && !line.starts_with("#")) {
      throw_user(path, ":", number, ": a case begins with '== name'");
    }
  }
  return cases;
}

}  // namespace graft::testing

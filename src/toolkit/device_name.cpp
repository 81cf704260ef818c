#include "toolkit/device_name.hpp"

#include <algorithm>
#include <cctype>

#include "base/request.hpp"
#include "base/text.hpp"
#include "devices/vpu/vpu.hpp"

namespace graft {
namespace {

constexpr const char* syntax = "expected a device such as CPU, GPU.1 or HETERO:GPU,CPU";

bool is_word(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// The name that a device has here.
std::string current_device_name(std::string_view given) {
  for (std::string_view alias : vpu_aliases)
    if (given == alias) return std::string(vpu_name);
  return std::string(given);
}

DeviceName parse_single(std::string_view given, const std::string& whole) {
  size_t dot = given.find('.');
  DeviceName out;
  out.name = current_device_name(given.substr(0, dot));
  if (dot != given.npos) out.id = given.substr(dot + 1);
  if (!is_word(out.name) || (dot != given.npos && !is_word(out.id)))
    throw RequestError(text("expected a device, got '", given, "'", given == whole ? "" : text(" in '", whole, "'")),
                       syntax);
  if (out.id == "0") out.id.clear();
  return out;
}

}  // namespace

std::string DeviceName::text() const {
  std::string out = id.empty() ? name : name + "." + id;
  for (size_t i = 0; i < list.size(); ++i) out += (i ? "," : ":") + list[i].text();
  return out;
}

DeviceName parse_device(const std::string& given) {
  size_t colon = given.find(':');
  DeviceName out = parse_single(std::string_view(given).substr(0, colon), given);
  if (colon == given.npos) return out;
  std::string_view rest = std::string_view(given).substr(colon + 1);
  for (size_t start = 0; start <= rest.size();) {
    size_t comma = std::min(rest.find(',', start), rest.size());
    out.list.push_back(parse_single(rest.substr(start, comma - start), given));
    for (size_t i = 0; i + 1 < out.list.size(); ++i)
      if (out.list[i].text() == out.list.back().text())
        throw RequestError(graft::text("device ", out.list.back().text(), " is listed twice in '", given, "'"));
    start = comma + 1;
  }
  return out;
}

}  // namespace graft

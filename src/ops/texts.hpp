// Strings in import rules.
#pragma once

#include <graft/builder.hpp>

namespace graft {

inline Value text_constant(Builder& layer, const std::vector<std::string>& texts, std::vector<int64_t> dims) {
  std::vector<graft_str> strs;
  for (const std::string& t : texts) strs.push_back(str(t));
  return layer.constant(std::move(strs), std::move(dims));
}
inline Value text_list(Builder& layer, const std::vector<std::string>& texts) {
  return text_constant(layer, texts, {static_cast<int64_t>(texts.size())});
}

}  // namespace graft

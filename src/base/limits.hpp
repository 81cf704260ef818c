// Limits on what a model file may ask for, in one place: every stage takes what it needs from here. They keep a small
// file from taking hours or all memory; a user who trusts a file raises one by its name (--limit NAME=VALUE,
// ReadOptions::limits). A refusal names its limit:
//
//   if (++nodes > limits.nodes) throw_limit(&Limits::nodes, "the model has more than ", limits.nodes, " nodes");
#pragma once

#include <graft/app/limits.hpp>
#include <span>
#include <string_view>

#include "base/error.hpp"

namespace graft {

struct Limits {
  uint64_t nodes = 2'000'000;
  uint64_t depth = 64;
  uint64_t rank = 32;
  uint64_t dimension = uint64_t{1} << 40;
  uint64_t attributes = 1024;  // they are looked up one after the other
  uint64_t files = 4096;
  uint64_t items = 65'536;
  uint64_t sequence_items = 4'000'000;
  uint64_t expanded_bytes = uint64_t{1} << 27;
  uint64_t inlined = 100'000;
  uint64_t unrolled = 50'000;
  uint64_t body_nodes = 5'000'000;
  uint64_t fold_value = uint64_t{64} << 20;
  uint64_t fold_bytes = uint64_t{128} << 20;
  uint64_t fold_work = uint64_t{1} << 28;
  uint64_t value_bytes = uint64_t{4} << 30;
  uint64_t npz_bytes = uint64_t{4} << 30;
  uint64_t pixels = 12'000'000;

  int levels() const { return static_cast<int>(depth); }
};

struct LimitInfo {
  std::string_view name;
  uint64_t Limits::*value;
  std::string_view doc;
  uint64_t highest = INT64_MAX;  // that a user can set
};
// All of them, in the order of their declaration.
std::span<const LimitInfo> all_limits();
const LimitInfo& limit_info(uint64_t Limits::*limit);
// Throws a RequestError if there is no limit of this name, or if it cannot be set that high.
void set_limit(Limits& limits, std::string_view name, uint64_t value);
Limits changed_limits(const LimitChanges& changes);

// The error of a model that is refused because of a limit. The hint tells how to raise it.
Error limit_error(uint64_t Limits::*limit, std::string message);
bool is_limit_error(const Error& e);

template <class... Parts>
[[noreturn]] void throw_limit(uint64_t Limits::*limit, const Parts&... parts) {
  throw limit_error(limit, text(parts...));
}
// The same for readers that add a position to their errors: `refuse` throws.
template <class Refuse>
[[noreturn]] void over_limit(uint64_t Limits::*limit, Refuse&& refuse) {
  try {
    refuse();
  } catch (const Error& e) {
    throw limit_error(limit, e.message());
  }
  throw_internal("a refusal returned");
}

}  // namespace graft

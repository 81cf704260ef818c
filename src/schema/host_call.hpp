// Calls of host functions by an extension: no exception may cross the border, and failures are remembered.
#pragma once

#include <optional>

#include "base/error.hpp"

namespace graft {

// What went wrong in the current callback: the reason that it gave or got last, and the first failure of a host
// function whose result cannot tell "failed" from "absent". The callback does not see the latter, so it is reported
// even if the callback goes on and succeeds.
struct Reasons {
  std::optional<Error> last, unseen;
};
Reasons& reasons();  // of this thread

// Host functions may call other callbacks (infer a new node, run a body), which have reasons of their own.
class Nested {
 public:
  Nested() {
    if (reasons().unseen) std::swap(outer_, reasons().unseen);
  }
  ~Nested() {
    if (outer_) std::swap(outer_, reasons().unseen);
  }
  Nested(const Nested&) = delete;

 private:
  std::optional<Error> outer_;
};

// Runs host code on behalf of an extension: no exception may cross the border.
template <class F>
graft_status host_run(F&& body) noexcept {
  Nested nested;
  try {
    body();
    return GRAFT_OK;
  } catch (...) {
    reasons().last = current_error();
    return static_cast<graft_status>(reasons().last->kind());
  }
}
template <class R, class F>
R host_value_or(R otherwise, F&& body) noexcept {
  try {
    Nested nested;
    return body();
  } catch (...) {
    if (!reasons().unseen) reasons().unseen = current_error();
    return otherwise;
  }
}

// What a pointer of the extension points to.
template <class T>
T& given(T* pointer) {
  if (!pointer) throw Error(ErrorKind::user, "expected an argument of a host function, got a null pointer");
  return *pointer;
}

}  // namespace graft

// The error for a request that does not fit the model: a mistake in the options, not in the model.
#pragma once

#include <graft/error.hpp>

namespace graft {

class RequestError : public Error {
 public:
  explicit RequestError(std::string message, std::string hint = {})
      : Error(ErrorKind::request, std::move(message), std::move(hint)) {}
};

}  // namespace graft

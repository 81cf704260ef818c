#include "base/error.hpp"

#include <new>
#include <stdexcept>
#include <system_error>

namespace graft {

Error::Error(ErrorKind kind, std::string message, std::string hint, ErrorCode code)
    : kind_(kind), code_(code), message_(std::move(message)), hint_(std::move(hint)), what_(message_) {}

std::vector<Remedy> Error::remedies() const {
  std::vector<Remedy> out = remedies_in(hint_);
  return out.empty() ? remedies_in(message_) : out;
}

const char* Error::what() const noexcept { return what_.c_str(); }

Error& Error::while_(std::string context) {
  what_ += "; while " + context;
  context_.push_back(std::move(context));
  return *this;
}

Error& Error::hint(std::string hint) {
  if (hint_.empty()) hint_ = std::move(hint);
  return *this;
}

std::string Error::report() const {
  std::string out = kind_ == ErrorKind::internal ? "internal error: " : "error: ";
  out += message_;
  for (const std::string& c : context_) out += "\n  while " + c;
  if (!hint_.empty()) out += "\nhint: " + hint_;
  if (kind_ == ErrorKind::internal)
    out +=
        "\nThis is a bug in Graft, or in the extension that defines this operation. If it is ours, please report it "
        "with the model and the command line.";
  return out;
}

Error current_error() {
  try {
    throw;
  } catch (const Error& e) {
    return e;
  } catch (const Failure& f) {
    return coded_error(static_cast<ErrorKind>(f.kind), f.message, f.hint);
  } catch (const std::length_error&) {  // a container for more elements than any memory holds
    return Error(ErrorKind::user, "not enough memory");
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::user, "not enough memory");
  } catch (const std::system_error& e) {  // files that vanish, threads that cannot be started
    return Error(ErrorKind::io, e.what());
  } catch (const std::exception& e) {
    return Error(ErrorKind::internal, e.what());
  } catch (...) {
    return Error(ErrorKind::internal, "unknown exception");
  }
}

}  // namespace graft

// Errors as the caller of the library sees them.
//
//   error: kernel 5x5 does not fit the padded input 3x3
//     while inferring the shape of 'conv4' (Convolution)
//     while importing layer 'conv4' of lenet.onnx
//   hint: try --input_shape data[1,1,28,28]
//
// The message says what is wrong, the context where, and the hint what to do about it:
//
//   try {
//     core.read_model(path);
//   } catch (const graft::Error& e) {
//     std::cerr << e.report() << '\n';
//     return e.kind() == graft::ErrorKind::internal ? 2 : 1;
//   }
#pragma once

#include <exception>
#include <string>
#include <vector>

#ifndef GRAFT_API
#define GRAFT_API __attribute__((visibility("default")))
#endif

namespace graft {

// Who can do something about it.
enum class ErrorKind {
  user = 1,         // the caller or the model is wrong
  unsupported = 2,  // understood, but not something Graft can do
  io = 3,           // a file could not be read or written
  internal = 4,     // a bug in Graft; the message says so
  cancelled = 5,    // the request was cancelled
  request = 6,      // options that are wrong, or that do not fit the model
};

// The exception that toolkit.hpp throws. Copies are independent; a const Error may be used by several threads.
class GRAFT_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message, std::string hint = {});
  ErrorKind kind() const noexcept { return kind_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& hint() const noexcept { return hint_; }
  // From the inside out: "inferring the shape of 'conv4' (Convolution)".
  const std::vector<std::string>& context() const noexcept { return context_; }
  // Message and context in one line.
  const char* what() const noexcept override;
  // Everything in several lines, as the command line prints it.
  std::string report() const;

  // Adds one level of context, or sets the hint, while the exception propagates: catch by reference, call, rethrow.
  Error& while_(std::string context);
  Error& hint(std::string hint);

 private:
  ErrorKind kind_;
  std::string message_, hint_, what_;
  std::vector<std::string> context_;
};

// The exception being handled, as an Error: for catch (...) blocks. Lack of memory is a `user` error, a failed call of
// the operating system `io`, anything else that is not an Error `internal`.
GRAFT_API Error current_error();

}  // namespace graft

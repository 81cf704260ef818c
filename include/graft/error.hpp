// What goes wrong, for whoever calls the library.
//
//   error: kernel 5x5 does not fit the padded input 3x3
//     while inferring the shape of 'conv4' (Convolution)
//     while importing layer 'conv4' of lenet.onnx
//   hint: try --input_shape data[1,1,28,28]
#pragma once

#include <exception>
#include <string>
#include <vector>

#ifndef GRAFT_API
#define GRAFT_API __attribute__((visibility("default")))
#endif

namespace graft {

enum class ErrorKind {
  user = 1,         // the caller or the model is wrong
  unsupported = 2,  // understood, but not something Graft can do
  io = 3,           // a file could not be read or written
  internal = 4,     // a bug of ours; says so
  cancelled = 5,    // the request was cancelled
};

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
  // Everything, as the command line prints it.
  std::string report() const;

  Error& while_(std::string context);
  Error& hint(std::string hint);

 private:
  ErrorKind kind_;
  std::string message_, hint_, what_;
  std::vector<std::string> context_;
};

}  // namespace graft

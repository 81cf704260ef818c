// Errors as the caller of the library sees them.
//
//   error: kernel 5x5 does not fit the padded input 3x3
//     while inferring the shape of 'conv4' (Convolution)
//     while importing layer 'conv4' of lenet.onnx
//   hint: try --input_shape data[1,1,28,28]
//
// The message says what is wrong, the context where, and the hint what to do about it. What can be set is a Remedy: it
// names the option by its member, and a program shows it in the words of its own users (reworded):
//
//   try {
//     core.read_model(path);
//   } catch (const graft::Error& e) {
//     std::cerr << e.report() << '\n';
//     return e.kind() == graft::ErrorKind::internal ? 2 : 1;
//   }
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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

// The cause, where a program may want to do something about it other than showing it.
enum class ErrorCode {
  other = 0,
  shape_needed = 1,      // an import rule needs more of the inputs' shapes than is known
  limit_reached = 2,     // the model asks for more than a limit allows (limits.hpp)
  missing_argument = 3,  // a decomposition uses an attribute that has no value
};

// Something to set: an option of reading, converting, compiling or running by its member (of ReadOptions::shapes:
// "shapes"), or a function of the toolkit ("Core::operations").
struct GRAFT_API Remedy {
  std::string option;
  std::string place;  // the entry of an option with several: an input, a layer; empty: none
  std::string value;  // empty: none, or what the user has to know
  // In texts of the library, between backquotes: `shapes[data]=[1,3,224,224]`. A backquote, and a "]" in the place, are
  // doubled.
  std::string to_text() const;
};
GRAFT_API void append_text(std::string& out, const Remedy& remedy);

// The remedies in a text of the library (a message, hint, warning or report), in order.
GRAFT_API std::vector<Remedy> remedies_in(std::string_view text);
// A text of the library with its remedies in other words, such as those of a command line. Those for which `words` has
// none stay as they are.
//
//   graft::reworded(e.report(), [](const graft::Remedy& r) -> std::optional<std::string> {
//     if (r.option == "shapes") return "my_shape " + r.place + " " + r.value;
//     return std::nullopt;
//   });
using RemedyWords = std::function<std::optional<std::string>(const Remedy&)>;
GRAFT_API std::string reworded(std::string_view text, const RemedyWords& words);

// The exception that toolkit.hpp throws. Copies are independent; a const Error may be used by several threads.
class GRAFT_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message, std::string hint = {}, ErrorCode code = ErrorCode::other);
  ErrorKind kind() const noexcept { return kind_; }
  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& hint() const noexcept { return hint_; }
  // What the hint, otherwise the message, says that can be set.
  std::vector<Remedy> remedies() const;
  // From the inside out: "inferring the shape of 'conv4' (Convolution)".
  const std::vector<std::string>& context() const noexcept { return context_; }
  // Message and context in one line.
  const char* what() const noexcept override;
  // Everything in several lines.
  std::string report() const;

  // Adds one level of context, or sets the hint, while the exception propagates: catch by reference, call, rethrow.
  Error& while_(std::string context);
  Error& hint(std::string hint);

 private:
  ErrorKind kind_;
  ErrorCode code_;
  std::string message_, hint_, what_;
  std::vector<std::string> context_;
};

// The exception being handled, as an Error: for catch (...) blocks. Lack of memory is a `user` error, a failed call of
// the operating system `io`, anything else that is not an Error `internal`.
GRAFT_API Error current_error();

}  // namespace graft

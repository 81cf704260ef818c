// Imports a model, runs it on REFERENCE and on the CPU (or the GPU), and compares the results.
//
// Refusing is fine, for any reason that is not a bug of ours. A finding is: an error of kind internal, results that
// differ in number, type, shape or value, results that contradict shape inference, an IR of ours that cannot be read
// again. Crashes, sanitizer reports, time and memory are for the caller to notice.
#pragma once

#include <array>
#include <map>
#include <optional>

#include "document.hpp"

namespace graft::fuzzing {

// What executions ended with. Excuses are counted, so that one can see how few there are.
enum Count : size_t {
  executions,
  unreadable,      // refused by reader, import or inference
  refused,         // by both devices
  refused_by_one,  // not compared: passes may remove what cannot be computed
  compared,
  too_large,         // more elements or work than a fuzz target has time for
  cancelled,         // a loop that runs too long
  excused_random,    // an operation is random
  excused_unstable,  // REFERENCE differs as much when inputs and constants change by rounding
  excused_overflow,  // infinity, NaN or nearly: the order of operations decides
  through_ir,
  count_size
};
extern const std::array<std::string_view, count_size> count_names;
using Counts = std::array<uint64_t, count_size>;

struct Finding {
  std::string kind;  // "internal error", "values", ...
  std::string message;
};

// Values of integer inputs by name, repeated as often as there are elements; the other inputs get random ones.
using GivenInputs = std::map<std::string, std::vector<int64_t>>;

// The device that is compared with REFERENCE.
enum class OtherDevice { cpu, gpu };

std::optional<Finding> execute(Format format, std::string_view bytes, Counts& counts, const GivenInputs& given = {},
                               OtherDevice device = OtherDevice::cpu);

}  // namespace graft::fuzzing

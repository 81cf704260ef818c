// Strings: parsing numbers, element types and shapes as the command line does; lists; quoting of untrusted names.
//
//   std::optional<graft::Shape> s = graft::parse_shape("1,3,?,8..64");   // none if it does not parse
//   std::puts(graft::printable(model.name()).c_str());                    // no control bytes reach the terminal
//
// All functions are pure and thread-safe.
#pragma once

#include <optional>

#include "error.hpp"
#include "types.hpp"

namespace graft {

GRAFT_API std::vector<std::string_view> split(std::string_view s, char separator);  // "" gives no parts
GRAFT_API std::string_view trim(std::string_view s);
GRAFT_API std::string join(const std::vector<std::string_view>& parts, std::string_view between);
GRAFT_API std::string join(const std::vector<std::string>& parts, std::string_view between);
GRAFT_API bool equal_ignoring_case(std::string_view a, std::string_view b);
GRAFT_API std::string to_lower(std::string_view s);
GRAFT_API std::string to_upper(std::string_view s);

// These parse the whole string; none when it does not parse.
GRAFT_API std::optional<int64_t> parse_int(std::string_view s);
GRAFT_API std::optional<double> parse_number(std::string_view s);  // also "inf", "-inf", "nan"
GRAFT_API std::optional<bool> parse_bool(std::string_view s);      // true/false/1/0, any case
GRAFT_API std::optional<DType> parse_dtype(std::string_view s);    // "f32", "FP32", "BOOL", ...
GRAFT_API std::optional<Dim> parse_dim(std::string_view s);        // "7", "?", "-1", "8..64", "2..", "..9"
GRAFT_API std::optional<Shape> parse_shape(std::string_view s);    // "1,3,?", "" (scalar), "..." (unknown rank)

// The candidate closest to `word`, if one is close enough to be a likely misspelling.
GRAFT_API std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

// A string in quotes with \n, \", \\ and the like escaped; the parser of the textual form reverses it.
GRAFT_API std::string in_quotes(std::string_view s);
// The text on one line: control characters, which a terminal or compiler would interpret, escaped as \n or \x1b.
GRAFT_API std::string on_one_line(std::string_view s);
// For a terminal or a log: newlines and tabs stay, other control bytes and bytes that are not UTF-8 become \xNN.
GRAFT_API std::string printable(std::string_view s);
// Quoted for pasting into a shell.
GRAFT_API std::string quoted_for_shell(std::string_view s);
// The same for a path, which must not look like an option.
GRAFT_API std::string path_for_shell(const std::string& path);
GRAFT_API bool is_valid_utf8(std::string_view s);

}  // namespace graft

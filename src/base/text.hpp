// String helpers: parsing and formatting of numbers, lists, element types and shapes; closest match; quoting.
#pragma once

#include <graft/types.hpp>
#include <optional>

namespace graft {

std::vector<std::string_view> split(std::string_view s, char separator);  // "" gives no parts
std::string_view trim(std::string_view s);
std::string join(const std::vector<std::string_view>& parts, std::string_view between);
std::string join(const std::vector<std::string>& parts, std::string_view between);
bool equal_ignoring_case(std::string_view a, std::string_view b);
std::string to_lower(std::string_view s);
std::string to_upper(std::string_view s);

// These parse the whole string; none when it does not parse.
std::optional<int64_t> parse_int(std::string_view s);
std::optional<double> parse_number(std::string_view s);  // also "inf", "-inf", "nan"
std::optional<bool> parse_bool(std::string_view s);      // true/false/1/0, any case
std::optional<DType> parse_dtype(std::string_view s);    // "f32", "FP32", "BOOL", ...
std::optional<Dim> parse_dim(std::string_view s);        // "7", "?", "-1", "8..64", "2..", "..9"
std::optional<Shape> parse_shape(std::string_view s);    // "1,3,?", "" (scalar), "..." (unknown rank)

// The shortest string that parses back to the same number.
std::string number_text(double v);
// 17 significant digits, as IR files carry them.
std::string number_text_17(double v);
// In IR ports: "FP32", "I64", "BOOL".
std::string port_precision(DType type);

// The candidate closest to `word`, if one is close enough to be a likely misspelling.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

// A string in quotes with \n, \", \\ and the like escaped; the parser of the textual form reverses it.
std::string in_quotes(std::string_view s);

// The text on one line: control characters, which a terminal or compiler would interpret, escaped as \n or \x1b.
std::string on_one_line(std::string_view s);

// For a terminal or a log: newlines and tabs stay, other control bytes and bytes that are not UTF-8 become \xNN.
std::string printable(std::string_view s);

// Quoted for pasting into a shell.
std::string quoted_for_shell(std::string_view s);
// The same for a path, which must not look like an option.
std::string path_for_shell(const std::string& path);

bool is_valid_utf8(std::string_view s);

}  // namespace graft

// Strings from users and models in generated source code.
#pragma once

#include <string>
#include <string_view>

namespace graft::cli {

// String literals, with the quotes.
std::string cpp_literal(std::string_view s);
std::string python_literal(std::string_view s);
// A line comment of C++.
std::string cpp_comment(std::string_view s);
// The content of an XML attribute or element.
std::string xml_escaped(std::string_view s);

// An identifier of C++ and Python that resembles `s`, neither reserved nor used by generated sources.
std::string identifier(std::string_view s);
bool is_identifier(std::string_view s);
// Keywords and common macros of C++.
bool is_reserved_word(std::string_view s);

}  // namespace graft::cli

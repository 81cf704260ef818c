// What the library says in the words of the command line: `shapes[data]=[1,3]` becomes --input_shape 'data[1,3]'.
#pragma once

#include <graft/app/convert.hpp>
#include <graft/app/read.hpp>
#include <graft/text.hpp>

namespace graft::cli {

// "--input_shape", or "-k" for one letter.
std::string flag_of(std::string_view spelling);
// The first spelling of an option of reading or converting, by the name of its member; empty: it has none.
std::string flag_named(std::string_view option);
// A text of the library (a message, report or warning) as the command line says it.
std::string in_options(std::string_view text);

}  // namespace graft::cli

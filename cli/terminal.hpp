// Protects the terminal from control bytes in names of untrusted models.
#pragma once

#include <cstdio>

namespace graft::cli {

// From now on stdout and stderr print control bytes other than newline and tab, and bytes that are not UTF-8, as \xNN.
void protect_terminal();

// The unprotected stderr, for colors and progress lines of our own.
std::FILE* raw_stderr();

}  // namespace graft::cli

// Cases of .test files as files, for other programs.
#pragma once

#include "check/case.hpp"

namespace graft::testing {

// For fuzzing: the bytes of every case, one file each, and the IR of every graph case. For oracles: IR, inputs and
// results of every graph case that computes something.
void write_corpus(const std::vector<Case>& cases, const Registry& registry, const std::string& folder);
void write_models(const std::vector<Case>& cases, const Registry& registry, const std::string& folder);

}  // namespace graft::testing

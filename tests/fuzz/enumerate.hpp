// Two enumerations over a seed: every declared input and constant with every rank from 0 to 6, and every input absent;
// every attribute with extreme values.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "document.hpp"

namespace graft::fuzzing {

enum class Enumeration { ranks, attributes };

// Attributes that layers of a type have in any of the seeds: type -> name -> an example.
using Vocabulary = std::map<std::string, std::map<std::string, Tree>>;
Vocabulary attributes_in(std::vector<Document>& seeds);

// Calls `use` with every variant of the seed, in a fixed order.
void enumerate(Enumeration what, const Document& seed, const Vocabulary& vocabulary,
               const std::function<void(const Document&)>& use);

}  // namespace graft::fuzzing

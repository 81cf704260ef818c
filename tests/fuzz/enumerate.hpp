// Enumerations over a seed, each in a fixed order:
//
//   ranks        every declared input and constant with every rank from 0 to 6, and every input absent
//   attributes   every attribute with extreme values
//   lengths      every list, in attributes and in constants, with other lengths than it has
//   inputs       every integer input, with extreme values that are known only at run time; constants become inputs
#pragma once

#include <functional>
#include <map>
#include <set>

#include "document.hpp"
#include "execute.hpp"

namespace graft::fuzzing {

enum class Enumeration { ranks, attributes, lengths, inputs };
Enumeration enumeration_named(std::string_view name);  // throws graft::Error

// Attributes that layers of a type have in any of the seeds: type -> name -> an example.
using Vocabulary = std::map<std::string, std::map<std::string, Tree>>;
Vocabulary attributes_in(std::vector<Document>& seeds);

std::string text_of(const GivenInputs& given);  // "a=1,2;b=3"
GivenInputs given_inputs(std::string_view text);

// A variant of the seed, and values for some of its inputs.
using UseVariant = std::function<void(const Document&, const GivenInputs&)>;
void enumerate(Enumeration what, const Document& seed, const Vocabulary& vocabulary, const UseVariant& use);

// What tells two seeds apart for an enumeration, per layer: its type; for lengths, which attributes and words it has,
// since rules treat their lists differently.
std::set<std::string> kinds_in(Document& d, Enumeration what);

}  // namespace graft::fuzzing

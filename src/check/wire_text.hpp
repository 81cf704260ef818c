// Protobuf messages written down field by field, right or wrong.
//
//   onnx {
//     1: 8                         a number
//     2: "producer"                text
//     7: { 1: { 4: "Relu" } }      a message
//     9: bytes "00 00 80 3f"       bytes in hexadecimal
//     2: float 1.5                 32 bits
//     10: double 1.5               64 bits
//     7: packed [1, 2, 300]        packed numbers
//     5: floats [1, 2.5]           packed numbers of 32 bits
//     8: doubles [1, 2.5]          packed numbers of 64 bits
//     7: length 1000 { }           a message that says it is longer than it is
//     raw "ff ff"                  bytes where a field should be
//   }
#pragma once

#include <string>

#include "graph/text.hpp"

namespace graft::testing {

// Reads `{ ... }` from the text and gives the bytes.
std::string read_wire(TextReader& r);
std::string from_hex(const std::string& hex);

}  // namespace graft::testing

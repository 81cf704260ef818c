// Formats that have a file of their own: the symbols and arrays of MXNet, and the text form of Kaldi's models.
#pragma once

#include "document.hpp"

namespace graft::fuzzing {

// A symbol, a zero byte, and a list of arrays: groups "symbol" and "arrays". In the symbol, objects and arrays are
// groups that know which they are; parameters of layers are attributes ("@kernel"). An array has `dims`, `data_type`,
// `raw_data` and `name`.
Tree read_mxnet_document(std::string_view bytes);
void write_mxnet_document(const Tree& root, std::string& out);

// What a token and its end mark enclose is an "element"; a token without one is a "field", with its values. A matrix
// has "row" groups. Lines of a configuration are "line" groups with attributes ("@input"). Binary files are refused.
Tree read_kaldi_document(std::string_view bytes);
void write_kaldi_document(const Tree& root, std::string& out);

// The items of a list in a text, as in "(1, 2)", "[1,2]" or "1,2", and the list with other items.
std::vector<std::string> items_of(std::string_view list);
std::string with_items(std::string_view list, const std::vector<std::string>& items);

// A leaf or a group of a format without field numbers.
Tree make_tree(std::string name, decltype(Tree::value) value = {});

}  // namespace graft::fuzzing

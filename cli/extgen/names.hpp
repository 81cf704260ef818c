// Names and types that users give to extgen: what is valid, and the names derived from them. `where` is the start of an
// error message: "question 2", "'mo_op.op'".
#pragma once

#include "specification.hpp"

namespace graft::cli::extgen {

const char* name_of(Framework f);    // "TensorFlow"
const char* folder_of(Framework f);  // "tf"
const char* name_of(Device d);       // "CPU"
const char* folder_of(Device d);     // "cpu"
inline constexpr Framework all_frameworks[] = {Framework::caffe, Framework::mxnet, Framework::tf, Framework::onnx,
                                               Framework::kaldi};
inline constexpr Device all_devices[] = {Device::cpu, Device::gpu, Device::vpu};

// The types of parameters; empty: parameters have no types.
const std::vector<std::string>& types_of(Framework f);
const std::vector<std::string>& types_of(Device d);

// These throw UsageError.
void check_operation(const std::string& where, const std::string& name);   // also module.Class
void check_layer(const std::string& where, const std::string& name);       // type in a framework
void check_identifier(const std::string& where, const std::string& name);  // attribute, class, message
void check_path(const std::string& where, const std::string& name);        // identifiers joined by dots
void check_parameter(const std::string& where, Framework f, const Parameter& p);
void check_parameter(const std::string& where, Device d, const Parameter& p);

// The part after the last dot.
std::string last_part(const std::string& name);
// Lower-case file name without ending.
std::string file_stem(const std::string& name);

// A value as a literal of Python, C++ or XML.
std::string python_value(const nlohmann::json& value);
std::string cpp_value(const nlohmann::json& value, const std::string& type);
std::string plain_value(const nlohmann::json& value);
// A value as typed: a number, true or false, a comma-separated list of numbers, or a string.
nlohmann::json typed_value(const std::string& word);

}  // namespace graft::cli::extgen

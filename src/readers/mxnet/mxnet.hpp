// Reads MXNet files: a symbol (prefix-symbol.json) and the values of its variables (prefix-0000.params, .nd).
//
// Symbols of all versions arrive in today's form. A layer's parameters, which the files store as strings, become typed
// fields: "(3, 3)" is a list of integers, "True" a boolean, "relu" a string. Annotations for training and placement
// (lr_mult, __ctx_group__, ...) are omitted. A layer `Custom` has the type that its op_type names, and the domain
// "Custom": a rule says which of the two it is for. Variables with a value are constants, the others are inputs of the
// model. The version of operators is that of MXNet, 10901 for 1.9.1. A layer's output is named as in MXNet:
// "conv1_output", or "slice_output0" where there are several.
#pragma once

#include <graft/app/read.hpp>

#include "readers/raw.hpp"

namespace graft {

// The domain of layers whose operator is `Custom`.
inline constexpr std::string_view mxnet_custom_domain = "Custom";

bool looks_like_mxnet_symbol(std::string_view bytes);
bool looks_like_mxnet_params(std::string_view bytes);

// Arrays with their names, without "arg:" and "aux:".
struct MxnetParams {
  std::map<std::string, Tensor> arrays;
  std::map<std::string, bool> auxiliary;  // those under "aux:"
};
MxnetParams read_mxnet_params(std::string_view bytes, std::shared_ptr<const void> keeper, const Limits& limits = {});
void write_mxnet_params(const std::string& path, const MxnetParams& params);
std::string mxnet_params_bytes(const MxnetParams& params);

// A symbol with any number of files of arrays; of two arrays with the same name, the later is used.
RawModel read_mxnet(const std::string& symbol, const std::vector<std::string>& params, const ReadOptions& request,
                    const Limits& limits = {});
// From memory; `name` is the name of the symbol in errors.
RawModel read_mxnet(std::string_view symbol, const std::string& name, const MxnetParams& params,
                    const ReadOptions& request, const Limits& limits = {});

}  // namespace graft

// --transform of the Model Optimizer: what is done to a converted model before it is written.
#pragma once

#include <graft/app/convert.hpp>

namespace graft::cli {

// "LowLatency2[use_const_initializer=False],MakeStateful[param_res_names={'in':'out'}]"; notes for what has no effect.
void parse_transforms(const std::string& given, ConvertOptions& out, std::vector<std::string>& notes);

}  // namespace graft::cli

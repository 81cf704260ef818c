// TensorFlow's file `checkpoint`, which lies in a folder of checkpoints and names one of them:
//
//   model_checkpoint_path: "model.ckpt-9000"
#pragma once

#include <string>

namespace graft {

// The .index file of the checkpoint that the state file names. Relative paths are below the folder of the state file,
// and absolute ones must be: what a file names is not read from anywhere else.
std::string read_checkpoint_state(const std::string& path);

}  // namespace graft

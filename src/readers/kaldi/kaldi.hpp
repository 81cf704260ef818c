// Reads Kaldi models: nnet1 (.nnet), nnet2 and nnet3 (.mdl, .raw), binary and text, with or without a transition model.
//
// A component arrives as a layer of its own type ("TdnnComponent"): its tokens are fields ("TimeOffsets"), its vectors
// and matrices are weights, whose names are in the field "weights"; those without a token have numbers as names.
// Averages that training collects for diagnostics are left out. The input is a whole utterance (frames x dimension).
// Time offsets are layers of their own ("Frames"), so that the graph computes what Kaldi computes for an utterance in
// one chunk: see docs/decisions/0013-kaldi-models-take-whole-utterances.md.
#pragma once

#include <graft/app/read.hpp>

#include "readers/raw.hpp"

namespace graft {

bool looks_like_kaldi(std::string_view bytes);

RawModel read_kaldi(const std::string& path, const ReadOptions& request = {}, const Limits& limits = {});
// From memory; `name` is the file's name in errors.
RawModel read_kaldi(std::string_view bytes, const std::string& name, const ReadOptions& request = {},
                    const Limits& limits = {});

}  // namespace graft

// CPU extensions that were written for the Inference Engine (2018 to 2021), without the Inference Engine.
//
//   #include <graft/inference_engine.hpp>   // instead of "ext_list.hpp", "ext_base.hpp", <ie_iextension.h>, ...
//
//   namespace InferenceEngine::Extensions::Cpu {
//   class CoshImpl : public ExtLayerBase {
//    public:
//     explicit CoshImpl(const CNNLayer* layer) {
//       addConfig(layer, {DataConfigurator(ConfLayout::PLN)}, {DataConfigurator(ConfLayout::PLN)});
//     }
//     StatusCode execute(std::vector<Blob::Ptr>& inputs, std::vector<Blob::Ptr>& outputs,
//                        ResponseDesc*) noexcept override {
//       const float* x = inputs[0]->cbuffer().as<const float*>();
//       float* y = outputs[0]->buffer().as<float*>();
//       parallel_for(inputs[0]->size(), [&](size_t i) { y[i] = std::cosh(x[i]); });
//       return OK;
//     }
//   };
//   REG_FACTORY_FOR(ImplFactory<CoshImpl>, Cosh);
//   }
//
// Build it as a shared library that links nothing (c++ -std=c++20 -O2 -fPIC -shared -I<prefix>/include), and load it
// with --extensions. A library with an IExtension of its own defines CreateExtension, as before; it may include
// <graft/inference_engine/extension.hpp> alone, which has the interfaces without these helpers.
//
// Layers of the types that the library lists are taken from IRs and from the files of all frameworks. Their attributes
// are in `params`, as the IR writes them; their shapes come from the library's shape functions (IShapeInferImpl,
// getShapes), from another extension that defines the operation, or from the IR. Memory is dense and plain unless a
// configuration asks for another layout or precision, which are converted to. Status codes and exceptions become errors
// that name the node and the library; an exception that leaves a function declared noexcept ends the program, as it
// always did. Each concurrent call has an implementation of its own.
#pragma once

#include "inference_engine/ext_base.hpp"

#include "toolkit/recognize.hpp"

#include <filesystem>
#include <graft/read.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "ir/ir.hpp"
#include "readers/caffe.hpp"
#include "readers/kaldi.hpp"
#include "readers/mxnet.hpp"
#include "readers/onnx.hpp"
#include "readers/tensorflow.hpp"
#include "toolkit/border.hpp"

namespace graft {

std::string_view format_name(Format f) {
  switch (f) {
    case Format::onnx: return "onnx";
    case Format::caffe: return "caffe";
    case Format::ir: return "ir";
    case Format::kaldi: return "kaldi";
    case Format::tensorflow: return "tensorflow";
    case Format::mxnet: return "mxnet";
    case Format::text: return "text";
  }
  return "";
}

Format recognize(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    if (std::filesystem::exists(path + "/saved_model.pb") || std::filesystem::exists(path + "/saved_model.pbtxt"))
      return Format::tensorflow;
    throw Error(ErrorKind::unsupported, text("the folder '", path, "' contains no saved_model.pb"),
                "a TensorFlow SavedModel is the only model format that is a folder");
  }
  auto file = MappedFile::open(path);
  std::string_view bytes = file->chars();
  if (bytes.empty()) throw_user("'", path, "' is empty");
  if (looks_like_kaldi(bytes)) return Format::kaldi;
  if (looks_like_ir(bytes)) return Format::ir;
  if (looks_like_mxnet_symbol(bytes) || looks_like_mxnet_params(bytes)) return Format::mxnet;
  std::string_view head = trim(bytes.substr(0, 4096));
  while (head.starts_with('#')) head = trim(head.substr(std::min(head.find('\n'), head.size())));
  if (head.starts_with("graph")) return Format::text;
  if (looks_like_caffe_text(bytes) || looks_like_caffe_weights(bytes)) return Format::caffe;
  if (looks_like_tensorflow(bytes)) return Format::tensorflow;  // before ONNX, whose check accepts nearly anything
  if (looks_like_onnx(bytes)) return Format::onnx;
  // The content is not recognized. Where the file extension suggests a format, let its reader report the error.
  std::string ending = extension_of(path);
  if (ending == ".prototxt" || ending == ".caffemodel") return Format::caffe;
  if (ending == ".onnx") return Format::onnx;
  if (path.ends_with("-symbol.json") || ending == ".params" || ending == ".nd") return Format::mxnet;
  if (ending == ".nnet" || ending == ".mdl") return Format::kaldi;
  throw Error(ErrorKind::unsupported, text("'", path, "' is not in a supported model format"),
              "supported are ONNX (.onnx), Caffe (.prototxt with .caffemodel), TensorFlow (frozen .pb, SavedModel), MXNet "
              "(-symbol.json with .params), Kaldi (.nnet, .mdl, .raw) and IR (.xml with .bin)");
}

bool is_framework(Format f) { return f != Format::ir && f != Format::text; }

std::string recognize_format(const std::string& path) {
  return at_border([&] { return std::string(format_name(recognize(path))); });
}

}  // namespace graft

#include "readers/tflite/model.hpp"

#include <algorithm>
#include <cstring>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "readers/names.hpp"
#include "readers/tensorflow/graph.hpp"
#include "readers/tflite/flex.hpp"
#include "readers/tflite/operators.hpp"
#include "readers/wire.hpp"

namespace graft {
namespace tflite_model {
namespace {

constexpr int32_t custom_code = 32;

int64_t count_of(const std::vector<int32_t>& dims) {
  std::vector<int64_t> wide(dims.begin(), dims.end());
  return count_checked(wide);
}

// A string tensor: the number of strings, where each begins and the last ends, the characters.
Tensor strings_of(const TfliteTensor& t, std::string_view data, const std::vector<int64_t>& dims) {
  auto number = [&](size_t i) {
    int32_t v = 0;
    std::memcpy(&v, data.data() + 4 * i, 4);
    return v;
  };
  auto wrong = [&] {
    throw_user("the strings of the tensor '", t.name, "' lie outside their buffer of ", data.size(), " bytes");
  };
  if (data.size() < 4) wrong();
  int32_t count = number(0);
  if (count < 0 || static_cast<size_t>(count) > data.size() / 4 || 4 * (static_cast<size_t>(count) + 2) > data.size())
    wrong();
  if (count != count_of(t.dims))
    throw_user("expected ", count_of(t.dims), " strings in the tensor '", t.name, "', got ", count);
  std::vector<std::string> all;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    int32_t begin = number(i + 1), end = number(i + 2);
    if (begin < 0 || end < begin || static_cast<size_t>(end) > data.size()) wrong();
    all.emplace_back(data.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  }
  return Tensor::strings(dims, std::move(all));
}

void append_field(std::string& to, uint32_t field, std::string_view bytes) {
  to += static_cast<char>(field << 3 | Wire::bytes_type);
  size_t n = bytes.size();
  for (; n >= 128; n >>= 7) to += static_cast<char>(n | 128);
  to += static_cast<char>(n);
  to += bytes;
}
// A NodeDef as the only node of a GraphDef: its type and attributes; its inputs are those of the operator.
std::string as_graph(std::string_view bytes) {
  std::string node, graph;
  append_field(node, 1, "node");
  for (Wire w(bytes, "NodeDef"); w.next();) {
    if (w.field() == 2 || w.field() == 5) append_field(node, w.field(), w.bytes());
    else w.skip();
  }
  append_field(graph, 1, node);
  return graph;
}

}  // namespace
}  // namespace tflite_model

TfliteModel::TfliteModel(std::string_view bytes, std::shared_ptr<const void> keeper, const Limits& limits)
    : keeper_(std::move(keeper)), limits_(limits), file_(bytes) {
  FlatTable model = file_.root("Model");
  auto version = model.number<uint32_t>(0, 0);
  if (version != 3) throw_unsupported("expected version 3 of the TensorFlow Lite schema, got ", version);
  description = model.string(3);
  FlatTables codes = model.tables(1, "OperatorCode");
  for (size_t i = 0; i < codes.size(); ++i) {
    FlatTable t = codes[i];
    OperatorCode c;
    // Old files have only the first number, which is a byte; where both are there, the larger one counts.
    c.code = std::max<int32_t>(t.number<int8_t>(0, 0), t.number<int32_t>(3, 0));
    c.custom = t.string(1);
    c.version = t.number<int32_t>(2, 1);
    check_name(c.custom);
    codes_.push_back(std::move(c));
  }
  FlatTables buffers = model.tables(4, "Buffer");
  for (size_t i = 0; i < buffers.size(); ++i) {
    FlatTable b = buffers[i];
    auto offset = b.number<uint64_t>(1, 0), size = b.number<uint64_t>(2, 0);
    buffers_.push_back(offset > 1 ? behind(b, offset, size) : b.bytes(0));
  }
  FlatTables all = model.tables(2, "SubGraph");
  if (all.size() == 0) throw_user("the model has no sub-graphs");
  uint64_t nodes = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    graphs.push_back(graph(all[i]));
    nodes += graphs.back().operators.size() + graphs.back().tensors.size() / 4;
    if (nodes > limits_.nodes) throw_limit(&Limits::nodes, "the model has more than ", limits_.nodes, " operators");
  }
  FlatTables named = model.tables(7, "SignatureDef");
  for (size_t i = 0; i < named.size(); ++i) signatures.push_back(signature(named[i]));
}

// Data at the end of a file of more than 2 GB.
std::string_view TfliteModel::behind(const FlatTable& t, uint64_t offset, uint64_t size) const {
  uint64_t length = file_.bytes().size();
  if (offset > length || size > length - offset)
    t.broken("has its ", size, " bytes of data at ", offset, ", outside the file of ", length, " bytes");
  return file_.bytes().substr(offset, size);
}

TfliteGraph TfliteModel::graph(const FlatTable& t) {
  TfliteGraph g;
  g.name = t.string(4);
  check_name(g.name);
  FlatTables tensors = t.tables(0, "Tensor");
  for (size_t i = 0; i < tensors.size(); ++i) g.tensors.push_back(tensor(tensors[i]));
  g.inputs = t.numbers<int32_t>(1), g.outputs = t.numbers<int32_t>(2);
  FlatTables operators = t.tables(3, "Operator");
  for (size_t i = 0; i < operators.size(); ++i) g.operators.push_back(operation(operators[i]));
  auto check = [&](const std::vector<int32_t>& list, const char* what, int32_t least) {
    for (int32_t v : list)
      if (v < least || v >= static_cast<int64_t>(g.tensors.size()))
        throw_user("expected tensors 0 to ", static_cast<int64_t>(g.tensors.size()) - 1, " as ", what,
                   " of the sub-graph '", g.name, "', got ", v);
  };
  check(g.inputs, "inputs", 0), check(g.outputs, "outputs", 0);
  for (const TfliteOperator& op : g.operators) {
    check(op.inputs, "inputs of an operator", -1), check(op.outputs, "outputs of an operator", -1);
  }
  return g;
}

TfliteTensor TfliteModel::tensor(const FlatTable& t) const {
  TfliteTensor out;
  out.name = t.string(3);
  check_name(out.name);
  out.type = t.number<int8_t>(1, 0);
  out.dims = t.numbers<int32_t>(0);
  auto signature = t.numbers<int32_t>(7);
  if (out.dims.size() > limits_.rank)
    throw_limit(&Limits::rank, "the tensor '", out.name, "' has more than ", limits_.rank, " dimensions");
  if (!signature.empty() && signature.size() != out.dims.size())
    throw_user("expected ", out.dims.size(), " dimensions in the shape signature of the tensor '", out.name, "', got ",
               signature.size());
  for (size_t i = 0; i < out.dims.size(); ++i) {
    if (out.dims[i] < -1)
      throw_user("expected dimensions of at least -1 in the tensor '", out.name, "', got ", out.dims[i]);
    int32_t d = signature.empty() ? out.dims[i] : signature[i];
    out.shape.push_back(d < 0 ? Dim() : Dim(d));
  }
  out.buffer = t.number<uint32_t>(2, 0);
  if (out.buffer != 0 && out.buffer >= buffers_.size())
    throw_user("the tensor '", out.name, "' has the buffer ", out.buffer, ", expected one of ", buffers_.size());
  out.is_variable = t.flag(5);
  out.sparsity = t.table(6, "SparsityParameters");
  if (auto q = t.table(4, "QuantizationParameters")) {
    auto scale = q->numbers<float>(2);
    out.quantization.scale.assign(scale.begin(), scale.end());
    out.quantization.zero_point = q->numbers<int64_t>(3);
    out.quantization.axis = q->number<int32_t>(6, 0);
    size_t zeros = out.quantization.zero_point.size();
    if (zeros > 1 && zeros != scale.size()) q->broken("has ", zeros, " zero points and ", scale.size(), " scales");
    if (auto details = q->number<uint8_t>(4, 0); details > 1)
      throw_unsupported("the tensor '", out.name, "' has quantization details of kind ", static_cast<int>(details),
                        ", expected scales and zero points");
    if (out.quantization.scale.size() > 1 &&
        (out.quantization.axis < 0 || static_cast<size_t>(out.quantization.axis) >= out.dims.size()))
      q->broken("quantizes along axis ", out.quantization.axis, " of a tensor with ", out.dims.size(), " dimensions");
  }
  return out;
}

TfliteOperator TfliteModel::operation(const FlatTable& t) {
  TfliteOperator op;
  op.position = t.position();
  auto index = t.number<uint32_t>(0, 0);
  if (index >= codes_.size()) t.broken("has the operator code ", index, ", expected one of ", codes_.size());
  const OperatorCode& c = codes_[index];
  op.code = c.code, op.version = c.version;
  op.inputs = t.numbers<int32_t>(1), op.outputs = t.numbers<int32_t>(2);
  if (c.code == tflite_model::custom_code) {
    op.type = c.custom.empty() ? "CUSTOM" : c.custom;
    custom_options(t, op);
    return op;
  }
  const TfliteOperatorInfo* info = tflite_operator(c.code);
  if (!info) {
    op.type = text("BUILTIN_", c.code);
    return op;
  }
  op.type = info->name;
  size_t kind = info->second_union ? 11 : 3;
  auto given = t.number<uint8_t>(kind, 0);
  std::optional<FlatTable> options;
  if (given != 0 && info->union_type != 0) {
    if (given != info->union_type)
      t.broken("has options of kind ", static_cast<int>(given), ", expected ", static_cast<int>(info->union_type),
               " for ", op.type);
    options = t.table(kind + 1, "table of options");
  }
  op.fields = tflite_options(*info, options);
  return op;
}

void TfliteModel::custom_options(const FlatTable& t, TfliteOperator& op) {
  std::string_view bytes = t.bytes(5);
  if (auto offset = t.number<uint64_t>(9, 0); offset > 1) bytes = behind(t, offset, t.number<uint64_t>(10, 0));
  // Operators of TensorFlow itself: by the name of the Flex delegate, or kept by the converter as they are.
  constexpr std::string_view flex = "Flex";
  op.fallback_framework = "tensorflow";
  if (op.type.starts_with(flex) && op.type.size() > flex.size()) {
    auto parts = read_flex_strings(bytes);
    if (parts && parts->size() == 2 && op.type.substr(flex.size()) == (*parts)[0]) {
      auto graph = std::make_shared<std::string>(tflite_model::as_graph((*parts)[1]));
      TensorFlowGraph read = TensorFlowGraphReader(graph, graph->data(), limits_).graph(*graph);
      if (read.nodes.size() == 1) op.fields = std::move(read.nodes[0].fields);
      op.type = op.type.substr(flex.size());
      return;
    }
  }
  if (bytes.empty()) return;
  if (auto fields = read_flex_map(bytes, limits_)) {
    op.fields = std::move(*fields);
    return;
  }
  Tensor raw(DType::u8, {static_cast<int64_t>(bytes.size())});
  std::memcpy(raw.data(), bytes.data(), bytes.size());
  RawField f;
  f.value = std::move(raw);
  op.fields.emplace_back("custom_options", std::move(f));
}

TfliteSignature TfliteModel::signature(const FlatTable& t) const {
  TfliteSignature s;
  s.name = t.string(2);
  s.graph = t.number<uint32_t>(4, 0);
  if (s.graph >= graphs.size()) t.broken("names the sub-graph ", s.graph, ", expected one of ", graphs.size());
  auto list = [&](size_t field, auto& to) {
    FlatTables all = t.tables(field, "TensorMap");
    for (size_t i = 0; i < all.size(); ++i) {
      to.emplace_back(all[i].string(0), all[i].template number<uint32_t>(1, 0));
      check_name(to.back().first);
      if (to.back().second >= graphs[s.graph].tensors.size())
        all[i].broken("names the tensor ", to.back().second, ", expected one of ", graphs[s.graph].tensors.size());
    }
  };
  list(0, s.inputs), list(1, s.outputs);
  return s;
}

bool TfliteModel::is_constant(const TfliteTensor& t) const {
  return t.buffer != 0 && !buffers_.empty() && !buffers_[t.buffer].empty();
}

Tensor TfliteModel::constant(const TfliteTensor& t) const {
  return with_context(
      [&] {
        DType type = tflite_element_type(t.type);
        std::vector<int64_t> dims(t.dims.begin(), t.dims.end());
        std::string_view data = t.buffer < buffers_.size() ? buffers_[t.buffer] : std::string_view();
        for (int64_t d : dims)
          if (d < 0) throw_user("expected dimensions of at least 0 in a constant, got ", d);
        if (type == DType::string) return tflite_model::strings_of(t, data, dims);
        if (t.sparsity) {
          expanded_ += bytes_for(type, count_checked(dims));
          if (expanded_ > limits_.expanded_bytes)
            throw_limit(&Limits::expanded_bytes, "sparse tensors expand to more than ", limits_.expanded_bytes,
                        " bytes");
          return tflite_dense(t, type, data);
        }
        size_t expected = bytes_for(type, count_checked(dims));
        if (data.size() != expected)
          throw_user("expected ", expected, " bytes for ", type, Shape::of(dims), ", got ", data.size());
        return tensor_in_file(type, std::move(dims), data.data(), keeper_);
      },
      [&] { return text("reading the tensor '", t.name, "'"); });
}

}  // namespace graft

// A framework of its own: nets of a few lines, for tests of readers in extensions. Nothing outside this folder knows
// it.
//
//   toy 1
//   input x 2 3                      # dimensions; ? is unknown
//   Elu first x -> y slope=0.5       # type, name, inputs -> outputs, fields
//   Sum second y w -> z
//   output z
//
// Constants are in further files, or in NAME.weights beside NAME.toy: "w 3 = 1 2 3".
#include <charconv>
#include <fstream>
#include <graft/extension.hpp>
#include <graft/reader.hpp>
#include <iterator>

namespace {

using namespace graft;

constexpr std::string_view ending = ".toy", weights_ending = ".weights";

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  line = line.substr(0, line.find('#'));
  for (size_t at = 0; (at = line.find_first_not_of(" \r", at)) != line.npos;) {
    size_t end = std::min(line.find_first_of(" \r", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

template <class T>
T number(std::string_view word, size_t line) {
  T value{};
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size())
    fail("line ", line, ": expected a number, got '", word, "'");
  return value;
}

// Calls `use(words, line number)` for each line with words.
template <class F>
void each_line(std::string_view content, F&& use) {
  for (size_t line = 1; !content.empty(); ++line) {
    size_t end = std::min(content.find('\n'), content.size());
    if (auto words = words_of(content.substr(0, end)); !words.empty()) use(words, line);
    content.remove_prefix(std::min(end + 1, content.size()));
  }
}

void add_constants(FrameworkModel& model, std::string_view content) {
  each_line(content, [&](const std::vector<std::string_view>& words, size_t line) {
    std::vector<int64_t> dims;
    size_t i = 1, count = 1;
    for (; i < words.size() && words[i] != "="; ++i) {
      auto d = number<int64_t>(words[i], line);
      if (d < 0 || static_cast<size_t>(d) > words.size()) fail("line ", line, ": expected a dimension, got ", d);
      dims.push_back(d);
      count *= static_cast<size_t>(d);
      if (count > words.size()) fail("line ", line, ": expected fewer elements, got ", count);
    }
    if (i == words.size() || words.size() - i - 1 != count) fail("line ", line, ": expected = and ", count, " numbers");
    std::vector<float> values;
    while (++i < words.size()) values.push_back(number<float>(words[i], line));
    graft_tensor t{sizeof t, GRAFT_F32, static_cast<int32_t>(dims.size()), 0, dims.data(), nullptr, values.data()};
    model.add_constant(words[0], TensorView(&t));
  });
}

Shape shape_of(std::span<const std::string_view> words, size_t line) {
  Shape out;
  for (std::string_view w : words) out.push_back(w == "?" ? Dim() : Dim(number<int64_t>(w, line)));
  return out;
}

void add_layer(FrameworkModel& model, const std::vector<std::string_view>& words, size_t line) {
  std::vector<std::string> inputs, outputs;
  std::vector<std::pair<std::string_view, double>> fields;
  bool after = false;
  for (size_t i = 2; i < words.size(); ++i) {
    size_t equals = words[i].find('=');
    if (words[i] == "->") after = true;
    else if (equals != std::string_view::npos)
      fields.emplace_back(words[i].substr(0, equals), number<double>(words[i].substr(equals + 1), line));
    else (after ? outputs : inputs).emplace_back(words[i]);
  }
  if (words.size() < 2 || !after) fail("line ", line, ": expected a type, a name, inputs, -> and outputs");
  FrameworkLayer layer = model.add(words[0], words[1], inputs, outputs);
  for (const auto& [name, value] : fields) layer.set(name, value);
  layer.set_position(line);
}

std::string weights_beside(std::string_view path) {
  if (!path.ends_with(ending)) return {};
  std::string name(path.substr(0, path.size() - ending.size()));
  std::ifstream file(name + std::string(weights_ending), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_toy(const ModelFile& file) {
  if (file.path().ends_with("unsure.toy")) fail("cannot decide");
  return file.content().starts_with("toy ");
}

void read_toy(FrameworkModel& model, std::span<const ModelFile> files) {
  std::vector<FrameworkValue> inputs;
  std::vector<std::string> outputs;
  each_line(files[0].content(), [&](const std::vector<std::string_view>& words, size_t line) {
    if (line == 1) {
      if (words.size() != 2 || words[1] != "1") fail("expected a net of version 1");
    } else if (words[0] == "input" && words.size() > 1) {
      inputs.push_back({std::string(words[1]), Info{DType::f32, shape_of(std::span(words).subspan(2), line)}});
    } else if (words[0] == "output" && words.size() == 2) {
      outputs.emplace_back(words[1]);
    } else {
      add_layer(model, words, line);
    }
  });
  if (files.size() == 1) add_constants(model, weights_beside(files[0].path()));
  for (const ModelFile& f : files.subspan(1)) add_constants(model, f.content());
  model.set_inputs(inputs);
  if (!outputs.empty()) model.set_outputs(outputs);
}

Value import_origin(Builder& layer) {
  return layer.op("Multiply", {layer.input(0), layer.scalar(layer.framework() == "toy" ? 10 : 1, DType::f32)});
}

}  // namespace

GRAFT_EXTENSION("toy", "1.0") {
  return {graft::Reader("toy")
              .title("Toy")
              .alias("toys")
              .files(".toy with .weights")
              .ending(".toy")
              .position_unit("line")
              .first_output(":0")
              .recognize(is_toy)
              .read(read_toy),
          graft::Rule("toy", "Elu").to("Elu", "opset1").attr("alpha", "slope"),
          graft::Rule("toy", "Sum").to("Add", "opset1"), graft::every_framework("Origin").expand(import_origin)};
}

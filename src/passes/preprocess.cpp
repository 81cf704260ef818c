#include "passes/preprocess.hpp"

#include <algorithm>
#include <cmath>

#include "base/request.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "passes/insert.hpp"

namespace graft {

std::vector<std::string> preprocess(Graph& graph, const Registry& registry, const Preprocess& request) {
  std::vector<std::string> warnings;
  if (request.empty()) return warnings;
  add_mean_and_scale(graph, registry, request, warnings);
  if (request.reverse_channels) reverse_channels(graph, registry, request, warnings);
  if (!request.layouts.empty()) change_layouts(graph, registry, request);
  return warnings;
}

// ---- inputs ----

namespace {

bool is_called(const Graph& g, const Preprocess& request, NodeId id, const std::string& name) {
  const std::vector<std::string>& tensors = g[id].outputs[0].names;
  if (g[id].name == name || std::find(tensors.begin(), tensors.end(), name) != tensors.end()) return true;
  for (const auto& [place, nodes] : request.order)
    if (place == name && nodes.size() == 1 && nodes[0] == g[id].name) return true;
  return false;
}

}  // namespace

NodeId find_input(const Graph& g, const Preprocess& request, const std::string& name, std::string_view option) {
  std::vector<std::string> names;
  for (NodeId id : g.parameters()) {
    if (is_called(g, request, id, name)) return id;
    names.push_back(g[id].name);
  }
  auto close = nearest(name, names);
  throw RequestError(text(option, ": the model has no input '", name, "'"),
                     close ? text("did you mean ", *close, "?") : text("its inputs are ", join(names, ", ")));
}

std::optional<NodeId> find_result(const Graph& g, const std::string& name) {
  for (NodeId id : g.results()) {
    ValueId v = g[id].inputs[0];
    std::vector<std::string> names = g.output(v).names;
    names.insert(names.end(), {g[id].name, g[v.node].name});
    if (!g[id].outputs.empty()) names.insert(names.end(), g[id].outputs[0].names.begin(), g[id].outputs[0].names.end());
    if (std::find(names.begin(), names.end(), name) != names.end()) return id;
  }
  return std::nullopt;
}

std::optional<size_t> channel_axis(const Graph& g, const Preprocess& request, NodeId input) {
  const Shape& s = g.info({input, 0}).shape;
  if (!s.ranked() || s.rank() == 0) return std::nullopt;
  for (const LayoutRequest& l : request.layouts) {
    if (!l.name.empty() && !is_called(g, request, input, l.name)) continue;
    auto entries = layout_for(l.source, s.rank());
    if (!entries) continue;
    auto c = std::find(entries->begin(), entries->end(), "C");
    if (c != entries->end()) return static_cast<size_t>(c - entries->begin());
  }
  if (s.rank() >= 4 && request.channels_last) return s.rank() - 1;
  return s.rank() >= 2 ? 1 : 0;
}

// ---- means and scales ----

namespace {

// The inputs in the order in which unnamed values are assigned.
std::vector<NodeId> ordered_inputs(const Graph& g, const Preprocess& request) {
  std::vector<NodeId> out;
  for (const auto& [place, nodes] : request.order)
    for (const std::string& n : nodes)
      for (NodeId id : g.parameters())
        if (g[id].name == n) out.push_back(id);
  return out.empty() ? g.parameters() : out;
}

std::vector<std::pair<NodeId, std::vector<double>>> assigned(const Graph& g, const Preprocess& request,
                                                             const std::vector<ChannelValues>& given,
                                                             std::string_view option) {
  std::vector<std::pair<NodeId, std::vector<double>>> out;
  if (given.empty()) return out;
  size_t named = 0;
  for (const ChannelValues& v : given) named += !v.input.empty();
  if (named && named != given.size())
    throw RequestError(text(option, ": some values are named and some are not"), "name all of them or none");
  std::vector<NodeId> inputs = ordered_inputs(g, request);
  if (!named && given.size() != inputs.size())
    throw RequestError(text(option, ": expected ", inputs.size(), inputs.size() == 1 ? " list" : " lists",
                            " of values, one per input, got ", given.size()),
                       inputs.empty() ? std::string() : text("name the inputs: ", g[inputs[0]].name, "[1,2,3]"));
  for (size_t i = 0; i < given.size(); ++i) {
    NodeId id = named ? find_input(g, request, given[i].input, option) : inputs[i];
    for (const auto& [other, values] : out)
      if (other == id) throw RequestError(text(option, " has two lists of values for input '", g[id].name, "'"));
    out.emplace_back(id, given[i].values);
  }
  return out;
}

// The values as a constant that fits the channels of an input.
Tensor channel_tensor(const Graph& g, const Preprocess& request, NodeId input, const std::vector<double>& values,
                      std::string_view option) {
  const Info& info = g.info({input, 0});
  const std::string& name = g[input].name;
  if (!is_real(info.type))
    throw RequestError(text(option, ": expected a floating-point type of input '", name, "', got ", info.type),
                       text("change its type: ", Remedy{"types", name, "f32"}));
  std::vector<int64_t> dims;
  if (values.size() > 1) {
    auto axis = channel_axis(g, request, input);
    if (!axis)
      throw RequestError(
          text(option, ": input '", name, "' has shape ", info.shape, ", so its number of channels is unknown"),
          text("set its shape: ", Remedy{"shapes", name, "[1,3,224,224]"}));
    const Dim& channels = info.shape[*axis];
    if (!channels.can_be(static_cast<int64_t>(values.size()))) {
      std::string elsewhere;
      for (size_t i = 1; i < info.shape.rank(); ++i)
        if (info.shape[i].known() && info.shape[i].value() == static_cast<int64_t>(values.size()))
          elsewhere = text("if its channels are dimension ", i, ", add ",
                           Remedy{"layouts", "", info.shape.rank() == 4 && i == 3 ? "nhwc" : "nchw"});
      throw RequestError(text(option, ": expected one value per channel of input '", name, "', which has ", channels,
                              " (dimension ", *axis, " of ", info.shape, "), got ", values.size()),
                         elsewhere);
    }
    dims.assign(info.shape.rank(), 1);
    dims[*axis] = static_cast<int64_t>(values.size());
  } else if (info.shape.ranked()) {
    dims.assign(info.shape.rank(), 1);
  }
  return make_tensor<double>(dims, values).to(info.type);
}

bool all_are(const std::vector<double>& values, double x) {
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == x; });
}

// Inserts `operation` after an input, or after earlier insertions. ShapeOf nodes keep reading the input itself.
class Front {
 public:
  Front(Editor& editor, NodeId input) : editor_(editor), at_{input, 0} {
    for (Use u : editor.users().of(at_))
      if (!editor.graph()[u.node].is("ShapeOf")) readers_.push_back(u);
  }
  void add(const char* operation, Tensor value, const std::string& suffix) {
    if (first_.empty()) first_ = editor_.graph()[at_.node].name;
    ValueId c = editor_.constant(std::move(value), first_ + suffix + "/value");
    at_ = insert(editor_, operation, "opset1", {at_, c}, first_ + suffix);
    redirect(editor_, readers_, at_);
  }

 private:
  Editor& editor_;
  ValueId at_;
  std::vector<Use> readers_;
  std::string first_;
};

// The crop of the mean image that applies to an input, as a constant.
Tensor cropped(const Graph& g, const Preprocess& request, NodeId input) {
  const Tensor& image = request.mean_image;
  const Info& info = g.info({input, 0});
  std::vector<int64_t> d = image.dims();
  while (d.size() > 3 && d[0] == 1) d.erase(d.begin());
  if (d.size() != 3 || image.size() == 0)
    throw RequestError(
        text("`mean_image`: expected an image of channels, height and width, got shape ", Shape::of(image.dims())));
  if (!is_real(info.type))
    throw RequestError(
        text("`mean_image`: expected a floating-point type of input '", g[input].name, "', got ", info.type));
  if (!info.shape.is_static() || info.shape.rank() != 4)
    throw RequestError(
        text("`mean_image`: expected four static dimensions of input '", g[input].name, "', got ", info.shape),
        text("set its shape: ", Remedy{"shapes", g[input].name, "[1,3,224,224]"}));
  int64_t channels = info.shape[1].value(), height = info.shape[2].value(), width = info.shape[3].value();
  if (d[0] != channels)
    throw RequestError(
        text("`mean_image`: expected an image of ", channels, " channels for input '", g[input].name, "', got ", d[0]));
  auto [x, y] = request.image_from.value_or(std::pair{(d[2] - width) / 2, (d[1] - height) / 2});
  if (d[1] < height || d[2] < width || x + width > d[2] || y + height > d[1])
    throw RequestError(text("`mean_image`: a crop of ", width, "x", height, " at (", x, ",", y,
                            ") does not fit into the image of ", d[2], "x", d[1]),
                       "the image must be at least as large as the input");
  std::vector<double> all = values_of<double>(image), part;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t row = 0; row < height; ++row)
      for (int64_t column = 0; column < width; ++column)
        part.push_back(-all[static_cast<size_t>((c * d[1] + y + row) * d[2] + x + column)]);
  return make_tensor<double>({1, channels, height, width}, part).to(info.type);
}

}  // namespace

void add_mean_and_scale(Graph& g, const Registry& registry, const Preprocess& request,
                        std::vector<std::string>& warnings) {
  auto means = assigned(g, request, request.mean, "`mean`");
  auto scales = assigned(g, request, request.scale, "`scale`");
  if (request.scale_all && std::abs(*request.scale_all) < 1)
    warnings.push_back(text("inputs are divided by `scale_all`, so ", *request.scale_all,
                            " makes them larger; to multiply by 1/255, write `scale_all=255`"));
  if (request.scale_all)
    for (NodeId id : g.parameters()) {
      if (is_real(g.info({id, 0}).type)) scales.emplace_back(id, std::vector{*request.scale_all});
      else
        warnings.push_back(
            text("`scale_all` does not apply to input '", g[id].name, "': it has type ", g.info({id, 0}).type));
    }
  if (request.mean_image && g.parameters().size() != 1)
    throw RequestError(text("`mean_image`: expected a model with one input, got ", g.parameters().size(), " inputs"),
                       "use `mean` with input names");
  Editor editor(g, registry);
  for (NodeId id : std::vector<NodeId>(g.parameters())) {
    auto values_for = [&](const auto& list) -> const std::vector<double>* {
      for (const auto& [input, values] : list)
        if (input == id) return &values;
      return nullptr;
    };
    Front front(editor, id);
    if (request.mean_image) front.add("Add", cropped(g, request, id), "/mean");
    if (auto m = values_for(means); m) {
      std::vector<double> negative = *m;
      for (double& v : negative) v = -v;
      Tensor t = channel_tensor(g, request, id, negative, "`mean`");
      if (!all_are(*m, 0)) front.add("Add", std::move(t), "/mean");
    }
    if (auto s = values_for(scales); s) {
      std::vector<double> inverse = *s;
      for (double& v : inverse) {
        if (v == 0) throw RequestError(text("input '", g[id].name, "' cannot be divided by a scale of 0"));
        v = 1 / v;
      }
      Tensor t = channel_tensor(g, request, id, inverse, request.scale_all ? "`scale_all`" : "`scale`");
      if (!all_are(*s, 1)) front.add("Multiply", std::move(t), "/scale");
    }
  }
}

}  // namespace graft

// Pictures of a compiled model: for Graphviz, and drawn as SVG.
#include <algorithm>
#include <cmath>
#include <graft/app/explain.hpp>
#include <map>

#include "base/text.hpp"
#include "toolkit/columns.hpp"
#include "toolkit/picture_layout.hpp"

namespace graft {
namespace {

// Fills that text is legible on; further devices begin again.
constexpr const char* fills[] = {"#cfe2f3", "#fce5cd", "#d9ead3", "#ead1dc",
                                 "#fff2cc", "#d0e0e3", "#e6d0f5", "#f4cccc"};
constexpr const char* port_fill = "#f3f3f3";

// One line of valid UTF-8 without control characters.
std::string clean(std::string_view s) {
  std::string out = printable(s);
  for (char& c : out)
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
  return out;
}

size_t characters(std::string_view s) {
  return static_cast<size_t>(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// At most `most` characters; the middle is left out, because names tend to differ at both ends.
std::string shortened(const std::string& s, size_t most) {
  if (characters(s) <= most) return s;
  std::vector<std::string_view> each;
  for (size_t i = 0; i < s.size();) {
    size_t n = 1;
    while (i + n < s.size() && (s[i + n] & 0xC0) == 0x80) ++n;
    each.push_back(std::string_view(s).substr(i, n));
    i += n;
  }
  std::string out;
  for (size_t i = 0; i < most / 2 - 1; ++i) out += each[i];
  out += "…";
  for (size_t i = each.size() - (most - most / 2); i < each.size(); ++i) out += each[i];
  return out;
}

std::string xml_escaped(std::string_view s) {
  std::string out;
  for (char c : s)
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else out += c;
  return out;
}
std::string dot_escaped(std::string_view s) {
  std::string out;
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

struct Box {
  std::string name, type, detail;  // "conv1", "Convolution", "CPU, jit"
  size_t device = SIZE_MAX;        // none: an input or output of the model
};
struct Edge {
  size_t from, to;
  std::string label;  // of a value that goes from device to device
};

struct Scene {
  explicit Scene(const Explanation& e) : of(e) {
    // A device of a list keeps its color, whether it is used or not.
    size_t colon = e.device.find(':');
    if (colon != e.device.npos)
      for (std::string_view name : split(std::string_view(e.device).substr(colon + 1), ',')) devices.emplace_back(name);
    for (const std::string& name : e.inputs) enter(name, {name, "input", "", SIZE_MAX});
    for (const Choice& c : e.choices) operation(c);
    for (const auto& [name, producer] : e.results) {
      boxes.push_back({name, "output", "", SIZE_MAX});
      connect(producer, boxes.size() - 1);
    }
  }

  const Explanation& of;
  std::vector<std::string> devices;
  std::vector<Box> boxes;  // producers first
  std::vector<Edge> edges;
  bool uses(size_t device) const {
    return std::any_of(boxes.begin(), boxes.end(), [&](const Box& b) { return b.device == device; });
  }

 private:
  void enter(const std::string& name, Box box) {
    boxes.push_back(std::move(box));
    index_[name] = boxes.size() - 1;
  }
  size_t device(const std::string& name) {
    auto it = std::find(devices.begin(), devices.end(), name);
    if (it != devices.end()) return static_cast<size_t>(it - devices.begin());
    devices.push_back(name);
    return devices.size() - 1;
  }
  void operation(const Choice& c) {
    bool split = c.part < of.parts.size();
    std::string on = split ? of.parts[c.part].device : c.device.empty() ? of.device : c.device;
    std::string how = c.kernel.empty() ? c.note : c.kernel;
    enter(c.node, {c.node, c.type, text(on, how.empty() ? "" : ", ", how), device(on)});
    size_t to = boxes.size() - 1;
    std::vector<std::string> seen;
    for (size_t i = 0; i < c.producers.size(); ++i) {
      const std::string& from = c.producers[i];
      if (std::find(seen.begin(), seen.end(), from) != seen.end()) continue;
      seen.push_back(from);
      connect(from, to, split && i < c.inputs.size() ? text(c.inputs[i]) : "");
    }
  }
  // Constants are not drawn.
  void connect(const std::string& from, size_t to, const std::string& label = {}) {
    auto it = index_.find(from);
    if (it == index_.end() || it->second >= to) return;
    size_t source = boxes[it->second].device;
    bool crosses = source != SIZE_MAX && boxes[to].device != SIZE_MAX && source != boxes[to].device;
    edges.push_back({it->second, to, crosses ? label : ""});
  }
  std::map<std::string, size_t> index_;
};

const char* fill_of(const Box& b) { return b.device == SIZE_MAX ? port_fill : fills[b.device % std::size(fills)]; }

}  // namespace

std::string Explanation::to_dot() const {
  Scene scene(*this);
  auto quoted = [](std::string_view s) { return text('"', dot_escaped(clean(s)), '"'); };
  std::string out = text("digraph model {\n  label=", quoted(device),
                         ";\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n");
  for (size_t i = 0; i < scene.boxes.size(); ++i) {
    const Box& b = scene.boxes[i];
    std::string label = dot_escaped(clean(b.name)) + "\\n" + dot_escaped(clean(b.type));
    if (!b.detail.empty()) label += "\\n" + dot_escaped(clean(b.detail));
    out += text("  n", i, " [label=\"", label, "\", fillcolor=\"", fill_of(b), "\"];\n");
  }
  for (const Edge& l : scene.edges)
    out += text("  n", l.from, " -> n", l.to,
                l.label.empty() ? std::string() : text(" [style=bold, color=\"#c00000\", label=", quoted(l.label), "]"),
                ";\n");
  for (size_t i = 0; i < scene.devices.size(); ++i)
    if (scene.uses(i))
      out += text("  device", i, " [shape=plaintext, label=", quoted(scene.devices[i]), ", fillcolor=\"",
                  fills[i % std::size(fills)], "\"];\n");
  return out + "}\n";
}

namespace {

constexpr double box_height = 52, gap = 16, margin = 20, legend_height = 34, letter = 6.6;
constexpr size_t most_letters = 34;

std::string n(double v) { return fixed(v, 1); }

std::string text_at(double x, double y, std::string_view style, std::string_view content) {
  return text("<text x=\"", n(x), "\" y=\"", n(y), "\" class=\"", style, "\">", xml_escaped(content), "</text>\n");
}

// A smooth line through the points; it leaves and arrives vertically.
std::string path(const std::vector<std::pair<double, double>>& points) {
  std::string out = text("M", n(points[0].first), ",", n(points[0].second));
  for (size_t i = 1; i < points.size(); ++i) {
    auto [ax, ay] = points[i - 1];
    auto [bx, by] = points[i];
    double middle = (ay + by) / 2;
    out += text(" C", n(ax), ",", n(middle), " ", n(bx), ",", n(middle), " ", n(bx), ",", n(by));
  }
  return out;
}

std::vector<std::pair<double, double>> points_of(const PlacedEdge& e, const PictureLayout& layout) {
  const PlacedBox &a = layout.boxes[e.from], &b = layout.boxes[e.to];
  std::vector<std::pair<double, double>> points{{a.x, a.y + box_height / 2}};
  // A bend is as high as a box: straight past the boxes of its layer.
  for (auto [x, y] : e.bends) points.insert(points.end(), {{x, y - box_height / 2}, {x, y + box_height / 2}});
  points.emplace_back(b.x, b.y - box_height / 2);
  return points;
}

std::string draw_box(const PlacedBox& p, const Box& b) {
  double left = p.x - p.width / 2, top = p.y - box_height / 2;
  std::string name = clean(b.name), detail = clean(b.detail);
  std::string out = text("<g><title>", xml_escaped(text(name, "\n", clean(b.type), "\n", detail)),
                         "</title>\n<rect x=\"", n(left), "\" y=\"", n(top), "\" width=\"", n(p.width), "\" height=\"",
                         n(box_height), "\" rx=\"4\" fill=\"", fill_of(b), "\"/>\n");
  out += text_at(p.x, top + 16, "name", shortened(name, most_letters));
  out += text_at(p.x, top + 31, "type", shortened(clean(b.type), most_letters));
  if (!detail.empty()) out += text_at(p.x, top + 45, "detail", shortened(detail, most_letters));
  return out + "</g>\n";
}

}  // namespace

std::string Explanation::to_svg() const {
  Scene scene(*this);
  PictureLayout layout;
  for (const Box& b : scene.boxes) {
    size_t letters = 8;
    for (const std::string* s : {&b.name, &b.type, &b.detail})
      letters = std::max(letters, std::min(most_letters, characters(clean(*s))));
    layout.boxes.push_back({static_cast<double>(letters) * letter + 16});
  }
  for (const Edge& l : scene.edges) layout.edges.push_back({l.from, l.to});
  place_boxes(layout, box_height, gap);

  double legend = margin;
  std::string keys;
  for (size_t i = 0; i < scene.devices.size(); ++i) {
    if (!scene.uses(i)) continue;
    keys += text("<rect x=\"", n(legend), "\" y=\"", n(margin), "\" width=\"14\" height=\"14\" fill=\"",
                 fills[i % std::size(fills)], "\"/>\n");
    std::string name = clean(scene.devices[i]);
    keys += text_at(legend + 20, margin + 11, "key", name);
    legend += 36 + static_cast<double>(characters(name)) * (letter + 1);
  }
  if (!crossings.empty()) {
    keys += text("<path d=\"M", n(legend), ",", n(margin + 7), " h24\" class=\"crossing\"/>\n");
    keys += text_at(legend + 30, margin + 11, "key", "from device to device");
    legend += 30 + 22 * (letter + 1);
  }
  double width = std::max(layout.width + 2 * margin, legend + margin);
  double height = layout.height + 2 * margin + legend_height;
  std::string out = text("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", n(width), "\" height=\"", n(height),
                         "\" viewBox=\"0 0 ", n(width), " ", n(height), "\">\n");
  out +=
      "<style>text{font-family:sans-serif;font-size:11px;fill:#222}.name{font-weight:bold}"
      ".name,.type,.detail{text-anchor:middle}.detail{font-size:10px;fill:#555}.key{font-size:12px}"
      ".label{font-size:10px;fill:#900;stroke:#fff;stroke-width:3px;paint-order:stroke}rect{stroke:#888}.edge,."
      "crossing{fill:none;stroke:#999;marker-end:url(#tip)}"
      ".crossing{stroke:#c00000;stroke-width:2;stroke-dasharray:6 3}</style>\n"
      "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
      "orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"#666\"/></marker></defs>\n";
  out += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\" style=\"stroke:none\"/>\n" + keys;
  out += text("<g transform=\"translate(", n(margin + (width - 2 * margin - layout.width) / 2), ",",
              n(margin + legend_height), ")\">\n");
  std::string labels;
  for (size_t i = 0; i < scene.edges.size(); ++i) {
    std::vector<std::pair<double, double>> points = points_of(layout.edges[i], layout);
    const std::string& label = scene.edges[i].label;
    out += text("<path d=\"", path(points), "\" class=\"", label.empty() ? "edge" : "crossing", "\"/>\n");
    // Beside its producer: the lines of one value share the label.
    if (!label.empty()) labels += text_at(points[0].first + 6, points[0].second + 13, "label", clean(label));
  }
  for (size_t i = 0; i < scene.boxes.size(); ++i) out += draw_box(layout.boxes[i], scene.boxes[i]);
  out += labels;
  return out + "</g>\n</svg>\n";
}

}  // namespace graft

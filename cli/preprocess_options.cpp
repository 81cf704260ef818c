#include "preprocess_options.hpp"

#include <algorithm>
#include <cmath>

#include "cut_options.hpp"
#include "layout_text.hpp"
#include "option_rows.hpp"

namespace graft::cli {
namespace {

std::vector<ChannelValues> channel_values(const std::string& given, const char* option) {
  std::string hint =
      text("write ", option, " name[1,2,3],other[4,5,6], or lists without names in the order of the inputs");
  std::vector<ChannelValues> out;
  // "1,2,3" without brackets is one list.
  std::string all = given.find_first_of("[(") == given.npos ? "[" + given + "]" : given;
  for (const std::string& item : items_of(all)) {
    auto b = bracketed(item);
    if (!b) throw UsageError(text(option, ": expected a list of values, got '", item, "'"), hint);
    ChannelValues v{std::string(b->name), {}};
    for (std::string_view word : split(b->content, ',')) {
      auto number = parse_number(trim(word));
      if (!number || !std::isfinite(*number))
        throw UsageError(text(option, ": expected a number, got '", word, "'"), hint);
      v.values.push_back(*number);
    }
    if (v.values.empty()) throw UsageError(text(option, ": expected at least one value in '", item, "'"), hint);
    if (!out.empty() && out[0].input.empty() != v.input.empty())
      throw UsageError(text(option, " names only some of the inputs"), "name all of them or none");
    out.push_back(std::move(v));
  }
  if (out.empty()) throw UsageError(text(option, ": expected at least one value, got none"), hint);
  return out;
}

std::pair<int64_t, int64_t> offsets_of(const std::string& given) {
  constexpr const char* hint = "write (x,y), counted from the upper left corner";
  auto b = bracketed(trim(given));
  std::vector<std::string_view> parts = split(b && b->name.empty() ? b->content : std::string_view(given), ',');
  auto x = parts.size() == 2 ? parse_int(trim(parts[0])) : std::nullopt;
  auto y = parts.size() == 2 ? parse_int(trim(parts[1])) : std::nullopt;
  if (!x || !y) throw UsageError(text("--mean_file_offsets: expected (x,y), got '", given, "'"), hint);
  if (*x < 0 || *y < 0) throw UsageError(text("--mean_file_offsets: expected non-negative offsets, got ", given), hint);
  return {*x, *y};
}

std::vector<LayoutRequest> layouts_of(const std::string& given, bool changes) {
  std::vector<LayoutRequest> out;
  for (const std::string& item : items_of(given)) {
    LayoutRequest l;
    std::string_view all = item, rest = all, target;
    // name[n,h,w,c]->[n,c,h,w], or the arrow inside of the brackets.
    auto closed = [](std::string_view s) {
      auto count = [&](char a, char b) {
        return std::count(s.begin(), s.end(), a) + std::count(s.begin(), s.end(), b);
      };
      return count('[', '(') == count(']', ')');
    };
    if (size_t arrow = all.find("->"); arrow != all.npos && closed(all.substr(0, arrow)) &&
                                       (arrow == 0 || all[arrow - 1] == ']' || all[arrow - 1] == ')')) {
      target = all.substr(arrow + 2);
      rest = trim(all.substr(0, arrow));
    }
    if (auto b = bracketed(rest)) l.name = b->name, rest = b->content;
    if (size_t arrow = rest.find("->"); arrow != rest.npos && target.empty()) {
      target = rest.substr(arrow + 2);
      rest = rest.substr(0, arrow);
    }
    if (!target.empty() && !changes)
      throw UsageError(text("expected a single layout, got '", item, "'"),
                       "use --layout or --target_layout to change a layout");
    l.source = layout_entries(rest, item);
    if (!target.empty()) l.target = layout_entries(target, item);
    out.push_back(std::move(l));
  }
  return out;
}

// Combines source and target layouts by name.
std::vector<LayoutRequest> joined_layouts(const std::string& source, const std::string& target) {
  std::vector<LayoutRequest> out = layouts_of(source, false);
  for (LayoutRequest& t : layouts_of(target, false)) {
    auto same = [&](const LayoutRequest& l) { return l.name == t.name; };
    auto it = std::find_if(out.begin(), out.end(), same);
    if (it == out.end())
      throw UsageError(
          text("--target_layout", t.name.empty() ? "" : text(" of '", t.name, "'"), " has no --source_layout"),
          "specify the layout of the model with --source_layout");
    it->target = t.source;
  }
  return out;
}

}  // namespace

void PreprocessOptions::add(CLI::App& app) {
  constexpr const char* group = "Preprocessing";
  auto row = [&](const char* name, std::string& target, const char* syntax, const char* type) {
    add_row<Preprocessing>(app, name, target, syntax, type, group);
  };
  row("mean", mean, "name[104,117,123],...", "VALUES");
  row("scale", scales, "", "VALUES");
  row("scale_all", scale, "", "NUMBER");
  row("mean_image", mean_file, ".binaryproto", "FILE");
  row("image_from", mean_offsets, "", "(X,Y)");
  row("layouts", layout, "name(nhwc->nchw), or nhwc->nchw for all inputs and outputs", "LAYOUTS");
  auto option = [&](const char* names, std::string& target, const char* what, const char* type) {
    app.add_option(names, target, what)->type_name(type)->group(group);
  };
  option("--source_layout", source_layout, "current layouts of the model", "LAYOUTS");
  option("--target_layout", target_layout, "new layouts of the converted model", "LAYOUTS");
}

void PreprocessOptions::apply(Preprocessing& p) const {
  if (!mean.empty() && !mean_file.empty()) throw UsageError("--mean_values and --mean_file are mutually exclusive");
  if (!scale.empty() && !scales.empty()) throw UsageError("--scale and --scale_values are mutually exclusive");
  if (mean_file.empty() && !mean_offsets.empty()) throw UsageError("--mean_file_offsets requires --mean_file");
  if (!mean.empty()) p.mean = channel_values(mean, "--mean_values");
  if (!scales.empty()) p.scale = channel_values(scales, "--scale_values");
  if (!scale.empty()) {
    auto v = parse_number(scale);
    if (!v || !std::isfinite(*v) || *v == 0)
      throw UsageError(text("--scale: expected a nonzero number, got '", scale, "'"));
    p.scale_all = *v;
  }
  if (!mean_offsets.empty()) p.image_from = offsets_of(mean_offsets);
  if (!mean_file.empty()) p.mean_image = read_mean_image(mean_file);
  if (!layout.empty() && !(source_layout.empty() && target_layout.empty()))
    throw UsageError("--layout is mutually exclusive with --source_layout and --target_layout",
                     "use --layout alone, or --source_layout with --target_layout");
  p.layouts = layout.empty() ? joined_layouts(source_layout, target_layout) : layouts_of(layout, true);
}

}  // namespace graft::cli

// How a model for streaming is used, as its graph and its IR describe it:
//
//   <rt_info><streaming><left_context value="4"/><right_context value="4"/></streaming></rt_info>
#include "base/text.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/read.hpp"

namespace graft {
namespace {

constexpr const char* left_context = "left_context";
constexpr const char* right_context = "right_context";

int64_t read_context(const Xml& info, std::string_view name) {
  constexpr int64_t most = 1 << 20;
  for (const Xml& x : info.children)
    for (const auto& [key, value] : x.attributes) {
      if (x.name != name || key != "value") continue;
      auto v = parse_int(value);
      if (!v || *v < 0 || *v > most)
        throw_user("the description of streaming in <rt_info>: expected ", name, " of 0 to ", most, ", got '", value,
                   "'");
      return *v;
    }
  throw_user("the description of streaming in <rt_info> has no ", name);
}

}  // namespace

std::shared_ptr<const Xml> streaming_info(const Streaming& s) {
  Xml own{"streaming", {}, {}, {}};
  own.children.push_back({left_context, {{"value", text(s.left)}}, {}, {}});
  own.children.push_back({right_context, {{"value", text(s.right)}}, {}, {}});
  return std::make_shared<Xml>(Xml{"rt_info", {}, {}, {std::move(own)}});
}

std::optional<Streaming> find_streaming(const Graph& g) {
  if (!g.rt_info) return std::nullopt;
  for (const Xml& x : g.rt_info->children)
    if (x.name == "streaming") return Streaming{read_context(x, left_context), read_context(x, right_context)};
  return std::nullopt;
}

std::optional<Streaming> Model::streaming() const {
  return as_errors([&] { return find_streaming(*s_->current()); });
}

}  // namespace graft

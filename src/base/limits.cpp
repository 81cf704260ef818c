#include "base/limits.hpp"

#include <algorithm>

#include "base/request.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

constexpr LimitInfo limits[] = {
    {"nodes", &Limits::nodes, "nodes of a model; by default also at most 70,000 and one per 96 bytes of its files",
     INT32_MAX},
    {"depth", &Limits::depth, "nested graphs, functions and bodies", 256},
    {"rank", &Limits::rank, "rank of a tensor", 1024},
    {"dimension", &Limits::dimension, "a dimension in an ONNX, Caffe or TensorFlow file"},
    {"attributes", &Limits::attributes, "attributes of one layer"},
    {"files", &Limits::files, "external data files"},
    {"items", &Limits::items, "items of one sequence or map"},
    {"sequence-items", &Limits::sequence_items, "items of all sequences during import"},
    {"expanded-bytes", &Limits::expanded_bytes, "bytes of sparse tensors made dense and of repeated values, in total"},
    {"inlined", &Limits::inlined, "layers of functions and sub-graphs, counted each time they are imported"},
    {"unrolled", &Limits::unrolled, "layers added by inlining branches and unrolling loops"},
    {"body-nodes", &Limits::body_nodes, "nodes inferred inside loop and branch bodies, in total"},
    {"fold-value", &Limits::fold_value, "bytes of one folded constant"},
    {"fold-bytes", &Limits::fold_bytes, "bytes of all folded constants"},
    {"fold-work", &Limits::fold_work, "elements touched while folding constants"},
    {"value-bytes", &Limits::value_bytes, "bytes of one value with a data-dependent shape when the model runs"},
    {"npz-bytes", &Limits::npz_bytes, "uncompressed bytes of an .npz"},
    {"pixels", &Limits::pixels, "pixels of an image", INT32_MAX},
};

}  // namespace

std::span<const LimitInfo> all_limits() { return limits; }

const LimitInfo& limit_info(uint64_t Limits::*limit) {
  auto it = std::find_if(std::begin(limits), std::end(limits), [&](const LimitInfo& i) { return i.value == limit; });
  if (it == std::end(limits)) throw_internal("a limit has no name");
  return *it;
}

void set_limit(Limits& to, std::string_view name, uint64_t value) {
  for (const LimitInfo& i : limits) {
    if (i.name != name) continue;
    if (value < 1 || value > i.highest)
      throw RequestError(text("limit '", name, "': expected a value from 1 to ", i.highest, ", got ", value));
    to.*i.value = value;
    return;
  }
  std::vector<std::string> names;
  for (const LimitInfo& i : limits) names.emplace_back(i.name);
  auto close = nearest(name, names);
  throw RequestError(text("unknown limit '", name, "'"),
                     close ? text("did you mean ", *close, "?") : text("limits are ", join(names, ", ")));
}

Limits changed_limits(const LimitChanges& changes) {
  Limits out;
  for (const auto& [name, value] : changes) set_limit(out, name, value);
  return out;
}

std::vector<Limit> list_limits() {
  std::vector<Limit> out;
  for (const LimitInfo& i : limits) out.push_back({std::string(i.name), std::string(i.doc), Limits().*i.value});
  return out;
}

std::pair<const std::string, uint64_t> parse_limit(const std::string& given) {
  std::string_view s = given;
  size_t equals = s.find('=');
  std::string_view number = s.substr(equals == s.npos ? s.size() : equals + 1);
  constexpr std::string_view units = "KMG";
  size_t unit = number.empty() ? units.npos : units.find(number.back());
  int shift = unit == units.npos ? 0 : 10 * static_cast<int>(unit + 1);
  auto value = parse_int(shift ? number.substr(0, number.size() - 1) : number);
  if (!value || *value < 1 || *value > (INT64_MAX >> shift))
    throw RequestError(
        text("expected NAME=VALUE with a positive integer as a limit, got '", s, "'"),
        text("write ", Remedy{"limits", "nodes", "4000000"}, ", or ", Remedy{"limits", "fold-bytes", "2G"}));
  Limits scratch;
  set_limit(scratch, s.substr(0, equals), static_cast<uint64_t>(*value) << shift);
  return {given.substr(0, equals), static_cast<uint64_t>(*value) << shift};
}

Error limit_error(uint64_t Limits::*limit, std::string message) {
  return {ErrorKind::unsupported, std::move(message),
          text("if you trust the file, raise the limit with ",
               Remedy{"limits", std::string(limit_info(limit).name), "VALUE"}),
          ErrorCode::limit_reached};
}

bool is_limit_error(const Error& e) { return e.code() == ErrorCode::limit_reached; }

}  // namespace graft

// Strings to strings and numbers, element by element, and joined along axes.
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

#include "letters.hpp"
#include "strings.hpp"
#include "texts.hpp"

namespace graft {
namespace {

struct StringCase {
  enum To { lower, upper } to = lower;
  enum Encoding { ascii, utf8 } encoding = ascii;
  static constexpr std::tuple schema{attr("to", &StringCase::to, "case of the result").one_of("lower", "upper"),
                                     attr("encoding", &StringCase::encoding,
                                          "letters that are converted: of ASCII, or also of other alphabets in UTF-8")
                                         .one_of("ascii", "utf-8")};
};
void string_case_run(Run& ctx, const StringCase& a) {
  bool up = a.to == StringCase::upper;
  string_map(ctx, [&](std::string_view s) {
    if (a.encoding == StringCase::utf8) return with_case(s, up);
    std::string out(s);
    for (char& c : out)
      if (up ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z') c = static_cast<char>(c ^ 0x20);
    return out;
  });
}

void string_strip_run(Run& ctx, const NoAttributes&) {
  constexpr std::string_view blanks = " \t\n\r\f\v";
  string_map(ctx, [&](std::string_view s) {
    s.remove_prefix(std::min(s.find_first_not_of(blanks), s.size()));
    return s.substr(0, s.find_last_not_of(blanks) + 1);
  });
}

struct StringUnit {
  enum Unit { byte, character } unit = byte;
  static constexpr std::tuple schema{
      attr("unit", &StringUnit::unit, "unit of positions and lengths: bytes, or characters of UTF-8")
          .one_of("BYTE", "UTF8_CHAR")};
};
void string_length_infer(Infer& ctx, const StringUnit&) {
  strings_expect(ctx);
  ctx.output(0, DType::i32, ctx.shape(0));
}
void string_length_run(Run& ctx, const StringUnit& a) {
  TensorView x = ctx.input(0);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < x.size(); ++i) {
    std::string_view s = string_of(x, i);
    out.push_back(static_cast<int64_t>(a.unit == StringUnit::byte ? s.size() : character_places(s).size() - 1));
  }
  ctx.output(0).assign(out);
}

void substr_infer(Infer& ctx, const StringUnit&) {
  strings_expect(ctx);
  for (size_t i : {1, 2})
    if (DType t = ctx.type(i); t != DType::undefined && !is_integer(t))
      fail("expected integers in input ", i, ", got ", t);
  ctx.output(0, DType::string, broadcast(ctx.shape(0), broadcast(ctx.shape(1), ctx.shape(2))));
}
// A negative position counts from the end; a length beyond the end is cut, a position beyond it is an error.
std::string_view substr_of(std::string_view s, int64_t at, int64_t length, bool bytes) {
  std::vector<size_t> places = bytes ? std::vector<size_t>() : character_places(s);
  auto size = static_cast<int64_t>(bytes ? s.size() : places.size() - 1);
  if (at < -size || at > size) fail("the position ", at, " is out of range for a string of length ", size);
  if (at < 0) at += size;
  int64_t end = length > size - at ? size : at + std::max<int64_t>(length, 0);
  size_t from = bytes ? static_cast<size_t>(at) : places[static_cast<size_t>(at)];
  size_t to = bytes ? static_cast<size_t>(end) : places[static_cast<size_t>(end)];
  return s.substr(from, to - from);
}
void substr_run(Run& ctx, const StringUnit& a) {
  TensorView x = ctx.input(0), at = ctx.input(1), length = ctx.input(2);
  std::vector<int64_t> positions = at.to<int64_t>(), lengths = length.to<int64_t>();
  OutputView y = ctx.output(0);
  Walk walk(y.dims(), {broadcast_strides(x.dims(), y.dims()), broadcast_strides(at.dims(), y.dims()),
                       broadcast_strides(length.dims(), y.dims())});
  if (walk.empty()) return;
  int64_t i = 0;
  do
    ctx.store(y, i++,
              substr_of(string_of(x, walk[0]), positions[static_cast<size_t>(walk[1])],
                        lengths[static_cast<size_t>(walk[2])], a.unit == StringUnit::byte));
  while (walk.next());
}

struct ReduceJoin {
  std::string separator;
  bool keep_dims = false;
  static constexpr std::tuple schema{attr("separator", &ReduceJoin::separator, "text between two strings"),
                                     attr("keep_dims", &ReduceJoin::keep_dims, "keep the joined axes with size 1")};
};
// The axes in the order in which they are joined: the last one varies fastest. No axes: all.
std::vector<int64_t> joined_axes_of(const TensorView& list, size_t rank) {
  std::vector<int64_t> axes = list.to<int64_t>(), out;
  for (int64_t axis : axes) {
    auto n = static_cast<int64_t>(rank);
    if (axis < -n || axis >= n) fail("expected an axis of a tensor of rank ", n, ", got ", axis);
    out.push_back(axis < 0 ? axis + n : axis);
    if (std::count(out.begin(), out.end(), out.back()) > 1) fail("expected different axes, got ", axis, " twice");
  }
  return out;
}
void reduce_join_infer(Infer& ctx, const ReduceJoin& a) {
  strings_expect(ctx);
  Shape in = ctx.shape(0);
  TensorView list = ctx.constant(1);
  if (!list || !in.ranked()) return ctx.output(0, DType::string, Shape::unknown());
  std::vector<int64_t> axes = joined_axes_of(list, in.rank());
  Shape out;
  for (size_t i = 0; i < in.rank(); ++i) {
    bool joined = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!joined) out.push_back(in[i]);
    else if (a.keep_dims) out.push_back(Dim(1));
  }
  ctx.output(0, DType::string, out);
}
void reduce_join_run(Run& ctx, const ReduceJoin& a) {
  TensorView x = ctx.input(0);
  std::vector<int64_t> axes = joined_axes_of(ctx.input(1), x.rank()), stride = strides_of(x.dims());
  std::vector<int64_t> kept_dims, kept_strides, joined_dims, joined_strides, dims;
  for (size_t i = 0; i < x.rank(); ++i) {
    bool joined = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!joined) kept_dims.push_back(x.dim(i)), kept_strides.push_back(stride[i]), dims.push_back(x.dim(i));
    else if (a.keep_dims) dims.push_back(1);
  }
  for (int64_t axis : axes)
    joined_dims.push_back(x.dim(static_cast<size_t>(axis))),
        joined_strides.push_back(stride[static_cast<size_t>(axis)]);
  OutputView y = ctx.allocate(0, dims);
  Walk outer(kept_dims, {kept_strides});
  if (outer.empty()) return;
  int64_t i = 0;
  do {
    std::string all;
    Walk inner(joined_dims, {joined_strides});
    bool first = true;
    if (!inner.empty()) {
      do {
        if (!first) all += a.separator;
        first = false;
        all += string_of(x, outer[0] + inner[0]);
      } while (inner.next());
    }
    ctx.store(y, i++, all);
  } while (outer.next());
}

Value tf_reduce_join(Builder& layer) {
  return layer.op(
      "ReduceJoin@graft", {layer.input(0), layer.input(1)},
      {{"separator", layer.get<std::string>("separator", "")}, {"keep_dims", layer.get<bool>("keep_dims", false)}});
}
template <bool up>
Value tf_string_case(Builder& layer) {
  auto encoding = layer.get<std::string>("encoding", "");
  if (!encoding.empty() && encoding != "utf-8")
    unsupported("expected the encoding '' or 'utf-8', got '", encoding, "'");
  return layer.op("StringCase@graft", {layer.input(0)},
                  {{"to", up ? "upper" : "lower"}, {"encoding", encoding.empty() ? "ascii" : "utf-8"}});
}
// The lists of all strings as one sparse matrix: places, values, and its shape.
void tf_string_split(Builder& layer) {
  TensorView separator = layer.input(1).constant();
  if (!separator || separator.type() != DType::string || separator.size() != 1)
    unsupported("expected one constant separator");
  int64_t most = layer.get<int64_t>("maxsplit", -1);
  std::vector<Value> split = layer.ops("StringSplit@graft", {layer.input(0)},
                                       {{"delimiter", std::string(string_of(separator, 0))}, {"maxsplit", most}}, 2);
  Value shape = layer.op("ShapeOf", {split[0]}), columns = build::gather(shape, layer.ints({1}), 0);
  Value order =
      layer.op("Range", {layer.scalar(0), reshape(columns, {}), layer.scalar(1)}, {{"output_type", DType::i64}});
  Value there = layer.op("Less", {unsqueeze(order, {0}), unsqueeze(split[1], {1})});
  Value places = transpose(layer.op("NonZero", {there}), {1, 0});
  layer.output(0, places);
  layer.output(1, layer.op("GatherND", {split[0], places}));
  layer.output(2, shape);
}

}  // namespace

Definitions define_string_functions() {
  return {
      op<StringCase>("StringCase", "graft")
          .doc("Convert letters to lower or upper case")
          .inputs("data")
          .infer(string_map_infer<StringCase>)
          .linear()
          .reference(string_case_run)
          .import(tensorflow("StringLower").expand(tf_string_case<false>))
          .import(tensorflow("StringUpper").expand(tf_string_case<true>)),
      op("StringStrip", "graft")
          .doc("Remove white space at both ends")
          .inputs("data")
          .infer(string_map_infer<NoAttributes>)
          .linear()
          .reference(string_strip_run)
          .import(tensorflow("StringStrip")),
      op<StringUnit>("StringLength", "graft")
          .doc("Length of each string")
          .inputs("data")
          .infer(string_length_infer)
          .linear()
          .reference(string_length_run)
          .import(tensorflow("StringLength")),
      op<StringUnit>("Substr", "graft")
          .doc("Part of each string: from a position, of at most a length")
          .inputs("data, position, length")
          .infer(substr_infer)
          .linear()
          .reference(substr_run)
          .import(tensorflow("Substr")),
      op<ReduceJoin>("ReduceJoin", "graft")
          .doc("Join strings along axes, in the order of the axes")
          .inputs("data, axes")
          .infer(reduce_join_infer)
          .reference(reduce_join_run)
          .import(tensorflow("ReduceJoin").expand(tf_reduce_join)),
      tensorflow("StringSplitV2").expand(tf_string_split),
  };
}

}  // namespace graft

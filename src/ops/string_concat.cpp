// StringConcat and StringSplit.
#include <graft/op.hpp>

#include "texts.hpp"

namespace graft {
namespace {

void string_concat_expect(const NodeView& ctx, size_t input) {
  DType t = ctx.type(input);
  if (t != DType::string && t != DType::undefined) fail("expected strings in input ", input, ", got ", t);
}

void string_concat_infer(Infer& ctx, const NoAttributes&) {
  string_concat_expect(ctx, 0);
  string_concat_expect(ctx, 1);
  ctx.output(0, DType::string, broadcast(ctx.shape(0), ctx.shape(1)));
}
void string_concat_run(Run& ctx, const NoAttributes&) {
  TensorView a = ctx.input(0), b = ctx.input(1);
  OutputView y = ctx.output(0);
  Walk walk(y.dims(), {broadcast_strides(a.dims(), y.dims()), broadcast_strides(b.dims(), y.dims())});
  if (walk.empty()) return;
  int64_t i = 0;
  do ctx.store(y, i++, text(a.data<graft_str>()[walk[0]], b.data<graft_str>()[walk[1]]));
  while (walk.next());
}

struct StringSplit {
  std::string delimiter;
  int64_t maxsplit = -1;
  static constexpr std::tuple schema{
      attr("delimiter", &StringSplit::delimiter, "separator of the parts; empty: any whitespace"),
      attr("maxsplit", &StringSplit::maxsplit, "maximum number of splits; -1: unlimited").at_least(-1)};
};

std::vector<std::string_view> string_split_at_blanks(std::string_view s, int64_t cuts) {
  constexpr std::string_view blanks = " \t\n\r\f\v";
  std::vector<std::string_view> parts;
  for (;;) {
    s.remove_prefix(std::min(s.find_first_not_of(blanks), s.size()));
    if (s.empty()) return parts;
    size_t end = cuts == static_cast<int64_t>(parts.size()) ? s.size() : std::min(s.find_first_of(blanks), s.size());
    parts.push_back(s.substr(0, end));
    s.remove_prefix(end);
  }
}
std::vector<std::string_view> string_split_at(std::string_view s, std::string_view delimiter, int64_t cuts) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t end = cuts == static_cast<int64_t>(parts.size()) ? s.npos : s.find(delimiter);
    parts.push_back(s.substr(0, end));
    if (end == s.npos) return parts;
    s.remove_prefix(end + delimiter.size());
  }
}

// The number of parts is data-dependent; shorter lists are padded with empty strings.
void string_split_infer(Infer& ctx, const StringSplit&) {
  string_concat_expect(ctx, 0);
  Shape s = ctx.shape(0), parts = s;
  if (parts.ranked()) parts.push_back(Dim());
  ctx.output(0, DType::string, parts);
  ctx.output(1, DType::i64, s);
}
void string_split_run(Run& ctx, const StringSplit& a) {
  TensorView x = ctx.input(0);
  std::vector<std::vector<std::string_view>> lists;
  std::vector<int64_t> counts;
  size_t most = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    std::string_view s = view(x.data<graft_str>()[i]);
    lists.push_back(a.delimiter.empty() ? string_split_at_blanks(s, a.maxsplit)
                                        : string_split_at(s, a.delimiter, a.maxsplit));
    counts.push_back(static_cast<int64_t>(lists.back().size()));
    most = std::max(most, lists.back().size());
  }
  if (ctx.output_used(1)) ctx.output(1).assign(counts);
  if (!ctx.output_used(0)) return;
  std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
  dims.push_back(static_cast<int64_t>(most));
  OutputView y = ctx.allocate(0, dims);
  int64_t at = 0;
  for (const auto& list : lists)
    for (size_t k = 0; k < most; ++k) ctx.store(y, at++, k < list.size() ? list[k] : std::string_view());
}

// Joins any number of strings with a separator.
Value tf_string_join(Builder& layer) {
  auto separator = layer.get<std::string>("separator", "");
  if (layer.inputs() == 0) fail("expected at least one string to join, got none");
  Value out = layer.input(0);
  for (size_t i = 1; i < layer.inputs(); ++i) {
    if (!separator.empty()) out = layer.op("StringConcat@graft", {out, text_constant(layer, {separator}, {})});
    out = layer.op("StringConcat@graft", {out, layer.input(i)});
  }
  return out;
}

}  // namespace

Definitions define_string_concat() {
  return {
      op("StringConcat", "graft")
          .doc("Concatenate strings element by element")
          .inputs("a, b")
          .infer(string_concat_infer)
          .linear()
          .reference(string_concat_run)
          .import(onnx("StringConcat"))
          .import(tensorflow("StringJoin").ignore("N").expand(tf_string_join)),
      op<StringSplit>("StringSplit", "graft")
          .doc("Split strings along a new last axis, with the number of parts of each")
          .inputs("data")
          .outputs("parts, counts")
          .infer(string_split_infer)
          .linear()
          .reference(string_split_run)
          .import(onnx("StringSplit")),
  };
}

}  // namespace graft

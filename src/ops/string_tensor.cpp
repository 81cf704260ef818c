// StringTensorPack and StringTensorUnpack: strings as one byte array, with the begin and end of each.
#include <cstring>
#include <graft/op.hpp>

namespace graft {
namespace {

void string_pack_infer(Infer& ctx, const NoAttributes&) {
  Shape bytes = ctx.shape(2);
  if (bytes.ranked() && bytes.rank() != 1) fail("expected 1-D symbols, got shape ", bytes);
  if (DType t = ctx.type(2); t != DType::u8 && t != DType::undefined) fail("expected symbols of type u8, got ", t);
  ctx.output(0, DType::string, merge(ctx.shape(0), ctx.shape(1)));
}
void string_pack_run(Run& ctx, const NoAttributes&) {
  std::vector<int64_t> begin = ctx.input(0).to<int64_t>(), end = ctx.input(1).to<int64_t>();
  TensorView bytes = ctx.input(2);
  OutputView y = ctx.output(0);
  if (begin.size() != end.size()) fail("expected as many ends as begins (", begin.size(), "), got ", end.size());
  for (size_t i = 0; i < begin.size(); ++i) {
    if (begin[i] < 0 || begin[i] > end[i] || end[i] > bytes.size())
      fail("a string from ", begin[i], " to ", end[i], " is out of range for ", bytes.size(), " bytes");
    auto text = reinterpret_cast<const char*>(bytes.data<const uint8_t>());
    ctx.store(y, static_cast<int64_t>(i),
              begin[i] == end[i] ? std::string_view() : std::string_view(text + begin[i], text + end[i]));
  }
}

void string_unpack_infer(Infer& ctx, const NoAttributes&) {
  if (DType t = ctx.type(0); t != DType::string && t != DType::undefined) fail("expected strings, got ", t);
  Shape s = ctx.shape(0);
  ctx.output(0, DType::i32, s);
  ctx.output(1, DType::i32, s);
  ctx.output(2, DType::u8, Shape{Dim()});
}
void string_unpack_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  std::vector<int64_t> begin, end;
  std::string all;
  for (int64_t i = 0; i < x.size(); ++i) {
    begin.push_back(static_cast<int64_t>(all.size()));
    all += view(x.data<graft_str>()[i]);
    end.push_back(static_cast<int64_t>(all.size()));
  }
  if (all.size() > INT32_MAX) fail("the strings have ", all.size(), " bytes, which exceeds the range of i32");
  if (ctx.output_used(0)) ctx.output(0).assign(begin);
  if (ctx.output_used(1)) ctx.output(1).assign(end);
  if (!ctx.output_used(2)) return;
  OutputView bytes = ctx.allocate(2, {static_cast<int64_t>(all.size())});
  if (!all.empty()) std::memcpy(bytes.bytes(), all.data(), all.size());
}

}  // namespace

Definitions define_string_tensor() {
  return {
      op("StringTensorPack", 15)
          .doc("Strings from a byte array and the begin and end of each")
          .inputs("begins, ends, symbols")
          .infer(string_pack_infer)
          .linear()
          .reference(string_pack_run),
      op("StringTensorUnpack", 15)
          .doc("Bytes of all strings in one array, with the begin and end of each")
          .inputs("data")
          .outputs("begins, ends, symbols")
          .infer(string_unpack_infer)
          .linear()
          .reference(string_unpack_run),
  };
}

}  // namespace graft

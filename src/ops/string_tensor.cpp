// StringTensorPack and StringTensorUnpack: texts as one list of bytes and where each begins and ends.
#include <cstring>
#include <graft/op.hpp>

namespace graft {
namespace {

void string_pack_infer(Infer& ctx, const NoAttributes&) {
  Shape bytes = ctx.shape(2);
  if (bytes.ranked() && bytes.rank() != 1) fail("symbols of shape ", bytes, " should be a list");
  if (DType t = ctx.type(2); t != DType::u8 && t != DType::undefined) fail("symbols are ", t, ", u8 is wanted");
  ctx.output(0, DType::string, merge(ctx.shape(0), ctx.shape(1)));
}
void string_pack_run(Run& ctx, const NoAttributes&) {
  std::vector<int64_t> begin = ctx.input(0).to<int64_t>(), end = ctx.input(1).to<int64_t>();
  TensorView bytes = ctx.input(2), y = ctx.output(0);
  if (begin.size() != end.size()) fail(begin.size(), " beginnings for ", end.size(), " ends");
  for (size_t i = 0; i < begin.size(); ++i) {
    if (begin[i] < 0 || begin[i] > end[i] || end[i] > bytes.size())
      fail("a text reaches from ", begin[i], " to ", end[i], " of ", bytes.size(), " bytes");
    auto text = reinterpret_cast<const char*>(bytes.data<const uint8_t>());
    ctx.store(y, static_cast<int64_t>(i),
              begin[i] == end[i] ? std::string_view() : std::string_view(text + begin[i], text + end[i]));
  }
}

void string_unpack_infer(Infer& ctx, const NoAttributes&) {
  if (DType t = ctx.type(0); t != DType::string && t != DType::undefined) fail("data is ", t, ", string is wanted");
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
  if (all.size() > INT32_MAX) fail("the texts have ", all.size(), " bytes, more than can be counted");
  if (ctx.wants(0)) ctx.output(0).assign(begin);
  if (ctx.wants(1)) ctx.output(1).assign(end);
  if (!ctx.wants(2)) return;
  TensorView bytes = ctx.allocate(2, {static_cast<int64_t>(all.size())});
  if (!all.empty()) std::memcpy(bytes.bytes(), all.data(), all.size());
}

}  // namespace

Ops define_string_tensor() {
  return {
      op("StringTensorPack", 15)
          .doc("Texts from a list of bytes, given where each begins and ends.")
          .inputs("begins, ends, symbols")
          .infer(string_pack_infer)
          .linear()
          .reference(string_pack_run),
      op("StringTensorUnpack", 15)
          .doc("All bytes of a tensor of texts, and where each text begins and ends in them.")
          .inputs("data")
          .outputs("begins, ends, symbols")
          .infer(string_unpack_infer)
          .linear()
          .reference(string_unpack_run),
  };
}

}  // namespace graft

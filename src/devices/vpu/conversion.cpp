#include "devices/vpu/conversion.hpp"

#include <utility>

#include "devices/opencl/emit.hpp"

namespace graft {
namespace {

// vload_half and vstore_half exist on every device, arithmetic with half does not.
constexpr const char* conversion_source = R"(
__kernel void convert_item(__global const FROM* from, __global TO* to, long from_start, long to_start, int f, int y, int x,
                     long p0, long p1, long p2, long p3, int inward) {
  long i = get_global_id(0);
  long there = i / ((long)x * y * f) * p0 + i / (x * y) % f * p1 + i / x % y * p2 + i % x * p3;
  long a = from_start + (inward ? i : there), b = to_start + (inward ? there : i);
  STORE(LOAD(a), b);
}
)";

std::vector<int64_t> pitches_of(const std::vector<int64_t>& d, const std::string& format) {
  bool channels_last = format == "BYXF" || format == "YXF";
  return bfyx_pitches(d, channels_last ? GRAFT_BYXF : GRAFT_BFYX);
}

// B, F, Y, X counted from the end.
std::vector<int64_t> aligned(std::vector<int64_t> dims) {
  dims.insert(dims.begin(), 4 - std::min<size_t>(dims.size(), 4), 1);
  return dims;
}

}  // namespace

std::optional<DType> vpu_element(std::string_view word) {
  static constexpr std::pair<std::string_view, DType> names[] = {
      {"half", DType::f16}, {"float", DType::f32}, {"double", DType::f64}, {"char", DType::i8},
      {"uchar", DType::u8}, {"short", DType::i16}, {"ushort", DType::u16}, {"int", DType::i32},
      {"uint", DType::u32}, {"long", DType::i64},  {"ulong", DType::u64}};
  while (!word.empty() && word.back() >= '0' && word.back() <= '9') word.remove_suffix(1);
  for (const auto& [name, type] : names)
    if (name == word) return type;
  return std::nullopt;
}

bool VpuConversion::plain() const {
  std::vector<int64_t> d = aligned(dims);
  DType bytes = graph == DType::boolean ? DType::u8 : graph;
  return bytes == kernel && pitches_of(d, format) == pitches_of(d, "BFYX");
}

int64_t VpuConversion::elements() const {
  int64_t out = 1;
  for (int64_t d : dims) out *= d;
  return out;
}

Launch VpuConversion::launch(Argument from, Argument to, bool inward) const {
  DType in = inward ? graph : kernel, out = inward ? kernel : graph;
  std::vector<int64_t> d = aligned(dims), p = pitches_of(d, format);
  Launch l;
  l.sources = {{conversion_source, ""}};
  l.entry = "convert_item";
  l.defines = {{"FROM", std::string(cl_element_name(in))},
               {"TO", std::string(cl_element_name(out))},
               {"LOAD(i)", in == DType::f16 ? "vload_half(i, from)" : "from[i]"},
               {"STORE(v, i)", out == DType::f16 ? "vstore_half((float)(v), i, to)" : "to[i] = (TO)(v)"}};
  l.arguments = {from,
                 to,
                 Argument::long_number(inward ? offset : 0),
                 Argument::long_number(inward ? 0 : offset),
                 Argument::number(static_cast<int32_t>(d[1])),
                 Argument::number(static_cast<int32_t>(d[2])),
                 Argument::number(static_cast<int32_t>(d[3])),
                 Argument::long_number(p[0]),
                 Argument::long_number(p[1]),
                 Argument::long_number(p[2]),
                 Argument::long_number(p[3]),
                 Argument::number(inward)};
  l.global = {static_cast<size_t>(elements())};
  return l;
}

}  // namespace graft

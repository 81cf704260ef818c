// Functions in OpenCL sources, found without a compiler.
#include "readers/cl_source.hpp"

#include <gtest/gtest.h>

namespace graft {
namespace {

TEST(ClSource, FindsDefinitionsWithTheirArguments) {
  std::string_view source =
      "void f(int a);  // a declaration\n"
      "void g() { f(1); }\n"
      "__attribute__((noinline)) static void f(const __global half8* restrict src, /* , */ local unsigned char *l,\n"
      "  unsigned n, float4 v, constant ushort t[2]) { }\n";
  std::optional<ClFunction> f = cl_function(source, "f");
  ASSERT_TRUE(f);
  ASSERT_EQ(f->arguments.size(), 5u);
  auto is = [&](size_t i, std::string_view name, std::string_view type, std::string_view space, bool pointer) {
    const ClArgument& a = f->arguments[i];
    EXPECT_EQ(a.name, name);
    EXPECT_EQ(a.type, type);
    EXPECT_EQ(a.space, space);
    EXPECT_EQ(a.pointer, pointer);
  };
  is(0, "src", "half8", "global", true);
  is(1, "l", "uchar", "local", true);
  is(2, "n", "uint", "private", false);
  is(3, "v", "float4", "private", false);
  is(4, "t", "ushort", "constant", true);
  EXPECT_TRUE(f->parameters.starts_with("const __global half8*"));
  EXPECT_TRUE(f->parameters.ends_with("t[2]"));
  EXPECT_EQ(cl_function(source, "g")->arguments.size(), 0u);
  EXPECT_FALSE(cl_function(source, "h"));
}

TEST(ClSource, WritesLiteralsOfHalfAsCasts) {
  EXPECT_EQ(without_half_syntax("a = 0.5h + 1h*.5H - 1e-3h;"),
            "a = ((half)0.5f) + ((half)1.0f)*((half).5f) - ((half)1e-3f);");
  for (const char* same : {"0x1h", "x.s5h", "half h; // 1.0h", "/* 2h */ \"3h\"", "a1h", "1.5f"})
    EXPECT_EQ(without_half_syntax(same), same);
  EXPECT_EQ(without_half_syntax("  #pragma OPENCL EXTENSION cl_khr_fp16 : enable\nhalf x;\n"), "  \nhalf x;\n");
  EXPECT_EQ(without_half_syntax("#pragma unroll 4\n"), "#pragma unroll 4\n");
}

}  // namespace
}  // namespace graft

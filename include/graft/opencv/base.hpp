// Small types, errors and macros with the names of OpenCV's core module, as far as layers use them. Included by
// layer.hpp. Where the macros of OpenCV itself are there already, they stay.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "../types.hpp"

// ---- depths and types of matrices ----

#ifndef CV_8U
// CV_32F, CV_32FC1, ..., CV_32FC4
#define GRAFT_CV_DEPTH(NAME, NUMBER)                                                                    \
  inline constexpr int NAME = NUMBER, NAME##C1 = NUMBER, NAME##C2 = NUMBER + 8, NAME##C3 = NUMBER + 16, \
                       NAME##C4 = NUMBER + 24;                                                          \
  namespace graft::opencv {                                                                             \
  using ::NAME;                                                                                         \
  using ::NAME##C1;                                                                                     \
  }
GRAFT_CV_DEPTH(CV_8U, 0)
GRAFT_CV_DEPTH(CV_8S, 1)
GRAFT_CV_DEPTH(CV_16U, 2)
GRAFT_CV_DEPTH(CV_16S, 3)
GRAFT_CV_DEPTH(CV_32S, 4)
GRAFT_CV_DEPTH(CV_32F, 5)
GRAFT_CV_DEPTH(CV_64F, 6)
GRAFT_CV_DEPTH(CV_16F, 7)
#undef GRAFT_CV_DEPTH
inline constexpr int CV_MAT_DEPTH(int type) { return type & 7; }
inline constexpr int CV_MAT_CN(int type) { return (type >> 3) + 1; }
inline constexpr int CV_MAKETYPE(int depth, int channels) { return depth + ((channels - 1) << 3); }
#endif

// ---- macros ----

#ifndef CV_OVERRIDE
#define CV_OVERRIDE override
#define CV_FINAL final
#endif
#ifndef CV_UNUSED
#define CV_UNUSED(NAME) (void)NAME
#endif
#ifndef CV_EXPORTS
#define CV_EXPORTS
#define CV_EXPORTS_W
#define CV_WRAP
#define CV_IN_OUT
#define CV_OUT
#endif
#ifndef CV_TRACE_FUNCTION
#define CV_TRACE_FUNCTION() ((void)0)
#define CV_TRACE_ARG_VALUE(ID, NAME, VALUE) ((void)0)
#endif

// One condition, as in 4.x, or several, which are checked in order, as in 3.4.
#ifndef CV_Assert
#define GRAFT_CV_ASSERT_1(A) \
  if (!!(A)) {               \
  } else ::graft::opencv::assertion_failed(#A, static_cast<const char*>(__func__), __FILE__, __LINE__)
#define GRAFT_CV_ASSERT_2(A, ...)   \
  do {                              \
    GRAFT_CV_ASSERT_1(A);           \
    GRAFT_CV_ASSERT_1(__VA_ARGS__); \
  } while (0)
#define GRAFT_CV_ASSERT_3(A, ...)   \
  do {                              \
    GRAFT_CV_ASSERT_1(A);           \
    GRAFT_CV_ASSERT_2(__VA_ARGS__); \
  } while (0)
#define GRAFT_CV_ASSERT_4(A, ...)   \
  do {                              \
    GRAFT_CV_ASSERT_1(A);           \
    GRAFT_CV_ASSERT_3(__VA_ARGS__); \
  } while (0)
#define GRAFT_CV_ASSERT_5(A, ...)   \
  do {                              \
    GRAFT_CV_ASSERT_1(A);           \
    GRAFT_CV_ASSERT_4(__VA_ARGS__); \
  } while (0)
#define GRAFT_CV_ASSERT_6(A, ...)   \
  do {                              \
    GRAFT_CV_ASSERT_1(A);           \
    GRAFT_CV_ASSERT_5(__VA_ARGS__); \
  } while (0)
#define GRAFT_CV_ASSERT_OF(A, B, C, D, E, F, NAME, ...) NAME
#define CV_Assert(...)                                                                                          \
  do {                                                                                                          \
    GRAFT_CV_ASSERT_OF(__VA_ARGS__, GRAFT_CV_ASSERT_6, GRAFT_CV_ASSERT_5, GRAFT_CV_ASSERT_4, GRAFT_CV_ASSERT_3, \
                       GRAFT_CV_ASSERT_2, GRAFT_CV_ASSERT_1, )                                                  \
    (__VA_ARGS__);                                                                                              \
  } while (0)
#define CV_DbgAssert(...) CV_Assert(__VA_ARGS__)
#define CV_Error(CODE, MESSAGE) \
  ::graft::opencv::error(CODE, MESSAGE, static_cast<const char*>(__func__), __FILE__, __LINE__)
// CV_Error_(code, ("format %d", value))
#define CV_Error_(CODE, ARGUMENTS) CV_Error(CODE, ::graft::opencv::format ARGUMENTS)
#define GRAFT_CV_CHECK(A, SIGN, B, MESSAGE)                                                                           \
  do {                                                                                                                \
    if (!((A)SIGN(B)))                                                                                                \
      ::graft::opencv::check_failed(#A " " #SIGN " " #B, A, B, MESSAGE, static_cast<const char*>(__func__), __FILE__, \
                                    __LINE__);                                                                        \
  } while (0)
#define CV_CheckEQ(A, B, MESSAGE) GRAFT_CV_CHECK(A, ==, B, MESSAGE)
#define CV_CheckNE(A, B, MESSAGE) GRAFT_CV_CHECK(A, !=, B, MESSAGE)
#define CV_CheckLT(A, B, MESSAGE) GRAFT_CV_CHECK(A, <, B, MESSAGE)
#define CV_CheckLE(A, B, MESSAGE) GRAFT_CV_CHECK(A, <=, B, MESSAGE)
#define CV_CheckGT(A, B, MESSAGE) GRAFT_CV_CHECK(A, >, B, MESSAGE)
#define CV_CheckGE(A, B, MESSAGE) GRAFT_CV_CHECK(A, >=, B, MESSAGE)
#define CV_CheckTypeEQ(A, B, MESSAGE) GRAFT_CV_CHECK(A, ==, B, MESSAGE)
#define CV_CheckDepthEQ(A, B, MESSAGE) GRAFT_CV_CHECK(A, ==, B, MESSAGE)
#endif

// Visible, so that classes of users that derive from these need no attribute.
namespace graft {
namespace [[gnu::visibility("default")]] opencv {

using String = std::string;
using uchar = unsigned char;
template <class T>
using Ptr = std::shared_ptr<T>;
template <class T, class... Args>
Ptr<T> makePtr(Args&&... args) {
  return std::make_shared<T>(std::forward<Args>(args)...);
}

namespace Error {
enum Code {
  StsOk = 0,
  StsError = -2,
  StsInternal = -3,
  StsNoMem = -4,
  StsBadArg = -5,
  StsNoConv = -7,
  StsNullPtr = -27,
  StsBadSize = -201,
  StsObjectNotFound = -204,
  StsUnmatchedFormats = -205,
  StsUnmatchedSizes = -209,
  StsUnsupportedFormat = -210,
  StsOutOfRange = -211,
  StsParseError = -212,
  StsNotImplemented = -213,
  StsAssert = -215
};
}  // namespace Error

// Graft shows `err` as the reason of an error; a program that catches it finds place and function, too.
class [[gnu::visibility("hidden")]] Exception : public Failure {
 public:
  Exception(int code_, String err_, String func_ = {}, String file_ = {}, int line_ = 0)
      : Failure(GRAFT_USER, err_),
        code(code_),
        line(line_),
        err(std::move(err_)),
        func(std::move(func_)),
        file(std::move(file_)),
        msg(err) {}
  int code, line;
  String err, func, file, msg;
};

[[noreturn]] inline void error(int code, const String& message, const char* func, const char* file, int line) {
  throw Exception(code, message, func, file, line);
}
[[noreturn]] inline void assertion_failed(const char* condition, const char* func, const char* file, int line) {
  error(Error::StsAssert, String("assertion failed in ") + func + ": " + condition, func, file, line);
}
template <class A, class B>
[[noreturn]] void check_failed(const char* condition, const A& a, const B& b, const String& message, const char* func,
                               const char* file, int line) {
  std::ostringstream out;
  out << message << (message.empty() ? "" : ": ") << "expected " << condition << ", got " << a << " and " << b;
  error(Error::StsBadArg, out.str(), func, file, line);
}

[[gnu::format(printf, 1, 2)]] inline String format(const char* form, ...) {
  va_list first, second;
  va_start(first, form);
  va_copy(second, first);
  String out(static_cast<size_t>(std::max(std::vsnprintf(nullptr, 0, form, first), 0)), '\0');
  std::vsnprintf(out.data(), out.size() + 1, form, second);
  va_end(second);
  va_end(first);
  return out;
}

struct Size {
  int width = 0, height = 0;
};
struct Scalar {
  Scalar() = default;
  Scalar(double a, double b = 0, double c = 0, double d = 0) : val{a, b, c, d} {}
  double operator[](int i) const { return val[i]; }
  double val[4] = {};
};
struct Range {
  Range() = default;
  Range(int from, int to) : start(from), end(to) {}
  static Range all() { return {INT32_MIN, INT32_MAX}; }
  int size() const { return end - start; }
  int start = 0, end = 0;
};

}  // namespace opencv
}  // namespace graft

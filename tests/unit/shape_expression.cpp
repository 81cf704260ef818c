// Shapes as expressions: values, unknown dimensions, refusals.
#include "import/shape_expression.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

const std::map<std::string, Attribute, std::less<>> parameters = {
    {"factor", int64_t{3}},
    {"outer.inner", int64_t{5}},
    {"flag", true},
    {"kernel", std::vector<int64_t>{7, 9}},
    {"mode", std::string("soft")},
    {"ratio", 0.5},
};

Shape evaluate(std::string_view source) {
  std::vector<Shape> inputs = {Shape{2, 3, 10, Dim()}, Shape{4}, Shape::unknown()};
  return ShapeExpression::parse(source).evaluate(inputs, [](std::string_view name) -> const Attribute* {
    auto it = parameters.find(name);
    return it == parameters.end() ? nullptr : &it->second;
  });
}

std::string refusal(const std::string& source) {
  try {
    return "gave " + text(evaluate(source));
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::user);
    return e.message();
  }
}

TEST(ShapeExpression, Computes) {
  for (auto [source, wanted] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"in0", "[2,3,10,?]"},
           {"in0, 1", "[2,3,10,?,1]"},
           {"in1, in1", "[4,4]"},
           {"in2", "[...]"},
           {"1, in2", "[...]"},
           {"in0[0]", "[2]"},
           {"in0[-2]", "[10]"},
           {"in0[3]", "[?]"},
           {"in0[3] * 0 + 1", "[?]"},
           {"in2[5]", "[?]"},
           {"in0[2] * factor, outer.inner", "[30,5]"},
           {"1 + 2 * 3, (1 + 2) * 3", "[7,9]"},
           {"7 / 2, 7 % 2, ceil_div(7, 2)", "[3,1,4]"},
           {"10 - 3 - 2, 100 / 5 / 2", "[5,10]"},
           {"-(0 - 7) / 2", "[3]"},
           {"0 - (0 - 7) / 2", "[4]"},
           {"(0 - 7) % 4", "[1]"},
           {"min(3, 1, 2), max(3), max(1, in0[2])", "[1,3,10]"},
           {"default(factor, 8), default(missing, 8), default(missing, in0[0])", "[3,8,2]"},
           {"kernel[0], kernel[-1], factor[0], flag", "[7,9,3,1]"},
           {"min(1, in0[3])", "[?]"},
           {" ( 0 ) ", "[0]"},
           {"- -3", "[3]"},
           {"5 % -1 + 1, 6 / -1 + 6", "[1,0]"}})
    EXPECT_EQ(text(evaluate(source)), wanted) << source;
}

TEST(ShapeExpression, RefusesWhatIsNoExpression) {
  for (auto [source, said] : std::initializer_list<std::pair<std::string, std::string_view>>{
           {"", "expected a value, got the end"},
           {"1,", "expected a value, got the end"},
           {"1 2", "character 3: unexpected '2'"},
           {"1 +", "expected a value, got the end"},
           {"* 2", "expected a number, inK[i] or a parameter, got '*'"},
           {"in0[", "expected a number in [ ]"},
           {"in0[x]", "expected a number in [ ]"},
           {"in0[1", "expected ']' after an index"},
           {"(1", "expected ')'"},
           {"1)", "unexpected ')'"},
           {"in0 + 1", "in0 is a whole shape"},
           {"1, 2 * in1", "in1 is a whole shape"},
           {"in99999999999", "there is no input 99999999999"},
           {"factor.", "ends in a dot"},
           {"floor(1)", "unknown function 'floor'"},
           {"ceil_div(1)", "ceil_div: expected 2 arguments, got 1"},
           {"min()", "min: expected 1 or more arguments, got 0"},
           {"default(1, 2)", "default: expected the name of a parameter as the first argument"},
           {"99999999999999999999", "is too large"},
           {"1 $ 2", "unexpected '$'"},
           {std::string(200, '(') + "1" + std::string(200, ')'), "nested more than 64 deep"},
           {std::string(200, '-') + "1", "nested more than 64 deep"},
           {std::string(20'000, '1'), "expected a shape expression of at most 10000 characters, got 20000"},
           {"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "more than 32 dimensions"}})
    EXPECT_NE(refusal(source).find(said), std::string::npos) << source << ": " << refusal(source);
}

TEST(ShapeExpression, RefusesWhatHasNoValue) {
  for (auto [source, said] : std::initializer_list<std::pair<std::string, std::string_view>>{
           {"in3", "in3 does not exist, the layer has 3 inputs"},
           {"in0[4]", "in0[4] does not exist, input 0 has shape [2,3,10,?]"},
           {"in1[-2]", "in1[-2] does not exist"},
           {"missing", "the layer has no parameter 'missing'"},
           {"mode", "parameter 'mode': expected an integer, got kind string"},
           {"ratio", "expected an integer"},
           {"kernel", "expected an integer"},
           {"kernel[2]", "kernel[2] does not exist, parameter 'kernel' has 2 values"},
           {"1 / 0", "division by zero"},
           {"1 % (factor - 3)", "division by zero"},
           {"ceil_div(4, 0)", "division by zero"},
           {"9223372036854775807 + 1", "integer overflow"},
           {"9223372036854775807 * 2", "integer overflow"},
           {"0 - 9223372036854775807 - 2", "integer overflow"},
           {"(0 - 9223372036854775807 - 1) / (0 - 1)", "integer overflow"},
           {"(0 - 9223372036854775807 - 1) % (0 - 1) + 1 / 0", "division by zero"},
           {"2 - 3", "expected a non-negative dimension 0, got -1"},
           {"1, 1099511627777", "expected dimension 1 to be at most 1099511627776, got 1099511627777"}})
    EXPECT_NE(refusal(source).find(said), std::string::npos) << source << ": " << refusal(source);
}

TEST(ShapeExpression, LongRowsNeedNoStack) {
  std::string row = "1";
  while (row.size() + 2 < ShapeExpression::longest) row += "+1";
  EXPECT_EQ(text(evaluate(row)), text("[", (row.size() + 1) / 2, "]"));
}

}  // namespace
}  // namespace graft

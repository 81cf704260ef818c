// Sequences and optionals of ONNX in the C++ API: flat ports, and the groups that say what belongs together.
#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary.hpp"
#include "base/tensor.hpp"
#include "toolkit/state.hpp"

namespace graft {
namespace {

using Kind = Group::Kind;

// A message of the wire format, short enough for lengths of one byte.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string number(int field_number, int value) {
  return {static_cast<char>(field_number << 3), static_cast<char>(value)};
}
std::string value_info(const std::string& name, int kind) {
  std::string tensor = field(1, number(1, 1));
  return field(1, name) + field(2, field(kind, field(1, tensor)));
}

class Groups : public ::testing::Test {
 protected:
  // y = x, of TypeProto's kind 4 (sequence) or 9 (optional).
  std::string identity(int kind) {
    std::string node = field(1, "x") + field(2, "y") + field(4, "Identity");
    std::string graph =
        field(1, node) + field(2, "g") + field(11, value_info("x", kind)) + field(12, value_info("y", kind));
    std::string path = folder_.path() + "/m.onnx";
    std::ofstream(path, std::ios::binary) << number(1, 8) << field(7, graph) << field(8, number(2, 17));
    return path;
  }
  static Tensor list(std::vector<float> values) {
    auto n = static_cast<int64_t>(values.size());
    return make_tensor<float>({n}, values);
  }

  TemporaryFolder folder_;
  Core core_;
};

TEST_F(Groups, ASequenceIsReadForItsLength) {
  ReadOptions options;
  options.items["x"] = 2;
  Model m = core_.read_model(identity(4), {}, options);
  ASSERT_EQ(m.inputs().size(), 2u);
  EXPECT_EQ(m.inputs()[1].any_name(), "x.1");
  std::vector<Group> in = m.input_groups(), out = m.output_groups();
  ASSERT_EQ(in.size(), 1u);
  EXPECT_EQ(in[0].name, "x");
  EXPECT_EQ(in[0].kind, Kind::sequence);
  ASSERT_EQ(out[0].parts.size(), 2u);
  EXPECT_EQ(out[0].parts[1].port, 1u);

  CompiledModel compiled = core_.compile_model(m);
  InferRequest request = compiled.create_infer_request();
  request.set_tensor("x.0", list({1}));
  request.set_tensor("x.1", list({2, 3}));
  request.infer();
  Datum y = gathered(compiled.output_groups()[0], [&](size_t port) { return request.get_output_tensor(port); });
  ASSERT_EQ(y.parts.size(), 2u);
  EXPECT_TRUE(same_content(y.parts[1].value, list({2, 3})));
}

TEST_F(Groups, WithoutItsLengthASequenceCanBeSeenAndNotUsed) {
  Model m = core_.read_model(identity(4));
  EXPECT_EQ(m.input_groups()[0].kind, Kind::sequence);
  try {
    core_.compile_model(m);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "the length of the sequence input 'x' is not given");
  }
}

TEST_F(Groups, AnOptionalMayHoldNothing) {
  ReadOptions options;
  options.absent = {"x"};
  Model m = core_.read_model(identity(9), {}, options);
  EXPECT_TRUE(m.inputs().empty() && m.outputs().empty());
  ASSERT_EQ(m.output_groups().size(), 1u);
  EXPECT_EQ(m.output_groups()[0].kind, Kind::optional);
  EXPECT_TRUE(m.output_groups()[0].parts.empty());
  Model full = core_.read_model(identity(9));
  EXPECT_EQ(full.output_groups()[0].parts.size(), 1u);
}

TEST_F(Groups, TheIrKeepsThem) {
  ReadOptions options;
  options.items["x"] = 3;
  Model m = core_.read_model(identity(4), {}, options).through_ir();
  EXPECT_EQ(m.framework(), "ir");
  EXPECT_EQ(m.input_groups()[0].parts.size(), 3u);
  EXPECT_EQ(m.output_groups()[0].name, "y");
  EXPECT_EQ(m.output_groups()[0].parts[2].port, 2u);
}

TEST_F(Groups, ARunIsCutUp) {
  Group item{"", Kind::tensor, 0, {}}, run{"", Kind::run, 0, {item}}, sequence{"y", Kind::sequence, 0, {run}};
  Datum y = gathered(sequence, [](size_t) { return make_tensor<float>({2, 2}, {1, 2, 3, 4}); });
  ASSERT_EQ(y.parts.size(), 2u);
  EXPECT_TRUE(same_content(y.parts[1].value, list({3, 4})));
}

}  // namespace
}  // namespace graft

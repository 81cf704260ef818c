// What the cases of tests/readers cannot show: values of the text format, mean images, recognition.
#include "readers/caffe/caffe.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.hpp"
#include "base/temporary.hpp"
#include "base/tensor.hpp"

namespace graft {
namespace {

ProtoNode field(const std::string& text) { return parse_proto_text("f: " + text, "text").fields.at(0); }

TEST(ProtoText, WholeNumbers) {
  EXPECT_EQ(field("12").integer(), 12);
  EXPECT_EQ(field("-0x1F").integer(), -31);
  EXPECT_EQ(field("017").integer(), 15);
  EXPECT_EQ(field("-9223372036854775808").integer(), INT64_MIN);
  EXPECT_EQ(field("18446744073709551615").integer(), -1);
  EXPECT_EQ(field("18446744073709551615").real(), 18446744073709551615.0);
  EXPECT_FALSE(field("1.5").integer());
  EXPECT_FALSE(field("word").integer());
}

TEST(ProtoText, Numbers) {
  EXPECT_EQ(field("1.5f").real(), 1.5);
  EXPECT_EQ(field("- .5e+1").real(), -5);
  EXPECT_EQ(field("2F").real(), 2);
  EXPECT_EQ(field("-inf").real(), -INFINITY);
  EXPECT_TRUE(std::isnan(*field("nan").real()));
  EXPECT_FALSE(field("'1'").real());
}

TEST(ProtoText, TruthsAndTexts) {
  EXPECT_EQ(field("true").boolean(), true);
  EXPECT_EQ(field("0").boolean(), false);
  EXPECT_FALSE(field("2").boolean());
  EXPECT_EQ(field("'a\\n\\t\\101\\x42\\u00e4' \"'\"").value, "a\n\tAB\xc3\xa4'");
  EXPECT_EQ(field("[1, 2]").listed, true);
  ProtoNode m = parse_proto_text("a { b: 1 } a < b: 2 > c: WORD\n\nd: 3", "text");
  EXPECT_EQ(m.all("a").size(), 2u);
  EXPECT_EQ(m.all("a")[1]->find("b")->integer(), 2);
  EXPECT_EQ(m.text_of("c"), "WORD");
  EXPECT_EQ(m.find("d")->line, 3u);
}

TEST(ProtoText, Depth) {
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "a{";
  EXPECT_THROW(parse_proto_text(deep, "text"), Error);
}

TEST(Caffe, MeanImage) {
  TemporaryFolder folder;
  OutputFile f(folder.path() + "/mean.binaryproto");
  f.write(std::string("\x08\x01\x10\x02\x18\x01\x20\x01\x2a\x08\x00\x00\x80\x3f\x00\x00\x00\x40", 18));
  f.commit();
  Tensor t = read_caffe_blob(f.path());
  EXPECT_EQ(t.dims(), (std::vector<int64_t>{1, 2, 1, 1}));
  EXPECT_EQ(values_of<double>(t), (std::vector<double>{1, 2}));
}

TEST(Caffe, Recognition) {
  EXPECT_TRUE(looks_like_caffe_text("# a net\nname: \"n\"\nlayer { }"));
  EXPECT_TRUE(looks_like_caffe_text("layers {"));
  EXPECT_FALSE(looks_like_caffe_text("node { name: \"layer\" }"));  // a GraphDef
  EXPECT_FALSE(looks_like_caffe_text("layered"));
  EXPECT_FALSE(looks_like_caffe_text(""));
  EXPECT_TRUE(looks_like_caffe_weights(std::string_view("\x0a\x01n\xa2\x06\x00", 6)));
  EXPECT_TRUE(looks_like_caffe_weights(std::string_view("\x12\x05\x22\x01n\x28\x04", 7)));
  EXPECT_FALSE(looks_like_caffe_weights(std::string_view("\x0a\x03\x0a\x01n\x0a\x03\x0a\x01m", 10)));  // a GraphDef
  EXPECT_FALSE(looks_like_caffe_weights(std::string_view("\x08\x07\x12\x01p", 5)));                    // ONNX
}

}  // namespace
}  // namespace graft

// Checkpoints of TensorFlow, right and wrong.
#include "readers/tensorflow/tensor_bundle.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file.hpp"
#include "base/temporary.hpp"
#include "base/tensor.hpp"
#include "readers/tensorflow/variables.hpp"

namespace graft {
namespace {

std::string varint(uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  return out += static_cast<char>(v);
}
std::string field(uint32_t number, uint64_t v) { return varint(number << 3) + varint(v); }
std::string field(uint32_t number, const std::string& v) { return varint(number << 3 | 2) + varint(v.size()) + v; }
std::string fixed(uint32_t v) { return std::string(reinterpret_cast<const char*>(&v), 4); }

using Entries = std::vector<std::pair<std::string, std::string>>;

std::string block(const Entries& entries, bool sharing = false) {
  std::string out, last;
  for (const auto& [key, value] : entries) {
    size_t shared = 0;
    while (sharing && shared < key.size() && shared < last.size() && key[shared] == last[shared]) ++shared;
    out += varint(shared) + varint(key.size() - shared) + varint(value.size()) + key.substr(shared) + value;
    last = key;
  }
  return out + fixed(0) + fixed(1);
}
// All bytes as new ones: the simplest form of packing.
std::string packed(const std::string& bytes) {
  std::string out = varint(bytes.size());
  for (size_t at = 0; at < bytes.size(); at += 60) {
    std::string piece = bytes.substr(at, 60);
    out += static_cast<char>((piece.size() - 1) << 2);
    out += piece;
  }
  return out;
}
std::string table(const std::string& data, int kind = 0) {
  std::string out = data + static_cast<char>(kind) + std::string(4, '\0');
  size_t meta = out.size();
  std::string empty = block({});
  out += empty + std::string(5, '\0');
  size_t index = out.size();
  std::string entries = block({{"z", varint(0) + varint(data.size())}});
  out += entries + std::string(5, '\0');
  std::string footer = varint(meta) + varint(empty.size()) + varint(index) + varint(entries.size());
  footer.resize(40);
  uint64_t magic = 0xdb4775248b80fb57;
  return out + footer + std::string(reinterpret_cast<const char*>(&magic), 8);
}
std::string header(uint64_t shards = 1, uint64_t order = 0) { return field(1, shards) + field(2, order); }
std::string entry(uint64_t type, const std::vector<uint64_t>& dims, uint64_t shard, uint64_t offset, uint64_t size) {
  std::string shape;
  for (uint64_t d : dims) shape += field(2, field(1, d));
  return field(1, type) + field(2, shape) + field(3, shard) + field(4, offset) + field(5, size);
}

struct Checkpoint {
  TemporaryFolder folder;
  void write(const std::string& name, const std::string& bytes) {
    OutputFile f(folder.path() + "/" + name);
    f.write(bytes);
    f.commit();
  }
  std::string refusal(const std::string& index, const std::string& name = "w") {
    try {
      TensorBundle(index, folder.path(), "v").tensor(name);
    } catch (const Error& e) {
      return e.message();
    }
    return "";
  }
};

std::string shard_of(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4);
}

TEST(TensorBundle, Reads) {
  Checkpoint c;
  c.write("v.data-00000-of-00001", shard_of({0, 1, 2, 3}));
  Entries entries{{"", header()}, {"dense/bias", entry(1, {2}, 0, 0, 8)}, {"dense/kernel", entry(1, {1, 2}, 0, 8, 8)}};
  for (bool sharing : {false, true})
    for (int kind : {0, 1}) {
      std::string data = block(entries, sharing);
      c.write("v.index", table(kind ? packed(data) : data, kind));
      TensorBundle b(c.folder.path(), "v");
      EXPECT_EQ(b.names().size(), 2u);
      Tensor t = b.tensor("dense/kernel");
      EXPECT_EQ(t.dims(), (std::vector<int64_t>{1, 2}));
      EXPECT_EQ(values_of<float>(t), (std::vector<float>{2, 3}));
    }
}

TEST(TensorBundle, CopiesInPackedBlocks) {
  // "ab", then six bytes from two back: abababab.
  std::string bytes = varint(8) +
                      std::string(
                          "\x04"
                          "ab",
                          3) +
                      std::string("\x09\x02", 2);
  Checkpoint c;
  EXPECT_EQ(c.refusal(table(bytes, 1)), "the checkpoint's index has a block of 8 bytes with 1650549345 restarts");
}

TEST(TensorBundle, Text) {
  Checkpoint c;
  auto text = [&](const std::string& e, const std::string& bytes) {
    c.write("v.data-00000-of-00001", bytes);
    TensorBundle b(table(block({{"", header()}, {"t", e}})), c.folder.path(), "v");
    try {
      return std::string(b.text_of("t"));
    } catch (const Error& e) {
      return e.message();
    }
  };
  std::string bytes = varint(3) + "....abc";
  EXPECT_EQ(text(entry(7, {}, 0, 0, 8), bytes), "abc");
  EXPECT_EQ(text(entry(7, {}, 0, 0, 7), bytes), "expected 3 bytes and a checksum of 4 after the length, got 6");
  EXPECT_EQ(text(entry(7, {}, 0, 0, 2), bytes), "expected 3 bytes and a checksum of 4 after the length, got 1");
  EXPECT_EQ(text(entry(7, {1}, 0, 0, 8), bytes), "expected a scalar string, got string[1]");
  EXPECT_EQ(text(entry(1, {}, 0, 0, 4), bytes), "expected a scalar string, got float[]");
}

TEST(TensorBundle, Texts) {
  Checkpoint c;
  auto texts = [&](const std::string& e, const std::string& bytes) {
    c.write("v.data-00000-of-00001", bytes);
    TensorBundle b(table(block({{"", header()}, {"t", e}})), c.folder.path(), "v");
    try {
      Tensor t = b.tensor("t");
      std::string all;
      for (int64_t i = 0; i < t.size(); ++i) all += std::string(t.text_at(i)) + ";";
      return all;
    } catch (const Error& e) {
      return e.message();
    }
  };
  std::string bytes = varint(3) + varint(0) + varint(2) + "....abcde";
  EXPECT_EQ(texts(entry(7, {3}, 0, 0, 12), bytes), "abc;;de;");
  EXPECT_EQ(texts(entry(7, {0}, 0, 0, 4), "...."), "");
  EXPECT_EQ(texts(entry(7, {3}, 0, 0, 12), bytes + "f"), "abc;;de;");
  EXPECT_EQ(texts(entry(7, {3}, 0, 0, 13), bytes + "f"), "the tensor has 1 bytes after its strings");
  EXPECT_EQ(texts(entry(7, {100}, 0, 0, 12), bytes), "expected at least 100 bytes for 100 strings, got 12");
}

// What restores the variables names others than the graph uses; the list of objects knows both.
TEST(TensorBundle, ListsItsObjects) {
  auto object = [](const std::string& variable, const std::string& key) {
    return field(1, field(1, field(1, uint64_t{7})) + field(2, field(2, variable) + field(3, key)));
  };
  std::string list = object("kernel", "a/kernel") + object("twice", "a/kernel") + object("twice", "b/kernel");
  Checkpoint c;
  std::string text = varint(list.size()) + "...." + list, values = shard_of({1, 2});
  c.write("v.data-00000-of-00001", values + text);
  c.write("v.index", table(block({{"", header()},
                                  {"_CHECKPOINTABLE_OBJECT_GRAPH", entry(7, {}, 0, values.size(), text.size())},
                                  {"a/kernel", entry(1, {1}, 0, 0, 4)},
                                  {"b/kernel", entry(1, {1}, 0, 4, 4)}})));
  TensorFlowGraph graph;
  for (const char* name : {"kernel", "twice", "none"}) {
    TensorFlowNode& n = graph.nodes.emplace_back();
    n.name = std::string("handle of ") + name;
    n.type = "VarHandleOp";
    RawField shared;
    shared.value = std::string(name);
    n.fields.emplace_back("shared_name", shared);
  }
  TensorBundle b(c.folder.path(), "v");
  fill_variables(graph, b);
  const RawField* value = graph.nodes[0].find("value");
  ASSERT_TRUE(value);
  EXPECT_EQ(values_of<float>(*value->value.get_if<Tensor>()), std::vector<float>{1});
  EXPECT_FALSE(graph.nodes[1].find("value"));
  EXPECT_FALSE(graph.nodes[2].find("value"));
}

TEST(TensorBundle, Refuses) {
  Checkpoint c;
  c.write("v.data-00000-of-00001", shard_of({0, 1}));
  auto of = [](const std::string& e, const std::string& h = header()) { return table(block({{"", h}, {"w", e}})); };
  std::string good = entry(1, {2}, 0, 0, 8);
  EXPECT_EQ(c.refusal(of(good)), "");
  EXPECT_EQ(c.refusal(""), "not the index of a checkpoint: the magic number at its end is missing");
  EXPECT_EQ(c.refusal(of(good).substr(1)), "the checkpoint's index has a key that shares 1 bytes with one of 0");
  std::string wrong = of(good);
  wrong.back() = 'x';
  EXPECT_EQ(c.refusal(wrong), "not the index of a checkpoint: the magic number at its end is missing");
  EXPECT_EQ(c.refusal(of(good), "v"), "the checkpoint has no such tensor");
  EXPECT_EQ(c.refusal(of(entry(1, {3}, 0, 0, 8))), "expected 12 bytes for shape [3] of f32, got 8");
  EXPECT_EQ(c.refusal(of(entry(1, {2}, 0, 4, 8))).substr(0, 40),
            "the tensor lies at bytes 4 to 4+8 of '" + c.folder.path().substr(0, 2));
  EXPECT_EQ(c.refusal(of(entry(1, {2}, 7, 0, 8))), "the tensor lies in shard 7 of 1");
  EXPECT_EQ(c.refusal(of(entry(8, {2}, 0, 0, 8))), "expected a numeric or string element type, got complex64");
  EXPECT_EQ(c.refusal(of(good + field(7, std::string()))), "the tensor is stored in slices");
  EXPECT_EQ(c.refusal(of(entry(1, {UINT64_MAX}, 0, 0, 8))), "expected a static shape, got [?]");
  EXPECT_EQ(c.refusal(of(good, header(0))), "expected 1 or more shards of the checkpoint, got 0");
  EXPECT_EQ(c.refusal(of(good, header(1, 1))), "the checkpoint was written in big-endian order");
  EXPECT_NE(c.refusal(of(good, header(2))), "");
  EXPECT_EQ(c.refusal(table(block({}), 2)), "the checkpoint's index has a block of unknown compression type 2");
  EXPECT_EQ(c.refusal(table("abc")), "the checkpoint's index has a block of 3 bytes, expected at least 4");
  EXPECT_EQ(c.refusal(table(varint(1) + varint(1) + varint(0) + "a" + fixed(0) + fixed(1))),
            "the checkpoint's index has a key that shares 1 bytes with one of 0");
  EXPECT_EQ(c.refusal(table(varint(0) + varint(100) + varint(0) + "a" + fixed(0) + fixed(1))),
            "the checkpoint's index has an entry of 100 bytes, but only 1 are left");
  EXPECT_EQ(c.refusal(table(std::string(1, '\x80') + fixed(0) + fixed(1))),
            "the checkpoint's index is truncated inside a number");
  EXPECT_EQ(c.refusal(table(varint(uint64_t{1} << 40), 1)),
            "the checkpoint's index has a compressed block of 1099511627776 bytes, expected at most 67108864");
  EXPECT_EQ(c.refusal(table(varint(4) + std::string("\x01\x00", 2), 1)),
            "the checkpoint's index has a corrupt compressed block");
  EXPECT_EQ(c.refusal(table(varint(4) + std::string("\x00"
                                                    "a",
                                                    2),
                            1)),
            "the checkpoint's index has a block that decompresses to 1 bytes, expected 4");
}

}  // namespace
}  // namespace graft

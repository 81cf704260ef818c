// Element types, memory plans, files, threads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/file.hpp"
#include "base/temporary.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "runtime/memory_plan.hpp"

namespace graft {
namespace {

double through(DType type, double v) { return values_of<double>(make_tensor<double>({1}, {v}).to(type))[0]; }

TEST(Convert, EveryTypeGivesItsOwnValuesBack) {
  for (const DTypeTraits& t : dtype_table) {
    if (t.family == DTypeTraits::none || t.family == DTypeTraits::text || t.bits > 8) continue;
    // All codes of a small type survive the trip through double.
    int64_t codes = int64_t{1} << t.bits;
    Tensor all(t.type, {codes});
    auto* bytes = static_cast<uint8_t*>(all.data());
    for (int64_t i = 0; i < codes; ++i) {
      if (t.bits == 8) bytes[i] = t.family == DTypeTraits::boolean ? i % 2 : static_cast<uint8_t>(i);
      else if (t.bits == 4) bytes[i / 2] = static_cast<uint8_t>(i % 2 ? bytes[i / 2] | i << 4 : i);
      else bytes[0] = 0x40;  // the bits 0, 1
    }
    std::vector<double> once = values_of<double>(all),
                        again = values_of<double>(make_tensor<double>({codes}, once).to(t.type));
    for (size_t i = 0; i < once.size(); ++i)
      EXPECT_TRUE(once[i] == again[i] || (std::isnan(once[i]) && std::isnan(again[i])))
          << t.name << " " << i << " " << once[i] << " " << again[i];
  }
}

TEST(Convert, RoundsHalfToEvenAndSaturates) {
  EXPECT_EQ(through(DType::bf16, 1.00390625), 1.0);       // halfway, to even
  EXPECT_EQ(through(DType::bf16, 1.01171875), 1.015625);  // halfway, to even
  EXPECT_EQ(through(DType::f16, 65520), INFINITY);
  EXPECT_EQ(through(DType::f16, 65519), 65504);
  EXPECT_EQ(through(DType::f8e4m3, 1e9), 448);
  EXPECT_EQ(through(DType::f8e5m2, INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(through(DType::f8e4m3, INFINITY)));
  EXPECT_EQ(through(DType::f4e2m1, 2.5), 2);
  EXPECT_EQ(through(DType::i8, 300), 127);
  EXPECT_EQ(through(DType::u8, -3), 0);
  EXPECT_EQ(through(DType::i32, NAN), 0);
  EXPECT_EQ(through(DType::i64, 1e30), 9223372036854775807.0);
  EXPECT_EQ(values_of<int64_t>(make_tensor<int64_t>({1}, {300}).to(DType::u8))[0], 44) << "whole numbers wrap";
  EXPECT_EQ(values_of<int64_t>(make_tensor<int64_t>({2}, {-1, 7}).to(DType::i4)), (std::vector<int64_t>{-1, 7}));
}

TEST(MemoryPlan, NothingThatLivesTogetherOverlaps) {
  std::mt19937 engine(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lives(1 + engine() % 60);
    size_t most = 0;
    std::vector<size_t> at(64, 0);
    for (Lifetime& l : lives) {
      l.bytes = engine() % 5000;
      l.first = engine() % 40;
      l.last = l.first + engine() % 12;
      for (size_t s = l.first; s <= l.last; ++s) at[s] += (std::max<size_t>(l.bytes, 1) + 63) / 64 * 64;
    }
    for (size_t a : at) most = std::max(most, a);
    size_t size = plan_memory(lives);
    EXPECT_GE(size, most);
    for (size_t i = 0; i < lives.size(); ++i)
      for (size_t k = 0; k < i; ++k) {
        const Lifetime &a = lives[i], &b = lives[k];
        EXPECT_EQ(a.offset % 64, 0u);
        EXPECT_LE(a.offset + a.bytes, size);
        if (a.first > b.last || b.first > a.last) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) << round;
      }
  }
}

TEST(Files, AreWrittenWholeOrNotAtAll) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/a.bin";
  {
    OutputFile f(path);
    f.write("half");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "nothing is left of a file that was not committed";
  {
    OutputFile f(path);
    f.write(std::string(1 << 20, 'x'));
    f.write("end");
    f.commit();
  }
  std::string content = read_text_file(path);
  EXPECT_EQ(content.size(), (size_t{1} << 20) + 3);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_THROW(OutputFile(folder.path() + "/missing/a.bin"), Error);
}

TEST(Files, NamedByAModelStayInItsFolder) {
  TemporaryFolder outside, root;
  std::string folder = root.path() + "/model";
  std::filesystem::create_directories(folder + "/sub");
  std::ofstream(folder + "/in.bin") << "x";
  std::ofstream(folder + "/sub/deep.bin") << "x";
  std::ofstream(outside.path() + "/secret.bin") << "x";
  std::filesystem::create_symlink(outside.path() + "/secret.bin", folder + "/link.bin");
  std::filesystem::create_symlink(outside.path(), folder + "/dir");
  std::filesystem::create_symlink(folder + "/in.bin", folder + "/inner.bin");
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  EXPECT_NO_THROW(open_below(folder, "in.bin"));
  EXPECT_NO_THROW(open_below(folder, "sub/deep.bin"));
  EXPECT_NO_THROW(open_below(folder, "./sub/./deep.bin"));
  EXPECT_NO_THROW(open_below(folder, "inner.bin")) << "a link that stays inside is fine";
  for (const char* bad :
       {"", "/etc/passwd", "../model/in.bin", "sub/../in.bin", "link.bin", "dir/secret.bin", "pipe", "sub", "none.bin"})
    EXPECT_THROW(open_below(folder, bad), Error) << bad;
  EXPECT_THROW(open_below(folder, std::string_view("in.bin\0x", 8)), Error);
}

TEST(Threads, DoEveryPieceOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int64_t count : {0, 1, 7, 1000, 100000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
      pool.parallel_for(
          count, 3,
          [](void* arg, int64_t b, int64_t e) {
            auto& h = *static_cast<std::vector<std::atomic<int>>*>(arg);
            for (int64_t i = b; i < e; ++i) ++h[static_cast<size_t>(i)];
          },
          &hits);
      for (auto& h : hits) EXPECT_EQ(h, 1);
    }
  }
}

TEST(Threads, MayBeUsedFromInside) {
  ThreadPool pool(4);
  struct State {
    ThreadPool& pool;
    std::atomic<int64_t> sum{0};
  } state{pool};
  pool.parallel_for(
      16, 1,
      [](void* arg, int64_t b, int64_t e) {
        auto& s = *static_cast<State*>(arg);
        for (int64_t i = b; i < e; ++i)
          s.pool.parallel_for(
              100, 10, [](void* a, int64_t x, int64_t y) { static_cast<State*>(a)->sum += y - x; }, arg);
      },
      &state);
  EXPECT_EQ(state.sum, 1600);
}

TEST(Text, NumbersAndShapesReadBack) {
  for (double v : {0.1, -1e-300, 3.0, 1.0 / 3}) {
    EXPECT_EQ(*parse_number(number_text(v)), v);
    EXPECT_EQ(*parse_number(number_text_17(v)), v);
  }
  EXPECT_EQ(number_text_17(0.1f), "0.10000000149011612");
  EXPECT_FALSE(parse_int("12x"));
  EXPECT_FALSE(parse_int(""));
  EXPECT_FALSE(parse_int("99999999999999999999"));
  for (const char* s : {"[1,3,?,8..64]", "[2..,..9]", "[]", "[...]"}) EXPECT_EQ(text(*parse_shape(s)), s);
  for (const char* s : {"[1,,2]", "[-2]", "[5..3]", "[x]", "[..]"}) EXPECT_FALSE(parse_shape(s)) << s;
  EXPECT_EQ(nearest("Convolutoin", {"Concat", "Convolution", "Convert"}), "Convolution");
  EXPECT_EQ(nearest("xyz", {"Concat", "Convolution"}), std::nullopt);
  EXPECT_EQ(nearest("out", {"out/kernel", "call/model_1/out_1/MatMul", "call/model_1/out_1/Softmax", "out/bias"}),
            "call/model_1/out_1/Softmax");
  EXPECT_TRUE(is_valid_utf8("grün €"));
  EXPECT_FALSE(is_valid_utf8("\xff"));
  EXPECT_FALSE(is_valid_utf8("\xc3"));
}

TEST(Dimensions, KeepBoundsThroughArithmetic) {
  Dim d = Dim::between(8, 64);
  EXPECT_EQ((d + 2 - 3) / 2 + 1, Dim::between(4, 32));
  EXPECT_EQ(text(Dim() * 3), "?");
  EXPECT_EQ(Dim(7) * Dim(6), Dim(42));
  EXPECT_EQ(text(Dim::between(2, Dim::unbounded) * 2), "4..");
  EXPECT_THROW(Dim(3) - Dim(5), Failure);
  EXPECT_THROW(Dim(-1), Failure);
}

}  // namespace
}  // namespace graft

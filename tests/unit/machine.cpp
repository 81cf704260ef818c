// How many threads follow from what a machine and its containers say: made-up trees of /proc and /sys.
#include "base/machine.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/temporary.hpp"

namespace graft {
namespace {

class MachineTree : public ::testing::Test {
 protected:
  void put(const std::string& file, const std::string& content) {
    std::string path = folder_.path() + file;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << content;
  }
  void processors(int count, int threads_per_core = 1) {
    put("/sys/devices/system/cpu/online", "0-" + std::to_string(count - 1) + "\n");
    int cores = count / threads_per_core;  // as Linux counts: siblings are `cores` apart
    for (int i = 0; i < count; ++i) {
      std::string list;
      for (int k = 0; k < threads_per_core; ++k) list += (k ? "," : "") + std::to_string(i % cores + k * cores);
      put("/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/thread_siblings_list", list + "\n");
    }
  }
  void version_2(const std::string& group, const std::string& mounted_group = "/") {
    put("/proc/self/cgroup", "0::" + group + "\n");
    put("/proc/self/mountinfo", "22 1 0:5 / /proc rw - proc proc rw\n31 23 0:28 " + mounted_group +
                                    " /sys/fs/cgroup rw,nosuid shared:9 master:1 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  void version_1(const std::string& group, const std::string& mounted_group = "/") {
    put("/proc/self/cgroup", "12:memory:/elsewhere\n4:cpu,cpuacct:" + group + "\n1:name=systemd:/\n");
    put("/proc/self/mountinfo", "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n35 31 0:30 " +
                                    mounted_group + " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  }
  Machine machine(std::vector<int> mask) const { return read_machine(folder_.path(), mask); }
  static std::vector<int> first(int n) {
    std::vector<int> out(static_cast<size_t>(n));
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
  static ThreadCount threads(const Machine& m) { return threads_for(m, nullptr, nullptr); }

  TemporaryFolder folder_;
};

TEST_F(MachineTree, AllCoresWithoutLimits) {
  processors(16);
  ThreadCount t = threads(machine(first(16)));
  EXPECT_EQ(t.threads, 16);
  EXPECT_EQ(t.reason, "16 cores");
  EXPECT_TRUE(t.warnings.empty() && t.notes.empty() && !t.set);
}

TEST_F(MachineTree, NothingIsReadable) {
  EXPECT_EQ(threads(machine({})).threads, 1);
  EXPECT_EQ(threads(machine({3, 5})).threads, 2);
}

TEST_F(MachineTree, TheAffinityMaskCounts) {
  processors(16);
  ThreadCount t = threads(machine({2, 3, 8}));
  EXPECT_EQ(t.threads, 3);
  EXPECT_EQ(t.reason, "3 of 16 processors are in the affinity mask");
}

TEST_F(MachineTree, HardwareThreadsOfACoreCountOnce) {
  processors(8, 2);
  Machine m = machine(first(8));
  EXPECT_EQ(m.cores, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(threads(m).threads, 4);
  EXPECT_EQ(threads(m).reason, "4 cores with 8 hardware threads, one counted per core");
  EXPECT_EQ(threads_for(m, nullptr, nullptr, true).threads, 8);
  EXPECT_EQ(threads_for(m, nullptr, nullptr, true).reason, "4 cores with 8 hardware threads, all counted");
  EXPECT_EQ(m.at_once(), 8);
  Machine half = machine({1, 5, 6});  // both threads of core 1, one of core 2
  EXPECT_EQ(half.cores, (std::vector<int>{1, 6}));
  EXPECT_EQ(threads(half).reason,
            "3 of 8 processors are in the affinity mask, 2 cores with 3 hardware threads, one counted per core");
}

// Performance cores with two threads, others with one.
TEST_F(MachineTree, CoresOfTwoKinds) {
  put("/sys/devices/system/cpu/online", "0-5");
  for (auto [id, list] : {std::pair(0, "0-1"), {1, "0-1"}, {2, "2-3"}, {3, "2-3"}, {4, "4"}, {5, "5"}})
    put("/sys/devices/system/cpu/cpu" + std::to_string(id) + "/topology/thread_siblings_list", list);
  EXPECT_EQ(machine(first(6)).cores, (std::vector<int>{0, 2, 4, 5}));
}

TEST_F(MachineTree, QuotaOfVersion2) {
  processors(16);
  version_2("/");
  put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  ThreadCount t = threads(machine(first(16)));
  EXPECT_EQ(t.threads, 4);
  EXPECT_EQ(t.reason, "16 cores; the CPU quota in /sys/fs/cgroup/cpu.max is 4");
  EXPECT_EQ(machine(first(16)).at_once(), 4);
  put("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(threads(machine(first(16))).threads, 16);
}

TEST_F(MachineTree, QuotasAreRounded) {
  processors(16);
  version_2("/");
  put("/sys/fs/cgroup/cpu.max", "275000 100000");
  ThreadCount t = threads(machine(first(16)));
  EXPECT_EQ(t.threads, 2);
  EXPECT_EQ(t.reason, "16 cores; the CPU quota in /sys/fs/cgroup/cpu.max is 2.75, rounded down");
  EXPECT_EQ(machine(first(16)).at_once(), 3);
  put("/sys/fs/cgroup/cpu.max", "25000 100000");
  t = threads(machine(first(16)));
  EXPECT_EQ(t.threads, 1);
  EXPECT_EQ(t.reason, "16 cores; the CPU quota in /sys/fs/cgroup/cpu.max is 0.25, rounded up");
}

TEST_F(MachineTree, TheSmallestQuotaOfAllAncestorsCounts) {
  processors(16);
  version_2("/kubepods/pod7/container");
  put("/sys/fs/cgroup/kubepods/cpu.max", "1200000 100000");
  put("/sys/fs/cgroup/kubepods/pod7/cpu.max", "300000 100000");
  put("/sys/fs/cgroup/kubepods/pod7/container/cpu.max", "max 100000");
  Machine m = machine(first(16));
  EXPECT_EQ(threads(m).threads, 3);
  EXPECT_EQ(m.quota->file, "/sys/fs/cgroup/kubepods/pod7/cpu.max");
  EXPECT_EQ(threads(machine(first(2))).threads, 2) << "the mask is smaller";
  EXPECT_EQ(threads(machine(first(2))).reason, "2 of 16 processors are in the affinity mask");
}

TEST_F(MachineTree, QuotaOfVersion1) {
  processors(8);
  version_1("/docker/abc");
  put("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(threads(machine(first(8))).threads, 8);
  put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "100000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(threads(machine(first(8))).threads, 2);
  put("/sys/fs/cgroup/memory/docker/cpu.cfs_quota_us", "1\n");  // not a folder of this controller
  EXPECT_EQ(threads(machine(first(8))).threads, 2);
}

// Without a namespace for control groups, the container's group is what is mounted, under its name on the host.
TEST_F(MachineTree, AContainerSeesItsOwnGroupAsTheRoot) {
  processors(8);
  version_1("/docker/abc", "/docker/abc");
  put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000");
  put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_EQ(threads(machine(first(8))).threads, 3);
  version_2("/docker/abc/child", "/docker/abc");
  put("/sys/fs/cgroup/cpu.max", "max 100000");
  put("/sys/fs/cgroup/child/cpu.max", "100000 100000");
  EXPECT_EQ(threads(machine(first(8))).threads, 1);
  version_2("/../../elsewhere");  // of another namespace
  EXPECT_EQ(threads(machine(first(8))).threads, 8);
}

// Version 2 without controllers beside version 1.
TEST_F(MachineTree, BothVersions) {
  processors(8);
  put("/proc/self/cgroup", "3:cpuset:/a\n1:cpu:/a\n0::/b\n");
  put("/proc/self/mountinfo",
      "32 31 0:29 / /sys/fs/cgroup/cpu\\040time rw - cgroup cgroup rw,cpu\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  put("/sys/fs/cgroup/cpu time/a/cpu.cfs_quota_us", "500000");
  put("/sys/fs/cgroup/cpu time/a/cpu.cfs_period_us", "100000");
  put("/sys/fs/cgroup/unified/b/cpu.max", "200000 100000");
  EXPECT_EQ(threads(machine(first(8))).threads, 2);
}

TEST_F(MachineTree, GarbageIsReportedAndIgnored) {
  processors(4);
  version_2("/a/b");
  put("/sys/fs/cgroup/a/b/cpu.max", "many 100000");
  put("/sys/fs/cgroup/a/cpu.max", "100000");
  put("/sys/fs/cgroup/cpu.max", std::string("2\0", 2) + " 99999999999999999999999");
  Machine m = machine(first(4));
  EXPECT_EQ(threads(m).threads, 4);
  ASSERT_EQ(m.warnings.size(), 3u);
  EXPECT_EQ(m.warnings[0], "ignoring /sys/fs/cgroup/a/b/cpu.max: expected a quota and a period, got 'many 100000'");
  for (const char* bad : {"-5 100000", "0 100000", "100000 0", "", " "}) {
    put("/sys/fs/cgroup/a/b/cpu.max", bad);
    EXPECT_EQ(machine(first(4)).warnings.size(), 3u) << bad;
  }
  version_1("/a");
  put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "100000");
  m = machine(first(4));
  ASSERT_EQ(m.warnings.size(), 1u);
  EXPECT_EQ(m.warnings[0],
            "ignoring /sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us: expected microseconds, got 'no file'");
  put("/proc/self/cgroup", "nonsense\n::\n:::::\n");
  put("/sys/devices/system/cpu/online", "0-");
  put("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1-99999999999");
  m = machine(first(4));
  EXPECT_EQ(m.warnings.size(), 3u);
  EXPECT_EQ(threads(m).threads, 4);
}

TEST_F(MachineTree, TheEnvironmentGoesFirst) {
  processors(16);
  Machine m = machine(first(4));
  ThreadCount t = threads_for(m, "7", "1");
  EXPECT_EQ(t.threads, 7);
  EXPECT_TRUE(t.set);
  EXPECT_EQ(t.reason, "GRAFT_NUM_THREADS");
  for (const char* bad : {"", "0", "-1", "two", "4x", "1025", "99999999999999999999"}) {
    t = threads_for(m, bad, nullptr);
    EXPECT_EQ(t.threads, 4) << bad;
    ASSERT_EQ(t.warnings.size(), 1u) << bad;
    EXPECT_EQ(t.warnings[0],
              std::string("ignoring GRAFT_NUM_THREADS: expected a number from 1 to 1024, got '") + bad + "'");
  }
  t = threads_for(m, nullptr, "1");
  EXPECT_EQ(t.threads, 4);
  ASSERT_EQ(t.notes.size(), 1u);
  EXPECT_EQ(t.notes[0], "OMP_NUM_THREADS=1 has no effect: set GRAFT_NUM_THREADS");
  EXPECT_TRUE(threads_for(m, nullptr, "4").notes.empty()) << "it makes no difference";
}

TEST(Machine, IsThisOne) {
  EXPECT_EQ(this_machine().processors, affinity_mask());
  EXPECT_GE(default_threads().threads, 1);
}

}  // namespace
}  // namespace graft

// SPDX-License-Identifier: Apache-2.0
#include "topology/cpu_domains.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace stretto {
namespace {

using Cpus = std::vector<int>;

TEST(CpuDomains, ReadsLists) {
  EXPECT_EQ(parse_cpu_list("0"), Cpus{0});
  EXPECT_EQ(parse_cpu_list("0-2,8,10-11"), (Cpus{0, 1, 2, 8, 10, 11}));
  for (const char* wrong : {"", "x", "3-1", "1-", "-1", "1;2", "0-99999999"}) {
    EXPECT_EQ(parse_cpu_list(wrong), Cpus{}) << wrong;
  }
}

/// Two sockets of two NUMA domains of two processors each: 0, 1 | 2, 3 and 4, 5 | 6, 7.
class Machine : public testing::Test {
 protected:
  void SetUp() override {
    // Tests run in parallel, each in its own process.
    folder_ = testing::TempDir() + "/cpu_domains." + std::to_string(getpid());
    for (int cpu = 0; cpu < 8; ++cpu) {
      const std::string name = folder_ + "/cpu/cpu" + std::to_string(cpu);
      write(name + "/topology", cpu < 6 ? "package_cpus_list" : "core_siblings_list",
            cpu < 4 ? "0-3" : "4-7");
      std::filesystem::create_directories(name + "/node" + std::to_string(cpu / 2));
      write(name + "/cache/index0", "level", "1");
      write(name + "/cache/index0", "shared_cpu_list", std::to_string(cpu));
      // The last-level cache of processors 0 to 3; the others have two.
      write(name + "/cache/index1", "level", "3");
      write(name + "/cache/index1", "shared_cpu_list", cpu < 4 ? "0-3" : cpu < 6 ? "4-5" : "6-7");
    }
    for (int node = 0; node < 4; ++node) {
      write(folder_ + "/node/node" + std::to_string(node), "cpulist",
            std::to_string(2 * node) + "-" + std::to_string(2 * node + 1));
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static void write(const std::string& folder, const char* name, const std::string& text) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/" + name) << text << '\n';
  }
  void expect(const Cpus& cpus, int socket, int numa) const {
    const CpuDomains found = find_domains(cpus, folder_);
    EXPECT_EQ(found.socket, socket);
    EXPECT_EQ(found.numa, numa);
  }

  std::string folder_;
};

TEST_F(Machine, KnowsWhereABoundProcessIs) {
  expect({0}, 0, 0);
  expect({3}, 0, 2);
  expect({4, 5}, 4, 4);
  expect({6}, 4, 6);  // an older kernel
}

TEST_F(Machine, SaysNothingOfAProcessThatIsNotBoundToOne) {
  expect({1, 2}, 0, CpuDomains::unknown);
  expect({0, 1, 2, 3, 4, 5, 6, 7}, CpuDomains::unknown, CpuDomains::unknown);
  expect({}, CpuDomains::unknown, CpuDomains::unknown);
  expect({99}, CpuDomains::unknown, CpuDomains::unknown);
}

TEST_F(Machine, KnowsTheLastLevelCache) {
  EXPECT_EQ(find_domains({1, 3}, folder_).l3, 0);
  EXPECT_EQ(find_domains({7}, folder_).l3, 6);
  EXPECT_EQ(find_domains({5, 6}, folder_).l3, CpuDomains::unknown);
  EXPECT_EQ(find_domains({99}, folder_).l3, CpuDomains::unknown);
  EXPECT_EQ(group_by_cache({7, 0, 2, 6, 4}, folder_), (std::vector<Cpus>{{7, 6}, {0, 2}, {4}}));
  EXPECT_EQ(group_by_cache({98, 99}, folder_), (std::vector<Cpus>{{98, 99}}));
}

TEST(CpuDomains, AThreadMayRunSomewhere) {
  EXPECT_FALSE(allowed_cpus().empty());
}

}  // namespace
}  // namespace stretto

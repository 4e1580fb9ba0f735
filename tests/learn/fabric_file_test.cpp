// SPDX-License-Identifier: Apache-2.0
#include "learn/fabrics/fabric_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace stretto {
namespace {

namespace fs = std::filesystem;

const FabricIdentity identity{
    .mpi = "MPICH 5.0.2", .network = "FI_PROVIDER=tcp", .processor = "Some CPU", .hosts = "node#"};

Decision decision(int nodes) {
  return {.kind = {.nodes = nodes, .from = 1024},
          .spec = parse_spec(Collective::allreduce, "ring"),
          .gain = 2,
          .when = "2026-11-24"};
}

Fabric found(const std::vector<Decision>& decisions) {
  Fabric fabric(identity);
  for (const Decision& one : decisions) fabric.keep(one);
  return fabric;
}

class FabricFile : public testing::Test {
 protected:
  FabricFile() {
    fs::create_directories(folder_);
    setenv("STRETTO_CACHE", folder_.c_str(), 1);
    path_ = fabric_path(identity);
  }
  ~FabricFile() override {
    unsetenv("STRETTO_CACHE");
    fs::remove_all(folder_);
  }
  void write(const std::string& text) {
    fs::create_directories(fs::path(path_).parent_path());
    std::ofstream(path_) << text;
  }
  std::size_t count() { return read_fabric(path_, identity, error_).decisions().size(); }

  fs::path folder_ = fs::path(testing::TempDir()) / ("fabric" + std::to_string(getpid()));
  std::string path_;
  std::string error_;
};

TEST_F(FabricFile, IsNamedByItsFabric) {
  EXPECT_EQ(fs::path(path_).parent_path(), folder_ / "fabrics");
  EXPECT_TRUE(fs::path(path_).filename().string().starts_with("mpich-"));
  FabricIdentity other = identity;
  other.hosts = "host#";
  EXPECT_NE(fabric_path(other), path_);
  EXPECT_EQ(fabric_path(identity), path_);
}

TEST_F(FabricFile, WithoutAFolderThereIsNone) {
  unsetenv("STRETTO_CACHE");
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(fabric_path(identity), "");
  setenv("HOME", "/tmp", 1);
  EXPECT_TRUE(fabric_path(identity).starts_with("/tmp/.cache/stretto/fabrics/"));
  setenv("HOME", "/nonexistent", 1);  // Debian's, of users without a home
  EXPECT_EQ(fabric_path(identity), "");
  setenv("XDG_CACHE_HOME", "/fast", 1);
  EXPECT_TRUE(fabric_path(identity).starts_with("/fast/stretto/fabrics/"));
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", home.c_str(), 1);
}

TEST_F(FabricFile, KeepsWhatJobsAdd) {
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(error_, "");
  EXPECT_EQ(add_to_fabric(path_, found({decision(2), decision(3)})), "");
  EXPECT_EQ(add_to_fabric(path_, found({decision(3), decision(4)})), "");
  EXPECT_EQ(count(), 3);
  EXPECT_EQ(error_, "");
}

TEST_F(FabricFile, JobsThatEndAtOnceLoseNothing) {
  // A job waits for others for a second at most, so on a busy machine there must not be many.
  constexpr int rounds = 5;
  std::vector<std::thread> jobs;
  for (int job = 0; job < 4; ++job) {
    jobs.emplace_back([this, job] {
      for (int round = 0; round < rounds; ++round) {
        EXPECT_EQ(add_to_fabric(path_, found({decision(1 + job * rounds + round)})), "");
      }
    });
  }
  for (std::thread& job : jobs) job.join();
  EXPECT_EQ(count(), 4 * rounds);
}

TEST_F(FabricFile, ADamagedFileIsIgnoredAndReplaced) {
  for (const std::string text : {"", "{", "[]", "nothing", R"({"format": "stretto-table"})"}) {
    write(text);
    error_.clear();
    EXPECT_EQ(count(), 0);
    EXPECT_NE(error_, "") << text;
    EXPECT_EQ(add_to_fabric(path_, found({decision(2)})), "");
    error_.clear();
    EXPECT_EQ(count(), 1);
    EXPECT_EQ(error_, "");
  }
}

TEST_F(FabricFile, WhatIsNoFileIsAnError) {
  fs::create_directories(path_);
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(error_, "is not a file");
  EXPECT_NE(add_to_fabric(path_, found({decision(2)})), "");
}

TEST_F(FabricFile, APipeIsNotWaitedFor) {
  fs::create_directories(fs::path(path_).parent_path());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(error_, "is not a file");
  EXPECT_EQ(add_to_fabric(path_, found({decision(2)})), "is not a file");
}

TEST_F(FabricFile, ALinkInPlaceOfTheLockIsNotFollowed) {
  const fs::path victim = folder_ / "victim";
  fs::create_directories(fs::path(path_).parent_path());
  fs::create_symlink(victim, path_ + ".lock");
  EXPECT_EQ(add_to_fabric(path_, found({decision(2)})), "");
  EXPECT_EQ(count(), 1);
  EXPECT_FALSE(fs::exists(victim));
}

TEST_F(FabricFile, WhatCannotBeReadIsAnError) {
  // Nothing is mapped at its beginning.
  EXPECT_EQ(read_fabric("/proc/self/mem", identity, error_).decisions().size(), 0);
  EXPECT_EQ(error_, "cannot be read");
}

TEST_F(FabricFile, AFileWithoutItsFolderIsInThisOne) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  EXPECT_EQ(add_to_fabric("fabric.json", found({decision(2)})), "");
  EXPECT_EQ(read_fabric("fabric.json", identity, error_).decisions().size(), 1);
  fs::current_path(before);
}

TEST_F(FabricFile, AFolderThatCannotBeMadeIsAnError) {
  write("");
  EXPECT_NE(add_to_fabric(path_ + "/below/it.json", found({decision(2)})), "");
}

}  // namespace
}  // namespace stretto

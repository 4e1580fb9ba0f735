// SPDX-License-Identifier: Apache-2.0
#include "transport/region.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace {

int interruptions = 0;  // of the next calls of posix_fallocate
bool alarm_is_blocked = false;

}  // namespace

/// Replaces the C library's function.
extern "C" int posix_fallocate(int file, off_t offset, off_t bytes) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  alarm_is_blocked = sigismember(&blocked, SIGALRM) == 1;
  if (interruptions > 0) {
    --interruptions;
    return EINTR;
  }
  return syscall(SYS_fallocate, file, 0, offset, bytes) == 0 ? 0 : errno;
}

namespace stretto {
namespace {

constexpr std::size_t bytes = 8192;
constexpr std::uint64_t token = 42;

Region made() {
  Region region;
  region.open_file();
  EXPECT_EQ(region.make(bytes, token), "");
  return region;
}

/// Returns the status by which a child reports its result.
int status_of(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(Region, OthersCannotWriteAndChildrenDoNotHaveIt) {
  const Region own = made();
  Region mapped;
  ASSERT_EQ(Region::map(getpid(), own.file(), bytes, token, mapped), "");
  EXPECT_NE(mprotect(mapped.data(), bytes, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(errno, EACCES);
  const pid_t child = fork();
  if (child == 0) {
    std::array<unsigned char, 2> there{};
    const bool has_own = mincore(own.data(), bytes, there.data()) == 0;
    const bool has_mapped = mincore(mapped.data(), bytes, there.data()) == 0;
    _exit(has_own || has_mapped ? 1 : 0);
  }
  EXPECT_EQ(status_of(child), 0);
}

/// A child that calls exit() destroys the objects that its parent made, but not the memory and the files that
/// the child has put in their places.
TEST(Region, AChildKeepsItsOwnMemoryAndFiles) {
  std::optional<Region> own = made();
  std::optional<Region> mapped = Region();
  ASSERT_EQ(Region::map(getpid(), own->file(), bytes, token, *mapped), "");
  const pid_t child = fork();
  if (child == 0) {
    const std::array<std::byte*, 2> holes{own->data(), mapped->data()};
    for (std::byte* hole : holes) {
      void* memory =
          mmap(hole, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (memory != hole) _exit(1);
      *hole = std::byte{7};
    }
    const int file = own->file();
    if (dup2(open("/dev/null", O_RDONLY), file) != file) _exit(2);
    own.reset();
    mapped.reset();
    std::array<unsigned char, 2> there{};
    for (const std::byte* hole : holes) {
      if (mincore(const_cast<std::byte*>(hole), bytes, there.data()) != 0 || *hole != std::byte{7}) _exit(3);
    }
    _exit(fcntl(file, F_GETFD) < 0 ? 4 : 0);
  }
  EXPECT_EQ(status_of(child), 0);
}

/// A limit of the shell (ulimit -f), past which the kernel would end the process.
TEST(Region, NoRoomIsAnError) {
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  rlimit less = usual;
  less.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
  Region region;
  region.open_file();
  EXPECT_NE(region.make(bytes, 1).find("no room for 8 KiB"), std::string::npos);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  EXPECT_EQ(region.make(bytes, 1), "");
}

/// A program may have a timer. An interrupted call undoes its work, so the same timer must not interrupt the
/// next call as well.
TEST(Region, AnInterruptionIsNoLackOfRoom) {
  interruptions = 3;
  const Region region = made();
  EXPECT_NE(region.data(), nullptr);
  EXPECT_EQ(interruptions, 0);
  EXPECT_TRUE(alarm_is_blocked);
}

/// The number of another process's file may have been reused for another file.
TEST(Region, APipeIsNotWaitedFor) {
  const std::string path = std::filesystem::path(testing::TempDir()) / ("region" + std::to_string(getpid()));
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int pipe = open(path.c_str(), O_RDONLY | O_NONBLOCK);  // nobody writes
  std::filesystem::remove(path);
  ASSERT_GE(pipe, 0);
  Region mapped;
  EXPECT_NE(Region::map(getpid(), pipe, bytes, token, mapped).find("is not the memory of a rank"),
            std::string::npos);
  close(pipe);
}

/// The bytes of a mapping that count for this process.
std::size_t resident(const void* begin) {
  std::ifstream maps("/proc/self/smaps");
  std::ostringstream address;
  address << std::hex << reinterpret_cast<std::uintptr_t>(begin) << '-';
  std::size_t kibibytes = 0;
  bool is_it = false;
  for (std::string line; std::getline(maps, line);) {
    is_it = is_it || line.starts_with(address.str());
    if (is_it && std::sscanf(line.c_str(), "Rss: %zu", &kibibytes) == 1) break;
  }
  return kibibytes << 10;
}

TEST(Region, TouchedPagesAreReadAtOnce) {
  constexpr std::size_t large = std::size_t{1} << 20;
  Region own;
  own.open_file();
  ASSERT_EQ(own.make(large, token), "");
  Region mapped;
  ASSERT_EQ(Region::map(getpid(), own.file(), large, token, mapped), "");
  EXPECT_LT(resident(mapped.data()), large);
  mapped.touch(large);
  EXPECT_EQ(resident(mapped.data()), large);
}

TEST(RegionShape, MailboxesOfManyRanksStaySmall) {
  constexpr std::size_t store_bytes = std::size_t{160} << 10;
  for (const int ranks : {1, 2, 4, 16, 64, 128, 256}) {
    const RegionShape shape = RegionShape::make(ranks, store_bytes);
    EXPECT_GE(shape.lanes, 4) << ranks;
    EXPECT_LE(shape.store_offset(), (ranks > 128 ? 512U : 320U) << 10) << ranks;
  }
}

}  // namespace
}  // namespace stretto

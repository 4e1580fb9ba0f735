// SPDX-License-Identifier: Apache-2.0
#include "sockets/poller.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>

namespace stretto {
namespace {

/// Puts a file of the program in place of one of Stretto's, like a program that closes all files and opens
/// others. Returns the program's file, which has one byte and is to be read from its beginning.
int put_in_place_of(int file) {
  std::FILE* const made = std::tmpfile();
  EXPECT_EQ(write(fileno(made), "x", 1), 1);
  EXPECT_EQ(lseek(fileno(made), 0, SEEK_SET), 0);
  EXPECT_EQ(dup2(fileno(made), file), file);
  std::fclose(made);
  return file;
}

/// Returns this process's only file with that name in /proc.
int file_named(const std::string& name) {
  int found = -1;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) != name) continue;
    EXPECT_EQ(found, -1) << "there are several";
    found = std::stoi(entry.path().filename());
  }
  return found;
}

TEST(Socket, LeavesAFileOfTheProgramOpen) {
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  int kept = -1;
  {
    Socket ours(pair[0]);
    const Socket others(pair[1]);
    kept = put_in_place_of(pair[0]);
    EXPECT_FALSE(ours.is_there());
    EXPECT_TRUE(others.is_there());
    const Socket moved = std::move(ours);
  }
  EXPECT_NE(fcntl(kept, F_GETFD), -1);
  EXPECT_EQ(fcntl(pair[1], F_GETFD), -1);
  close(kept);
}

TEST(Poller, WritesAndReadsNoFileOfTheProgram) {
  int kept = -1;
  {
    Poller poller;
    kept = put_in_place_of(file_named("anon_inode:[eventfd]"));
    poller.wake();
    poller.await(0);
  }
  EXPECT_EQ(lseek(kept, 0, SEEK_CUR), 0);
  EXPECT_EQ(lseek(kept, 0, SEEK_END), 1);
  close(kept);
}

TEST(Poller, SaysThatASocketCannotBeAdded) {
  class Nothing final : public Polled {
    bool look(bool /*readable*/, bool /*writable*/) override { return false; }
  } nothing;
  Poller poller;
  EXPECT_FALSE(poller.add(Socket(), nothing));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace stretto

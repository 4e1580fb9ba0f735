// SPDX-License-Identifier: Apache-2.0
#include "transport/handover.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>

namespace stretto {
namespace {

/// Returns tokens that no other test on this machine uses.
std::vector<std::uint64_t> make_tokens(std::size_t processes) {
  static std::uint64_t last = static_cast<std::uint64_t>(getpid()) << 32;
  std::vector<std::uint64_t> tokens;
  for (std::size_t i = 0; i < processes; ++i) tokens.push_back(++last);
  return tokens;
}

/// Returns a file that contains `place`.
KeptFile make_file(std::size_t place) {
  KeptFile file(memfd_create("test", MFD_CLOEXEC));
  const auto byte = static_cast<char>(place);
  EXPECT_EQ(write(file.number(), &byte, 1), 1);
  return file;
}

std::vector<Handover> make_listeners(const std::vector<std::uint64_t>& tokens) {
  std::vector<Handover> all(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(all[i].listen(tokens[i]), "");
  return all;
}

void exchange_all(const std::vector<std::uint64_t>& tokens, std::vector<Handover>& all) {
  std::vector<std::thread> threads;
  for (std::size_t place = 0; place < all.size(); ++place) {
    threads.emplace_back([&, place] {
      const KeptFile own = make_file(place);
      std::vector<Handover::Received> received;
      ASSERT_EQ(all[place].exchange(own.number(), static_cast<int>(place), tokens, received), "");
      for (std::size_t other = 0; other < all.size(); ++other) {
        if (other == place) continue;
        char byte = 0;
        EXPECT_EQ(pread(received[other].file.number(), &byte, 1, 0), 1);
        EXPECT_EQ(byte, static_cast<char>(other));
        EXPECT_EQ(received[other].pid, getpid());
        EXPECT_EQ(pwrite(received[other].file.number(), &byte, 1, 0), -1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Handover, AllGetTheFilesOfAll) {
  for (const std::size_t processes : {1U, 2U, 5U, 17U}) {
    const std::vector<std::uint64_t> tokens = make_tokens(processes);
    std::vector<Handover> all = make_listeners(tokens);
    exchange_all(tokens, all);
  }
}

TEST(Handover, ANameThatIsTakenIsAnError) {
  const std::vector<std::uint64_t> tokens = make_tokens(1);
  std::vector<Handover> all = make_listeners(tokens);
  EXPECT_EQ(Handover().listen(tokens[0]), std::string("a Unix socket: ") + std::strerror(EADDRINUSE));
}

TEST(Handover, AProcessThatCannotBeReachedIsAnError) {
  const std::vector<std::uint64_t> tokens = make_tokens(2);
  Handover own;
  EXPECT_EQ(own.listen(tokens[0]), "");
  std::vector<Handover::Received> received;
  const std::string error = own.exchange(make_file(0).number(), 0, tokens, received);
  EXPECT_EQ(error.find("no Unix socket leads to a process of the node"), 0) << error;
}

/// Connects before the others, as a process of another user, and writes a byte to `noted` then. Returns how
/// many bytes it gets.
int visit_as_another_user(std::uint64_t token, int noted) {
  if (setuid(12345) != 0) return 2;
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const int length = std::snprintf(&to.sun_path[1], sizeof(to.sun_path) - 1, "stretto-%016llx",
                                   static_cast<unsigned long long>(token));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (connect(file, reinterpret_cast<const sockaddr*>(&to), bytes) != 0) return 3;
  char byte = 0;
  if (write(noted, &byte, 1) != 1) return 4;
  return static_cast<int>(recv(file, &byte, 1, 0));
}

TEST(Handover, AnotherUserGetsNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  const std::vector<std::uint64_t> tokens = make_tokens(2);
  std::vector<Handover> all = make_listeners(tokens);
  std::array<int, 2> has_connected{};
  ASSERT_EQ(pipe2(has_connected.data(), O_CLOEXEC), 0);
  const pid_t other = fork();
  if (other == 0) {
    close(has_connected[0]);
    _exit(visit_as_another_user(tokens[0], has_connected[1]));
  }
  close(has_connected[1]);
  char byte = 0;
  EXPECT_EQ(read(has_connected[0], &byte, 1), 1);
  close(has_connected[0]);
  exchange_all(tokens, all);
  int status = 0;
  ASSERT_EQ(waitpid(other, &status, 0), other);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace stretto

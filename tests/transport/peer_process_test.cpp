// SPDX-License-Identifier: Apache-2.0
#include "transport/peer_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>
#include <utility>

namespace stretto {
namespace {

/// A process that waits to be killed.
class Child {
 public:
  Child() : pid_(fork()) {
    while (pid_ == 0) pause();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { bury(); }

  [[nodiscard]] int pid() const { return pid_; }
  void kill() const {
    ::kill(pid_, SIGKILL);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);  // it stays a zombie
  }
  void bury() {
    if (pid_ == 0) return;
    kill();
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  int pid_ = 0;
};

/// While this exists, the process can open no file.
class NoFiles {
 public:
  NoFiles() {
    getrlimit(RLIMIT_NOFILE, &usual_);
    const rlimit none{0, usual_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  NoFiles(const NoFiles&) = delete;
  NoFiles& operator=(const NoFiles&) = delete;
  ~NoFiles() { setrlimit(RLIMIT_NOFILE, &usual_); }

 private:
  rlimit usual_{};
};

TEST(PeerProcess, OneThatIsKilledHasEnded) {
  Child child;
  const PeerProcess peer(child.pid());
  EXPECT_FALSE(peer.has_ended());
  child.kill();
  EXPECT_TRUE(peer.has_ended());
  child.bury();
  EXPECT_TRUE(peer.has_ended());
}

TEST(PeerProcess, OneThatIsStoppedLives) {
  const Child child;
  const PeerProcess peer(child.pid());
  ASSERT_EQ(kill(child.pid(), SIGSTOP), 0);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child.pid()), &info, WSTOPPED | WNOWAIT);
  EXPECT_FALSE(peer.has_ended());
}

TEST(PeerProcess, WhereNoFileCanBeOpened) {
  Child child;
  const PeerProcess peer(child.pid());
  const NoFiles none;
  EXPECT_FALSE(peer.has_ended());
  // A zombie cannot be distinguished from a living process.
  child.kill();
  EXPECT_FALSE(peer.has_ended());
  child.bury();
  EXPECT_TRUE(peer.has_ended());
}

/// A program may replace files that it does not know, so Stretto must keep none open.
TEST(PeerProcess, KeepsNoFileOpen) {
  const Child child;
  const int next = dup(0);
  close(next);
  {
    const PeerProcess peer(child.pid());
    EXPECT_FALSE(peer.has_ended());
    EXPECT_EQ(dup2(0, next), next);
  }
  EXPECT_GE(fcntl(next, F_GETFD), 0);
  close(next);
}

/// The main thread of a process may end before its other threads.
TEST(PeerProcess, OneWhoseMainThreadHasEndedLives) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer lets no child by fork start threads";
#endif
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::thread([main_thread = pthread_self(), out = ends[1]] {
      pthread_join(main_thread, nullptr);
      static_cast<void>(!write(out, "x", 1));
      for (;;) pause();
    }).detach();
    syscall(SYS_exit, 0);  // of this thread alone
  }
  close(ends[1]);
  char letter = 0;
  ASSERT_EQ(read(ends[0], &letter, 1), 1);
  close(ends[0]);
  const PeerProcess peer(child);
  EXPECT_FALSE(peer.has_ended());
  kill(child, SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_TRUE(peer.has_ended());
  waitpid(child, nullptr, 0);
}

TEST(PeerProcess, NoneHasNotEnded) {
  EXPECT_FALSE(PeerProcess().has_ended());
}

}  // namespace
}  // namespace stretto

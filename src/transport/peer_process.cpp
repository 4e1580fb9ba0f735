// SPDX-License-Identifier: Apache-2.0
#include "transport/peer_process.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace stretto {
namespace {

/// Returns a descriptor that is readable once the process has ended, or -1. The kernel may be too old (before
/// 5.3), or a filter of system calls may refuse it.
int open_process(int pid) {
#ifdef SYS_pidfd_open
  const auto file = static_cast<int>(syscall(SYS_pidfd_open, pid, 0U));
  // On a node of many ranks, these are many files. The program's own come first.
  rlimit limit{};
  if (file >= 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0 && static_cast<rlim_t>(file) >= limit.rlim_cur / 2) {
    close(file);
    return -1;
  }
  return file;
#else
  static_cast<void>(pid);
  return -1;
#endif
}

/// Whether a process that still has its number is only waiting to be buried by its parent.
bool is_zombie(int pid) {
  std::FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "re");
  if (file == nullptr) return false;
  std::array<char, 1024> text{};
  const std::size_t length = std::fread(text.data(), 1, text.size() - 1, file);
  static_cast<void>(std::fclose(file));
  text.at(length) = '\0';
  // The name of the program, in parentheses, may have any letters.
  const char* rest = std::strrchr(text.data(), ')');
  if (rest == nullptr || std::strlen(rest) < 3) return false;
  const char state = rest[2];
  // A main thread that has ended before its threads is shown as dead, too. The number of threads is the
  // 17th field after the state.
  const char* field = rest + 2;
  for (int i = 0; i < 17 && field != nullptr; ++i) {
    field = std::strchr(field, ' ');
    if (field != nullptr) ++field;
  }
  const bool has_threads = field == nullptr || std::strtol(field, nullptr, 10) > 1;
  return (state == 'Z' || state == 'X') && !has_threads;
}

}  // namespace

PeerProcess::PeerProcess(int pid) : pid_(pid), file_(open_process(pid)) {}

PeerProcess::PeerProcess(PeerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), file_(std::exchange(other.file_, -1)) {}

PeerProcess& PeerProcess::operator=(PeerProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(file_, other.file_);
  return *this;
}

PeerProcess::~PeerProcess() {
  if (file_ >= 0) close(file_);
}

bool PeerProcess::has_ended() const {
  if (pid_ == 0) return false;
  if (file_ >= 0) {
    pollfd ended{file_, POLLIN, 0};
    if (poll(&ended, 1, 0) <= 0) return false;
  }
  // A program that closes all files may have given the number of the descriptor to another one. And a kernel
  // that has given the number of the process to another one only keeps this from being noticed.
  if (kill(pid_, 0) != 0) return errno == ESRCH;
  return is_zombie(pid_);
}

}  // namespace stretto

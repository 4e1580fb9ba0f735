// SPDX-License-Identifier: Apache-2.0
#include "transport/peer_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace stretto {
namespace {

/// Whether a process has ended and still has its number only because its parent has not waited for it.
bool is_zombie(int pid) {
  std::FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "re");
  if (file == nullptr) return false;
  std::array<char, 1024> text{};
  const std::size_t length = std::fread(text.data(), 1, text.size() - 1, file);
  static_cast<void>(std::fclose(file));
  text.at(length) = '\0';
  // The program's name, in parentheses, may contain any characters.
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

bool PeerProcess::has_ended() const {
  if (pid_ == 0) return false;
  // If the kernel has given the number to another process, the end of this one just goes unnoticed.
  if (kill(pid_, 0) != 0) return errno == ESRCH;
  return is_zombie(pid_);
}

}  // namespace stretto

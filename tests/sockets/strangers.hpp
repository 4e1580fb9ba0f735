// SPDX-License-Identifier: Apache-2.0
// A process that is not part of a job, but connects to the listeners of its ranks.
#pragma once

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

class Strangers {
 public:
  explicit Strangers(std::vector<pid_t> ranks) : ranks_(std::move(ranks)) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~Strangers() {
    for (const int file : held_) close(file);
  }
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;

  /// Connects again and again for this time, in all ways. Returns the number of connections.
  int come(std::chrono::seconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
      for (const std::uint16_t port : listening_ports()) {
        say(port, noise(random_() % 3000));
        say(port, hello(ranks_.size() * 10));
        say(port, hello(ranks_.size()), random_() % hello_bytes);
        say_wrong_proof(port);
        for (int visit = 0; visit < 20; ++visit) close_if(connect_to(port));
        hold(port);
      }
    }
    return made_;
  }

 private:
  static constexpr std::size_t most_held = 2000;
  static constexpr std::size_t hello_bytes = 80;
  static constexpr std::size_t challenge_bytes = 32;
  static constexpr std::size_t answer_bytes = 16;

  /// Returns the ports of the IPv4 sockets on which a rank listens.
  [[nodiscard]] std::vector<std::uint16_t> listening_ports() const {
    namespace fs = std::filesystem;
    std::set<std::string> inodes;
    for (const pid_t rank : ranks_) {
      std::error_code error;
      for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(rank) + "/fd", error)) {
        const std::string target = fs::read_symlink(entry.path(), error).string();
        if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
      }
    }
    std::vector<std::uint16_t> ports;
    std::ifstream table("/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
      std::istringstream fields(line);
      std::array<std::string, 10> field;
      for (std::string& one : field) fields >> one;
      constexpr std::string_view listens = "0A";
      const std::size_t colon = field[1].find(':');
      if (field[3] != listens || colon == std::string::npos || !inodes.contains(field[9])) continue;
      ports.push_back(static_cast<std::uint16_t>(std::stoul(field[1].substr(colon + 1), nullptr, 16)));
    }
    return ports;
  }

  int connect_to(std::uint16_t port) {
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (file >= 0 && connect(file, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0) {
      ++made_;
      const timeval longest{.tv_sec = 0, .tv_usec = 200'000};
      setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
      return file;
    }
    close_if(file);
    return -1;
  }
  static void close_if(int file) {
    if (file >= 0) close(file);
  }

  std::string noise(std::size_t bytes) {
    std::string text(bytes, '\0');
    for (char& one : text) one = static_cast<char>(random_());
    return text;
  }
  /// Returns a greeting like a rank's, as far as a stranger can know it.
  std::string hello(std::size_t ranks) {
    std::string text = noise(hello_bytes);
    const auto any_rank = [&] { return static_cast<std::uint32_t>(random_() % ranks_.size()); };
    const std::array<std::uint32_t, 4> of_rank{any_rank(), static_cast<std::uint32_t>(ranks),
                                               static_cast<std::uint32_t>(random_() % 4), any_rank()};
    std::memcpy(text.data(), "Stretto3", 8);
    std::memcpy(text.data() + 8, of_rank.data(), sizeof(of_rank));
    return text;
  }
  void say(std::uint16_t port, const std::string& text, std::size_t most = std::string::npos) {
    const int file = connect_to(port);
    if (file < 0) return;
    static_cast<void>(send(file, text.data(), std::min(most, text.size()), MSG_NOSIGNAL));
    close(file);
  }
  /// Gets as far as the challenge, and then sends a wrong proof.
  void say_wrong_proof(std::uint16_t port) {
    const int file = connect_to(port);
    if (file < 0) return;
    const std::string greeting = hello(ranks_.size());
    static_cast<void>(send(file, greeting.data(), greeting.size(), MSG_NOSIGNAL));
    std::array<char, challenge_bytes> challenge{};
    const ssize_t got = recv(file, challenge.data(), challenge.size(), MSG_WAITALL);
    if (got == static_cast<ssize_t>(challenge.size())) {
      // The proof is the listener's own, or random.
      const bool reflects = random_() % 2 == 0;
      const std::string proof =
          reflects ? std::string(challenge.data() + answer_bytes, answer_bytes) : noise(answer_bytes);
      static_cast<void>(send(file, proof.data(), proof.size(), MSG_NOSIGNAL));
      const std::string more = noise(5000);
      static_cast<void>(send(file, more.data(), more.size(), MSG_NOSIGNAL));
    }
    close(file);
  }
  /// Keeps a connection open in the middle of the admission.
  void hold(std::uint16_t port) {
    for (int visit = 0; visit < 20; ++visit) {
      const int file = connect_to(port);
      if (file < 0) return;
      const std::string greeting = hello(ranks_.size());
      static_cast<void>(send(file, greeting.data(), random_() % (greeting.size() + 1), MSG_NOSIGNAL));
      held_.push_back(file);
    }
    while (held_.size() > most_held) {
      close(held_.front());
      held_.erase(held_.begin());
    }
  }

  std::vector<pid_t> ranks_;
  std::vector<int> held_;
  std::mt19937 random_{1};
  int made_ = 0;
};

}  // namespace

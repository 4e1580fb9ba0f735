// SPDX-License-Identifier: Apache-2.0
#include "transport/trial.hpp"

#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "transport/failure.hpp"
#include "transport/node_memory.hpp"

namespace stretto {
namespace {

constexpr int most_seconds = 10;
constexpr int lane = 0;

/// One of the two processes. Its methods return the reason if something fails, or an empty string.
class Partner {
 public:
  Partner(int place, int socket) : place_(place), socket_(socket) {
    const timeval limit{.tv_sec = most_seconds, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }

  std::string run(int ranks, std::size_t store_bytes, std::uint64_t token) {
    std::array<NodeMemory::Owner, 2> owners;
    NodeMemory::Owner& own = owners.at(static_cast<std::size_t>(place_));
    memory_.open();
    own = {getpid(), memory_.file(), token + static_cast<std::uint64_t>(place_)};
    const RegionShape shape = RegionShape::make(ranks, store_bytes);
    if (std::string error = memory_.make(shape, place_, own.token); !error.empty()) return error;
    if (std::string error = swap(own, owners.at(static_cast<std::size_t>(other()))); !error.empty())
      return error;
    if (std::string error = memory_.map({owners.begin(), owners.end()}); !error.empty()) return error;
    char mine = 0;
    char theirs = 0;
    if (std::string error = swap(mine, theirs); !error.empty()) return error;
    memory_.close_files();
    return exchange();
  }

 private:
  [[nodiscard]] int other() const { return 1 - place_; }

  template <typename Value>
  std::string swap(const Value& own, Value& others) const {
    // A partner that has failed reports the reason itself.
    constexpr const char* what = "the other process of the trial";
    if (::send(socket_, &own, sizeof own, MSG_NOSIGNAL) != sizeof own) return failure(what);
    const ssize_t bytes = recv(socket_, &others, sizeof others, MSG_WAITALL);
    if (bytes < 0) return failure(what);
    return bytes == sizeof others ? "" : std::string(what) + " has ended";
  }

  /// Exchanges more than the lines hold, so that pieces lie in the store.
  std::string exchange() {
    constexpr std::size_t total = 100'000;
    constexpr std::size_t most_of_piece = 4096;
    const auto value = [](int from, std::size_t i) {
      return static_cast<std::byte>(static_cast<std::size_t>(from) * 31 + i * 13 + i / 256);
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(most_seconds);
    std::size_t sent = 0;
    std::size_t received = 0;
    while (sent < total || received < total) {
      if (std::chrono::steady_clock::now() > end) return "a message through shared memory has not arrived";
      const std::size_t wanted = std::min(most_of_piece, total - sent);
      const NodeMemory::Piece piece =
          wanted > 0 ? memory_.reserve(lane, std::array{other()}, wanted) : NodeMemory::Piece();
      if (piece.data != nullptr) {
        for (std::size_t i = 0; i < piece.bytes; ++i) piece.data[i] = value(place_, sent + i);
        sent += piece.bytes;
        memory_.publish(lane, std::array{other()}, piece, piece.bytes, sent == total ? PieceHead::last : 0);
      }
      const NodeMemory::Arrival arrival =
          received < total ? memory_.look(lane, other()) : NodeMemory::Arrival();
      if (arrival.data == nullptr) {
        sched_yield();
        continue;
      }
      for (std::size_t i = 0; i < arrival.bytes; ++i) {
        if (arrival.data[i] != value(other(), received + i))
          return "a message through shared memory is wrong";
      }
      received += arrival.bytes;
      memory_.take(lane, other());
    }
    return {};
  }

  int place_;
  int socket_;
  NodeMemory memory_;
};

/// A pair of connected sockets.
struct Pair {
  std::array<int, 2> end{-1, -1};

  Pair() { is_open = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end.data()) == 0; }
  ~Pair() {
    close_end(0);
    close_end(1);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void close_end(std::size_t which) {
    if (end.at(which) >= 0) close(end.at(which));
    end.at(which) = -1;
  }

  bool is_open = false;
};

std::string read_all(int socket) {
  std::array<char, 512> text{};
  std::string all;
  for (ssize_t bytes = 1; bytes > 0;) {
    bytes = read(socket, text.data(), text.size());
    if (bytes > 0) all.append(text.data(), static_cast<std::size_t>(bytes));
  }
  return all;
}

std::string ending_of(pid_t child, std::size_t bytes) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFSIGNALED(status)) return {};
  return "no room for " + std::to_string(bytes >> 10) +
         " KiB of shared memory: the kernel ended the process (" + strsignal(WTERMSIG(status)) + ")";
}

}  // namespace

std::string try_node_memory(int ranks, std::size_t store_bytes) {
  const std::size_t bytes = RegionShape::make(ranks, store_bytes).bytes();
  const auto token = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  Pair between;
  std::array<Pair, 2> reports;  // from each process to this one
  if (!between.is_open || !reports[0].is_open || !reports[1].is_open) return failure("socketpair");
  std::array<pid_t, 2> children{};
  for (std::size_t place = 0; place < children.size(); ++place) {
    children.at(place) = fork();
    if (children.at(place) != 0) continue;
    // The end of a process must show at the other ends of its sockets, so no other process may hold its ends.
    between.close_end(1 - place);
    const int report = reports.at(place).end[1];
    reports.at(1 - place).close_end(1);
    const std::string error =
        Partner(static_cast<int>(place), between.end.at(place)).run(ranks, store_bytes, token);
    static_cast<void>(!write(report, error.data(), error.size()));
    _exit(0);
  }
  std::string no_process = failure("fork");
  between.close_end(0);
  between.close_end(1);
  std::array<std::string, 2> errors;
  for (std::size_t place = 0; place < children.size(); ++place) {
    reports.at(place).close_end(1);
    if (children.at(place) < 0) return no_process;
  }
  for (std::size_t place = 0; place < children.size(); ++place) {
    errors.at(place) = read_all(reports.at(place).end[0]);
    if (const std::string ending = ending_of(children.at(place), bytes); !ending.empty())
      errors.at(place) = ending;
  }
  // If both give a reason, the one counts that is not just the end of the other process.
  const bool first_follows = errors[0].empty() || errors[0].starts_with("the other process");
  return errors.at(first_follows && !errors[1].empty() ? 1 : 0);
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
#include "transport/handover.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "transport/failure.hpp"

namespace stretto {
namespace {

constexpr std::chrono::seconds longest_wait{10};

/// The name of a Unix socket outside the file system. It begins with a zero byte, and its length tells where
/// it ends.
struct Name {
  explicit Name(std::uint64_t token) {
    std::array<char, 32> text{};
    const int length =
        std::snprintf(text.data(), text.size(), "stretto-%016llx", static_cast<unsigned long long>(token));
    address.sun_family = AF_UNIX;
    std::memcpy(&address.sun_path[1], text.data(), static_cast<std::size_t>(length));
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t bytes = 0;
};

/// Sets `other` to the process at the other end. Returns whether it belongs to this user.
bool is_of_this_user(int socket, ucred& other) {
  socklen_t bytes = sizeof(other);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 && other.uid == geteuid();
}

// A message that carries a file. It must hold at least one byte, too.
struct Envelope {
  Envelope() {
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;
  char byte = 0;
  iovec place{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
};

bool send_file(int socket, int file) {
  Envelope envelope;
  cmsghdr* const header = CMSG_FIRSTHDR(&envelope.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &file, sizeof(file));
  return sendmsg(socket, &envelope.message, MSG_NOSIGNAL) == 1;
}

/// Returns -1 if nothing came in time.
int receive_file(int socket) {
  const timeval limit{.tv_sec = longest_wait.count(), .tv_usec = 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  Envelope envelope;
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &envelope.message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* const header = got == 1 ? CMSG_FIRSTHDR(&envelope.message) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(header), sizeof(file));
  return file;
}

}  // namespace

std::string Handover::listen(std::uint64_t token) {
  const Name name(token);
  constexpr int most_waiting = 4096;
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  listener_ = KeptFile(file);
  if (file < 0 || bind(file, name.get(), name.bytes) != 0 || ::listen(file, most_waiting) != 0)
    return failure("a Unix socket");
  return {};
}

std::string Handover::give(int file, std::size_t others) {
  const auto until = std::chrono::steady_clock::now() + longest_wait;
  while (others > 0) {
    if (std::chrono::steady_clock::now() > until)
      return "not all processes of the node asked for this memory";
    pollfd wait{.fd = listener_.number(), .events = POLLIN, .revents = 0};
    constexpr int one_look = 100;  // ms
    if (poll(&wait, 1, one_look) <= 0) continue;
    const KeptFile visitor(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    ucred other{};
    if (visitor.number() < 0 || !is_of_this_user(visitor.number(), other)) continue;
    if (!send_file(visitor.number(), file)) return failure("a file could not be passed on");
    --others;
  }
  return {};
}

std::string Handover::exchange(int file, int place, const std::vector<std::uint64_t>& tokens,
                               std::vector<Received>& received) {
  // Others may only read the memory.
  const KeptFile readable(open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDONLY | O_CLOEXEC));
  if (readable.number() < 0) return failure("/proc/self/fd");
  received = std::vector<Received>(tokens.size());
  // connect() returns before the listener accepts, so no process waits for another one here.
  std::vector<KeptFile> connections(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (static_cast<int>(i) == place) continue;
    KeptFile& connection = connections[i] = KeptFile(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const Name name(tokens[i]);
    ucred other{};
    if (connect(connection.number(), name.get(), name.bytes) != 0)
      return failure("no Unix socket leads to a process of the node (another network namespace?)");
    if (!is_of_this_user(connection.number(), other)) return "a process of the node belongs to another user";
    received[i].pid = other.pid;
  }
  if (std::string error = give(readable.number(), tokens.size() - 1); !error.empty()) return error;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (static_cast<int>(i) == place) continue;
    received[i].file = KeptFile(receive_file(connections[i].number()));
    if (received[i].file.number() < 0) return "a process of the node has not shared its memory";
  }
  return {};
}

}  // namespace stretto

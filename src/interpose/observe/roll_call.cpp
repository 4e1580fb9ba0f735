// SPDX-License-Identifier: Apache-2.0
#include "interpose/observe/roll_call.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <random>
#include <utility>

#include "interpose/session/session.hpp"

namespace stretto {
namespace {

constexpr std::uint32_t question_kind = 1;
constexpr std::uint32_t answer_kind = 2;

struct Datagram {
  std::uint64_t job;
  std::uint32_t kind;
  std::int32_t rank;  // of the sender
  std::uint64_t group;
  std::uint64_t ordinal;
  std::uint64_t number;
  std::uint64_t calls;
};

std::string list_ranks(const std::set<int>& ranks) {
  constexpr std::size_t most = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t named = 0;
  for (const int rank : ranks) {
    if (named++ == most) return text + " and " + std::to_string(ranks.size() - most) + " more";
    text += (named == 1 ? "" : ", ") + std::to_string(rank);
  }
  return text;
}

}  // namespace

void RollCall::open() {
  Address own{};
  gethostname(static_cast<char*>(own.host), sizeof own.host - 1);
  std::random_device random;
  own.job = (std::uint64_t{random()} << 32) | random();
  if (std::array<int, 2> ends{}; pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0) {
    waits_ = KeptFile(ends[0]);
    awakes_ = KeptFile(ends[1]);
  }
  socket_ = KeptFile(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int file = socket_.number();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof address;
  if (file >= 0 && bind(file, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      getsockname(file, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    own.port = address.sin_port;
  }
  int ranks = 1;
  mpi.Comm_size(mpi.comm_world, &ranks);
  addresses_.resize(static_cast<std::size_t>(ranks));
  mpi.Allgather(&own, sizeof own, mpi.char_, addresses_.data(), sizeof own, mpi.char_, mpi.comm_world);
  job_ = addresses_[0].job;
}

void RollCall::close() {
  for (KeptFile* file : {&socket_, &waits_, &awakes_}) *file = KeptFile();
  inquiries_.clear();
}

void RollCall::ask(const CallId& call, const std::vector<int>& ranks) {
  const auto [place, is_new] = inquiries_.try_emplace(call);
  if (is_new) place->second.unanswered.insert(ranks.begin(), ranks.end());
  place->second.unanswered.erase(session.world_rank);
  for (const int rank : place->second.unanswered) send(rank, question_kind, call, 0);
}

void RollCall::wake() const {
  const char letter = 0;
  static_cast<void>(!write(awakes_.number(), &letter, sizeof letter));
}

bool RollCall::all_have_answered(const CallId& call) const {
  const auto found = inquiries_.find(call);
  return found == inquiries_.end() || found->second.unanswered.empty();
}

std::string RollCall::conclude(const CallId& call) {
  const auto found = inquiries_.find(call);
  if (found == inquiries_.end()) return {};
  const Inquiry inquiry = std::move(found->second);
  inquiries_.erase(found);
  std::string text;
  if (!inquiry.missing.empty()) {
    text = list_ranks(inquiry.missing) + (inquiry.missing.size() == 1 ? " has" : " have") + " not called it";
  }
  if (!inquiry.unanswered.empty()) {
    text += (text.empty() ? "" : ", ") + list_ranks(inquiry.unanswered) +
            (inquiry.unanswered.size() == 1 ? " does" : " do") + " not answer";
  }
  return text.empty() ? "all ranks have called it" : text;
}

void RollCall::wait(double seconds) const {
  std::array<pollfd, 2> files{pollfd{socket_.number(), POLLIN, 0}, pollfd{waits_.number(), POLLIN, 0}};
  poll(files.data(), files.size(), static_cast<int>(seconds * 1e3) + 1);
}

std::optional<RollCall::Question> RollCall::receive() {
  Datagram datagram{};
  for (;;) {
    const ssize_t length = recv(socket_.number(), &datagram, sizeof datagram, 0);
    if (length < 0) return std::nullopt;
    const bool is_ours = length == sizeof datagram && datagram.job == job_ && datagram.rank >= 0 &&
                         static_cast<std::size_t>(datagram.rank) < addresses_.size();
    if (!is_ours) continue;
    const CallId call{{datagram.group, datagram.ordinal}, datagram.number};
    if (datagram.kind == question_kind) return Question{call, datagram.rank};
    const auto found = inquiries_.find(call);
    if (found == inquiries_.end() || found->second.unanswered.erase(datagram.rank) == 0) continue;
    if (datagram.calls <= call.number) found->second.missing.insert(datagram.rank);
  }
}

void RollCall::answer(const Question& question, std::uint64_t calls) const {
  send(question.rank, answer_kind, question.call, calls);
}

void RollCall::send(int rank, std::uint32_t kind, const CallId& call, std::uint64_t calls) const {
  const Address& to = addresses_[static_cast<std::size_t>(rank)];
  const std::uint32_t host = address_of(rank);
  if (to.port == 0 || host == 0) return;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = to.port;
  address.sin_addr.s_addr = host;
  const Datagram datagram{
      job_, kind, session.world_rank, call.communicator.group, call.communicator.ordinal, call.number, calls};
  // A datagram that is lost is sent again.
  sendto(socket_.number(), &datagram, sizeof datagram, MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

std::uint32_t RollCall::address_of(int rank) const {
  const auto name_of = [&](int of) {
    return std::string(static_cast<const char*>(addresses_[static_cast<std::size_t>(of)].host));
  };
  const std::string host = name_of(rank);
  if (host == name_of(session.world_rank)) return htonl(INADDR_LOOPBACK);
  const auto [place, is_new] = resolved_.try_emplace(host, 0);
  if (!is_new) return place->second;
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) == 0 && found != nullptr) {
    sockaddr_in address{};
    std::memcpy(&address, found->ai_addr, sizeof address);
    place->second = address.sin_addr.s_addr;
  }
  if (found != nullptr) freeaddrinfo(found);
  return place->second;
}

}  // namespace stretto

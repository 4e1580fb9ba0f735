// SPDX-License-Identifier: Apache-2.0
#include "interpose/observe/roll_call.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "interpose/session/session.hpp"
#include "mpi/own_network.hpp"

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
  RollCall::Standing standing;
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
  Place own{};
  // Without MPI, ranks know by which address others reach them.
  if (const auto network = own_network()) own.address = network->listens_at();
  own.address.port = 0;
  gethostname(static_cast<char*>(own.host), sizeof own.host - 1);
  std::random_device random;
  own.job = (std::uint64_t{random()} << 32) | random();
  if (std::array<int, 2> ends{}; pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0) {
    waits_ = KeptFile(ends[0]);
    awakes_ = KeptFile(ends[1]);
  }
  const Address any{.family = own.address.family == 6 ? std::uint16_t{6} : std::uint16_t{4}};
  socket_ =
      KeptFile(socket(any.family == 6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int file = socket_.number();
  SystemAddress bound(any);
  if (file >= 0 && bind(file, bound.get(), bound.length) == 0 &&
      getsockname(file, bound.get(), &bound.length) == 0) {
    own.address.port = bound.address().port;
  }
  int ranks = 1;
  mpi.Comm_size(mpi.comm_world, &ranks);
  places_.resize(static_cast<std::size_t>(ranks));
  mpi.Allgather(&own, sizeof own, mpi.char_, places_.data(), sizeof own, mpi.char_, mpi.comm_world);
  job_ = places_[0].job;
}

void RollCall::close() {
  for (KeptFile* file : {&socket_, &waits_, &awakes_}) *file = KeptFile();
  inquiries_.clear();
}

void RollCall::ask(const CallId& call, const std::vector<int>& ranks) {
  const auto [place, is_new] = inquiries_.try_emplace(call);
  if (is_new) place->second.unanswered.insert(ranks.begin(), ranks.end());
  place->second.unanswered.erase(session.world_rank);
  for (const int rank : place->second.unanswered) send(rank, question_kind, call, {});
}

void RollCall::wake() const {
  const char letter = 0;
  static_cast<void>(!write(awakes_.number(), &letter, sizeof letter));
}

bool RollCall::all_have_answered(const CallId& call) const {
  const auto found = inquiries_.find(call);
  return found == inquiries_.end() || found->second.unanswered.empty();
}

RollCall::Attendance RollCall::conclude(const CallId& call) {
  const auto found = inquiries_.find(call);
  if (found == inquiries_.end()) return {};
  const Inquiry inquiry = std::move(found->second);
  inquiries_.erase(found);
  std::string text;
  if (!inquiry.missing.empty()) {
    const bool is_one = inquiry.missing.size() == 1;
    text = list_ranks(inquiry.missing) + (is_one ? " has" : " have") + " not called it";
    if (inquiry.idle) {
      std::array<char, 32> seconds{};
      std::snprintf(seconds.data(), seconds.size(), "%.1f", *inquiry.idle);
      text += std::string("; ") + (is_one ? "its last call here" : "their last calls here") + " began " +
              seconds.data() + " s ago" + (is_one ? "" : " or earlier");
    }
  }
  if (!inquiry.unanswered.empty()) {
    text += (text.empty() ? "" : ", ") + list_ranks(inquiry.unanswered) +
            (inquiry.unanswered.size() == 1 ? " does" : " do") + " not answer";
  }
  return {.text = text.empty() ? "all ranks have called it" : text,
          .another_waits_first = inquiry.another_waits_first};
}

void RollCall::wait(double seconds) const {
  std::array<pollfd, 2> files{pollfd{socket_.number(), POLLIN, 0}, pollfd{waits_.number(), POLLIN, 0}};
  poll(files.data(), files.size(), static_cast<int>(seconds * 1e3) + 1);
  std::array<char, 64> letters{};
  while (read(waits_.number(), letters.data(), letters.size()) > 0) {
  }
}

std::optional<RollCall::Question> RollCall::receive() {
  Datagram datagram{};
  for (;;) {
    const ssize_t length = recv(socket_.number(), &datagram, sizeof datagram, 0);
    if (length < 0) return std::nullopt;
    const bool is_ours = length == sizeof datagram && datagram.job == job_ && datagram.rank >= 0 &&
                         static_cast<std::size_t>(datagram.rank) < places_.size();
    if (!is_ours) continue;
    const CallId call{{datagram.group, datagram.ordinal}, datagram.number};
    if (datagram.kind == question_kind) return Question{call, datagram.rank};
    const auto found = inquiries_.find(call);
    if (found == inquiries_.end() || found->second.unanswered.erase(datagram.rank) == 0) continue;
    const Standing& standing = datagram.standing;
    Inquiry& inquiry = found->second;
    if (standing.is_in_it != 0 && datagram.rank < session.world_rank) inquiry.another_waits_first = true;
    if (standing.calls > call.number) continue;
    inquiry.missing.insert(datagram.rank);
    if (standing.calls > 0) inquiry.idle = std::min(inquiry.idle.value_or(standing.idle), standing.idle);
  }
}

void RollCall::answer(const Question& question, const Standing& standing) const {
  send(question.rank, answer_kind, question.call, standing);
}

void RollCall::send(int rank, std::uint32_t kind, const CallId& call, const Standing& standing) const {
  const std::optional<Address> to = address_of(rank);
  if (!to) return;
  SystemAddress address(*to);
  const Datagram datagram{
      job_,        kind,    session.world_rank, call.communicator.group, call.communicator.ordinal,
      call.number, standing};
  // A datagram that is lost is sent again.
  sendto(socket_.number(), &datagram, sizeof datagram, MSG_NOSIGNAL, address.get(), address.length);
}

/// Returns nothing if the rank has no socket, or if nobody knows its host's address.
std::optional<Address> RollCall::address_of(int rank) const {
  const Place& place = places_[static_cast<std::size_t>(rank)];
  if (place.address.port == 0) return std::nullopt;
  if (place.address.family != 0) return place.address;
  const std::string host = static_cast<const char*>(place.host);
  const auto [known, is_new] = resolved_.try_emplace(host);
  if (is_new) {
    // A node need not be able to resolve its own name.
    const bool is_here =
        host == static_cast<const char*>(places_[static_cast<std::size_t>(session.world_rank)].host);
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(is_here ? "127.0.0.1" : host.c_str(), nullptr, &hints, &found) == 0 && found != nullptr) {
      SystemAddress address;
      std::memcpy(address.get(), found->ai_addr, found->ai_addrlen);
      known->second = address.address();
    }
    if (found != nullptr) freeaddrinfo(found);
  }
  if (!known->second) return std::nullopt;
  Address address = *known->second;
  address.port = place.address.port;
  return address;
}

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
#include "interpose/communicators/connect_nodes.hpp"

#include <arpa/inet.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/messages/connections.hpp"
#include "interpose/communicators/communicator.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "sockets/address.hpp"
#include "text/environment.hpp"
#include "threads/clock.hpp"
#include "threads/immortal.hpp"
#include "topology/boot_id.hpp"

namespace stretto {
namespace {

constexpr double longest_first_byte = 5;  // s

/// The data that rank 0 broadcasts to the others.
struct Beginning {
  SipKey secret{};
  std::uint64_t kernel = 0;          // the kernel under which rank 0 runs
  std::array<Address, 8> of_rank_0;  // the addresses of its interfaces
};

Address loopback() {
  Address address{.family = 4};
  address.ip = {std::byte{127}, std::byte{0}, std::byte{0}, std::byte{1}};
  return address;
}

/// Whether the ranks agree that none has failed.
bool all_agree(bool is_right, MPI_Comm comm) {
  int right = is_right ? 1 : 0;
  const int error = mpi.Allreduce(mpi.in_place, &right, 1, mpi.int_, mpi.min, comm);
  return error == MPI_SUCCESS && right == 1;
}

/// Returns the address from which this rank reaches rank 0. Takes the first of rank 0's interfaces that all
/// ranks reach without their loopback. Takes the loopback only if all ranks are on one machine.
std::optional<Address> find_common_address(const std::array<Address, 8>& of_rank_0, bool is_its_machine,
                                           MPI_Comm comm) {
  std::array<std::optional<Address>, 8> own;
  int reached = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (of_rank_0.at(i).family == 0) continue;
    const bool is_loopback = of_rank_0.at(i) == loopback();
    own.at(i) = is_loopback ? of_rank_0.at(i) : find_own_address_towards(of_rank_0.at(i));
    // Bridges of containers have the same address on every machine, as the loopback has.
    if (own.at(i) && (is_its_machine || *own.at(i) != of_rank_0.at(i))) reached |= 1 << i;
  }
  const int error = mpi.Allreduce(mpi.in_place, &reached, 1, mpi.int_, mpi.band, comm);
  if (error != MPI_SUCCESS || reached == 0) return std::nullopt;
  return own.at(static_cast<std::size_t>(__builtin_ctz(static_cast<unsigned>(reached))));
}

/// Whether this rank may open enough files for connections to and from all ranks of the other nodes. (Not all
/// calls need these connections, but a call that gets none ends the job.)
bool has_files_for_all() {
  constexpr int of_program = 64;
  const Topology& topology = session.topology;
  const int others = topology.ranks() - topology.ppn(topology.node(session.world_rank));
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         limit.rlim_max >= static_cast<rlim_t>(2 * others + of_program);
}

/// Returns the address of the interface that the user has named for the MPI library's own connections, if
/// this machine has an interface of that name. (MPI libraries accept other texts, too.)
std::optional<Address> find_address_of_library() {
  for (const char* variable : {"OMPI_MCA_btl_tcp_if_include", "UCX_NET_DEVICES", "FI_TCP_IFACE"}) {
    const std::string interfaces = environment(variable);
    std::string error;
    if (interfaces.empty()) continue;
    if (const auto own = find_own_address(interfaces, "", error)) return own;
  }
  return std::nullopt;
}

std::unique_ptr<Endpoint> listen(const Address& address, const SipKey& secret) {
  try {
    Address at = address;
    Socket listener = listen_at(at);
    return std::make_unique<Endpoint>(session.world_rank, session.topology.ranks(), secret,
                                      std::move(listener), at);
  } catch (const std::system_error&) {
    return nullptr;
  }
}

/// Sends a byte to the rank with the same place on the next node, if there is one, and receives a byte from
/// the previous node likewise. Returns whether both messages were completed in time.
bool reaches_next_node(Endpoint& endpoint) {
  constexpr std::int32_t tag = 1;
  const Topology& topology = session.topology;
  const int node = topology.node(session.world_rank);
  const int place = topology.place(session.world_rank);
  const auto rank_in = [&](int other) {
    return place < topology.ppn(other) ? topology.rank_at(other, place) : -1;
  };
  std::byte byte{};
  Message sent;
  sent.sends = true;
  sent.peer = rank_in((node + 1) % topology.nodes);
  Message received;
  received.peer = rank_in((node + topology.nodes - 1) % topology.nodes);
  std::vector<Message*> all;
  for (Message* message : {&received, &sent}) {
    if (message->peer < 0) continue;
    message->tag = tag;
    message->data = &byte;
    message->bytes = 1;
    endpoint.start(*message);
    all.push_back(message);
  }
  const double until = seconds_now() + longest_first_byte;
  wait_until(
      [&] {
        return seconds_now() > until ||
               std::ranges::all_of(all, [](const Message* one) { return one->has_ended(); });
      },
      [&] { return endpoint.progress(); });
  const bool is_right =
      std::ranges::all_of(all, [](const Message* one) { return one->state == Message::State::done; });
  if (!is_right) endpoint.fail("a node cannot reach another node");
  return is_right;
}

/// The address at which a rank of MPI_COMM_WORLD listens.
struct WhereItListens {
  int rank = 0;
  Address address;
};

/// Makes the connections. `comm` has all ranks of MPI_COMM_WORLD. Returns an empty line, or the reason why
/// there are no connections. All ranks get the same result.
std::string make_connections(MPI_Comm comm) {
  Beginning beginning;
  const std::uint64_t kernel = kernel_number();
  int rank_there = 0;
  mpi.Comm_rank(comm, &rank_there);
  if (rank_there == 0) {
    fill_randomly(beginning.secret);
    beginning.kernel = kernel;
    std::vector<Address> here = find_all_addresses(beginning.of_rank_0.size() - 1);
    here.push_back(loopback());
    std::ranges::copy(here, beginning.of_rank_0.begin());
  }
  mpi.Bcast(&beginning, sizeof beginning, mpi.byte, 0, comm);
  if (!all_agree(has_files_for_all(), comm))
    return "a rank cannot open enough files for connections to all other nodes (ulimit -Hn)";
  // This call is collective, so a rank makes it even if the user has named another interface for it.
  const std::optional<Address> common =
      find_common_address(beginning.of_rank_0, kernel != 0 && kernel == beginning.kernel, comm);
  const std::string interfaces = environment("STRETTO_INTERFACE");
  std::string error;
  std::optional<Address> own =
      interfaces.empty() ? find_address_of_library() : find_own_address(interfaces, "", error);
  if (!own && interfaces.empty()) own = common;
  std::unique_ptr<Endpoint> endpoint = own ? listen(*own, beginning.secret) : nullptr;
  if (!all_agree(endpoint != nullptr, comm)) {
    return interfaces.empty() ? "the nodes have no common network to reach rank 0"
                              : "not every node has an interface " + interfaces + " with an address";
  }
  std::vector<WhereItListens> all(static_cast<std::size_t>(session.topology.ranks()));
  const WhereItListens here{.rank = session.world_rank, .address = endpoint->listens_at()};
  if (mpi.Allgather(&here, sizeof here, mpi.byte, all.data(), sizeof here, mpi.byte, comm) != MPI_SUCCESS)
    return "the MPI library did not exchange the addresses";
  for (const WhereItListens& place : all) endpoint->set_address(place.rank, place.address);
  if (!all_agree(reaches_next_node(*endpoint), comm)) {
    return "a node cannot reach another node within " + std::to_string(static_cast<int>(longest_first_byte)) +
           " s";
  }
  std::vector<int> nodes;
  nodes.reserve(all.size());
  for (int rank = 0; rank < session.topology.ranks(); ++rank) nodes.push_back(session.topology.node(rank));
  set_connections(std::make_unique<Connections>(std::move(endpoint), std::move(nodes)));
  return {};
}

}  // namespace

bool may_connect(const Communicator& state) {
  return session.settings.may_connect && mpi.has_library() && state.ranks() == session.topology.ranks();
}

bool connect_nodes(MPI_Comm comm) {
  // Threads of a rank may try it on several communicators at once, in another order than on other ranks. So
  // no thread waits, and all ranks must be able to do the same.
  enum Able { busy, makes, has_made };
  static auto& making = make_immortal<std::mutex>();
  const std::unique_lock lock(making, std::try_to_lock);
  const bool is_free = lock.owns_lock() && !session.cannot_connect;
  const int able = !is_free ? busy : connections() != nullptr ? has_made : makes;
  std::array<int, 2> least_and_most{able, -able};
  if (mpi.Allreduce(mpi.in_place, least_and_most.data(), 2, mpi.int_, mpi.min, comm) != MPI_SUCCESS)
    return false;
  if (least_and_most[0] != -least_and_most[1] || able == busy) return false;
  if (able == has_made) return true;
  const std::string reason = make_connections(comm);
  // All ranks have tried, so none of them tries again.
  session.cannot_connect = !reason.empty();
  if (!reason.empty())
    complain_once_on_rank_0("STRETTO_CONNECTIONS: " + reason + "; the MPI library carries all messages");
  return reason.empty();
}

bool use_connections_from(std::size_t bytes, MPI_Comm comm) {
  if (!connect_nodes(comm)) return false;
  session.connections_from = bytes;
  return true;
}

void disconnect_nodes() {
  constexpr double longest = 5;  // s
  if (Connections* const present = connections()) present->endpoint().leave(longest);
  set_connections(nullptr);
}

}  // namespace stretto

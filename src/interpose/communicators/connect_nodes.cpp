// SPDX-License-Identifier: Apache-2.0
#include "interpose/communicators/connect_nodes.hpp"

#include <arpa/inet.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/messages/connections.hpp"
#include "interpose/communicators/communicator.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "sockets/address.hpp"
#include "sockets/ports.hpp"
#include "text/environment.hpp"
#include "threads/clock.hpp"
#include "threads/immortal.hpp"
#include "topology/boot_id.hpp"

namespace stretto {
namespace {

constexpr double longest_first_byte = 5;  // s

/// The data that rank 0 broadcasts to the others.
struct Beginning {
  bool is_made = false;
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

/// Whether `work` returns true. What a rank does by itself must not throw between two steps that all ranks
/// take together: the others would wait for it in the next one.
template <typename Work>
bool succeeds(const Work& work) {
  try {
    return work();
  } catch (const std::exception&) {
    return false;
  }
}

/// Fills in what rank 0 broadcasts.
bool make_beginning(Beginning& beginning, std::uint64_t kernel) {
  fill_randomly(beginning.secret);
  beginning.kernel = kernel;
  std::vector<Address> here = find_all_addresses(beginning.of_rank_0.size() - 1);
  here.push_back(loopback());
  std::ranges::copy(here, beginning.of_rank_0.begin());
  return true;
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
    const bool is_found = succeeds([&] {
      own.at(i) = is_loopback ? of_rank_0.at(i) : find_own_address_towards(of_rank_0.at(i));
      return own.at(i).has_value();
    });
    // Bridges of containers have the same address on every machine, as the loopback has.
    if (is_found && (is_its_machine || *own.at(i) != of_rank_0.at(i))) reached |= 1 << i;
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

/// Returns the interfaces that the user has named, or has named for the MPI library's own connections if this
/// machine has one of them. (MPI libraries accept other texts, too.)
std::string find_named_interfaces() {
  std::string own = environment("STRETTO_INTERFACE");
  if (!own.empty()) return own;
  for (const char* variable : {"OMPI_MCA_btl_tcp_if_include", "UCX_NET_DEVICES", "FI_TCP_IFACE"}) {
    const std::string interfaces = environment(variable);
    std::string error;
    if (!interfaces.empty() && find_own_address(interfaces, "", error)) return interfaces;
  }
  return {};
}

Socket listen(Address& at) {
  const std::optional<LibraryPorts> ports = find_ports_of_library(at.family);
  const auto number = static_cast<std::size_t>(session.topology.place(session.world_rank));
  return ports ? listen_at_one_of(ports->range, number, at) : listen_at(at);
}

std::unique_ptr<Endpoint> listen(Address at, const std::string& interfaces, const SipKey& secret) {
  Socket listener = listen(at);
  auto endpoint = std::make_unique<Endpoint>(session.world_rank, session.topology.ranks(), secret,
                                             std::move(listener), at);
  for (Address& rail : find_further_addresses(interfaces)) endpoint->add_rail(listen(rail), rail);
  return endpoint;
}

/// Sends a byte from this node to each other one, and receives one from each, together with the other ranks
/// of the node: a firewall may be between any two. Returns whether all messages were completed in time.
bool reaches_all_nodes(Endpoint& endpoint) {
  constexpr std::int32_t tag = 1;
  const Topology& topology = session.topology;
  const int node = topology.node(session.world_rank);
  const int place = topology.place(session.world_rank);
  std::byte byte{};
  std::deque<Message> all;
  const auto begin = [&](bool sends, int other, int distance) {
    Message& message = all.emplace_back();
    message.sends = sends;
    message.peer = topology.rank_at(other, distance % topology.ppn(other));
    message.tag = tag;
    message.data = &byte;
    message.bytes = 1;
    endpoint.start(message);
  };
  for (int distance = 1; distance < topology.nodes; ++distance) {
    if (distance % topology.ppn(node) != place) continue;
    begin(false, (node + topology.nodes - distance) % topology.nodes, distance);
    begin(true, (node + distance) % topology.nodes, distance);
  }
  const double until = seconds_now() + longest_first_byte;
  wait_until(
      [&] {
        return seconds_now() > until ||
               std::ranges::all_of(all, [](const Message& one) { return one.has_ended(); });
      },
      [&] { return endpoint.progress(); });
  const bool is_right =
      std::ranges::all_of(all, [](const Message& one) { return one.state == Message::State::done; });
  if (!is_right) endpoint.fail("a node cannot reach another node");
  return is_right;
}

/// The address at which a rank of MPI_COMM_WORLD listens.
struct WhereItListens {
  int rank = 0;
  Address address;
};

/// Returns the likely reason why a rank does not listen.
std::string why_not_all_listen() {
  const std::string interfaces = environment("STRETTO_INTERFACE");
  if (!interfaces.empty()) return "not every node has an interface " + interfaces + " with an address";
  const std::optional<LibraryPorts> ports = find_ports_of_library(4);
  return "the nodes have no common network to reach rank 0" +
         (ports ? ", or no free port of " + ports->variable : "");
}

/// Makes the connections. `comm` has all ranks of MPI_COMM_WORLD. Returns an empty line, or the reason why
/// there are no connections. All ranks get the same result.
std::string make_connections(MPI_Comm comm) {
  Beginning beginning;
  const std::uint64_t kernel = kernel_number();
  int rank_there = 0;
  mpi.Comm_rank(comm, &rank_there);
  if (rank_there == 0) beginning.is_made = succeeds([&] { return make_beginning(beginning, kernel); });
  mpi.Bcast(&beginning, sizeof beginning, mpi.byte, 0, comm);
  if (!beginning.is_made) return "rank 0 got no random numbers, or no addresses";
  if (!all_agree(has_files_for_all(), comm))
    return "a rank cannot open enough files for connections to all other nodes (ulimit -Hn)";
  // This call is collective, so a rank makes it even if the user has named another interface for it.
  const std::optional<Address> common =
      find_common_address(beginning.of_rank_0, kernel != 0 && kernel == beginning.kernel, comm);
  std::unique_ptr<Connections> made;
  std::vector<WhereItListens> all;
  const bool listens = succeeds([&] {
    const std::string interfaces = find_named_interfaces();
    std::string error;
    const std::optional<Address> own = interfaces.empty() ? common : find_own_address(interfaces, "", error);
    if (!own) return false;
    std::vector<int> nodes(static_cast<std::size_t>(session.topology.ranks()));
    std::ranges::generate(nodes, [rank = 0]() mutable { return session.topology.node(rank++); });
    made = std::make_unique<Connections>(listen(*own, interfaces, beginning.secret), std::move(nodes));
    all.resize(static_cast<std::size_t>(session.topology.ranks()));
    return true;
  });
  if (!all_agree(listens, comm)) return why_not_all_listen();
  Endpoint& endpoint = made->endpoint();
  const WhereItListens here{.rank = session.world_rank, .address = endpoint.listens_at()};
  if (mpi.Allgather(&here, sizeof here, mpi.byte, all.data(), sizeof here, mpi.byte, comm) != MPI_SUCCESS)
    return "the MPI library did not exchange the addresses";
  const bool reaches_all = succeeds([&] {
    for (const WhereItListens& place : all) endpoint.set_address(place.rank, place.address);
    return reaches_all_nodes(endpoint);
  });
  if (!all_agree(reaches_all, comm)) {
    return "a node cannot reach another node within " + std::to_string(static_cast<int>(longest_first_byte)) +
           " s";
  }
  set_connections(std::move(made));
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

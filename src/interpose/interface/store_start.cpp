// SPDX-License-Identifier: Apache-2.0
// Begins and ends a job without MPI, whose ranks find each other by a store of the framework.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "interpose/handles/short_types.hpp"
#include "interpose/interface/group.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "interpose/start/begin_session.hpp"
#include "mpi/own_network.hpp"
#include "sockets/address.hpp"
#include "text/environment.hpp"
#include "threads/clock.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

/// Says in one line why a job cannot start.
class StartError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Store {
 public:
  explicit Store(const stretto_store& store) : store_(store) {}

  void set(const std::string& key, std::span<const std::byte> value) const {
    if (store_.set(store_.of, key.c_str(), value.data(), value.size()) < 0)
      throw StartError("the store did not accept " + key);
  }
  /// Waits for the value of a key.
  void get(const std::string& key, std::span<std::byte> value) const {
    const long bytes = store_.get(store_.of, key.c_str(), value.data(), value.size());
    if (bytes != static_cast<long>(value.size()))
      throw StartError("the store did not return " + key +
                       (bytes < 0 ? "" : ", but a value of " + std::to_string(bytes) + " bytes"));
  }

 private:
  const stretto_store& store_;
};

template <typename Value>
std::span<std::byte> bytes_of(Value& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// Returns the interfaces that the user has named. There may be commas between several names, as gloo takes
/// them: each one that has an address is a rail.
std::string named_interfaces() {
  const std::string own = environment("STRETTO_INTERFACE");
  return own.empty() ? environment("GLOO_SOCKET_IFNAME") : own;
}

std::string address_key(int rank) {
  return "stretto/address/" + std::to_string(rank);
}

/// Makes the endpoint of this rank. From the store, each rank learns only the address of its parent. The
/// parent learns the addresses of its children from them.
std::unique_ptr<Endpoint> meet(int rank, int ranks, const Store& store, const std::string& host,
                               const SipKey& secret) {
  std::string error;
  std::optional<Address> own = find_own_address(named_interfaces(), host, error);
  if (!own) throw StartError(error.empty() ? "this node has no network address" : error);
  Socket listener = listen_at(*own);
  const bool is_parent = rank % 2 == 0 && rank + 1 < ranks;
  if (is_parent) store.set(address_key(rank), bytes_of(*own));
  auto endpoint = std::make_unique<Endpoint>(rank, ranks, secret, std::move(listener), *own);
  for (Address& rail : find_further_addresses(named_interfaces())) endpoint->add_rail(listen_at(rail), rail);
  if (rank != 0) {
    Address parent;
    store.get(address_key(parent_in_start(rank)), bytes_of(parent));
    endpoint->set_address(parent_in_start(rank), parent);
  }
  return endpoint;
}

std::mutex& beginning() {
  static auto& mutex = make_immortal<std::mutex>();
  return mutex;
}

/// Takes leave at the end of the process, even if nobody has ended the job, and whatever the exit status is:
/// what other ranks still need of this one decides whether they fail. (A process that is killed, or calls
/// _exit(), takes no leave, and the kernel closes its connections behind all that was sent.)
void leave_at_exit(int /*status*/, void* process) {
  if (getpid() != static_cast<pid_t>(reinterpret_cast<std::intptr_t>(process))) return;
  constexpr double longest = 5;  // s
  const auto network = own_network();
  if (network != nullptr) network->leave(longest);
}

/// Makes each process that has a job call leave_at_exit() at its end.
void leave_when_process_ends() {
  static pid_t leaving = 0;
  if (std::exchange(leaving, getpid()) != getpid())
    on_exit(leave_at_exit, reinterpret_cast<void*>(static_cast<std::intptr_t>(getpid())));
}

int begin(int rank, int ranks, const Store& store, const std::string& host, const SipKey& secret,
          double seconds) {
  const std::lock_guard lock(beginning());
  if (own_network() != nullptr) return set_error("this process is already in a job; end that job first");
  if (!use_network(Network::sockets))
    return set_error("this process uses Stretto with MPI, so it cannot begin a job without MPI");
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return set_error("there is no rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  const double began = seconds_now();
  std::unique_ptr<Endpoint> endpoint = meet(rank, ranks, store, host, secret);
  const double left = std::max(seconds - (seconds_now() - began), 0.0);
  std::string error = begin_own_network(std::move(endpoint), left);
  if (error.empty()) {
    begin_session(Background::own, Participation::certain);
    leave_when_process_ends();
    if (session.active) {
      make_short_types();
    } else {
      error = session.settings.disabled ? "Stretto is off (STRETTO_DISABLE), but a job without MPI needs it"
                                        : "Stretto cannot start here";
    }
    mpi.spare(mpi.comm_world);
    if (const int ended = mpi.why_ended(mpi.comm_world, 0, true); ended != MPI_SUCCESS)
      error = text_of_error(ended);
  }
  if (error.empty()) return 0;
  if (session.active) free_short_types();
  end_own_network(0, error);
  return set_error(error);
}

}  // namespace
}  // namespace stretto

using namespace stretto;

STRETTO_VISIBLE int stretto_begin_by_store(int rank, int ranks, const stretto_store* store, const char* host,
                                           const void* secret, double seconds) {
  return without_exceptions(1, [&]() -> int {
    try {
      SipKey key{};
      static_assert(key.size() == STRETTO_SECRET_BYTES);
      std::memcpy(key.data(), secret, key.size());
      return begin(rank, ranks, Store(*store), host == nullptr ? "" : host, key, seconds);
    } catch (const StartError& error) {
      return set_error(error.what());
    } catch (const std::system_error& error) {
      return set_error(std::string("this rank cannot create its sockets: ") + error.what());
    }
  });
}

STRETTO_VISIBLE int stretto_end(double seconds, const char* reason) {
  return without_exceptions(1, [&]() -> int {
    const std::lock_guard lock(beginning());
    if (own_network() == nullptr)
      return set_error("stretto_begin_by_store() has begun no job in this process");
    const double until = seconds_now() + seconds;
    wait_until([&] { return !has_outstanding() || seconds_now() > until; });
    free_left_communicators();
    free_short_types();
    end_own_network(std::max(until - seconds_now(), 0.0), reason == nullptr ? "" : one_line(reason));
    return 0;
  });
}

STRETTO_VISIBLE void stretto_await(double seconds) {
  if (const auto network = own_network()) network->await(seconds);
}

STRETTO_VISIBLE void stretto_wake(void) {
  if (const auto network = own_network()) network->wake();
}

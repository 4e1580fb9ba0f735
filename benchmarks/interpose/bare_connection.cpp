// SPDX-License-Identifier: Apache-2.0
// Measures an allreduce between two nodes beside its bound: one bare TCP connection, served both ways by one
// thread on each node, over which as many bytes go as an allreduce must move (its whole length each way). In
// turns: the connection, the MPI library's own allreduce, which Stretto does not see, and MPI_Allreduce.
// Prints medians of the slowest rank, and quartiles of the ratios. Run it under the preload, one rank a node:
//   stretto lab run --mpi openmpi --stretto -- bare-connection-openmpi [calls before [turns]]
#include <mpi.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "measured.hpp"
#include "sockets/address.hpp"
#include "sockets/socket.hpp"

namespace {

using stretto::Address;
using stretto::Socket;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::abort();
}

/// A connection of the two ranks.
class Connection {
 public:
  explicit Connection(int rank) {
    Address address;
    Socket listener;
    if (rank == 0) {
      const std::vector<Address> all = stretto::find_all_addresses(1);
      if (all.empty()) fail("no network");
      address = all.front();
      listener = stretto::listen_at(address);
    }
    LIBRARY(PMPI_Bcast)(&address, sizeof address, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
      pollfd comes{.fd = listener.file(), .events = POLLIN, .revents = 0};
      if (poll(&comes, 1, 10'000) != 1) fail("nobody connects");
      socket_ = Socket(accept4(listener.file(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    } else {
      stretto::SystemAddress to(address);
      socket_ = Socket(::socket(address.family == 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (connect(socket_.file(), to.get(), to.length) != 0) fail("connect");
    }
    if (!socket_) fail("accept");
  }

  /// Sends and receives so many bytes at once.
  void exchange(const std::byte* from, std::byte* into, std::size_t bytes) const {
    std::size_t sent = 0;
    std::size_t received = 0;
    while (sent < bytes || received < bytes) {
      if (sent < bytes) sent += moved(send(socket_.file(), from + sent, bytes - sent, MSG_DONTWAIT));
      if (received < bytes)
        received += moved(recv(socket_.file(), into + received, bytes - received, MSG_DONTWAIT));
    }
  }

 private:
  static std::size_t moved(ssize_t bytes) {
    if (bytes > 0) return static_cast<std::size_t>(bytes);
    if (bytes == 0) fail("the other rank has gone");
    if (errno != EAGAIN && errno != EINTR) fail("the connection");
    return 0;
  }

  Socket socket_;
};

void measure(const Connection& connection, int rank, std::size_t bytes, int calls_before, int turns) {
  const std::vector<float> in(bytes / sizeof(float), 1);
  std::vector<float> out(in.size());
  const auto sum_by = [&](auto function) {
    return time_of([&] {
      function(in.data(), out.data(), static_cast<int>(in.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    });
  };
  for (int call = 0; call < calls_before; ++call) sum_by(MPI_Allreduce);
  const auto take = [&](int which) {
    if (which == 1) return sum_by(LIBRARY(PMPI_Allreduce));
    if (which == 2) return sum_by(MPI_Allreduce);
    const auto* from = reinterpret_cast<const std::byte*>(in.data());
    return time_of([&] { connection.exchange(from, reinterpret_cast<std::byte*>(out.data()), bytes); });
  };
  std::array<std::vector<double>, 5> all;
  for (int turn = 0; turn < turns; ++turn) {
    // Each one comes first in turn: an emulated link lets some bytes pass at once.
    for (int i = 0; i < 3; ++i) all.at((turn + i) % 3).push_back(take((turn + i) % 3));
    all[3].push_back(all[1].back() / all[2].back());
    all[4].push_back(all[0].back() / all[2].back());
  }
  if (rank != 0) return;
  std::printf("| %zu KiB | %.3f ms | %.3f ms | %.3f ms | %.2f (%.2f–%.2f) | %.2f (%.2f–%.2f) |\n",
              bytes >> 10, 1e3 * quantile(all[0], 0.5), 1e3 * quantile(all[1], 0.5),
              1e3 * quantile(all[2], 0.5), quantile(all[3], 0.5), quantile(all[3], 0.25),
              quantile(all[3], 0.75), quantile(all[4], 0.5), quantile(all[4], 0.25), quantile(all[4], 0.75));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls_before = argc > 1 ? std::atoi(argv[1]) : 200;
  const int turns = argc > 2 ? std::atoi(argv[2]) : 21;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    std::fprintf(stderr, "%s: wants two ranks\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const Connection connection(rank);
  if (rank == 0) {
    std::puts(
        "| size | bare connection | library | Stretto | library / Stretto | bare / Stretto |\n"
        "| --- | --- | --- | --- | --- | --- |");
  }
  for (std::size_t bytes = 64 << 10; bytes <= std::size_t{64} << 20; bytes *= 4)
    measure(connection, rank, bytes, bytes < 4 << 20 ? calls_before : calls_before / 3, turns);
  MPI_Finalize();
}

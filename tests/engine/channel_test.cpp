// SPDX-License-Identifier: Apache-2.0
// How the tags of a library are divided among channels.
#include "engine/messages/channel.hpp"
#include "mpi_check.hpp"

int main(int argc, char** argv) {
  stretto::test::begin(&argc, &argv);
  using stretto::ChannelPool;
  constexpr int plenty = 2147483647;
  constexpr int of_ucx = 8388607;  // Open MPI over UCX
  STRETTO_CHECK(ChannelPool::tags_for(plenty, 4096) == 256);
  STRETTO_CHECK(ChannelPool::tags_for(plenty, 1 << 20) == 32);
  // More communicators than Open MPI itself has.
  STRETTO_CHECK(of_ucx / ChannelPool::tags_for(of_ucx, 2) >= 65536);
  // Each rank has some.
  STRETTO_CHECK(of_ucx / ChannelPool::tags_for(of_ucx, 4096) / 4096 >= 63);
  STRETTO_CHECK(ChannelPool::tags_for(32767, 2) == 16);
  MPI_Finalize();
}

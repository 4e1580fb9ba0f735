// SPDX-License-Identifier: Apache-2.0
// More elements and bytes than an int can count: in place, with elements of one byte, on two ranks.
#include <cstdint>
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/execution/schedule_execution.hpp"
#include "mpi_check.hpp"

int main(int argc, char** argv) {
  using namespace stretto;
  using namespace stretto::test;
  begin(&argc, &argv);
  const std::size_t count = (std::size_t{1} << 31) + 5;
  const auto value = [](int rank, std::size_t i) {
    return static_cast<std::uint8_t>((i ^ (i >> 9) ^ (i >> 20)) + static_cast<std::size_t>(rank));
  };
  std::vector<std::uint8_t> data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = value(world_rank, i);
  const Recipe ring = usual_recipe(*find_algorithm(Collective::allreduce, "ring"));
  ScheduleExecution execution(make_transport(mpi.comm_world), nullptr,
                              build(ring, Topology::flat(2), 0, world_rank), Pipelining{.window = 1});
  Call call = Call::whole(data.data(), data.data(), count, find_element(mpi.uint8_t, mpi.sum).value());
  call.in_place = true;
  STRETTO_CHECK(run_to_end(execution, call) == MPI_SUCCESS);
  for (std::size_t i = 0; i < count; ++i) {
    STRETTO_CHECK(data[i] == static_cast<std::uint8_t>(value(0, i) + value(1, i)));
  }
  MPI_Finalize();
  return EXIT_SUCCESS;
}

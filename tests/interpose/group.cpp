// SPDX-License-Identifier: Apache-2.0
// The interface for frameworks under MPI, which Stretto initializes and finalizes.
#include "check.hpp"
//
#include "group_parts.hpp"

int main() {
  CHECK(CALL(stretto_group_interface)() == STRETTO_GROUP_INTERFACE);
  CHECK(CALL(stretto_begin)() == 0, CALL(stretto_error)());
  CHECK(CALL(stretto_begin)() == 0);
  CHECK(CALL(stretto_find_place)(&place) == 0);
  CHECK(place.rank == world_rank() && place.ranks == size_of(MPI_COMM_WORLD) &&
        place.local_ranks == place.ranks);
  check_groups();
  if (place.rank == 0) std::puts("right");
  return 0;
}

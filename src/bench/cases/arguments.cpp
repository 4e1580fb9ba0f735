// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/arguments.hpp"

namespace stretto::bench {

Arguments::Arguments(const Role& role, const Element& element)
    : role_(role),
      type_(element.datatype),
      types_(std::vector<MPI_Datatype>(static_cast<std::size_t>(role.ranks), element.datatype)) {
  // MPI_Alltoallw takes the begin of each part in bytes.
  const std::size_t unit = role.collective == Collective::alltoallw ? element.size : 1;
  for (int rank = 0; rank < role.ranks; ++rank) {
    blocks_.add(role.block_count(rank), role.block_begin(rank));
    if (!is_alltoall(role.collective)) continue;
    sent_.add(role.part_count(role.rank, rank), unit * role.part_begin_in_input(role.rank, rank));
    received_.add(role.part_count(rank, role.rank), unit * role.part_begin_in_output(rank, role.rank));
  }
}

}  // namespace stretto::bench

// SPDX-License-Identifier: Apache-2.0
// The lengths below which calls are the MPI library's. Calls that are too short are not even looked at, so a
// floor that is too high would take them away from the table.
#include "select/floors.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "select/rule.hpp"
#include "select/spec.hpp"

namespace stretto {
namespace {

constexpr auto every_nodes = {1, 3};

/// A table in which a row for blocking allreduces begins at so many bytes.
Table table_from(std::size_t bytes) {
  Table table;
  Table::Row row;
  row.from = bytes;
  row.spec = parse_spec(Collective::allreduce, "ring");
  Table::Shape& shape = table.shapes.emplace_back();
  shape.rows[static_cast<std::size_t>(Form::blocking)][static_cast<std::size_t>(Collective::allreduce)]
      .push_back(row);
  return table;
}

std::size_t choice_with(const Table* table, int nodes) {
  // Without learning, of which several nodes have a floor of their own.
  const FloorFacts facts{.table = table, .shares_memory = false, .max_ppn = 2, .learns = false};
  return floors_of(nodes, 6, facts).choice_of(Collective::allreduce, Form::blocking);
}

TEST(Floors, ATableLowersThem) {
  for (const int nodes : every_nodes) {
    const std::size_t of_rule = native_floor(Collective::allreduce);
    ASSERT_GT(of_rule, 1U);
    EXPECT_EQ(choice_with(nullptr, nodes), of_rule);
    const Table lower = table_from(of_rule - 1);
    EXPECT_EQ(choice_with(&lower, nodes), of_rule - 1);
    const Table zero = table_from(0);
    EXPECT_EQ(choice_with(&zero, nodes), 0U);
  }
}

/// The rule decides on communicators whose shape is not in the table.
TEST(Floors, ATableDoesNotRaiseThem) {
  const Table higher = table_from(native_floor(Collective::allreduce) + 1);
  for (const int nodes : every_nodes) EXPECT_EQ(choice_with(&higher, nodes), choice_with(nullptr, nodes));
}

TEST(Floors, BarriersAreNotCompared) {
  for (const int nodes : every_nodes)
    EXPECT_EQ(floors_of(nodes, 6, {.max_ppn = 2}).comparison_of(Collective::barrier), SIZE_MAX);
}

/// A call below these floors is too short on any communicator of the job.
TEST(Floors, TheLowestOnesAreBelowThoseOfEachCommunicator) {
  const Table table = table_from(3);
  for (const int ppn : {1, 2, 4}) {
    for (const int nodes : every_nodes) {
      std::vector<int> labels;
      for (int rank = 0; rank < nodes * ppn; ++rank) labels.push_back(rank / ppn);
      for (const Table* used : {static_cast<const Table*>(nullptr), &table}) {
        const FloorFacts facts{.table = used, .max_ppn = ppn};
        const Floors lowest = lowest_floors(Topology::from_labels(labels), facts);
        const auto expect_below = [&](const Floors& floors) {
          for (const Collective collective : collectives) {
            for (const Form form : forms)
              EXPECT_LE(lowest.choice_of(collective, form), floors.choice_of(collective, form));
          }
        };
        for (int ranks = 2; ranks <= ppn; ++ranks) expect_below(floors_of(1, ranks, facts));
        for (int of = 2; of <= nodes; ++of) expect_below(floors_of(of, of * ppn, facts));
      }
    }
  }
}

}  // namespace
}  // namespace stretto

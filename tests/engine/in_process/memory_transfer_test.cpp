// SPDX-License-Identifier: Apache-2.0
// Messages of elements of all sizes. If the store is full, elements larger than a line go in parts.
#include "engine/messages/memory_transfer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "../../transport/node.hpp"
#include "transport/piece_size.hpp"

namespace stretto::test {
namespace {

Element element_of(std::ptrdiff_t bytes) {
  Element element;
  element.size = element.extent = element.true_extent = bytes;
  return element;
}

/// Passes a message from rank 0 to rank 1. Returns how many elements came at once, at most.
std::size_t pass(Node& node, const Element& element, std::size_t count) {
  std::vector<std::byte> sent(element.span(count));
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 13 + i / 256);
  std::vector<std::byte> received(sent.size());
  MemoryTransfer sends(node[0], 0, 1, count);
  MemoryTransfer receives(node[1], 0, 0, count);
  std::size_t most = 0;
  int error = MPI_SUCCESS;
  while (!sends.ended() || !receives.ended()) {
    const bool has_sent = sends.send(element, sent.data(), false, false, error);
    const bool has_received = receives.receive(
        element,
        [&](std::size_t first, std::size_t arrived, const std::byte* data) {
          most = std::max(most, arrived);
          return element.copy(received.data() + element.distance() * first, data, arrived);
        },
        error);
    if (!has_sent && !has_received) {
      ADD_FAILURE() << "nothing moves";
      break;
    }
  }
  EXPECT_EQ(error, MPI_SUCCESS);
  EXPECT_EQ(sent, received);
  return most;
}

/// Fills the store of rank 0 with pieces for rank 2, which never takes them.
void fill_store(Node& node) {
  constexpr std::array nobody{2};
  while (node[0].reserve(1, nobody, 4096).offset != PieceHead::in_line) {
  }
}

void pass_all_sizes(bool is_full) {
  for (const std::size_t bytes : {1U, 48U, 49U, 56U, 1000U, 4096U}) {
    for (const std::size_t count : {1U, 2U, 7U, 300U}) {
      Node node(3);
      if (is_full) fill_store(node);
      const std::size_t most = pass(node, element_of(static_cast<std::ptrdiff_t>(bytes)), count);
      if (is_full) {
        EXPECT_LE(most * bytes, std::max(Line::room, bytes));
      } else {
        EXPECT_EQ(most, std::min(count, bytes_of_piece(count * bytes) / bytes));
      }
    }
  }
}

/// Data that another process wrote are not trusted.
TEST(MemoryTransfer, DoesNotTrustAPartThatIsTheLast) {
  Node node(2);
  constexpr std::array reader{1};
  node[0].publish(0, reader, node[0].reserve(0, reader, 8), 8, PieceHead::last);
  MemoryTransfer receives(node[1], 0, 0, 1);
  int error = MPI_SUCCESS;
  receives.receive(
      element_of(56), [](std::size_t, std::size_t, const std::byte*) { return MPI_SUCCESS; }, error);
  EXPECT_EQ(error, mpi.err_other);
  EXPECT_TRUE(receives.ended());
}

TEST(MemoryTransfer, PassesElementsOfAllSizes) {
  pass_all_sizes(false);
}

TEST(MemoryTransfer, PassesElementsInPartsIfTheStoreIsFull) {
  pass_all_sizes(true);
}

TEST(MemoryTransfer, TakesElementsOfUpToAPage) {
  EXPECT_TRUE(may_cross_memory(element_of(4096)));
  EXPECT_FALSE(may_cross_memory(element_of(4097)));
}

}  // namespace
}  // namespace stretto::test

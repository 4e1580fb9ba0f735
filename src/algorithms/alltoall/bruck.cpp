// SPDX-License-Identifier: Apache-2.0
// Bruck's algorithm for alltoall (Bruck, Ho, Kipnis, Upfal and Weathersby 1997), with any radix r. A block
// that must travel j places ahead takes a step of d·r^i for each digit d of j. In round i a rank sends all
// blocks with the same digit d in one message, r-1 messages in all: ⌈log_r p⌉ rounds for any p, and each
// block is sent once for each digit that is not 0. It takes few messages and more bytes, which suits short
// blocks.
//
// An alltoallv walks the schedule twice, first with lengths. This is two-phase Bruck (Fan, Gilray, Kumar and
// others 2022), and TuNA with other radixes (Fan and others 2024), but for all rounds at once.
//
// There is no rotation and no unpacking: the place of each block is known, and each message is packed from
// there. No scratch block is written twice. For p = 32768 and radix 2 a schedule takes 3.4 MB.
#include <vector>

#include "algorithms/alltoall/alltoall.hpp"

namespace stretto::alltoall {

Schedule bruck(const Task& task, int rank) {
  const int p = task.ranks();
  const int radix = task.radix;
  Schedule schedule(p, rank, p);
  // [places to travel] where the block lies now.
  std::vector<int> scratch_block(static_cast<std::size_t>(p), -1);  // -1: still in the input
  const auto copy_all = [&](Buffer into, const std::vector<int>& blocks, const std::vector<int>& distances) {
    std::vector<int> to;
    std::vector<int> from_input;
    std::vector<int> from_scratch;
    const auto flush = [&] {
      const bool is_input = !from_input.empty();
      schedule.copy_each(into, to, is_input ? Buffer::input : Buffer::scratch,
                         is_input ? from_input : from_scratch);
      to.clear();
      from_input.clear();
      from_scratch.clear();
    };
    for (std::size_t i = 0; i < distances.size(); ++i) {
      const int at = scratch_block[static_cast<std::size_t>(distances[i])];
      if (!(at < 0 ? from_scratch : from_input).empty()) flush();
      to.push_back(blocks[i]);
      (at < 0 ? from_input : from_scratch).push_back(at < 0 ? (rank + distances[i]) % p : at);
    }
    flush();
  };

  for (std::int64_t weight = 1; weight < p; weight *= radix) {
    struct Message {
      int step = 0;
      int packed = 0;
      std::vector<int> distances;
    };
    std::vector<Message> messages;
    for (std::int64_t digit = 1; digit < radix && digit * weight < p; ++digit) {
      Message one{.step = static_cast<int>(digit * weight), .distances = {}};
      for (int distance = one.step; distance < p; ++distance) {
        if (distance / weight % radix == digit) one.distances.push_back(distance);
      }
      one.packed = add_blocks(schedule, static_cast<int>(one.distances.size()));
      std::vector<int> places;
      for (std::size_t i = 0; i < one.distances.size(); ++i)
        places.push_back(one.packed + static_cast<int>(i));
      copy_all(Buffer::scratch, places, one.distances);
      messages.push_back(std::move(one));
    }
    schedule.end_round();
    for (const Message& one : messages) {
      const auto count = static_cast<int>(one.distances.size());
      const int arrived = add_blocks(schedule, count);
      schedule.send(scratch(one.packed, count), (rank + one.step) % p);
      schedule.recv(scratch(arrived, count), (rank + p - one.step) % p);
      for (int i = 0; i < count; ++i) {
        scratch_block[static_cast<std::size_t>(one.distances[static_cast<std::size_t>(i)])] = arrived + i;
      }
    }
    schedule.end_round();
  }
  // A block that has travelled j places comes from j places behind.
  std::vector<int> sources;
  std::vector<int> distances;
  for (int distance = 0; distance < p; ++distance) {
    sources.push_back((rank + p - distance) % p);
    distances.push_back(distance);
  }
  copy_all(Buffer::output, sources, distances);
  return schedule.end_round();
}

}  // namespace stretto::alltoall

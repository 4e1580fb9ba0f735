// SPDX-License-Identifier: Apache-2.0
// Recursive doubling (Hillis and Steele 1986): in round i a rank sends its value to the rank 2^i places ahead
// and puts the value that arrives from 2^i places behind on the left of its own. After the round it has the
// contributions of 2^(i+1) ranks up to itself, or of all. ⌈log2 p⌉ rounds of the whole message for any p.
//
// exscan: first every rank passes its contribution on to the next one. Then the contributions that have
// arrived are scanned.
#include <array>
#include <cstddef>

#include "algorithms/scan/scan.hpp"

namespace stretto::scan {
namespace {

/// Appends a scan of the values that the ranks from `lowest` on have at `mine`; the result ends in the
/// output.
void append(Schedule& schedule, int lowest, Slice mine) {
  const int p = schedule.ranks();
  const int rank = schedule.rank();
  // Values take turns between two scratch blocks: one is sent while the next one is made. The last goes to
  // the output, unless that may be the input, which is just being sent.
  std::array<int, 2> values{-1, -1};
  std::size_t turn = 0;
  for (int distance = 1; distance < p - lowest; distance *= 2) {
    const bool sends = rank + distance < p;
    if (sends) schedule.send(mine, rank + distance);
    if (rank - distance >= lowest) {
      const bool is_last = rank - 2 * distance < lowest;
      Slice next = output(0);
      if (!is_last || (sends && mine.buffer == Buffer::input)) {
        int& value = values.at(turn);
        if (value < 0) value = schedule.add_scratch(0);
        turn = 1 - turn;
        next = scratch(value);
      }
      schedule.recv_reduce(next, mine, rank - distance, Side::left);
      mine = next;
    }
    schedule.end_round();
  }
  schedule.copy(output(0), mine).end_round();
}

}  // namespace

Schedule recursive_doubling(const Task& task, int rank) {
  Schedule schedule(task.ranks(), rank, 1);
  append(schedule, 0, input(0));
  return schedule;
}

Schedule recursive_doubling_exclusive(const Task& task, int rank) {
  const int p = task.ranks();
  Schedule schedule(p, rank, 1);
  if (rank + 1 < p) schedule.send(input(0), rank + 1);
  if (rank == 0) return schedule.end_round();
  const Slice before = scratch(schedule.add_scratch(0));
  schedule.recv(before, rank - 1).end_round();
  append(schedule, 1, before);
  return schedule;
}

}  // namespace stretto::scan

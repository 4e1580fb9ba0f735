// SPDX-License-Identifier: Apache-2.0
// The k-nomial tree; the binomial tree (radix 2) and the flat tree (radix p) are special cases. Number the
// ranks from the root on and write the number in base `radix`: the parent of a rank is the number whose
// lowest non-zero digit is made 0. So a rank receives once, then sends to radix-1 subtrees in each round,
// the largest first.
//
// ⌈log_radix(p)⌉ rounds of the whole message. A round of the root takes radix-1 messages, which share its
// link: a radix above 2 pays while start-up dominates. The flat tree is one round of p-1 messages, for few
// ranks.
//
// Each round of sends ends before the next begins: the largest subtree, on the critical path, gets the whole
// link. Source: textbook (binomial: Thakur, Rabenseifner, Gropp 2005, section 4.2).
#include <algorithm>

#include "algorithms/bcast/bcast.hpp"

namespace stretto::bcast {
namespace {

Schedule tree(const Task& task, int rank, int radix) {
  const int p = task.ranks();
  Schedule schedule(p, rank, 1);
  const int me = (rank - task.root + p) % p;
  const auto rank_of = [&](int number) { return (number + task.root) % p; };

  int span = 1;  // ranks of each subtree to which a rank sends in a round
  while (span < p && me / span % radix == 0) span *= radix;
  if (me != 0) schedule.recv(output(0), rank_of(me - me / span % radix * span)).end_round();
  for (span /= radix; span > 0; span /= radix) {
    const int end = std::min(me + radix * span, p);
    for (int child = me + span; child < end; child += span) schedule.send(output(0), rank_of(child));
    schedule.end_round();
  }
  return schedule;
}

}  // namespace

Schedule binomial(const Task& task, int rank) {
  return tree(task, rank, 2);
}

Schedule knomial(const Task& task, int rank) {
  return tree(task, rank, task.radix);
}

Schedule linear(const Task& task, int rank) {
  return tree(task, rank, std::max(task.ranks(), 2));
}

}  // namespace stretto::bcast

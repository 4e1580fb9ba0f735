// SPDX-License-Identifier: Apache-2.0
#include "verify/verify.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "verify/round_conflicts.hpp"
#include "verify/symbolic_run.hpp"

namespace stretto {
namespace {

/// The postcondition of an allreduce: one expression a block, the same everywhere, with every rank in it
/// once.
void check_allreduce(const SymbolicRun& run, int ranks, int blocks, Proof& proof) {
  std::vector<int> everyone(static_cast<std::size_t>(ranks));
  std::iota(everyone.begin(), everyone.end(), 0);
  for (int block = 0; block < blocks; ++block) {
    const Expressions::Id result = run.value(0, output(block));
    for (int rank = 0; rank < ranks; ++rank) {
      const Expressions::Id here = run.value(rank, output(block));
      const std::string where = "rank " + std::to_string(rank) + ": block " + std::to_string(block);
      if (here == Expressions::undefined) {
        proof.error = where + " of the output is never written";
      } else if (run.expressions()[here].block != block) {
        proof.error = where + " ends with block " + std::to_string(run.expressions()[here].block);
      } else if (run.expressions()[here].contributions != ranks) {
        proof.error = where + " ends with " + std::to_string(run.expressions()[here].contributions) +
                      " contributions instead of " + std::to_string(ranks);
      } else if (here != result) {
        proof.error = where + " ends with another expression than on rank 0, so its bits may differ";
      }
      if (!proof.holds()) return;
    }
    if (run.expressions()[result].in_rank_order) continue;
    proof.keeps_order = false;
    std::vector<int> found = run.expressions().ranks_in(result);
    std::sort(found.begin(), found.end());
    if (found != everyone) {
      proof.error = "block " + std::to_string(block) + " holds a contribution twice and misses another";
      return;
    }
  }
}

void count_work(std::span<const Schedule> schedules, Proof& proof) {
  for (const Schedule& schedule : schedules) {
    int rounds = 0;
    std::int64_t messages = 0;
    std::int64_t blocks = 0;
    for (int i = 0; i < schedule.rounds(); ++i) {
      const auto round = schedule.round(i);
      rounds += std::any_of(round.begin(), round.end(), [](const Action& a) { return a.communicates(); });
      for (const Action& action : round) {
        if (action.kind != Kind::send) continue;
        ++messages;
        blocks += action.left.count;
      }
    }
    proof.rounds = std::max(proof.rounds, rounds);
    proof.messages_sent = std::max(proof.messages_sent, messages);
    proof.blocks_sent = std::max(proof.blocks_sent, blocks);
  }
}

}  // namespace

Proof verify(Collective collective, std::span<const Schedule> schedules, Placement placement) {
  Proof proof;
  for (std::size_t rank = 0; rank < schedules.size() && proof.holds(); ++rank) {
    const Schedule& schedule = schedules[rank];
    if (schedule.rank() != static_cast<int>(rank) || schedule.ranks() != static_cast<int>(schedules.size()) ||
        schedule.blocks() != schedules[0].blocks()) {
      proof.error =
          "rank " + std::to_string(rank) + ": its schedule is for another rank, number of ranks or blocks";
    } else {
      proof.error = find_round_conflict(schedule, placement);
    }
  }
  if (!proof.holds()) return proof;

  SymbolicRun run(schedules, placement);
  proof.error = run.execute();
  if (!proof.holds()) return proof;

  switch (collective) {
    case Collective::allreduce:
      check_allreduce(run, static_cast<int>(schedules.size()), schedules[0].blocks(), proof);
      break;
  }
  count_work(schedules, proof);
  return proof;
}

Proof verify(const Algorithm& algorithm, const Topology& topology) {
  std::vector<Schedule> schedules;
  schedules.reserve(static_cast<std::size_t>(topology.ranks()));
  for (int rank = 0; rank < topology.ranks(); ++rank) schedules.push_back(algorithm.build(topology, rank));

  Proof proof;
  for (const Placement placement : {Placement::out_of_place, Placement::in_place}) {
    proof = verify(algorithm.collective, schedules, placement);
    if (proof.holds() && proof.keeps_order != algorithm.keeps_order(topology)) {
      proof.error = proof.keeps_order ? "it keeps rank order, though the registry denies it"
                                      : "it does not keep rank order, though the registry claims it";
    }
    if (!proof.holds()) {
      proof.error = std::string(algorithm.name) + " on " + std::to_string(topology.ranks()) + " ranks" +
                    (placement == Placement::in_place ? ", in place: " : ": ") + proof.error;
      return proof;
    }
  }
  return proof;
}

}  // namespace stretto

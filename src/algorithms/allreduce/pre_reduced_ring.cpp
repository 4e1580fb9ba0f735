// SPDX-License-Identifier: Apache-2.0
// Pre-reduced ring: for one rank that comes late. The other q = p-1 ranks are prompt: while they wait, they
// reduce what they have, and each owns a part of the message. When the late rank comes, it sends its
// contributions to the owners, one block after the other. Each owner adds a block to its own, and sends the
// result around the ring of the prompt ranks, whose last one sends it to the late rank. The ring goes against
// the order in which the late rank turns to the owners; so each rank has about one block to pass on in each
// step, from one rank to one rank, as in a ring.
//
// From then on n bytes leave and reach each rank, and there are q (m+1) steps for m blocks of each owner. An
// allreduce in which all ranks own parts begins when the last one comes, and takes 2(p-1)/p times n bytes. If
// nobody is late, this one takes 2 - 1/q times n bytes.
//
// The late rank's contribution is added last, so rank order is kept if it is the first or the last rank.
//
// Source: the idea is that of Proficz 2018 ("Improving all-reduce collective operations for imbalanced
// process arrival patterns"); the schedule is ours.
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/lanes.hpp"

namespace stretto::allreduce {
namespace {

/// Returns the number of blocks of each owner. There are many, so that the first and the last ones pass
/// quickly.
int blocks_of_owner(int owners) {
  return std::clamp(4096 / owners, 2, 32);
}

/// The second phase. In step t < q m the late rank sends block t / q of owner t % q. The owner sends it on in
/// the next step, and so do the prompt ranks after it.
class Steps {
 public:
  Steps(const Lanes& prompt, int late, int blocks) : prompt_(prompt), late_(late), blocks_(blocks) {}

  void append_as_late(Schedule& schedule) const {
    const int q = prompt_.size();
    for (int step = 0; step < end(); ++step) {
      if (is_sent(step)) schedule.send(block(Buffer::input, step), prompt_.rank(step % q));
      // The last prompt rank that it passes is the one behind its owner.
      if (is_sent(step - q)) schedule.recv(block(Buffer::output, step - q), prompt_.rank((step + 1) % q));
      schedule.end_round();
    }
  }

  void append_as_prompt(Schedule& schedule) const {
    const int q = prompt_.size();
    const Side side = late_ == 0 ? Side::left : Side::right;
    const Buffer so_far = q == 1 ? Buffer::input : Buffer::output;
    for (int step = 0; step < end(); ++step) {
      if (is_sent(step) && step % q == prompt_.me)
        schedule.recv_reduce(block(Buffer::output, step), block(so_far, step), late_, side);
      for (const int way : ways(step, prompt_.me)) {
        if (way < q) schedule.recv(block(Buffer::output, step - way), prompt_.rank(prompt_.ahead(1)));
      }
      for (const int way : ways(step, prompt_.me - 1)) {
        const int to = way < q ? prompt_.rank(prompt_.back(1)) : late_;
        schedule.send(block(Buffer::output, step - way), to);
      }
      schedule.end_round();
    }
  }

 private:
  [[nodiscard]] int end() const { return prompt_.size() * (blocks_ + 1); }
  [[nodiscard]] bool is_sent(int step) const { return step >= 0 && step < prompt_.size() * blocks_; }
  /// The block that the late rank sends in a step.
  [[nodiscard]] Slice block(Buffer buffer, int step) const {
    const int q = prompt_.size();
    return {buffer, step % q * blocks_ + step / q, 1};
  }
  /// Returns for how many steps each block has been on its way that the rank at place l receives in step t.
  /// The rank at l+1 sends it.
  [[nodiscard]] std::vector<int> ways(int step, int place) const {
    const int q = prompt_.size();
    std::vector<int> all;
    for (int twice = ((step - place) % q + q) % q; twice <= 2 * q; twice += q) {
      if (twice > 0 && twice % 2 == 0 && is_sent(step - twice / 2)) all.push_back(twice / 2);
    }
    return all;
  }

  const Lanes& prompt_;
  int late_;
  int blocks_;
};

}  // namespace

Schedule pre_reduced_ring(const Task& task, int rank) {
  const int p = task.ranks();
  const int late = task.late % p;
  std::vector<int> ranks(static_cast<std::size_t>(p));
  std::iota(ranks.begin(), ranks.end(), 0);
  ranks.erase(ranks.begin() + late);
  const int blocks = blocks_of_owner(p - 1);
  const Lanes prompt{
      .ranks = ranks, .me = rank > late ? rank - 1 : rank, .begins = Lanes::alike(p - 1, blocks)};
  const Steps steps(prompt, late, blocks);
  Schedule schedule(p, rank, prompt.blocks());
  if (rank == late) {
    steps.append_as_late(schedule);
  } else {
    prompt.append_reduce_scatter(schedule);
    steps.append_as_prompt(schedule);
  }
  return schedule;
}

bool pre_reduced_ring_keeps_order(const Task& task) {
  const int late = task.late % task.ranks();
  return late == 0 || late == task.ranks() - 1;
}

}  // namespace stretto::allreduce

// SPDX-License-Identifier: Apache-2.0
#include "verify/results.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace stretto {
namespace {

class Results {
 public:
  Results(const Problem& problem, const Symmetry& symmetry, SymbolicRun& run, Proof& proof)
      : problem_(problem), symmetry_(symmetry), ranks_(symmetry.ranks), run_(run), proof_(proof) {}

  void check() {
    for (int block = 0; block < symmetry_.blocks && proof_.holds(); ++block) check_block(block);
    if (problem_.collective != Collective::barrier) return;
    for (int rank = 0; rank < symmetry_.period && proof_.holds(); ++rank) {
      if (const int missing = run_.first_unknown(rank); missing < ranks_) {
        fail(rank, 0, "does not wait for rank " + std::to_string(missing));
      }
    }
  }

 private:
  /// The ranks on which the block is a result.
  [[nodiscard]] std::pair<int, int> ranks_with(int block) const {
    switch (problem_.collective) {
      case Collective::reduce:
      case Collective::gather:
      case Collective::gatherv:
        return {problem_.root, problem_.root + 1};
      case Collective::reduce_scatter:
      case Collective::scatter:
      case Collective::scatterv:
        return {block, block + 1};
      case Collective::exscan:
        return {1, std::max(1, ranks_)};
      case Collective::barrier:
        return {0, 0};
      default:
        return {0, ranks_};
    }
  }

  /// Returns how many ranks contribute to a result. They are the lowest ones.
  [[nodiscard]] int contributors(int rank) const {
    if (problem_.collective == Collective::scan) return rank + 1;
    return problem_.collective == Collective::exscan ? rank : ranks_;
  }

  void check_block(int block) {
    const auto [first, all_end] = ranks_with(block);
    const int end = std::min(all_end, symmetry_.period);
    const bool is_common = is_reduction(problem_.collective) && !is_scan(problem_.collective);
    for (int rank = first; rank < end && proof_.holds(); ++rank) {
      check_one(rank, block, run_.value(rank, output(block)));
      if (!proof_.holds() || !is_reduction(problem_.collective)) continue;
      if (is_scan(problem_.collective)) check_expression(rank, block);
      if (is_common) check_is_same(rank, first, block);
      if (is_common && all_end > end) check_after_a_turn(rank, block);
    }
    if (is_common && first < end && proof_.holds()) check_expression(first, block);
  }

  void check_is_same(int rank, int first, int block) {
    if (run_.value(rank, output(block)) == run_.value(first, output(block))) return;
    fail(rank, block,
         "is a different expression from that on rank " + std::to_string(first) + ", so its bits may differ");
  }

  /// The next rank that behaves like this one has the same result.
  void check_after_a_turn(int rank, int block) {
    const Expressions::Value before = run_.value(rank, output(symmetry_.turned_block(block, -1)));
    if (run_.expressions().turned(before, 1) == run_.value(rank, output(block))) return;
    fail(rank, block,
         "may be a different expression from that on rank " + std::to_string(symmetry_.turned_rank(rank, 1)) +
             ", so its bits may differ");
  }

  void check_expression(int rank, int block) {
    const Expressions::Value result = run_.value(rank, output(block));
    proof_.has_fixed_tree =
        proof_.has_fixed_tree && symmetry_.is_none() && result == run_.fixed_tree(block, contributors(rank));
    if (run_.expressions()[result].in_rank_order) return;
    proof_.keeps_order = false;
    // Turned results hold the same number of different contributions.
    if (!symmetry_.is_none() && result.id == complete_) return;
    if (const int missing = first_missing(result); missing < contributors(rank)) {
      fail(rank, block, "holds a contribution twice, and lacks that of rank " + std::to_string(missing));
    }
    complete_ = result.id;
  }

  /// Returns the lowest rank whose contribution an expression lacks; the number of ranks if it has all.
  [[nodiscard]] int first_missing(Expressions::Value value) const {
    std::vector<bool> found(static_cast<std::size_t>(ranks_) + 1);
    for (const int rank : run_.expressions().ranks_in(value)) found[static_cast<std::size_t>(rank)] = true;
    return static_cast<int>(std::ranges::find(found, false) - found.begin());
  }

  void check_one(int rank, int block, Expressions::Value here) {
    if (!here.is_defined()) {
      fail(rank, block, "of the output is never written");
    } else if (is_alltoall(problem_.collective)) {
      if (here != run_.contribution(block, rank)) {
        fail(rank, block, "is not what rank " + std::to_string(block) + " has for it");
      }
    } else if (const int found = run_.expressions().block_of(here); found != block) {
      fail(rank, block, "holds block " + std::to_string(found));
    } else if (is_reduction(problem_.collective)) {
      const auto count = run_.expressions()[here].contributions;
      const int wanted = contributors(rank);
      if (count < wanted) {
        fail(rank, block, "lacks the contribution of rank " + std::to_string(first_missing(here)));
      } else if (count > wanted) {
        fail(rank, block,
             "holds " + std::to_string(count) + " contributions, but there are " + std::to_string(wanted) +
                 " ranks");
      }
    } else {
      const bool from_root = problem_.collective == Collective::bcast || is_scatter(problem_.collective);
      const int source = from_root ? problem_.root : block;
      if (here != run_.contribution(source, block)) {
        fail(rank, block, "is not what rank " + std::to_string(source) + " has");
      }
    }
  }

  void fail(int rank, int block, const std::string& what) {
    proof_.error = "rank " + std::to_string(rank) + ": block " + std::to_string(block) + " " + what;
  }

  const Problem& problem_;
  const Symmetry& symmetry_;
  int ranks_;
  SymbolicRun& run_;
  Proof& proof_;
  Expressions::Id complete_ = Expressions::undefined;  // holds each contribution once
};

}  // namespace

void check_results(const Problem& problem, const Symmetry& symmetry, SymbolicRun& run, Proof& proof) {
  Results(problem, symmetry, run, proof).check();
}

}  // namespace stretto

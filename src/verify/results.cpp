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
  Results(const Problem& problem, std::span<const Schedule> schedules, SymbolicRun& run, Proof& proof)
      : problem_(problem),
        ranks_(static_cast<int>(schedules.size())),
        blocks_(schedules[0].blocks()),
        run_(run),
        proof_(proof) {}

  void check() {
    for (int block = 0; block < blocks_ && proof_.holds(); ++block) check_block(block);
    if (problem_.collective != Collective::barrier) return;
    for (int rank = 0; rank < ranks_ && proof_.holds(); ++rank) {
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
    const auto [first, end] = ranks_with(block);
    for (int rank = first; rank < end && proof_.holds(); ++rank) {
      check_one(rank, block, run_.value(rank, output(block)));
      if (!proof_.holds() || !is_reduction(problem_.collective)) continue;
      if (is_scan(problem_.collective)) check_expression(rank, block);
      if (!is_scan(problem_.collective) &&
          run_.value(rank, output(block)) != run_.value(first, output(block))) {
        fail(rank, block,
             "is a different expression from that on rank " + std::to_string(first) +
                 ", so its bits may differ");
      }
    }
    const bool is_common = is_reduction(problem_.collective) && !is_scan(problem_.collective);
    if (is_common && proof_.holds()) check_expression(first, block);
  }

  void check_expression(int rank, int block) {
    const Expressions::Id result = run_.value(rank, output(block));
    proof_.has_fixed_tree = proof_.has_fixed_tree && result == run_.fixed_tree(block, contributors(rank));
    if (run_.expressions()[result].in_rank_order) return;
    proof_.keeps_order = false;
    if (const int missing = first_missing(result); missing < contributors(rank)) {
      fail(rank, block, "holds a contribution twice, and lacks that of rank " + std::to_string(missing));
    }
  }

  /// Returns the lowest rank whose contribution an expression lacks; the number of ranks if it has all.
  [[nodiscard]] int first_missing(Expressions::Id id) const {
    std::vector<bool> found(static_cast<std::size_t>(ranks_) + 1);
    for (const int rank : run_.expressions().ranks_in(id)) found[static_cast<std::size_t>(rank)] = true;
    return static_cast<int>(std::ranges::find(found, false) - found.begin());
  }

  void check_one(int rank, int block, Expressions::Id here) {
    if (here == Expressions::undefined) {
      fail(rank, block, "of the output is never written");
    } else if (is_alltoall(problem_.collective)) {
      if (here != run_.contribution(block, rank)) {
        fail(rank, block, "is not what rank " + std::to_string(block) + " has for it");
      }
    } else if (run_.expressions()[here].block != block) {
      fail(rank, block, "holds block " + std::to_string(run_.expressions()[here].block));
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
  int ranks_;
  int blocks_;
  SymbolicRun& run_;
  Proof& proof_;
};

}  // namespace

void check_results(const Problem& problem, std::span<const Schedule> schedules, SymbolicRun& run,
                   Proof& proof) {
  Results(problem, schedules, run, proof).check();
}

}  // namespace stretto

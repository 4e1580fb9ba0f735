// SPDX-License-Identifier: Apache-2.0
// The tree is binomial: the parent of a rank is that rank without its lowest bit, so a rank and those
// below it are consecutive. These messages pass over each of its edges:
//
//   Hello    both ways, first    "I am here": from now on the other may wait without a limit
//   Report   up                  the facts about the child and all below it, or which of them are missing
//   Verdict  down                whether all are present, and, if so, the facts for all
//
// All ranks come to the same verdict, and none waits for ever. Only the wait for hellos has a limit, and
// needs one: a rank that has sent a hello always sends a report and a verdict to each neighbour. The verdict
// is yes only if no report names a missing rank. A rank that misses its parent names it in its own report. So
// a rank that comes late, when others have given up, learns of it too.
//
// If a rank is missing, its children are cut off. They need to write the line only if nobody above can. A
// rank that misses a child therefore sends the verdict to all ranks below that child. Of the children of a
// missing rank, the lowest one tells the others that it writes the line.
//
// A rank of another build counts as missing, but it runs, and it knows that this rank is of another build.
// The two send each other nothing but hellos.
#include "interpose/start/start_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "interpose/session/session.hpp"
#include "interpose/start/build_mark.hpp"
#include "interpose/start/early_messages.hpp"
#include "text/hash.hpp"
#include "threads/backoff.hpp"
#include "threads/clock.hpp"

namespace stretto {
namespace {

/// The only message that ranks of different builds take from each other, so it never changes.
struct Hello {
  std::uint64_t mark = hash_of(build_mark);
};
static_assert(sizeof(Hello) == 8);

/// The number of missing ranks, and the first of them.
struct Missing {
  std::int32_t count = 0;
  std::int32_t of_other_builds = 0;  // the number of those that answered
  std::array<std::int32_t, 8> ranks{};

  void add(int rank) {
    if (count < static_cast<int>(ranks.size())) ranks[static_cast<std::size_t>(count)] = rank;
    ++count;
  }
  void add(const Missing& others) {
    const int known = std::min(others.count, static_cast<int>(others.ranks.size()));
    for (int i = 0; i < known; ++i) add(others.ranks[static_cast<std::size_t>(i)]);
    count += others.count - known;
    of_other_builds += others.of_other_builds;
  }
  [[nodiscard]] std::string text() const {
    const auto known = static_cast<std::size_t>(std::min(count, static_cast<int>(ranks.size())));
    std::string text = count == 1 ? "rank" : "ranks";
    for (std::size_t i = 0; i < known; ++i) {
      text += (i == 0                                     ? " "
               : i + 1 == static_cast<std::size_t>(count) ? " and "
                                                          : ", ") +
              std::to_string(ranks[i]);
    }
    if (static_cast<std::size_t>(count) > known) {
      text += " and " + std::to_string(static_cast<std::size_t>(count) - known) + " more";
    }
    return text;
  }
};

struct Verdict {
  std::uint64_t all_there = 0;
  std::uint64_t text_bytes = 0;
};

int parent_of(int rank) {
  return rank & (rank - 1);
}

/// A place in the tree.
struct TreePosition {
  TreePosition(int own_rank, int all_ranks) : rank(own_rank), ranks(all_ranks) {
    const int below = rank == 0 ? ranks : std::min(rank & -rank, ranks - rank);
    end = rank + below;
    for (int step = 1; step < below; step *= 2) children.push_back(rank + step);
  }

  int rank;
  int ranks;
  /// The end of the ranks in its subtree, which begins with this rank.
  int end;
  std::vector<int> children;
};

class Exchange {
 public:
  Exchange(int rank, int ranks, double limit)
      : place_(rank, ranks), limit_(messages_.are_private() ? limit : 0), began_(seconds_now()) {}

  bool run(const RankFacts& own, const std::function<std::string()>& read_text, StartFacts& facts) {
    const int parent = parent_of(place_.rank);
    const Hello hello;
    std::vector<int> neighbours = place_.children;
    if (place_.rank != 0) neighbours.push_back(parent);
    for (const int neighbour : neighbours) messages_.send(neighbour, &hello, sizeof(hello));
    hear(neighbours);
    const bool has_parent = place_.rank == 0 || is_present(parent);
    if (!has_parent) miss(parent);
    const std::vector<RankFacts> known = take_reports(own);
    if (place_.rank != 0 && !is_of_another_build(parent)) report(known);

    Verdict verdict;
    if (place_.rank == 0 && missing_.count == 0) {
      facts.text = read_text();
      verdict = {1, facts.text.size()};
    } else if (place_.rank != 0 && has_parent) {
      take(parent, &verdict, sizeof(verdict));
    }
    for (const int child : place_.children) {
      if (!is_of_another_build(child)) messages_.send(child, &verdict, sizeof(verdict));
    }
    if (verdict.all_there == 0) {
      end_without_all(has_parent || is_of_another_build(parent));
      return false;
    }
    pass_on(known, verdict, facts);
    Backoff backoff;
    while (!messages_.all_sent()) backoff.wait();
    return true;
  }

 private:
  /// Awaits all hellos at once: a message may need both sides to test it, and the limit is the same for
  /// all.
  void hear(const std::vector<int>& neighbours) {
    std::vector<Hello> hellos(neighbours.size());
    std::vector<int> awaited(neighbours.size());
    std::iota(awaited.begin(), awaited.end(), 0);
    Backoff backoff;
    while (!awaited.empty() && (limit_ == 0 || seconds_now() <= began_ + limit_)) {
      std::erase_if(awaited, [&](int index) {
        const auto i = static_cast<std::size_t>(index);
        const bool is_here = messages_.try_receive(neighbours[i], &hellos[i], sizeof(Hello));
        if (is_here) (hellos[i].mark == Hello().mark ? present_ : of_other_builds_).push_back(neighbours[i]);
        return is_here;
      });
      backoff.wait();
    }
  }

  [[nodiscard]] bool is_present(int neighbour) const {
    return std::find(present_.begin(), present_.end(), neighbour) != present_.end();
  }

  [[nodiscard]] bool is_of_another_build(int neighbour) const {
    return std::find(of_other_builds_.begin(), of_other_builds_.end(), neighbour) != of_other_builds_.end();
  }

  void miss(int neighbour) {
    missing_.add(neighbour);
    missing_.of_other_builds += is_of_another_build(neighbour) ? 1 : 0;
  }

  void take(int from, void* message, std::size_t bytes) {
    Backoff backoff;
    while (!messages_.try_receive(from, message, bytes)) backoff.wait();
  }

  /// Returns the facts of this rank and those below it, in order. They are incomplete if ranks are missing.
  std::vector<RankFacts> take_reports(const RankFacts& own) {
    std::vector<RankFacts> known{own};
    for (const int child : place_.children) {
      if (!is_present(child)) {
        miss(child);
        if (!is_of_another_build(child)) cut_off_.push_back(child);
        continue;
      }
      const auto below = static_cast<std::size_t>(TreePosition(child, place_.ranks).end - child);
      std::vector<std::byte> message(sizeof(Missing) + below * sizeof(RankFacts));
      take(child, message.data(), message.size());
      Missing missing;
      std::memcpy(&missing, message.data(), sizeof(missing));
      missing_.add(missing);
      known.resize(known.size() + below);
      std::memcpy(&known[known.size() - below], message.data() + sizeof(missing), below * sizeof(RankFacts));
    }
    known.resize(static_cast<std::size_t>(place_.end - place_.rank));
    return known;
  }

  void report(const std::vector<RankFacts>& known) {
    std::vector<std::byte> message(sizeof(Missing) + known.size() * sizeof(RankFacts));
    std::memcpy(message.data(), &missing_, sizeof(missing_));
    std::memcpy(message.data() + sizeof(missing_), known.data(), known.size() * sizeof(RankFacts));
    messages_.send(parent_of(place_.rank), message.data(), message.size());
  }

  void pass_on(const std::vector<RankFacts>& known, const Verdict& verdict, StartFacts& facts) {
    const std::size_t facts_bytes = static_cast<std::size_t>(place_.ranks) * sizeof(RankFacts);
    std::vector<std::byte> message(facts_bytes + verdict.text_bytes);
    if (place_.rank == 0) {
      std::memcpy(message.data(), known.data(), facts_bytes);
      std::memcpy(message.data() + facts_bytes, facts.text.data(), facts.text.size());
    } else {
      take(parent_of(place_.rank), message.data(), message.size());
    }
    for (const int child : place_.children) messages_.send(child, message.data(), message.size());
    facts.of_rank.resize(static_cast<std::size_t>(place_.ranks));
    std::memcpy(facts.of_rank.data(), message.data(), facts_bytes);
    facts.text.assign(reinterpret_cast<const char*>(message.data()) + facts_bytes, verdict.text_bytes);
  }

  /// Ends the exchange without a session. If `parent_lives`, the parent or a rank above it has noticed, too,
  /// that ranks are missing.
  void end_without_all(bool parent_lives) {
    const Verdict no;
    for (const int child : cut_off_) {
      for (int rank = child + 1; rank < TreePosition(child, place_.ranks).end; ++rank) {
        messages_.send(rank, &no, sizeof(no));
      }
    }
    if (place_.rank == 0) complain_of_missing();
    // Ranks that may write the line in place of this one: those above its parent, and the lower
    // children of the parent.
    std::vector<int> others;
    if (!parent_lives) {
      const int parent = parent_of(place_.rank);
      for (int above = parent; above != 0; above = parent_of(above)) others.push_back(parent_of(above));
      for (const int sibling : TreePosition(parent, place_.ranks).children) {
        if (sibling < place_.rank) others.push_back(sibling);
        if (sibling > place_.rank) messages_.send(sibling, &no, sizeof(no));
      }
    }
    // The others may have begun later, and sent messages may need to be tested here, too.
    const double until = began_ + limit_ + std::min(limit_, 5.0);
    bool must_speak = !parent_lives;
    Backoff backoff;
    while ((!messages_.all_sent() || must_speak) && seconds_now() < until) {
      Verdict said;
      const auto speaks = [&](int other) { return messages_.try_receive(other, &said, sizeof(said)); };
      if (must_speak && std::any_of(others.begin(), others.end(), speaks)) must_speak = false;
      backoff.wait();
    }
    if (must_speak) complain_of_missing();
  }

  void complain_of_missing() const {
    // The settings of rank 0 have not arrived.
    const auto is_set = [](const char* name) {
      const char* value = std::getenv(name);
      return value != nullptr && std::strcmp(value, "1") == 0;
    };
    if (is_set("STRETTO_DISABLE")) return;
    std::array<char, 32> seconds{};
    std::snprintf(seconds.data(), seconds.size(), "%g", limit_);
    const std::string what = missing_.of_other_builds > 0
                                 ? " of MPI_COMM_WORLD and others run with Stretto of different builds"
                                 : std::string(" of MPI_COMM_WORLD did not answer within ") + seconds.data() +
                                       " s (STRETTO_START_LIMIT): Stretto is not preloaded there";
    complain(missing_.text() + what + "; every call goes to the MPI library");
    if (is_set("STRETTO_STRICT")) end_job(true);
  }

  EarlyMessages messages_;
  TreePosition place_;
  double limit_;
  double began_;
  Missing missing_;
  std::vector<int> present_;
  std::vector<int> of_other_builds_;
  std::vector<int> cut_off_;
};

}  // namespace

bool exchange_facts(const RankFacts& own, const std::function<std::string()>& read_text, double limit,
                    StartFacts& facts) {
  int ranks = 1;
  mpi.Comm_size(mpi.comm_world, &ranks);
  return Exchange(session.world_rank, ranks, limit).run(own, read_text, facts);
}

}  // namespace stretto

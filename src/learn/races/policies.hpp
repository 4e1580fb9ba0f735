// SPDX-License-Identifier: Apache-2.0
// All kinds of trials (trial.hpp). In doubt the defender stays. So `native` is the defender against a spec of
// Stretto that is new, and the challenger of one that is in force.
#pragma once

#include <array>
#include <cstdint>

#include "learn/races/rest.hpp"
#include "learn/races/trial.hpp"

namespace stretto::policies {

/// Calls of this many seconds are long: they take much longer than what the first one sets up and what the
/// call before has left behind. One pair of them that differs by 1.3 times says enough.
inline constexpr double long_seconds = 0.02;
inline constexpr double plainly_longer = 1.3;

/// Four calls of this many seconds are enough if all of them say the same.
inline constexpr double telling_seconds = 0.002;

// Blocking calls have duels (learner.hpp). Four calls show what is hopeless. After that a side makes two
// calls in a row: that is more like a program whose calls are all by that side, where a rank may run ahead of
// others.

using DuelStages = std::array<Stage, 4>;

inline constexpr Stage first_calls{.turns = "DCdc",
                                   .wins_below = 0.8,
                                   .wins_from = telling_seconds,
                                   .loses_above = 1.5,
                                   .loses_above_if_short = 2.5};

inline constexpr DuelStages duel = {{
    first_calls,
    {.turns = "dc", .calls = 2, .loses_above = 1.25},
    {.turns = "cd", .calls = 2, .wins_below = 0.8, .most_lost = 0, .loses_above = 1.1},
    // One-sided error probability 5 %.
    {.turns = "dccd", .calls = 2, .wins_below = 0.97, .most_lost = 1, .most_lost_if_plain = 5},
}};

/// `native` challenges a choice that was measured. The choice stays only if it seems as fast.
inline constexpr DuelStages duel_with_native = {{
    first_calls,
    {.turns = "dc", .calls = 2, .loses_above = 1.25},
    {.turns = "cd", .calls = 2, .wins_below = 0.97, .most_lost = 0, .loses_above = 1.1},
    {.turns = "dccd", .calls = 2, .wins_below = 0.97},
}};

/// A rematch checks what was decided. There are many rematches, so each needs more evidence, and a challenger
/// is dropped as soon as it is not faster.
inline constexpr DuelStages rematch = {{
    {.turns = "DCdc", .loses_above = 1.15, .loses_above_if_short = 1.5},
    {.turns = "dc", .calls = 4, .counts = Stage::Counts::others, .loses_above = 1},
    {.turns = "cd",
     .calls = 4,
     .counts = Stage::Counts::others,
     .wins_below = 0.8,
     .most_lost = 0,
     .loses_above = 1},
    {.turns = "dccd", .calls = 4, .counts = Stage::Counts::others, .wins_below = 0.94, .most_lost = 1},
}};

/// `native` gets a fair trial, because no call may be slower than by `native`.
inline constexpr DuelStages rematch_with_native = {{
    {.turns = "DCdc", .loses_above = 1.5, .loses_above_if_short = 2.5},
    {.turns = "dc", .calls = 4, .counts = Stage::Counts::others, .loses_above = 1.25},
    {.turns = "cd",
     .calls = 4,
     .counts = Stage::Counts::others,
     .wins_below = 0.94,
     .most_lost = 0,
     .loses_above = 1.1},
    {.turns = "dccd", .calls = 4, .counts = Stage::Counts::others, .wins_below = 0.94},
}};

/// Returns the stages for long calls, of which a single pair may be enough. A rematch is not won by a single
/// call, unless `native` wins.
constexpr DuelStages of_long_calls(DuelStages stages, bool wins_at_once) {
  stages[0] = {
      .turns = "dc", .wins_below = wins_at_once ? 1 / plainly_longer : 0, .loses_above = plainly_longer};
  return stages;
}

inline constexpr DuelStages long_duel = of_long_calls(duel, true);
inline constexpr DuelStages long_duel_with_native = of_long_calls(duel_with_native, true);
inline constexpr DuelStages long_rematch = of_long_calls(rematch, false);
inline constexpr DuelStages long_rematch_with_native = of_long_calls(rematch_with_native, true);

/// For a spec that serves a late rank, once such a rank was found. At an agreement, the others wait for that
/// rank before the next call and not in it, so there is one stage, whose first calls do not count. One-sided
/// error probability 3 %.
inline constexpr std::array<Stage, 1> duel_for_late = {{
    {.turns = "DCdcdcdcdc", .wins_below = 0.97, .most_lost = 1},
}};

/// For calls that take a microsecond, inside a node: the MPI library's and the spec's, in alternating blocks.
inline constexpr std::array<Stage, 1> short_calls = {{
    {.turns = "DCdcdcdcdcdc", .calls = 16, .counts = Stage::Counts::sum, .wins_below = 0.98},
}};
inline constexpr Rest::Limits rest_of_short_calls{
    .share = 0.005, .first = 4096, .longest = std::uint64_t{1} << 22, .most = std::uint64_t{1} << 22};

/// For calls whose lengths only pairs of ranks know. Turns have three or four calls, of which the first one
/// does not count.
inline constexpr std::array<Stage, 2> private_lengths = {{
    {.turns = "DddCccCccDdd", .by_bytes = true, .loses_above = 1.5},
    {.turns = "DdddCcccCcccDdddDdddCcccCcccDdddDdddCcccCcccDddd", .by_bytes = true, .wins_below = 0.97},
}};
inline constexpr Rest::Limits rest_of_private_lengths{
    .share = 0.005, .first = 128, .longest = std::uint64_t{1} << 16, .most = std::uint64_t{1} << 16};

/// For non-blocking calls: the MPI library's and the choice's, two or four in a row. One-sided error
/// probability 5 %.
inline constexpr std::array<Stage, 1> background = {{
    {.turns = "CCDDddccccddddcc", .wins_below = 0.97, .most_lost = 7},
}};

/// For non-blocking calls without an MPI library. Three calls of a challenger show what is hopeless or, if
/// links cannot have saved up so many bytes, plainly faster. Then each side makes many calls in a row
/// (BackgroundRace). One-sided error probability 3 %.
inline constexpr std::array<Stage, 4> background_without_library = {{
    {.turns = "DCdccd", .wins_below = 0.7, .most_lost = 0, .loses_above = 1.25, .loses_above_if_short = 1.5},
    {.turns = "dc", .calls = 4, .loses_above = 1.02},
    {.turns = "cd", .calls = 4, .wins_below = 0.7, .most_lost = 0, .loses_above = 1},
    {.turns = "dccd", .calls = 4, .wins_below = 0.95, .most_lost = 1},
}};
inline constexpr Rest::Limits rest_of_background{
    .share = 0.005, .first = 64, .longest = 2048, .most = std::uint64_t{1} << 17};

/// For ways to write long messages into shared memory. All ranks make the same number of calls, so they try
/// another way at the same time. One-sided error probability 5 %.
inline constexpr std::array<Stage, 1> streaming = {{
    {.turns = "DCdcdcdcdcdc", .wins_below = 0.96, .most_lost = 4, .most_lost_if_plain = 9},
}};
inline constexpr Rest::Limits rest_of_streaming{.share = 0.01, .first = 64, .longest = 1024, .most = 100'000};

}  // namespace stretto::policies

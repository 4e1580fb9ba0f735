// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stretto {

/// Returns how many letters must be added, left out, replaced or swapped with the next one to make `right` of
/// `wrong` (the optimal string alignment distance).
inline std::size_t edit_distance(std::string_view wrong, std::string_view right) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> above(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= wrong.size(); ++i) {
    std::vector<std::size_t> row(right.size() + 1, i);
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const bool is_same = wrong[i - 1] == right[j - 1];
      row[j] = std::min({row[j - 1] + 1, above[j] + 1, above[j - 1] + (is_same ? 0 : 1)});
      const bool are_swapped = i > 1 && j > 1 && wrong[i - 1] == right[j - 2] && wrong[i - 2] == right[j - 1];
      if (are_swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::move(above);
    above = std::move(row);
  }
  return above.back();
}

/// Returns the end of a message about a name that is not known: ` (did you mean NAME?)` if exactly one known
/// name is near (at most a quarter of the letters differ, or it begins so), else `; there are` and all known
/// names. More may follow it: `; it is ignored`.
template <typename Names>
std::string known_names_text(std::string_view wrong, const Names& known) {
  constexpr std::size_t least_prefix = 3;
  std::size_t least = std::max<std::size_t>(1, wrong.size() / 4);
  std::vector<std::string_view> nearest;
  std::vector<std::string_view> begin_so;
  std::string all;
  for (const std::string_view name : known) {
    const std::size_t distance = edit_distance(wrong, name);
    if (distance < least) nearest.clear();
    if (distance <= least && distance < wrong.size()) nearest.push_back(name);
    least = std::min(least, distance);
    if (wrong.size() >= least_prefix && name.starts_with(wrong)) begin_so.push_back(name);
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  const std::vector<std::string_view>& near = begin_so.size() == 1 ? begin_so : nearest;
  return near.size() == 1 ? " (did you mean " + std::string(near.front()) + "?)" : "; there are " + all;
}

}  // namespace stretto

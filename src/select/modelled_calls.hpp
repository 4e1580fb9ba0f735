// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/collective.hpp"
#include "select/claims.hpp"

namespace stretto {

/// What the model says about the calls of a communicator: for each collective and range of lengths its specs,
/// the fastest first.
class ModelledCalls {
 public:
  /// The time in which the bytes pass that an idle link has saved up.
  double saved_seconds = 0;

  /// Adds a finding for calls of `from` bytes or more. To be called with the lengths in ascending order.
  void add(Collective collective, std::size_t from, Finding finding) {
    std::vector<Row>& rows = rows_.at(static_cast<std::size_t>(collective));
    if (rows.empty() || rows.back().from != from) rows.push_back({.from = from, .findings = {}});
    rows.back().findings.push_back(std::move(finding));
  }

  /// Returns the findings for calls of so many bytes; none if there are none.
  [[nodiscard]] std::span<const Finding> find(Collective collective, std::size_t bytes) const {
    std::span<const Finding> found;
    for (const Row& row : rows_.at(static_cast<std::size_t>(collective))) {
      if (row.from > bytes) break;
      found = row.findings;
    }
    return found;
  }

 private:
  struct Row {
    std::size_t from;
    std::vector<Finding> findings;
  };
  std::array<std::vector<Row>, collectives.size()> rows_;
};

}  // namespace stretto

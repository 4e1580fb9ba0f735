// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace stretto::bench {

/// The samples that one rank has taken, by case.
class Records {
 public:
  /// `about` says what the case is: {"what": "ping-pong", "level": "network", "bytes": 8}.
  void add(const nlohmann::ordered_json& about, double seconds);
  void add(const nlohmann::ordered_json& about, const std::vector<double>& seconds);

  /// For the owner and rank 0, which prints an event for each case: what it is about, which pass over all
  /// phases, its samples. Nothing is kept.
  void publish(int owner, int rank, int pass);

 private:
  std::vector<std::pair<std::string, std::vector<double>>> cases_;
};

}  // namespace stretto::bench

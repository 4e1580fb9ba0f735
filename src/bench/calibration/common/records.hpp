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
  /// `about` describes the case: {"what": "ping-pong", "level": "network", "bytes": 8}.
  void add(const nlohmann::ordered_json& about, double seconds);
  void add(const nlohmann::ordered_json& about, const std::vector<double>& seconds);

  /// Prints an event for each case on rank 0: its description, the number of the pass, and its samples.
  /// Clears the samples. Collective over the owner and rank 0.
  void publish(int owner, int rank, int pass);

 private:
  std::vector<std::pair<std::string, std::vector<double>>> cases_;
};

}  // namespace stretto::bench

// SPDX-License-Identifier: Apache-2.0
#include "bench/calibration/common/phase.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/calibration/common/waiting.hpp"

namespace stretto::bench {

void TeamPhase::measure(double seconds, int pass) {
  prepare(seconds, pass);
  if (team_.leads()) {
    lead(seconds, pass);
    team_.dismiss();
  } else if (team_.takes_part()) {
    team_.serve();
  }
  team_.release();
  // The other ranks have slept here all this time.
  std::vector<double> found = findings();
  if (!team_.leads()) std::fill(found.begin(), found.end(), 0.0);
  learn(meet(std::move(found), on_progress()));
  records().publish(team_.ranks().front(), site().rank, pass);
}

void sleep(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace stretto::bench

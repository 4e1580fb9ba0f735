// SPDX-License-Identifier: Apache-2.0
// A barrier that names the ranks that do not arrive. Ranks report their arrival in the store, so that no
// message stays unanswered. The errors have the texts of gloo's, since programs and tests look for them.
#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "process_group.hpp"

namespace stretto_torch {
namespace {

using std::chrono::milliseconds;

/// The other ranks wait this much longer than rank 0, so that its answer says which ranks are missing.
constexpr milliseconds time_to_answer{1000};

/// The time that is left of a limit; at least a millisecond, since 0 would mean forever.
class Left {
 public:
  explicit Left(milliseconds time) : until_(Clock::now() + time) {}
  [[nodiscard]] milliseconds get() const {
    return std::max(std::chrono::duration_cast<milliseconds>(until_ - Clock::now()), milliseconds(1));
  }

 private:
  Clock::time_point until_;
};

bool comes(c10d::Store& store, const std::string& key, const Left& left) {
  try {
    store.wait({key}, left.get());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::string key_of(const std::string& call, int rank) {
  return call + "/" + std::to_string(rank);
}

/// Returns the first rank that does not arrive, or all such ranks.
std::vector<int> find_missing(c10d::Store& store, const std::string& call, int ranks, const Left& left,
                              bool all) {
  std::vector<int> missing;
  for (int rank = 1; rank < ranks && (all || missing.empty()); ++rank) {
    if (!comes(store, key_of(call, rank), left)) missing.push_back(rank);
  }
  return missing;
}

std::string failure_of(const std::vector<int>& missing, milliseconds timeout, bool all) {
  std::ostringstream text;
  text << (all ? "Ranks " : "Rank ");
  for (size_t i = 0; i < missing.size(); ++i) text << (i == 0 ? "" : ", ") << missing[i];
  text << " failed to pass monitoredBarrier in " << timeout.count() << " ms";
  return text.str();
}

void answer(c10d::Store& store, const std::string& call, int ranks, milliseconds timeout, bool all) {
  if (timeout <= milliseconds::zero()) {
    throw std::runtime_error("[Rank 0]: Rank 0 timed out in monitoredBarrier after " +
                             std::to_string(timeout.count()) + " ms");
  }
  const std::vector<int> missing = find_missing(store, call, ranks, Left(timeout), all);
  const std::string failure = missing.empty() ? "" : failure_of(missing, timeout, all);
  store.set(key_of(call, 0), failure);
  if (!failure.empty()) throw std::runtime_error("[Rank 0]: " + failure);
}

void ask(c10d::Store& store, const std::string& call, int rank, milliseconds timeout) {
  store.set(key_of(call, rank), std::string());
  std::string failure = "there was no answer in " + std::to_string(timeout.count()) + " ms";
  if (comes(store, key_of(call, 0), Left(timeout + time_to_answer))) {
    const std::vector<uint8_t> text = store.get(key_of(call, 0));
    failure.assign(text.begin(), text.end());
  }
  if (failure.empty()) return;
  const std::string self = "Rank " + std::to_string(rank);
  throw std::runtime_error("[" + self + "]: " + self +
                           " successfully reached monitoredBarrier, but received errors while waiting for "
                           "send/recv from rank 0. Please check rank 0 logs for faulty rank. (" +
                           failure + ")");
}

}  // namespace

void ProcessGroup::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) {
  const milliseconds timeout = options.timeout == c10d::kUnsetTimeout ? timeout_ : options.timeout;
  const std::string call = "monitored/" + std::to_string(++monitored_barriers_);
  if (getRank() == 0) {
    answer(*store_, call, getSize(), timeout, wait_all_ranks);
  } else {
    ask(*store_, call, getRank(), timeout);
  }
  // Rank 0's process may run the store. It must not end before the others have read the answer.
  barrier(options)->wait();
  if (getRank() != 0) return;
  for (int rank = 0; rank < getSize(); ++rank) store_->deleteKey(key_of(call, rank));
}

}  // namespace stretto_torch

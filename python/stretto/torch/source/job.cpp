// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "completion.hpp"
#include "ending.hpp"
#include "interface.hpp"
#include "of_process.hpp"
#include "process_group.hpp"

namespace stretto_torch {
namespace {

/// The time for calls in flight to end, and for sent messages to leave this rank.
constexpr std::chrono::seconds longest_end{5};
constexpr std::chrono::seconds shortest_end{1};

struct StoreJob {
  std::mutex changing;  // held while a job begins or ends
  std::mutex mutex;     // guards the following members
  std::vector<ProcessGroup*> groups;
  std::vector<ProcessGroup*> held;  // which the program has destroyed, but somebody still holds
  bool has_begun = false;
  int rank = 0;
  std::string exception;
};

StoreJob& job() {
  return of_process<StoreJob>();
}

/// Ends the job. Calls in flight have had time to end since `began`. If the process ends by an exception,
/// that is why.
void end(Clock::time_point began) {
  const auto left = std::max<Clock::duration>(began + longest_end - Clock::now(), shortest_end);
  std::string why;
  if (completing_is_stopped()) {
    const std::lock_guard<std::mutex> lock(job().mutex);
    why = job().exception;
  }
  stretto.end(std::chrono::duration<double>(left).count(), why.c_str());
}

/// Returns whether the group was there.
bool remove(const ProcessGroup& group, std::vector<ProcessGroup*>& groups) {
  const auto its = std::find(groups.begin(), groups.end(), &group);
  if (its == groups.end()) return false;
  groups.erase(its);
  return true;
}

/// Ends the job, once its works have had some time to end. To be called with `changing` held.
void end_job() {
  const auto began = Clock::now();
  end_all_works("its process group was destroyed before");
  end(began);
  forget_given_up();
  const std::lock_guard<std::mutex> lock(job().mutex);
  job().has_begun = false;
}

/// A store of torch.distributed, with the functions by which Stretto uses it.
class StoreView {
 public:
  StoreView(c10d::Store& store, std::chrono::milliseconds timeout)
      : store_(store), until_(Clock::now() + timeout) {}

  stretto_store functions() {
    return {this,
            [](void* of, const char* key, const void* value, size_t bytes) {
              return static_cast<StoreView*>(of)->set(key, value, bytes);
            },
            [](void* of, const char* key, void* value, size_t capacity) {
              return static_cast<StoreView*>(of)->get(key, value, capacity);
            }};
  }

  /// Returns the store's error in parentheses; empty if it has not failed.
  [[nodiscard]] std::string error() const { return error_.empty() ? "" : " (" + error_ + ")"; }

 private:
  int set(const char* key, const void* value, size_t bytes) {
    return attempt(-1, [&] {
      const auto* begin = static_cast<const uint8_t*>(value);
      store_.set(key, std::vector<uint8_t>(begin, begin + bytes));
      return 0;
    });
  }

  long get(const char* key, void* value, size_t capacity) {
    return attempt(-1L, [&] {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until_ - Clock::now());
      store_.wait({key}, std::max(left, std::chrono::milliseconds(1)));  // 0 would mean forever
      const std::vector<uint8_t> found = store_.get(key);
      std::copy_n(found.begin(), std::min(found.size(), capacity), static_cast<uint8_t*>(value));
      return static_cast<long>(found.size());
    });
  }

  template <typename Result, typename Work>
  Result attempt(Result failed, const Work& work) {
    try {
      return work();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      error_ = text.substr(0, text.find('\n'));
    } catch (...) {
      error_ = "unknown error";
    }
    return failed;
  }

  c10d::Store& store_;
  const Clock::time_point until_;
  std::string error_;
};

}  // namespace

void begin_by_store(int rank, int ranks, const c10::intrusive_ptr<c10d::Store>& store,
                    const std::optional<std::string>& host, const std::string& secret,
                    std::chrono::milliseconds timeout) {
  if (secret.size() != STRETTO_SECRET_BYTES)
    throw std::runtime_error("stretto: the secret has another length");
  const std::lock_guard<std::mutex> changing(job().changing);
  if (is_in_store_job()) {
    // All its groups were destroyed, so whoever holds one gets errors from now on.
    for (ProcessGroup* group : std::exchange(job().held, {})) group->free();
    end_job();
  }
  StoreView view(*store, timeout);
  const stretto_store functions = view.functions();
  const double seconds = std::chrono::duration<double>(timeout).count();
  if (stretto.begin_by_store(rank, ranks, &functions, host ? host->c_str() : nullptr, secret.data(),
                             seconds) != 0)
    throw std::runtime_error(std::string("stretto: ") + stretto.error() + view.error());
  const std::lock_guard<std::mutex> lock(job().mutex);
  job().has_begun = true;
  job().rank = rank;
}

bool is_in_store_job() {
  const std::lock_guard<std::mutex> lock(job().mutex);
  return job().has_begun;
}

bool may_join_store_job() {
  const std::lock_guard<std::mutex> lock(job().mutex);
  return job().has_begun && !job().groups.empty();
}

Membership::Membership(ProcessGroup& group) : group_(group) {
  const std::lock_guard<std::mutex> lock(job().mutex);
  job().groups.push_back(&group);
}

void Membership::hold() {
  const std::lock_guard<std::mutex> lock(job().mutex);
  if (remove(group_, job().groups)) job().held.push_back(&group_);
}

void Membership::leave() {
  const std::lock_guard<std::mutex> changing(job().changing);
  {
    const std::lock_guard<std::mutex> lock(job().mutex);
    if (!remove(group_, job().groups) && !remove(group_, job().held)) return;
    if (!job().groups.empty() || !job().held.empty() || !job().has_begun) return;
  }
  end_job();
}

void note_exception(const std::string& line) {
  const std::lock_guard<std::mutex> lock(job().mutex);
  job().exception = "rank " + std::to_string(job().rank) + " has ended: " + line;
}

void end_with_process() {
  // Not by atexit(): Stretto's own handlers are registered so, and these run in reverse order. Forked
  // children inherit it.
  static const int once = on_exit(
      [](int /*status*/, void* /*none*/) {
        if (!is_in_store_job()) return;
        keep_others_out_of_mpi();
        for (const auto* groups : {&job().groups, &job().held}) {
          for (ProcessGroup* group : *groups) group->free();
        }
        end(Clock::now());
        job().has_begun = false;
      },
      nullptr);
  static_cast<void>(once);
}

}  // namespace stretto_torch

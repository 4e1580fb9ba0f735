// SPDX-License-Identifier: Apache-2.0
// Groups shrink to the ranks that are left, in the same processes.
#pragma once

#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace {

/// A group, and who of its job is in it.
struct Shrinkable {
  stretto_group* group;
  std::vector<int> members;

  static Shrinkable whole(int ranks, int tag) {
    Shrinkable all{CALL(stretto_group_make)(nullptr, 0, tag, 60),
                   std::vector<int>(static_cast<std::size_t>(ranks))};
    CHECK(all.group != nullptr, CALL(stretto_error)());
    std::iota(all.members.begin(), all.members.end(), 0);
    return all;
  }
  /// Returns an error, or "".
  std::string shrink(double seconds = 60, const std::vector<int>& without = {}) {
    std::vector<int> left(members.size());
    int size = 0;
    stretto_group* const made = CALL(stretto_group_shrink)(
        group, without.data(), static_cast<int>(without.size()), seconds, left.data(), &size);
    if (made == nullptr) return CALL(stretto_error)();
    left.resize(static_cast<std::size_t>(size));
    for (int& one : left) one = members[static_cast<std::size_t>(one)];
    members = left;
    CALL(stretto_group_free)(std::exchange(group, made));
    return "";
  }
  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
};

/// Calls of random lengths in flight on a group. Each sum is right, or its call has failed.
class Calls {
 public:
  Calls(const Shrinkable& on, unsigned seed) : members_(on.members) {
    std::mt19937 random(seed);
    for (int call = 0; call < 4; ++call) {
      const std::size_t lengths[] = {1, 1000, 50'000, 400'000};
      data_.emplace_back(lengths[random() % 4], static_cast<float>(place.rank + 1));
    }
    for (std::vector<float>& data : data_) works_.push_back(sum(on.group, data));
  }
  /// Returns whether none has failed.
  bool wait() {
    const auto wanted = static_cast<float>(std::accumulate(members_.begin(), members_.end(), 0) +
                                           static_cast<int>(members_.size()));
    bool are_well = true;
    for (std::size_t call = 0; call < works_.size(); ++call) {
      stretto_work* const work = works_[call];
      if (work == nullptr) {
        are_well = false;
        continue;
      }
      CHECK(CALL(stretto_work_wait)(work, 30) == 1, "a call does not end");
      const bool is_well = CALL(stretto_work_error)(work) == nullptr;
      CALL(stretto_work_free)(work);
      are_well = are_well && is_well;
      const std::vector<float>& data = data_[call];
      CHECK(!is_well || std::all_of(data.begin(), data.end(), [&](float x) { return x == wanted; }));
    }
    return are_well;
  }

 private:
  std::vector<int> members_;
  std::vector<std::vector<float>> data_;
  std::vector<stretto_work*> works_;
};

/// One rank after the other is killed, at any time: in calls of two groups, or while these shrink. Those who
/// are left always have the same groups, and right sums.
void shrinking(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  // The same number on all ranks, and another one in each run.
  const auto seed = static_cast<unsigned>(fs::last_write_time(folder / "seed").time_since_epoch().count());
  Shrinkable first = Shrinkable::whole(ranks, 0);
  Shrinkable second = Shrinkable::whole(ranks, 1);
  meet(folder, "ready", rank, ranks);
  for (unsigned round = 0; first.size() > 1; ++round) {
    std::mt19937 random(seed + round);
    const int victim = first.members[random() % first.members.size()];
    const auto after = std::chrono::microseconds(random() % 4000);
    if (rank == victim) {
      std::thread([after] {
        std::this_thread::sleep_for(after);
        raise(SIGKILL);
      }).detach();
    }
    const auto calls = static_cast<unsigned>(random() % 3);
    for (unsigned call = 0; call < calls; ++call) {
      Calls in_first(first, seed + call);
      Calls in_second(second, seed + call + 100);
      in_first.wait();
      in_second.wait();
    }
    for (Shrinkable* one : {&first, &second}) {
      const std::string error = one->shrink();
      CHECK(error.empty(), error);
      CHECK(std::find(one->members.begin(), one->members.end(), rank) != one->members.end());
    }
    // Whoever ends between the two is noticed by the next call of the first group.
    CHECK(second.size() <= first.size());
  }
  CALL(stretto_group_free)(first.group);
  CALL(stretto_group_free)(second.group);
  end();
}

/// Groups that shrink again and again leave nothing behind.
void shrunk_again(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  Shrinkable all = Shrinkable::whole(ranks, 0);
  // Shared memory counts from when it is first used.
  for (int call = 0; call < 50; ++call) sum_in(all.group, ranks, 400'000);
  int files = 0;
  int running = 0;
  long memory = 0;
  for (int round = 0; round < 1000; ++round) {
    const std::string error = all.shrink();
    CHECK(error.empty() && all.size() == ranks, error);
    if (round % 10 == 0) sum_in(all.group, ranks, 1000);
    if (round == 200) {
      files = open_files();
      running = threads();
      memory = resident_kib();
    }
  }
  // The last group may still be going.
  CHECK(open_files() <= files + 4, std::to_string(files) + " files, then " + std::to_string(open_files()));
  CHECK(threads() <= running, std::to_string(running) + " threads, then " + std::to_string(threads()));
  CHECK(resident_kib() < memory + 2048,
        std::to_string(memory) + " KiB, then " + std::to_string(resident_kib()));
  CALL(stretto_group_free)(all.group);
  end();
}

/// A rank is stopped, and the others go on without it. When it continues, it hears that.
void left_behind(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  Shrinkable all = Shrinkable::whole(ranks, 0);
  // The coordinator of the first census, or another one.
  const int victim = ranks % 2 == 0 ? 0 : ranks - 1;
  meet(folder, "ready", rank, ranks);
  if (rank == victim) {
    raise(SIGSTOP);
    const std::string error = all.shrink(20);
    CHECK(error.find("have gone on without") != std::string::npos, error);
    std::vector<float> data(1000, 1);
    const std::string call = failure_of(sum(all.group, data), 20);
    CHECK(call.find("have gone on without") != std::string::npos, call);
  } else {
    stretto_group* const old = all.group;
    const std::string error = all.shrink(0.5);
    CHECK(error.empty() && all.size() == ranks - 1, error + std::to_string(all.size()));
    static_cast<void>(old);
    sum_in(all.group, ranks - 1);
    meet(folder, "left", rank, ranks, victim);
    if (rank == (victim == 0 ? 1 : 0))
      kill(noted_process(folder / ("ready" + std::to_string(victim))), SIGCONT);
    for (int call = 0; call < 100; ++call) sum_in(all.group, ranks - 1, 1000);
    CHECK(has_come(folder / ("over" + std::to_string(victim))));
  }
  meet(folder, "over", rank, ranks);
  CALL(stretto_group_free)(all.group);
  end();
}

/// A rank is left out although it lives; the group that is left out of goes on to serve, and so does the new
/// one.
void left_out(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  Shrinkable all = Shrinkable::whole(ranks, 0);
  const int other = ranks / 2;
  stretto_group* const before = all.group;
  for (const int wrong : {-1, ranks, rank}) {
    Shrinkable same = all;
    const std::string error = same.shrink(60, {wrong});
    CHECK(error == "rank " + std::to_string(wrong) +
                       (wrong == rank ? " cannot leave itself out" : " is not in the group"),
          error);
  }
  if (rank != other) {
    std::vector<int> left(static_cast<std::size_t>(ranks));
    int size = 0;
    stretto_group* const some = CALL(stretto_group_shrink)(before, &other, 1, 60, left.data(), &size);
    CHECK(some != nullptr && size == ranks - 1, CALL(stretto_error)());
    sum_in(some, ranks - 1);
    CALL(stretto_group_free)(some);
  }
  sum_in(before, ranks);
  CALL(stretto_group_free)(before);
  end();
}

}  // namespace

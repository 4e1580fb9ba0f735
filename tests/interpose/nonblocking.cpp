// SPDX-License-Identifier: Apache-2.0
// MPI's rules for non-blocking collectives and their requests: all functions that wait and test, statuses,
// handles, all kinds of calls and any number of them at once, among the program's other requests.
//
//   nonblocking PART [counts]
//
//   most       all that is not named below
//   threads    MPI_THREAD_MULTIPLE: requests waited for elsewhere than where they were started
//   errors     the program's mistakes
//   freed      datatypes and operations freed while a call that uses them is outstanding
//   orphans    communicators freed while a call on them is outstanding
//   rising     MPI_Ireduce_scatter in place with ever larger blocks
//   gaps       MPI_Ireduce_scatter_block of elements with gaps by an operation that does not commute
//
// With `counts` the status of a collective must say that nothing was received. MPI leaves that undefined, and
// both libraries keep the earlier contents of the memory. In Open MPI 4.1.4 itself `orphans` fails; in
// MPICH 4.0.2 `rising` fails, and `gaps` on 2 ranks.
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "check.hpp"
#include "collectives.hpp"
#include "each.hpp"

namespace {

constexpr int untouched = 987654;  // the error of a status where a call may not set it
constexpr int tag = 11;

bool counts_are_zero = false;

MPI_Comm reversed(MPI_Comm comm) {
  MPI_Comm made{};
  MPI_Comm_split(comm, 0, -rank_in(comm), &made);
  return made;
}

/// MPICH 4.0.2's own results are wrong on 2 ranks, and it writes outside its buffers.
bool wrong_by_mpich(MpiFunction function, const Elements& elements, Combine how) {
#ifdef OPEN_MPI
  return false;
#endif
  return function == MpiFunction::reduce_scatter_block && elements.extent > elements.size() &&
         how == Combine::compose;
}

bool is_cancelled(const MPI_Status& status) {
  int cancelled = -1;
  MPI_Test_cancelled(&status, &cancelled);
  return cancelled != 0;
}
int count_in(const MPI_Status& status, MPI_Datatype type = MPI_BYTE) {
  int count = -1;
  MPI_Get_count(&status, type, &count);
  return count;
}
bool is_empty(const MPI_Status& status) {
  return status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count_in(status) == 0 &&
         !is_cancelled(status);
}
/// A call for one request does not set the error of its status, unless that is empty.
bool leaves_error(const MPI_Status& status) {
  return status.MPI_ERROR == untouched || (is_empty(status) && status.MPI_ERROR == MPI_SUCCESS);
}

/// A status with values that must be replaced.
MPI_Status fresh_status() {
  MPI_Status status{};
  status.MPI_SOURCE = status.MPI_TAG = status.MPI_ERROR = untouched;
  return status;
}

/// Requests of all sorts in one array, at other places on each rank: collectives on two communicators, the
/// program's own messages around the ring of ranks, among them persistent, null and inactive ones.
class Batch {
 public:
  enum class Sort { none, inactive, collective, send, recv };

  Batch(MPI_Comm first, MPI_Comm second, std::size_t number) {
    const int rank = world_rank();
    const int ranks = size_of(MPI_COMM_WORLD);
    right_ = (rank + 1) % ranks;
    left_ = (rank + ranks - 1) % ranks;
    add(Sort::none);
    MPI_Recv_init(&never_, 1, MPI_INT, left_, tag + 1, MPI_COMM_WORLD, &add(Sort::inactive).request);
    Entry& ended = add(Sort::inactive);
    MPI_Send_init(&never_, 1, MPI_INT, MPI_PROC_NULL, tag + 1, MPI_COMM_WORLD, &ended.request);
    MPI_Start(&ended.request);
    MPI_Wait(&ended.request, MPI_STATUS_IGNORE);
    add(Sort::none);
    for (const MpiFunction function : called_functions) {
      Entry& entry = add(Sort::collective);
      const std::size_t counts[] = {5, 4000, 0, 1};
      ++number;
      entry.call.prepare(some_task(function, number % 3 == 0 ? second : first, counts[number % 4], number),
                         number);
      CHECK(entry.call.begin(&entry.request) == MPI_SUCCESS);
    }
    sent_ = static_cast<int>(number) * 1000 + rank;
    for (Entry& recv : {std::ref(add(Sort::recv)), std::ref(add(Sort::recv))}) {
      if (recv.number % 2 == 0) {
        MPI_Irecv(&recv.value, 1, MPI_INT, left_, tag, MPI_COMM_WORLD, &recv.request);
      } else {
        recv.persistent = true;
        MPI_Recv_init(&recv.value, 1, MPI_INT, left_, tag, MPI_COMM_WORLD, &recv.request);
        MPI_Start(&recv.request);
      }
    }
    MPI_Isend(&sent_, 1, MPI_INT, right_, tag, MPI_COMM_WORLD, &add(Sort::send).request);
    Entry& send = add(Sort::send);
    send.persistent = true;
    MPI_Ssend_init(&sent_, 1, MPI_INT, right_, tag, MPI_COMM_WORLD, &send.request);
    MPI_Start(&send.request);

    std::rotate(entries_.begin(),
                entries_.begin() + static_cast<long>((number + at(rank) * 5) % entries_.size()),
                entries_.end());
    for (const std::unique_ptr<Entry>& entry : entries_) requests_.push_back(entry->request);
    handles_ = requests_;
  }

  ~Batch() {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const Entry& entry = *entries_[i];
      if (entry.sort == Sort::none) {
        CHECK(requests_[i] == MPI_REQUEST_NULL);
      } else if (entry.sort == Sort::inactive || entry.persistent) {
        CHECK(requests_[i] == handles_[i], "a persistent request that nobody freed");
        MPI_Request_free(&requests_[i]);
      } else {
        CHECK(entry.done && requests_[i] == MPI_REQUEST_NULL);
      }
    }
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(requests_.size()); }
  MPI_Request* requests() { return requests_.data(); }
  MPI_Request& request(std::size_t i) { return requests_[i]; }
  [[nodiscard]] bool active(std::size_t i) const {
    return entries_[i]->sort > Sort::inactive && !entries_[i]->done;
  }
  [[nodiscard]] bool any_active() const {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (active(i)) return true;
    }
    return false;
  }
  /// The number of entries that were never null or inactive.
  [[nodiscard]] std::size_t operations() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        entries_, [](const std::unique_ptr<Entry>& entry) { return entry->sort > Sort::inactive; }));
  }

  /// To be called when MPI has reported that this request is complete.
  void completed(std::size_t i, const MPI_Status* status, const std::string& by) {
    Entry& entry = *entries_[i];
    CHECK(active(i), by + ": completed what is not active");
    entry.done = true;
    CHECK(requests_[i] == (entry.persistent ? handles_[i] : MPI_REQUEST_NULL),
          by + ": the handle afterwards");
    if (entry.sort == Sort::collective) entry.call.check(by);
    if (entry.sort == Sort::recv) {
      CHECK(entry.value == sent_ - world_rank() + left_, by + ": received " + std::to_string(entry.value));
    }
    if (status == nullptr) return;
    CHECK(!is_cancelled(*status), by);
    if (entry.sort == Sort::collective && counts_are_zero) CHECK(count_in(*status) == 0, by);
    if (entry.sort == Sort::recv) {
      CHECK(status->MPI_SOURCE == left_ && status->MPI_TAG == tag, by);
      CHECK(count_in(*status, MPI_INT) == 1 && count_in(*status) == sizeof(int), by);
    }
  }
  /// To be called when MPI has reported that no request was complete. Then it must not have changed any.
  void nothing_completed(const std::string& by) const {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const bool gone = entries_[i]->done && !entries_[i]->persistent;
      CHECK(requests_[i] == (gone ? MPI_REQUEST_NULL : handles_[i]),
            by + ": the handle of what is not complete");
    }
  }

 private:
  struct Entry {
    Sort sort = Sort::none;
    std::size_t number = 0;
    bool persistent = false;
    bool done = false;
    MPI_Request request = MPI_REQUEST_NULL;
    Call call;
    int value = -1;
  };
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  Entry& add(Sort sort) {
    entries_.push_back(std::make_unique<Entry>());
    entries_.back()->sort = sort;
    entries_.back()->number = entries_.size();
    return *entries_.back();
  }

  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Request> handles_;  // the original handles
  int never_ = 0;
  int sent_ = 0;
  int left_ = 0;
  int right_ = 0;
};

// ---- ways to wait for a batch, with statuses or without

void by_wait(Batch& batch, bool statuses) {
  for (int i = batch.size() - 1; i >= 0; --i) {
    const auto place = static_cast<std::size_t>(i);
    const bool active = batch.active(place);
    MPI_Status status = fresh_status();
    CHECK(MPI_Wait(&batch.request(place), statuses ? &status : MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (active) batch.completed(place, statuses ? &status : nullptr, "Wait");
    if (!statuses) continue;
    CHECK(leaves_error(status), "Wait");
    if (!active) CHECK(is_empty(status), "Wait");
  }
}

void by_test(Batch& batch, bool statuses) {
  std::size_t done = 0;
  while (done < batch.operations()) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch.size()); ++i) {
      const bool active = batch.active(i);
      int flag = -1;
      MPI_Status status = fresh_status();
      CHECK(MPI_Test(&batch.request(i), &flag, statuses ? &status : MPI_STATUS_IGNORE) == MPI_SUCCESS);
      if (active && flag != 0) {
        ++done;
        batch.completed(i, statuses ? &status : nullptr, "Test");
      } else if (active) {
        batch.nothing_completed("Test");
      } else {
        CHECK(flag == 1, "Test of what is null or inactive");
        if (statuses) CHECK(is_empty(status), "Test");
      }
      if (statuses) CHECK(leaves_error(status), "Test");
    }
  }
}

void by_waitany(Batch& batch, bool statuses) {
  for (std::size_t turn = 0; turn <= batch.operations(); ++turn) {
    int index = -1;
    MPI_Status status = fresh_status();
    CHECK(MPI_Waitany(batch.size(), batch.requests(), &index, statuses ? &status : MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    if (turn == batch.operations()) {
      CHECK(index == MPI_UNDEFINED, "Waitany of nothing active");
      if (statuses) CHECK(is_empty(status), "Waitany");
    } else {
      CHECK(index >= 0 && index < batch.size(), "Waitany");
      batch.completed(static_cast<std::size_t>(index), statuses ? &status : nullptr, "Waitany");
      if (statuses) CHECK(leaves_error(status), "Waitany");
    }
  }
}

void by_testany(Batch& batch, bool statuses) {
  while (true) {
    int index = -1;
    int flag = -1;
    MPI_Status status = fresh_status();
    CHECK(MPI_Testany(batch.size(), batch.requests(), &index, &flag,
                      statuses ? &status : MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (!batch.any_active()) {
      CHECK(flag == 1 && index == MPI_UNDEFINED, "Testany of nothing active");
#ifdef OPEN_MPI  // MPICH 4.0.2 leaves the status as it was
      if (statuses) CHECK(is_empty(status), "Testany");
#endif
      return;
    }
    if (flag == 0) {
      CHECK(index == MPI_UNDEFINED, "Testany");
      batch.nothing_completed("Testany");
    } else {
      CHECK(index >= 0 && index < batch.size(), "Testany");
      batch.completed(static_cast<std::size_t>(index), statuses ? &status : nullptr, "Testany");
      if (statuses) CHECK(leaves_error(status), "Testany");
    }
  }
}

void by_some(Batch& batch, bool statuses, bool wait) {
  const std::string by = wait ? "Waitsome" : "Testsome";
  std::vector<int> indices(static_cast<std::size_t>(batch.size()));
  std::vector<MPI_Status> results(indices.size());
  while (true) {
    std::ranges::fill(indices, -1);
    std::ranges::fill(results, fresh_status());
    int count = -1;
    const auto some = wait ? MPI_Waitsome : MPI_Testsome;
    CHECK(some(batch.size(), batch.requests(), &count, indices.data(),
               statuses ? results.data() : MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    if (!batch.any_active()) {
      CHECK(count == MPI_UNDEFINED, by + " of nothing active");
      return;
    }
    CHECK(count >= (wait ? 1 : 0) && count <= batch.size(), by + ": " + std::to_string(count));
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      CHECK(indices[i] >= 0 && indices[i] < batch.size(), by);
      batch.completed(static_cast<std::size_t>(indices[i]), statuses ? &results[i] : nullptr, by);
    }
    batch.nothing_completed(by);
  }
}
void by_waitsome(Batch& batch, bool statuses) {
  by_some(batch, statuses, true);
}
void by_testsome(Batch& batch, bool statuses) {
  by_some(batch, statuses, false);
}

void by_all(Batch& batch, bool statuses, bool wait) {
  const std::string by = wait ? "Waitall" : "Testall";
  std::vector<MPI_Status> results(static_cast<std::size_t>(batch.size()), fresh_status());
  MPI_Status* all = statuses ? results.data() : MPI_STATUSES_IGNORE;
  if (wait) {
    CHECK(MPI_Waitall(batch.size(), batch.requests(), all) == MPI_SUCCESS);
  } else {
    int flag = 0;
    while (flag == 0) {
      CHECK(MPI_Testall(batch.size(), batch.requests(), &flag, all) == MPI_SUCCESS);
      if (flag == 0) batch.nothing_completed(by);
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (batch.active(i)) {
      batch.completed(i, statuses ? &results[i] : nullptr, by);
    } else if (statuses) {
      CHECK(is_empty(results[i]), by);
    }
  }
}
void by_waitall(Batch& batch, bool statuses) {
  by_all(batch, statuses, true);
}
void by_testall(Batch& batch, bool statuses) {
  by_all(batch, statuses, false);
}

/// Polls each request until it is complete. That frees nothing, so the request can be polled and waited for
/// again.
void by_get_status(Batch& batch, bool statuses) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.size()); ++i) {
    const bool active = batch.active(i);
    const MPI_Request handle = batch.request(i);
    MPI_Status status = fresh_status();
#ifdef MPI_ABI
    constexpr int looks = 1;  // MPICH 5.0.2 reports the source of a persistent receive only once
#else
    constexpr int looks = 3;
#endif
    for (int look = 0; look < looks; ++look) {
      int flag = 0;
      while (flag == 0) {
        status = fresh_status();
        CHECK(MPI_Request_get_status(batch.request(i), &flag, statuses ? &status : MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(batch.request(i) == handle);
        CHECK(flag != 0 || active, "Request_get_status of what is null or inactive");
      }
    }
    if (!active) {
      if (statuses) CHECK(is_empty(status), "Request_get_status");
      continue;
    }
    int flag = 0;
    MPI_Test(&batch.request(i), &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 1, "a Test after Request_get_status said that it is complete");
    batch.completed(i, statuses ? &status : nullptr, "Request_get_status");
  }
}

void ways_to_wait() {
  const std::pair<const char*, void (*)(Batch&, bool)> ways[]{
      {"Wait", by_wait},       {"Test", by_test},         {"Waitany", by_waitany},
      {"Testany", by_testany}, {"Waitsome", by_waitsome}, {"Testsome", by_testsome},
      {"Waitall", by_waitall}, {"Testall", by_testall},   {"Request_get_status", by_get_status},
  };
  MPI_Comm first = dup_of(MPI_COMM_WORLD);
  MPI_Comm second = reversed(MPI_COMM_WORLD);
  constexpr std::size_t kinds_of_ways = std::size(ways);
  for (std::size_t number = 0; number < 12 * kinds_of_ways; ++number) {
    // In some turns all ranks wait in the same way, in others each in its own.
    const std::size_t skew = number % 2 == 0 ? 0 : static_cast<std::size_t>(world_rank());
    Batch batch(first, second, number);
    ways[(number + skew) % kinds_of_ways].second(batch, number % 5 < 3);
  }
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
}

/// Four requests, waited for in all 24 orders. Each rank uses another order.
void orders() {
  MPI_Comm first = dup_of(MPI_COMM_WORLD);
  MPI_Comm second = dup_of(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  const int rank = world_rank();
  std::array order{0, 1, 2, 3};
  for (int skip = 0; skip < 7 * rank; ++skip) std::ranges::next_permutation(order);
  for (std::size_t number = 0; number < 72; ++number) {
    std::array<MPI_Request, 4> requests{};
    int received = -1;
    std::array<Call, 3> calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const MpiFunction function =
          called_functions.at((number + i * (1 + number / 6)) % called_functions.size());
      calls.at(i).prepare(some_task(function, i == 1 ? second : first, 10 + number * 40, number + i),
                          number * 7 + i);
      calls.at(i).begin(&requests.at(i));
    }
    MPI_Irecv(&received, 1, MPI_INT, (rank + 1) % ranks, tag, MPI_COMM_WORLD, &requests[3]);
    MPI_Send(&rank, 1, MPI_INT, (rank + ranks - 1) % ranks, tag, MPI_COMM_WORLD);
    for (const int place : order) {
      MPI_Request& request = requests.at(static_cast<std::size_t>(place));
      int done = 0;
      while (number % 2 == 0 && done == 0) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(request == MPI_REQUEST_NULL);
    }
    for (const Call& call : calls) call.check("in some order");
    CHECK(received == (rank + 1) % ranks);
    std::ranges::next_permutation(order);
  }
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
}

void nothing_to_wait_for() {
  int index = -1;
  int flag = -1;
  int count = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status = fresh_status();
  CHECK(MPI_Waitall(0, &request, &status) == MPI_SUCCESS);
  CHECK(MPI_Testall(0, &request, &flag, &status) == MPI_SUCCESS && flag == 1);
  CHECK(MPI_Waitany(0, &request, &index, &status) == MPI_SUCCESS && index == MPI_UNDEFINED);
  flag = -1;
  CHECK(MPI_Testany(0, &request, &index, &flag, &status) == MPI_SUCCESS && index == MPI_UNDEFINED &&
        flag == 1);
  CHECK(MPI_Waitsome(0, &request, &count, &index, &status) == MPI_SUCCESS && count == MPI_UNDEFINED);
  count = -1;
  CHECK(MPI_Testsome(0, &request, &count, &index, &status) == MPI_SUCCESS && count == MPI_UNDEFINED);
}

/// Handles in Fortran's form.
void fortran_handles() {
  for (const bool backwards : {false, true}) {
    std::array<Call, 6> calls;
    std::vector<MPI_Fint> handles;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      MPI_Request request{};
      calls.at(i).prepare(some_task(paired_functions.at(i), MPI_COMM_WORLD, 100 * i, i), i);
      calls.at(i).begin(&request);
      handles.push_back(MPI_Request_c2f(request));
      CHECK(MPI_Request_f2c(handles.back()) == request);
      CHECK(MPI_Request_c2f(request) == handles.back());
    }
    if (backwards) std::ranges::reverse(handles);
    for (const MPI_Fint handle : handles) {
      auto request = MPI_Request_f2c(handle);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(request == MPI_REQUEST_NULL);
    }
    for (const Call& call : calls) call.check("Fortran's handles");
  }
  CHECK(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
}

/// MPI frees a communicator when the outstanding calls on it have ended.
void communicators_freed() {
  for (std::size_t number = 0; number < 30; ++number) {
    MPI_Comm comm = number % 2 == 0 ? dup_of(MPI_COMM_WORLD) : reversed(MPI_COMM_WORLD);
    std::array<Call, 3> calls;
    std::array<MPI_Request, 3> requests{};
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::size_t counts[] = {1, 3000, 50000};
      const MpiFunction function = called_functions.at((number + i) % called_functions.size());
      calls.at(i).prepare(some_task(function, comm, counts[(number + i) % 3], number + i), number);
      calls.at(i).begin(&requests.at(i));
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(comm == MPI_COMM_NULL);
    // A new communicator must not be mistaken for the freed one, although it may have the same handle.
    MPI_Comm next = dup_of(MPI_COMM_WORLD);
    CHECK(counted_sum_right(next, 100));
    Call another;
    MPI_Request request{};
    another.prepare(some_task(MpiFunction::allreduce, next, 2000, number), number + 1000);
    another.begin(&request);
    if (number % 3 == 0) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
    } else {
      for (MPI_Request& each : requests) MPI_Wait(&each, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (const Call& call : calls) call.check("communicator freed");
    another.check("made after one was freed");
    MPI_Comm_free(&next);
  }
}

/// All functions, types, operations, roots and sizes, one after the other and many at once.
void all_sorts_of_calls() {
  const Elements layouts[] = {ints(), doubles(), with_gaps(ints()), with_gaps(doubles())};
  MPI_Comm turned = reversed(MPI_COMM_WORLD);
  std::uint64_t seed = 1;
  std::deque<Call> calls;
  std::vector<MPI_Request> requests;
  const auto finish = [&] {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (const Call& call : calls) call.check("all sorts");
    calls.clear();
    requests.clear();
  };
  for (const MpiFunction function : called_functions) {
    for (const Elements& elements : layouts) {
      for (const Combine how : {Combine::sum, Combine::max, Combine::add, Combine::compose}) {
        const bool reduces = is_reduction(collective_of(function));
        // Operations of MPI are not defined on types of the program.
        if (reduces && elements.extent > elements.size() && how < Combine::add) continue;
        if (!reduces && how != Combine::sum) continue;
        if (wrong_by_mpich(function, elements, how)) continue;
        for (const std::size_t count : {0, 1, 3, 17, 1000, 20000}) {
          for (const bool in_place : {false, true}) {
            for (int root = 0; root < (has_root(collective_of(function)) ? 3 : 1); ++root) {
              calls.emplace_back();
              requests.push_back(MPI_REQUEST_NULL);
              calls.back().prepare({.function = function,
                                    .comm = seed % 3 == 0 ? turned : MPI_COMM_WORLD,
                                    .count = count,
                                    .elements = elements,
                                    .how = how,
                                    .root = root,
                                    .in_place = in_place},
                                   ++seed);
              CHECK(calls.back().begin(&requests.back()) == MPI_SUCCESS);
              CHECK(requests.back() != MPI_REQUEST_NULL);
              if (seed % 7 < 4 || calls.size() > 20) finish();
            }
          }
        }
      }
    }
  }
  finish();
  MPI_Comm_free(&turned);
  for (Elements elements : {layouts[2], layouts[3]}) MPI_Type_free(&elements.type);
}

/// Types of MPI with gaps: the minimum and its place.
void locations() {
  struct Located {
    double value;
    int place;
  };
  const int ranks = size_of(MPI_COMM_WORLD);
  const int rank = world_rank();
  for (const int count : {1, 100, 30000}) {
    const auto length = static_cast<std::size_t>(count);
    const auto value = [&](int of, std::size_t i) {
      return static_cast<double>((static_cast<std::size_t>(of) * 7 + i) % 5);
    };
    std::vector<Located> in(length);
    for (std::size_t i = 0; i < length; ++i) in[i] = {value(rank, i), rank};
    for (const bool least : {true, false}) {
      const auto check = [&](const std::vector<Located>& got, const char* what) {
        for (std::size_t i = 0; i < length; ++i) {
          int best = 0;
          for (int of = 1; of < ranks; ++of) {
            if (least ? value(of, i) < value(best, i) : value(of, i) > value(best, i)) best = of;
          }
          CHECK(got[i].value == value(best, i) && got[i].place == best, std::string(what));
        }
      };
      const MPI_Op op = least ? MPI_MINLOC : MPI_MAXLOC;
      std::vector<Located> out(length);
      std::vector<Located> at_root(length);
      std::vector<Located> in_place = in;
      std::array<MPI_Request, 3> requests{};
      MPI_Iallreduce(in.data(), out.data(), count, MPI_DOUBLE_INT, op, MPI_COMM_WORLD, requests.data());
      MPI_Ireduce(in.data(), at_root.data(), count, MPI_DOUBLE_INT, op, ranks - 1, MPI_COMM_WORLD,
                  &requests[1]);
      MPI_Iallreduce(MPI_IN_PLACE, in_place.data(), count, MPI_DOUBLE_INT, op, MPI_COMM_WORLD, &requests[2]);
      for (const MpiFunction function : {MpiFunction::allreduce, MpiFunction::reduce, MpiFunction::allreduce})
        count_call(function);
      MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
      check(out, "out of place");
      check(in_place, "in place");
      if (rank == ranks - 1) check(at_root, "at the root");
    }
  }
}

/// An empty message needs no buffer.
void nothing_at_all() {
  const int ranks = size_of(MPI_COMM_WORLD);
  const std::vector<int> zeros(static_cast<std::size_t>(ranks), 0);
  std::array<MPI_Request, 6> requests{};
  MPI_Iallreduce(nullptr, nullptr, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, requests.data());
  MPI_Ibcast(nullptr, 0, MPI_INT, ranks - 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Ireduce(nullptr, nullptr, 0, MPI_INT, MPI_SUM, ranks - 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Ireduce_scatter(nullptr, nullptr, zeros.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[3]);
  MPI_Ireduce_scatter_block(nullptr, nullptr, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[4]);
  MPI_Iallgather(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, MPI_COMM_WORLD, &requests[5]);
  for (const MpiFunction function : paired_functions) count_call(function);
  CHECK(MPI_Waitall(6, requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  for (const MPI_Request request : requests) CHECK(request == MPI_REQUEST_NULL);
}

void hundred_outstanding() {
  MPI_Comm comms[] = {dup_of(MPI_COMM_WORLD), reversed(MPI_COMM_WORLD), MPI_COMM_WORLD};
  for (const bool one_communicator : {true, false}) {
    std::deque<Call> calls(100);
    std::vector<MPI_Request> requests(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const MpiFunction function = called_functions.at(i * 5 % called_functions.size());
      calls[i].prepare(some_task(function, comms[one_communicator ? 0 : i % 3], i * i % 3000, i), i);
      CHECK(calls[i].begin(&requests[i]) == MPI_SUCCESS);
    }
    // The last call is waited for first, then others in an irregular order.
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::size_t place = (99 + i * 37) % calls.size();
      MPI_Wait(&requests[place], MPI_STATUS_IGNORE);
      calls[place].check("one of a hundred");
    }
  }
  MPI_Comm_free(&comms[0]);
  MPI_Comm_free(&comms[1]);
}

/// Outstanding and blocking calls of all functions on one communicator, including calls that the library
/// carries out.
void among_others() {
  MPI_Comm comm = dup_of(MPI_COMM_WORLD);
  const int ranks = size_of(comm);
  const int rank = rank_in(comm);
  for (std::size_t number = 0; number < 36; ++number) {
    const MpiFunction outer = paired_functions.at(number % 6);
    const MpiFunction inner = paired_functions.at(number / 6);
    const std::vector<int> sent(static_cast<std::size_t>(ranks), rank);
    std::vector<int> gathered(static_cast<std::size_t>(ranks), -1);
    std::array<Call, 2> outstanding;
    Call blocked;
    std::array<MPI_Request, 4> requests{};
    outstanding[0].prepare(some_task(outer, comm, 2000, number), number);
    outstanding[1].prepare(some_task(inner, comm, 30, number + 1), number + 1);
    blocked.prepare(blocking(some_task(inner, comm, 700, number + 2)), number + 2);
    outstanding[0].begin(requests.data());
    MPI_Ialltoall(sent.data(), 1, MPI_INT, gathered.data(), 1, MPI_INT, comm, &requests[1]);
    blocked.block();
    MPI_Ibarrier(comm, &requests[2]);
    outstanding[1].begin(&requests[3]);
    int sum = -1;
    MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == rank * (rank + 1) / 2);
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    for (const Call& call : outstanding) call.check("among others");
    blocked.check("blocking, among outstanding ones");
    for (int from = 0; from < ranks; ++from) CHECK(gathered[static_cast<std::size_t>(from)] == from);
  }
  MPI_Comm_free(&comm);
}

int queried = 0;
int query(void* /*state*/, MPI_Status* status) {
  ++queried;
  MPI_Status_set_elements(status, MPI_INT, 42);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 77;
  status->MPI_TAG = 88;
  return MPI_SUCCESS;
}
int free_grequest(void* /*state*/) {
  return MPI_SUCCESS;
}
int cancel_grequest(void* /*state*/, int /*complete*/) {
  return MPI_SUCCESS;
}

/// A receive that is cancelled, a send whose handle is freed, and a generalized request.
void other_requests() {
  const int ranks = size_of(MPI_COMM_WORLD);
  const int right = (world_rank() + 1) % ranks;
  const int left = (world_rank() + ranks - 1) % ranks;
  for (std::size_t number = 0; number < 12; ++number) {
    std::array<MPI_Request, 4> requests{};
    std::array<MPI_Status, 4> statuses{};
    Call first;
    Call second;
    int never = 0;
    first.prepare(some_task(paired_functions.at(number % 6), MPI_COMM_WORLD, 1000, number), number);
    second.prepare(some_task(paired_functions.at((number + 1) % 6), MPI_COMM_WORLD, 10, number), number);
    first.begin(&requests[2]);
    MPI_Irecv(&never, 1, MPI_INT, left, tag + 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Cancel(&requests[1]);
    second.begin(requests.data());
    MPI_Grequest_start(query, free_grequest, cancel_grequest, nullptr, &requests[3]);
    MPI_Grequest_complete(requests[3]);
    const int number_sent = static_cast<int>(number);
    MPI_Request given_up{};
    MPI_Isend(&number_sent, 1, MPI_INT, right, tag + 6, MPI_COMM_WORLD, &given_up);
    CHECK(MPI_Request_free(&given_up) == MPI_SUCCESS);
    CHECK(given_up == MPI_REQUEST_NULL);
    queried = 0;
    MPI_Waitall(4, requests.data(), statuses.data());
    CHECK(is_cancelled(statuses[1]));
    CHECK(!is_cancelled(statuses[0]) && !is_cancelled(statuses[2]));
    CHECK(queried == 1 && count_in(statuses[3], MPI_INT) == 42);
    CHECK(statuses[3].MPI_SOURCE == 77 && statuses[3].MPI_TAG == 88);
    first.check("beside other requests");
    second.check("beside other requests");
    int received = -1;
    MPI_Recv(&received, 1, MPI_INT, left, tag + 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(received == number_sent);
    // The send buffer may be freed only when the send has ended.
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void alone_and_between() {
  std::array<Call, 6> calls;
  std::array<MPI_Request, 6> requests{};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls.at(i).prepare(some_task(paired_functions.at(i), MPI_COMM_SELF, 100 * i, i + 1), i);
    calls.at(i).begin(&requests.at(i));
  }
  MPI_Waitall(6, requests.data(), MPI_STATUSES_IGNORE);
  for (const Call& call : calls) call.check("MPI_COMM_SELF");

  const int rank = world_rank();
  MPI_Comm local{};
  MPI_Comm inter{};
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
  int sum = 0;
  int expected = 0;
  for (int i = 1 - rank % 2; i < size_of(MPI_COMM_WORLD); i += 2) expected += i;
  MPI_Request request{};
  CHECK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter, &request) == MPI_SUCCESS);
  count_call(MpiFunction::allreduce);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(sum == expected, "between groups");
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
}

#if MPI_VERSION >= 4
void large_counts() {
  for (std::size_t number = 0; number < 24; ++number) {
    std::array<Call, 6> calls;
    std::array<MPI_Request, 6> requests{};
    for (std::size_t i = 0; i < calls.size(); ++i) {
      calls.at(i).prepare(some_task(paired_functions.at(i), MPI_COMM_WORLD, number * 100, number + i),
                          number);
      CHECK(calls.at(i).begin_large(&requests.at(i)) == MPI_SUCCESS);
    }
    MPI_Waitall(6, requests.data(), MPI_STATUSES_IGNORE);
    for (const Call& call : calls) call.check("_c");
  }
}
#endif

void rising() {
  for (const std::size_t count : {1, 17, 1000, 300000}) {
    Call call;
    MPI_Request request{};
    call.prepare({.function = MpiFunction::reduce_scatter,
                  .comm = MPI_COMM_WORLD,
                  .count = count,
                  .in_place = true,
                  .rising = true},
                 count);
    call.begin(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    call.check("ever larger blocks");
  }
}

void gaps() {
  for (Elements elements : {with_gaps(ints()), with_gaps(doubles())}) {
    for (const std::size_t count : {1, 17, 1000, 20000}) {
      for (const bool in_place : {false, true}) {
        Call call;
        MPI_Request request{};
        call.prepare({.function = MpiFunction::reduce_scatter_block,
                      .comm = MPI_COMM_WORLD,
                      .count = count,
                      .elements = elements,
                      .how = Combine::compose,
                      .in_place = in_place},
                     count);
        call.begin(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        call.check("elements with gaps");
      }
    }
    MPI_Type_free(&elements.type);
  }
}

/// Handles are freed, but the objects live until the call has ended.
void types_and_operations_freed() {
  for (std::size_t number = 0; number < 48; ++number) {
    const MpiFunction function = paired_functions.at(number % 6);
    Elements elements = with_gaps(number % 4 < 2 ? doubles() : ints());
    const Combine how = number % 9 < 4 || wrong_by_mpich(function, elements, Combine::compose)
                            ? Combine::add
                            : Combine::compose;
    MPI_Op op = make_op(how, elements.real);
    std::array<Call, 2> calls;
    std::array<MPI_Request, 2> requests{};
    for (std::size_t i = 0; i < calls.size(); ++i) {
      calls.at(i).prepare({.function = function,
                           .comm = MPI_COMM_WORLD,
                           .count = i == 0 ? std::size_t{20} : std::size_t{20000},
                           .elements = elements,
                           .how = how,
                           .root = static_cast<int>(number) % 3,
                           .in_place = number % 5 == 0,
                           .op = op},
                          number);
      calls.at(i).begin(&requests.at(i));
    }
    // Other objects may get the same handles.
    CHECK(MPI_Type_free(&elements.type) == MPI_SUCCESS && elements.type == MPI_DATATYPE_NULL);
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS && op == MPI_OP_NULL);
    Elements next = with_gaps(ints());
    MPI_Op next_op = make_op(Combine::add, false);
    CHECK(counted_sum_right(MPI_COMM_WORLD, 10));
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    for (const Call& call : calls) call.check("type and operation freed");
    MPI_Type_free(&next.type);
    MPI_Op_free(&next_op);
  }
}

// ---- threads

/// Started in this thread, waited for in another.
void handed_over() {
  MPI_Comm comm = dup_of(MPI_COMM_WORLD);
  for (std::size_t number = 0; number < 60; ++number) {
    std::array<Call, 4> calls;
    std::array<MPI_Request, 4> requests{};
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::size_t counts[] = {3, 5000, 0, 100};
      calls.at(i).prepare(some_task(paired_functions.at((number + i) % 6), comm, counts[i], number + i),
                          number);
    }
    std::thread([&] {
      for (std::size_t i = 0; i < calls.size(); ++i) calls.at(i).begin(&requests.at(i));
    }).join();
    // Two threads wait, each for its own request, and this one polls.
    std::thread first([&] { MPI_Wait(&requests[0], MPI_STATUS_IGNORE); });
    std::thread second([&] { MPI_Waitall(2, &requests[1], MPI_STATUSES_IGNORE); });
    int done = 0;
    while (done == 0) MPI_Test(&requests[3], &done, MPI_STATUS_IGNORE);
    first.join();
    second.join();
    for (const MPI_Request request : requests) CHECK(request == MPI_REQUEST_NULL);
    for (const Call& call : calls) call.check("waited for in another thread");
  }
  MPI_Comm_free(&comm);
}

/// A thread waits for a collective that the other ranks call only after a message from this rank's other
/// thread.
void while_another_waits() {
  MPI_Comm comm = dup_of(MPI_COMM_WORLD);
  const int ranks = size_of(comm);
  for (std::size_t number = 0; number < 30; ++number) {
    const int first_one = static_cast<int>(number) % ranks;
    Call call;
    MPI_Request request{};
    call.prepare(some_task(paired_functions.at(number % 6), comm, 200 * number, number), number);
    int word = 0;
    if (rank_in(comm) == first_one) {
      call.begin(&request);
      std::thread waiting([&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
      for (int to = 0; to < ranks; ++to) {
        if (to != first_one) MPI_Send(&word, 1, MPI_INT, to, tag, comm);
      }
      waiting.join();
    } else {
      MPI_Recv(&word, 1, MPI_INT, first_one, tag, comm, MPI_STATUS_IGNORE);
      call.begin(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    call.check("waited for while another thread sends");
  }
  MPI_Comm_free(&comm);
}

/// Each thread starts and waits on its own communicator; at the end, all in one array of requests.
void each_its_own() {
  std::array<MPI_Comm, 3> comms{};
  for (MPI_Comm& comm : comms) comm = dup_of(MPI_COMM_WORLD);
  constexpr std::size_t each = 20;
  std::deque<Call> calls(comms.size() * each);
  std::vector<MPI_Request> requests(calls.size(), MPI_REQUEST_NULL);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < comms.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t * each; i < (t + 1) * each; ++i) {
        calls[i].prepare(some_task(paired_functions.at(i % 6), comms.at(t), i * 37 % 2000, i), i);
        calls[i].begin(&requests[i]);
        if (i % 3 == 0) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (const Call& call : calls) call.check("threads");
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

// ---- mistakes

int handled = 0;
void count_handled(MPI_Comm* /*comm*/, int* /*error*/, ...) {
  ++handled;
}

/// Mistakes give the same error class as in the library, as many calls of the handler, and no request for
/// which the program would have to wait.
void mistakes() {
  MPI_Comm comm = dup_of(MPI_COMM_WORLD);
  MPI_Errhandler counting{};
  MPI_Comm_create_errhandler(count_handled, &counting);
  const int ranks = size_of(comm);
  std::vector<double> in(64);
  std::vector<double> out(64);
  const std::vector<int> counts(static_cast<std::size_t>(ranks), 2);
  std::vector<int> negative = counts;
  negative[0] = -1;
  MPI_Datatype uncommitted{};
  MPI_Type_contiguous(1, MPI_DOUBLE, &uncommitted);
  struct Mistake {
    const char* name;
    std::function<int(bool, MPI_Request*)> call;
  };
#define MISTAKE(name, function, ...)                                                       \
  {                                                                                        \
    name, [&](bool library, MPI_Request* request) {                                        \
      return library ? P##function(__VA_ARGS__, request) : function(__VA_ARGS__, request); \
    }                                                                                      \
  }
  const std::vector<Mistake> all{
      MISTAKE("allreduce by no operation", MPI_Iallreduce, in.data(), out.data(), 8, MPI_DOUBLE, MPI_OP_NULL,
              comm),
      MISTAKE("allreduce of no type", MPI_Iallreduce, in.data(), out.data(), 8, MPI_DATATYPE_NULL, MPI_SUM,
              comm),
      MISTAKE("bitwise and of doubles", MPI_Iallreduce, in.data(), out.data(), 8, MPI_DOUBLE, MPI_BAND, comm),
      MISTAKE("bcast of -1", MPI_Ibcast, out.data(), -1, MPI_DOUBLE, 0, comm),
      MISTAKE("bcast from rank -5", MPI_Ibcast, out.data(), 8, MPI_DOUBLE, -5, comm),
      MISTAKE("bcast from a rank too high", MPI_Ibcast, out.data(), 8, MPI_DOUBLE, ranks, comm),
      MISTAKE("bcast of an uncommitted type", MPI_Ibcast, out.data(), 8, uncommitted, 0, comm),
      MISTAKE("reduce to rank -5", MPI_Ireduce, in.data(), out.data(), 8, MPI_DOUBLE, MPI_SUM, -5, comm),
      MISTAKE("reduce to a rank too high", MPI_Ireduce, in.data(), out.data(), 8, MPI_DOUBLE, MPI_SUM, ranks,
              comm),
      MISTAKE("reduce_scatter of -1", MPI_Ireduce_scatter, in.data(), out.data(), negative.data(), MPI_DOUBLE,
              MPI_SUM, comm),
      MISTAKE("allgather of -1", MPI_Iallgather, in.data(), -1, MPI_DOUBLE, out.data(), 1, MPI_DOUBLE, comm),
      MISTAKE("allgather into no type", MPI_Iallgather, in.data(), 1, MPI_DOUBLE, out.data(), 1,
              MPI_DATATYPE_NULL, comm),
#ifdef OPEN_MPI  // MPICH 4.0.2 does not check these counts, and crashes
      MISTAKE("allreduce of -1", MPI_Iallreduce, in.data(), out.data(), -1, MPI_DOUBLE, MPI_SUM, comm),
      MISTAKE("reduce of -1", MPI_Ireduce, in.data(), out.data(), -1, MPI_DOUBLE, MPI_SUM, 0, comm),
      MISTAKE("reduce_scatter_block of -1", MPI_Ireduce_scatter_block, in.data(), out.data(), -1, MPI_DOUBLE,
              MPI_SUM, comm),
#endif
      MISTAKE("no communicator", MPI_Iallreduce, in.data(), out.data(), 8, MPI_DOUBLE, MPI_SUM,
              MPI_COMM_NULL),
  };
#undef MISTAKE
  for (MPI_Comm each : {comm, MPI_COMM_WORLD}) MPI_Comm_set_errhandler(each, counting);
  for (const char* when : {"before the first good call", "after it"}) {
    int errors = 0;
    for (const Mistake& mistake : all) {
      std::array<int, 2> classes{};
      std::array<int, 2> times{};
      for (const bool library : {true, false}) {
        const std::size_t i = library ? 0 : 1;
        handled = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        classes.at(i) = error_class(mistake.call(library, &request));
        times.at(i) = handled;
        CHECK(classes.at(i) == MPI_SUCCESS || request == MPI_REQUEST_NULL,
              std::string(mistake.name) + " leaves a request, " + when);
        CHECK(classes.at(i) != MPI_SUCCESS, std::string(mistake.name) + " is no error, " + when);
      }
      errors += classes[0] == MPI_SUCCESS ? 0 : 1;
      CHECK(classes[0] == classes[1] && times[0] == times[1],
            std::string(mistake.name) + ", " + when + ": class " + std::to_string(classes[1]) + ", handled " +
                std::to_string(times[1]) + "; by the library: " + std::to_string(classes[0]) + ", " +
                std::to_string(times[0]));
    }
    CHECK(errors == static_cast<int>(all.size()));
    handled = 0;
    Call call;
    MPI_Request request{};
    call.prepare({.function = MpiFunction::allreduce, .comm = comm, .count = 1000}, 1);
    CHECK(call.begin(&request) == MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    call.check("after mistakes");
    CHECK(handled == 0);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&counting);
  MPI_Type_free(&uncommitted);
  MPI_Comm_free(&comm);
}

/// A receive that fails, beside collectives that do not.
void error_in_status() {
  const int ranks = size_of(MPI_COMM_WORLD);
  const int right = (world_rank() + 1) % ranks;
  const int left = (world_rank() + ranks - 1) % ranks;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (std::size_t number = 0; number < 12; ++number) {
    std::array<MPI_Request, 3> requests{};
    std::array<MPI_Status, 3> statuses{};
    std::array<Call, 2> calls;
    const std::array<int, 2> sent{1, 2};
    std::array<int, 2> received{-1, -1};
    calls[0].prepare(some_task(paired_functions.at(number % 6), MPI_COMM_WORLD, 500, number), number);
    calls[1].prepare(some_task(paired_functions.at(number / 2), MPI_COMM_WORLD, 10, number + 1), number);
    calls[0].begin(requests.data());
    MPI_Irecv(received.data(), 1, MPI_INT, left, tag, MPI_COMM_WORLD, &requests[1]);
    calls[1].begin(&requests[2]);
    MPI_Send(sent.data(), 2, MPI_INT, right, tag, MPI_COMM_WORLD);
    CHECK(error_class(MPI_Waitall(3, requests.data(), statuses.data())) == MPI_ERR_IN_STATUS);
    CHECK(error_class(statuses[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
    CHECK(received[1] == -1);
    for (const std::size_t i : {0U, 2U}) {
      const int error = error_class(statuses.at(i).MPI_ERROR);
      CHECK(error == MPI_SUCCESS || error == MPI_ERR_PENDING, "class " + std::to_string(error));
      if (error == MPI_ERR_PENDING) CHECK(MPI_Wait(&requests.at(i), MPI_STATUS_IGNORE) == MPI_SUCCESS);
      CHECK(requests.at(i) == MPI_REQUEST_NULL);
      calls.at(i / 2).check("beside a receive that is wrong");
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

void run_part(const std::string& part) {
  if (part == "most") {
    ways_to_wait();
    orders();
    nothing_to_wait_for();
    fortran_handles();
    all_sorts_of_calls();
    locations();
    nothing_at_all();
    hundred_outstanding();
    among_others();
    other_requests();
    alone_and_between();
#if MPI_VERSION >= 4
    large_counts();
#endif
  } else if (part == "threads") {
    handed_over();
    while_another_waits();
    each_its_own();
  } else if (part == "errors") {
    mistakes();
    error_in_status();
  } else if (part == "freed") {
    types_and_operations_freed();
  } else if (part == "orphans") {
    communicators_freed();
  } else if (part == "rising") {
    rising();
  } else if (part == "gaps") {
    gaps();
  } else {
    CHECK(false, "no part is called " + part);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> parts = words_of(argc > 1 ? argv[1] : "most");
  const bool has_threads = std::ranges::find(parts, "threads") != parts.end();
  counts_are_zero = argc > 2 && std::string_view(argv[2]) == "counts";
  const int level = has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  CHECK(provided >= level);
  for (const std::string& part : parts) {
    begin_step(part);
    run_part(part);
  }
  print_calls();
  MPI_Finalize();
}

// SPDX-License-Identifier: Apache-2.0
// Many random calls, mostly small ones. All results are checked, and no call may leak memory.
//
//   stress threads SEED CALLS        MPI_THREAD_MULTIPLE: four threads, each with a communicator of its own
//   stress outstanding SEED CALLS [everything]    one thread with up to 64 outstanding calls on three
//   communicators
//
// The calls are drawn from a generator that is the same on all ranks; the ways to wait, from each rank's own.
// Without `everything`, the faults of MPICH 4.0.2 with persistent collectives are left out (see
// persistent.cpp).
#include <unistd.h>

#include <fstream>
#include <memory>
#include <thread>

#include "check.hpp"
#include "collectives.hpp"

namespace {

constexpr std::size_t largest = 20000;
constexpr std::size_t bytes_reserved = (largest + 1000) * sizeof(double);

bool everything = true;
bool mpich_leaves_out() {
#ifdef OPEN_MPI
  return false;
#else
  return !everything;
#endif
}

std::size_t below(Random& random, std::size_t limit) {
  return static_cast<std::size_t>(random.next() % limit);
}

Task draw(Random& random, MPI_Comm comm) {
  Task task{
      .function = called_functions.at(below(random, called_functions.size())), .comm = comm, .count = 0};
  const std::size_t size_class = below(random, 200);
  task.count = below(random, size_class < 180 ? 9 : size_class < 199 ? 300 : largest + 1);
  task.elements = below(random, 2) == 0 ? ints() : doubles();
  task.how = static_cast<Combine>(below(random, 4));
  task.root = static_cast<int>(below(random, 64));
  task.in_place = below(random, 4) == 0;
  return task;
}

/// Another communicator of all ranks, in another order now and then.
MPI_Comm new_communicator(Random& random, MPI_Comm old) {
  MPI_Comm made{};
  if (below(random, 2) == 0) {
    MPI_Comm_dup(old, &made);
  } else {
    const int ranks = size_of(old);
    MPI_Comm_split(old, 0, (rank_in(old) + static_cast<int>(below(random, 64))) % ranks, &made);
  }
  return made;
}

/// In MB.
double resident_memory() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

/// Outstanding calls and persistent ones, each in a slot.
class Outstanding {
 public:
  Outstanding(std::size_t slots, std::size_t persistent) : calls_(slots + persistent) {
    requests_.resize(calls_.size(), MPI_REQUEST_NULL);
    for (Call& call : calls_) call.reserve(bytes_reserved);
    for (std::size_t i = 0; i < slots; ++i) free_.push_back(i);
    for (std::size_t i = 0; i < persistent; ++i) persistent_.push_back(slots + i);
    state_.resize(calls_.size(), State::none);
  }
  Outstanding(const Outstanding&) = delete;
  Outstanding& operator=(const Outstanding&) = delete;

  [[nodiscard]] bool full() const { return free_.empty(); }
  [[nodiscard]] std::size_t active() const { return active_.size(); }
  [[nodiscard]] std::size_t persistent() const { return persistent_.size(); }

  void begin(const Task& task, std::uint64_t seed) {
    const std::size_t i = free_.back();
    free_.pop_back();
    calls_[i].prepare(task, seed);
    CHECK(calls_[i].begin(&requests_[i]) == MPI_SUCCESS);
    activate(i);
  }
  void init(std::size_t which, const Task& task) {
    const std::size_t i = persistent_[which];
    calls_[i].prepare(task, 0);
    CHECK(calls_[i].init(&requests_[i]) == MPI_SUCCESS);
    state_[i] = State::inactive;
  }
  /// An active one must end first.
  void start(std::size_t which, std::uint64_t seed) {
    const std::size_t i = persistent_[which];
    if (state_[i] == State::active) wait_for(i);
    calls_[i].refill(seed);
    CHECK(calls_[i].start(&requests_[i]) == MPI_SUCCESS);
    activate(i);
  }
  void free(std::size_t which) {
    const std::size_t i = persistent_[which];
    if (state_[i] == State::active) wait_for(i);
    MPI_Request_free(&requests_[i]);
    state_[i] = State::none;
  }

  /// Waits or polls in some way. `wait`: until at least one has ended.
  void progress(Random& random, bool wait) {
    if (active_.empty()) return;
    const std::size_t way = below(random, 100);
    if (way < 20) {
      const std::size_t i = active_[below(random, active_.size())];
      if (wait) {
        wait_for(i);
      } else {
        test(i);
      }
    } else if (way < 60) {
      any(wait);
    } else if (way < 97 || (mpich_leaves_out() && persistent_active_ > 0)) {
      some(wait);
    } else {
      all(wait);
    }
  }
  /// All calls of a communicator.
  void finish(MPI_Comm comm) {
    const std::vector<std::size_t> places = active_;
    for (const std::size_t i : places) {
      if (calls_[i].task().comm == comm) wait_for(i);
    }
  }
  void finish() {
    if (!active_.empty()) all(true);
  }

 private:
  enum class State : char { none, inactive, active };

  void activate(std::size_t i) {
    active_.push_back(i);
    if (is_persistent(i)) ++persistent_active_;
    state_[i] = State::active;
  }
  [[nodiscard]] bool is_persistent(std::size_t i) const {
    return !persistent_.empty() && i >= persistent_.front();
  }
  void ended(std::size_t i) {
    CHECK(state_[i] == State::active);
    CHECK((requests_[i] == MPI_REQUEST_NULL) != is_persistent(i));
    calls_[i].check();
    active_.erase(std::ranges::find(active_, i));
    state_[i] = is_persistent(i) ? State::inactive : State::none;
    if (is_persistent(i)) {
      --persistent_active_;
    } else {
      free_.push_back(i);
    }
  }

  void wait_for(std::size_t i) {
    MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
    ended(i);
  }
  void test(std::size_t i) {
    int done = 0;
    MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
    if (done != 0) ended(i);
  }

  /// The active ones in one array, and back.
  int gather() {
    array_.clear();
    places_ = active_;
    for (const std::size_t i : places_) array_.push_back(requests_[i]);
    return static_cast<int>(array_.size());
  }
  void ended_in_array(int index) {
    const auto place = static_cast<std::size_t>(index);
    requests_[places_.at(place)] = array_[place];
    ended(places_[place]);
  }
  void any(bool wait) {
    const int count = gather();
    int index = -1;
    int done = 1;
    if (wait) {
      MPI_Waitany(count, array_.data(), &index, MPI_STATUS_IGNORE);
    } else {
      MPI_Testany(count, array_.data(), &index, &done, MPI_STATUS_IGNORE);
    }
    if (done != 0) ended_in_array(index);
  }
  void some(bool wait) {
    const int count = gather();
    int found = -1;
    indices_.resize(places_.size());
    (wait ? MPI_Waitsome : MPI_Testsome)(count, array_.data(), &found, indices_.data(), MPI_STATUSES_IGNORE);
    CHECK(found >= (wait ? 1 : 0) && found <= count);
    for (std::size_t k = 0; k < static_cast<std::size_t>(found); ++k) ended_in_array(indices_[k]);
  }
  void all(bool wait) {
    const int count = gather();
    int done = 1;
    if (wait) {
      MPI_Waitall(count, array_.data(), MPI_STATUSES_IGNORE);
    } else {
      MPI_Testall(count, array_.data(), &done, MPI_STATUSES_IGNORE);
    }
    for (int index = 0; done != 0 && index < count; ++index) ended_in_array(index);
  }

  std::vector<Call> calls_;
  std::vector<MPI_Request> requests_;
  std::vector<State> state_;
  std::vector<std::size_t> free_;
  std::vector<std::size_t> persistent_;  // the last of the slots
  std::vector<std::size_t> active_;
  std::size_t persistent_active_ = 0;
  std::vector<MPI_Request> array_;
  std::vector<std::size_t> places_;
  std::vector<int> indices_;
};

/// One thread, or one of four.
class Caller {
 public:
  Caller(std::uint64_t seed, std::size_t communicators, std::size_t slots, std::size_t persistent,
         bool blocks)
      : shared_(seed),
        own_(seed * 1000 + static_cast<std::uint64_t>(world_rank()) + 1),
        outstanding_(slots, persistent),
        blocks_(blocks) {
    blocking_.reserve(bytes_reserved);
    comms_.resize(communicators);
    for (MPI_Comm& comm : comms_) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (std::size_t c = 0; c < communicators; ++c) make_persistent(c);
  }

  void run(long calls) {
    for (long i = 0; i < calls; ++i) {
      ++seed_;
      const std::size_t c = below(shared_, comms_.size());
      if (below(shared_, 1500) == 0) remake(c);
      const std::size_t form = below(shared_, 100);
      if (form < (blocks_ ? 50U : 2U)) {
        blocking_.prepare(blocking(draw(shared_, comms_[c])), seed_);
        blocking_.block();
        blocking_.check();
      } else if (form > 84 && outstanding_.persistent() > 0) {
        outstanding_.start(below(shared_, outstanding_.persistent()), seed_);
      } else {
        // A call that ends may be persistent, and then frees no slot.
        while (outstanding_.full()) outstanding_.progress(own_, true);
        outstanding_.begin(draw(shared_, comms_[c]), seed_);
      }
      const std::size_t eagerness = below(own_, 100);
      if (eagerness < 40) {
        outstanding_.progress(own_, false);
      } else if (eagerness < 50) {
        outstanding_.progress(own_, true);
      }
    }
    outstanding_.finish();
  }

  /// By the thread that made it.
  void end() {
    for (std::size_t which = 0; which < outstanding_.persistent(); ++which) outstanding_.free(which);
    for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
  }

 private:
  /// Every communicator has its share of the persistent calls.
  void make_persistent(std::size_t c) {
    for (std::size_t which = c; which < outstanding_.persistent(); which += comms_.size()) {
      Task task = draw(shared_, comms_[c]);
      const int ranks = size_of(comms_[c]);
      if (mpich_leaves_out() && task.function == MpiFunction::allgather && (ranks & (ranks - 1)) == 0) {
        task.function = MpiFunction::bcast;
      }
      outstanding_.init(which, task);
    }
  }
  void remake(std::size_t c) {
    outstanding_.finish(comms_[c]);
    for (std::size_t which = c; which < outstanding_.persistent(); which += comms_.size()) {
      outstanding_.free(which);
    }
    MPI_Comm made = new_communicator(shared_, comms_[c]);
    MPI_Comm_free(&comms_[c]);
    comms_[c] = made;
    make_persistent(c);
  }

  Random shared_;
  Random own_;
  Outstanding outstanding_;
  bool blocks_;
  Call blocking_;
  std::vector<MPI_Comm> comms_;
  std::uint64_t seed_ = 0;
};

void run(std::vector<std::unique_ptr<Caller>>& callers, long calls) {
  if (callers.size() == 1) {
    callers[0]->run(calls);
    return;
  }
  std::vector<std::thread> threads;
  threads.reserve(callers.size());
  for (const std::unique_ptr<Caller>& caller : callers) {
    threads.emplace_back([&caller, each = calls / static_cast<long>(callers.size())] { caller->run(each); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const auto seed = static_cast<std::uint64_t>(argc > 2 ? std::atol(argv[2]) : 1);
  const long calls = argc > 3 ? std::atol(argv[3]) : 20000;
  everything = argc > 4 && std::string_view(argv[4]) == "everything";
  const int level = mode == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  CHECK(provided >= level);
  CHECK(mode == "threads" || mode == "outstanding", "no mode is called " + std::string(mode));
  for (const Combine how : {Combine::add, Combine::compose}) op_of(how, true);

  std::vector<std::unique_ptr<Caller>> callers;
  if (mode == "threads") {
    for (std::uint64_t t = 0; t < 4; ++t)
      callers.push_back(std::make_unique<Caller>(seed * 10 + t, 1, 8, 0, true));
  } else {
    callers.push_back(std::make_unique<Caller>(seed, 3, 64, 9, false));
  }
  run(callers, calls / 10);
  const double early = resident_memory();
  run(callers, calls - calls / 10);
  const double late = resident_memory();
  for (const std::unique_ptr<Caller>& caller : callers) caller->end();
  if (world_rank() == 0) {
    std::printf("resident memory: %.1f MB after 10 %%, %.1f MB at the end\n", early, late);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these keep memory themselves
    CHECK(late - early < 16 + 4 * static_cast<double>(calls) / 100000);
#endif
  }
  print_calls();
  MPI_Finalize();
}

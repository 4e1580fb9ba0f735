// SPDX-License-Identifier: Apache-2.0
// Jobs without MPI, through the interface for frameworks: job LIBRARY RANKS PART. The ranks are children of
// this process, and their store is a folder. Beside the job, they communicate by files in this folder.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <thread>

namespace {
[[noreturn]] void fail(const char* file, int line, const char* condition, const std::string& context) {
  std::fprintf(stderr, "%s:%d: process %d: CHECK(%s) failed %s\n", file, line, getpid(), condition,
               context.c_str());
  _exit(1);
}
}  // namespace

/// CHECK(condition) or CHECK(condition, text that describes the case).
#define CHECK(condition, ...)                                                                         \
  do {                                                                                                \
    if (!(condition)) fail(__FILE__, __LINE__, #condition, std::string() __VA_OPT__(+(__VA_ARGS__))); \
  } while (false)

#include "../interpose/group_parts.hpp"
#include "long_messages.hpp"
#include "strangers.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

/// Returns whether there is a file within some seconds.
bool has_come(const fs::path& file, double seconds = 60) {
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (!fs::exists(file)) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

/// A store whose values are files.
class FolderStore {
 public:
  FolderStore(fs::path folder, double seconds) : folder_(std::move(folder)), seconds_(seconds) {
    fs::create_directories(folder_);
  }

  stretto_store interface() {
    return {.of = this,
            .set =
                [](void* of, const char* key, const void* value, size_t bytes) {
                  static_cast<FolderStore*>(of)->set(key, {static_cast<const char*>(value), bytes});
                  return 0;
                },
            .get = [](void* of, const char* key, void* value, size_t capacity) -> long {
              std::string found;
              if (!static_cast<FolderStore*>(of)->get(key, found)) return -1;
              std::memcpy(value, found.data(), std::min(found.size(), capacity));
              return static_cast<long>(found.size());
            }};
  }
  void set(const std::string& key, std::string_view value) const {
    const fs::path file = place(key);
    const fs::path made = file.string() + "." + std::to_string(getpid());
    std::ofstream(made, std::ios::binary) << value;
    fs::rename(made, file);
  }
  bool get(const std::string& key, std::string& value) const {
    if (!has_come(place(key), seconds_)) return false;
    std::ifstream file(place(key), std::ios::binary);
    value = {std::istreambuf_iterator<char>(file), {}};
    return true;
  }

 private:
  [[nodiscard]] fs::path place(std::string key) const {
    std::replace(key.begin(), key.end(), '/', '-');
    return folder_ / key;
  }
  fs::path folder_;
  double seconds_;
};

/// Returns 0, or 1 as the interface does.
int try_to_begin(int rank, int ranks, const fs::path& folder, double seconds) {
  FolderStore store(folder, seconds);
  const stretto_store its = store.interface();
  constexpr std::array<char, STRETTO_SECRET_BYTES> secret{'s', 'e', 'c', 'r', 'e', 't'};
  return CALL(stretto_begin_by_store)(rank, ranks, &its, "127.0.0.1", secret.data(), seconds);
}

void begin(int rank, int ranks, const fs::path& folder) {
  CHECK(try_to_begin(rank, ranks, folder, 60) == 0, CALL(stretto_error)());
  CHECK(CALL(stretto_find_place)(&place) == 0, CALL(stretto_error)());
  CHECK(place.rank == rank && place.ranks == ranks);
}

void end() {
  CHECK(CALL(stretto_end)(10, nullptr) == 0, CALL(stretto_error)());
}

stretto_group* everybody() {
  stretto_group* group = CALL(stretto_group_make)(nullptr, 0, 0, 60);
  CHECK(group != nullptr, CALL(stretto_error)());
  return group;
}

/// Returns the error of a work that must fail, within some seconds.
std::string failure_of(stretto_work* work, double seconds) {
  if (work == nullptr) return CALL(stretto_error)();
  CHECK(CALL(stretto_work_wait)(work, seconds) == 1, "a work of a job that has failed does not end");
  const char* error = CALL(stretto_work_error)(work);
  CHECK(error != nullptr, "a work of a job that has failed ends without an error");
  std::string text = error;
  CALL(stretto_work_free)(work);
  return text;
}

stretto_work* sum(stretto_group* group, std::vector<float>& data) {
  return CALL(stretto_group_allreduce)(group, data.data(), data.data(), data.size(), STRETTO_FLOAT32,
                                       STRETTO_SUM);
}

void sum_and_check(stretto_group* group, std::size_t elements) {
  std::vector<float> data(elements, static_cast<float>(place.rank + 1));
  wait_for(sum(group, data), "allreduce");
  const auto wanted = static_cast<float>(place.ranks * (place.ranks + 1) / 2);
  CHECK(std::all_of(data.begin(), data.end(), [&](float x) { return x == wanted; }), "allreduce");
}

/// A job of one call.
void sum_once(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  stretto_group* group = everybody();
  sum_and_check(group, 100'000);
  CALL(stretto_group_free)(group);
  end();
}

/// Makes a file with the number of this process, as a sign for other processes.
void note(const fs::path& file) {
  const fs::path made = file.string() + "." + std::to_string(getpid());
  std::ofstream(made) << getpid();
  fs::rename(made, file);
}

pid_t noted_process(const fs::path& file) {
  pid_t process = 0;
  std::ifstream(file) >> process;
  return process;
}

/// Waits until all ranks, except one, have come here. The job may have failed.
void meet(const fs::path& folder, const std::string& name, int rank, int ranks, int without = -1) {
  note(folder / (name + std::to_string(rank)));
  for (int other = 0; other < ranks; ++other)
    CHECK(other == without || has_come(folder / (name + std::to_string(other))), name);
}

int open_files() {
  int files = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) files += entry.exists() ? 1 : 0;
  return files;
}

int threads() {
  int running = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) running += entry.exists() ? 1 : 0;
  return running;
}

/// Returns the resident memory; always the same number under a sanitizer, which keeps free memory.
long resident_kib() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 1;
#endif
  std::ifstream file("/proc/self/statm");
  long pages = 0;
  file >> pages >> pages;
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

void groups(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  check_groups();
  end();
}

void long_messages(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  stretto_group* group = everybody();
  check_long_messages(group, rank);
  CALL(stretto_group_free)(group);
  end();
}

/// Jobs one after the other in the same processes leave nothing behind.
void again(int rank, int ranks, const fs::path& folder) {
  constexpr int jobs = 100;
  constexpr int first_counted = 20;
  int files = 0;
  int running = 0;
  long memory = 0;
  for (int job = 0; job < jobs; ++job) {
    begin(rank, ranks, folder / std::to_string(job));
    stretto_group* group = everybody();
    sum_and_check(group, 1000);
    sum_and_check(group, 300'000);
    CALL(stretto_group_free)(group);
    end();
    if (job == first_counted) {
      files = open_files();
      running = threads();
      memory = resident_kib();
    }
  }
  CHECK(open_files() <= files, std::to_string(files) + " files, then " + std::to_string(open_files()));
  CHECK(threads() <= running, std::to_string(running) + " threads, then " + std::to_string(threads()));
  CHECK(resident_kib() < memory + 4096,
        std::to_string(memory) + " KiB, then " + std::to_string(resident_kib()));
}

/// In the middle of calls, a rank ends itself by `die`. All others learn of it soon.
template <typename Die>
void end_one(int rank, int ranks, const fs::path& folder, const Die& die) {
  begin(rank, ranks, folder / "first");
  stretto_group* group = everybody();
  sum_and_check(group, 100'000);
  meet(folder, "ready", rank, ranks);
  const int victim = ranks / 2;
  if (rank == victim) {
    die();
    note(folder / "death");
    raise(SIGKILL);
  }
  std::vector<float> data(1'000'000, 1);
  const std::string error = failure_of(sum(group, data), 20);
  CHECK(error.find("rank " + std::to_string(victim)) != std::string::npos, error);
  const auto took = fs::file_time_type::clock::now() - fs::last_write_time(folder / "death");
  CHECK(took < milliseconds(1500),
        std::to_string(std::chrono::duration<double>(took).count()) + " s: " + error);
  CALL(stretto_group_free)(group);
  // So no rank learns of another rank's regular end first.
  meet(folder, "heard", rank, ranks, victim);
  end();
  sum_once(rank < victim ? rank : rank - 1, ranks - 1, folder / "second");
}

void killed(int rank, int ranks, const fs::path& folder) {
  end_one(rank, ranks, folder, [] {});
}

/// As above, but a child of the rank lives on.
void forked(int rank, int ranks, const fs::path& folder) {
  end_one(rank, ranks, folder, [&] {
    if (fork() == 0) {
      note(folder / "child");
      static_cast<void>(has_come(folder / "over"));
      _exit(0);
    }
    CHECK(has_come(folder / "child"));
  });
  CHECK(kill(noted_process(folder / "child"), 0) == 0, "the child has ended");
  meet(folder, "seen", rank, ranks, ranks / 2);
  note(folder / "over");
}

/// A child does not disturb its parent, whether it goes on, ends, or begins a job of its own.
void parents(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder / "first");
  stretto_group* group = everybody();
  sum_and_check(group, 100'000);
  for (int child = 0; child < 10; ++child) {
    const pid_t process = fork();
    if (process == 0) {
      if (child % 3 == 0) _exit(0);
      if (child % 3 == 1) std::exit(0);
      CALL(stretto_progress)();
      _exit(0);
    }
    sum_and_check(group, 10'000);
    int status = 0;
    CHECK(waitpid(process, &status, 0) == process && status == 0, std::to_string(status));
    sum_and_check(group, 300'000);
  }
  CALL(stretto_group_free)(group);
  end();
}

/// Returns a group of the ranks of the job, except one.
stretto_group* everybody_but(int without, int ranks) {
  std::vector<int> some;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank != without) some.push_back(rank);
  }
  stretto_group* group = CALL(stretto_group_make)(some.data(), static_cast<int>(some.size()), 7, 60);
  CHECK(group != nullptr, CALL(stretto_error)());
  return group;
}

void sum_in(stretto_group* group, int members, std::size_t elements = 100'000) {
  std::vector<float> data(elements, 1);
  wait_for(sum(group, data), "allreduce");
  CHECK(std::all_of(data.begin(), data.end(), [&](float x) { return x == static_cast<float>(members); }));
}

/// A rank ends without a word right after the last call that needs it. The others get the result of that
/// call, go on without it, and hear of its end in the first call that needs it.
template <typename Die>
void go_on_without_one(int rank, int ranks, const fs::path& folder, const Die& die) {
  begin(rank, ranks, folder);
  stretto_group* all = everybody();
  const int victim = ranks / 2;
  stretto_group* others = rank == victim ? nullptr : everybody_but(victim, ranks);
  sum_and_check(all, 2'000'000);
  if (rank == victim) {
    note(folder / "death");
    die();
  }
  for (int call = 0; call < 100; ++call) sum_in(others, ranks - 1, 10'000);
  CHECK(has_come(folder / "death"));
  // Its parent reaps it.
  while (kill(noted_process(folder / "death"), 0) == 0) std::this_thread::sleep_for(milliseconds(10));
  for (int call = 0; call < 100; ++call) sum_in(others, ranks - 1, 10'000);
  // Messages between two others go on in a group of all, too.
  const int next = (rank + 1) % ranks == victim ? (rank + 2) % ranks : (rank + 1) % ranks;
  const int previous =
      (rank + ranks - 1) % ranks == victim ? (rank + ranks - 2) % ranks : (rank + ranks - 1) % ranks;
  if (next != rank) {
    float out = 1;
    float in = 0;
    stretto_work* received = CALL(stretto_group_recv)(all, &in, sizeof in, previous, 1);
    wait_for(CALL(stretto_group_send)(all, &out, sizeof out, next, 1), "send");
    wait_for(received, "receive");
  }
  if (ranks > 2) meet(folder, "through", rank, ranks, victim);
  std::vector<float> data(10, 1);
  const std::string error = failure_of(sum(all, data), 20);
  CHECK(error.find("rank " + std::to_string(victim)) == 0, error);
  for (int call = 0; call < 10; ++call) sum_in(others, ranks - 1, 10'000);
  CALL(stretto_group_free)(others);
  CALL(stretto_group_free)(all);
  meet(folder, "over", rank, ranks, victim);
  end();
}

void silent(int rank, int ranks, const fs::path& folder) {
  go_on_without_one(rank, ranks, folder, [] { _exit(0); });
}
void shot(int rank, int ranks, const fs::path& folder) {
  go_on_without_one(rank, ranks, folder, [] { raise(SIGKILL); });
}
void gone(int rank, int ranks, const fs::path& folder) {
  go_on_without_one(rank, ranks, folder, [] { std::exit(3); });
}

/// A rank gives up a work of one group. That group ends on all ranks, and the other group goes on.
void given_up(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  stretto_group* all = everybody();
  stretto_group* probe = CALL(stretto_group_make)(nullptr, 0, 5, 60);
  CHECK(probe != nullptr, CALL(stretto_error)());
  sum_in(probe, ranks);
  std::vector<float> data(500'000, 1);
  std::string error;
  if (rank == ranks - 1) {
    if (ranks > 1) CHECK(has_come(folder / "failed0"));
  } else {
    stretto_work* work = sum(probe, data);
    if (rank == 0) {
      CHECK(CALL(stretto_work_wait)(work, 0.2) == 0);
      const auto before = CALL(stretto_work_steps)(work);
      CHECK(CALL(stretto_work_wait)(work, 0.2) == 0);
      CHECK(CALL(stretto_work_steps)(work) == before, "nothing moves");
      CHECK(CALL(stretto_work_fail)(work, "rank 0 waits no longer") == 1, "its buffers are free");
    }
    error = failure_of(work, 20);
    CHECK(error == "rank 0 waits no longer", error);
    std::fill(data.begin(), data.end(), -1.0F);
    note(folder / ("failed" + std::to_string(rank)));
  }
  for (int call = 0; call < 50; ++call) sum_in(all, ranks, 20'000);
  if (ranks > 1) {
    error = failure_of(sum(probe, data), 20);
    CHECK(error == "rank 0 waits no longer", error);
  }
  CALL(stretto_group_free)(probe);
  for (int call = 0; call < 50; ++call) sum_in(all, ranks, 20'000);
  CALL(stretto_group_free)(all);
  end();
}

/// A rank is stopped. Another rank gives up. When the first rank continues, it learns of that.
void stopped(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder / "first");
  stretto_group* group = everybody();
  sum_and_check(group, 100'000);
  const int victim = ranks - 1;
  meet(folder, "ready", rank, ranks);
  if (rank == victim) raise(SIGSTOP);
  std::vector<float> data(1'000'000, 1);
  stretto_work* work = sum(group, data);
  if (rank == 0 && work != nullptr && CALL(stretto_work_wait)(work, 0.3) == 0)
    CALL(stretto_work_fail)(work, "rank 0 waits no longer");
  const std::string error = failure_of(work, 20);
  // The victim may first see that the others have left.
  CHECK(error == "rank 0 waits no longer" ||
            (rank == victim && error.find(" has left the job") != std::string::npos),
        error);
  CALL(stretto_group_free)(group);
  if (rank != victim) meet(folder, "heard", rank, ranks, victim);
  const auto began = Clock::now();
  end();
  CHECK(Clock::now() - began < std::chrono::seconds(5), "the end waits for a rank that is stopped");
  if (rank != victim) meet(folder, "ended", rank, ranks, victim);
  if (rank == 0) kill(noted_process(folder / ("ready" + std::to_string(victim))), SIGCONT);
  sum_once(rank, ranks, folder / "second");
}

/// Ranks call with different lengths. All get an error of one line with the lengths of the messages.
void lengths(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  stretto_group* group = everybody();
  sum_and_check(group, 10);
  meet(folder, "ready", rank, ranks);
  std::vector<float> data(rank == 0 ? 8 : 4, 1);
  // A rank may learn that another rank has failed before it gets the reason. The next call has the reason.
  static_cast<void>(failure_of(sum(group, data), 20));
  const std::string error = failure_of(sum(group, data), 20);
  for (const std::string part : {"ranks call with different lengths: in allreduce (call number ", " expects ",
                                 " bytes and gets ", " from rank "})
    CHECK(error.find(part) != std::string::npos, error);
  CHECK(error.find('\n') == std::string::npos, error);
  CALL(stretto_group_free)(group);
  meet(folder, "heard", rank, ranks);
  end();
}

/// Ranks that end regularly, one after the other, do not disturb the others.
void leaving(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  stretto_group* group = everybody();
  sum_and_check(group, 1000);
  std::vector<std::byte> data(3'000'000);
  if (rank == 0) {
    for (int other = 1; other < ranks; ++other)
      wait_for(CALL(stretto_group_send)(group, data.data(), data.size(), other, 1), "send");
  } else {
    std::this_thread::sleep_for(milliseconds(100 * rank));
    wait_for(CALL(stretto_group_recv)(group, data.data(), data.size(), 0, 1), "receive");
  }
  CALL(stretto_group_free)(group);
  end();
}

/// Ranks that exit without ending the job do not disturb the others, but the job fails if a rank waits for
/// them.
void exiting(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  static stretto_group* const group = everybody();  // it is not freed
  sum_and_check(group, 300'000);
  const int last = ranks - 1;
  if (rank > 0 && rank < last) std::exit(0);
  std::vector<float> data(300'000, 1);
  if (rank == last) {
    wait_for(CALL(stretto_group_send)(group, data.data(), data.size() * sizeof(float), 0, 1), "send");
    if (last > 0) std::exit(0);
  }
  wait_for(CALL(stretto_group_recv)(group, data.data(), data.size() * sizeof(float), last, 1), "receive");
  std::this_thread::sleep_for(milliseconds(300));
  CALL(stretto_progress)();
  if (ranks == 1) return;
  const std::string error = failure_of(sum(group, data), 20);
  CHECK(error.find("has left the job") != std::string::npos || error.find("has ended") != std::string::npos,
        error);
}

/// A rank comes later than the others: the first one, and the last one.
void late(int rank, int ranks, const fs::path& folder) {
  for (const int last : {0, ranks - 1}) {
    if (rank == last) std::this_thread::sleep_for(std::chrono::seconds(3));
    sum_once(rank, ranks, folder / std::to_string(last));
  }
}

/// A rank does not come. The others learn of it in time, and may begin without it.
void missing(int rank, int ranks, const fs::path& folder) {
  constexpr double seconds = 1;
  for (int absent = 0; absent < ranks; ++absent) {
    const fs::path here = folder / std::to_string(absent);
    fs::create_directories(here);
    meet(here, "ready", rank, ranks);
    if (rank != absent) {
      const auto began = Clock::now();
      CHECK(try_to_begin(rank, ranks, here / "first", seconds) == 1,
            "a rank is missing, and nobody misses it");
      // The rank waited either for the store or for other ranks, or for both if its parent came last.
      CHECK(Clock::now() - began < std::chrono::duration<double>(2 * seconds + 1));
      const std::string error = CALL(stretto_error)();
      CHECK(!error.empty() && error.find('\n') == std::string::npos, error);
      const bool is_of_store = error.find("the store did not return stretto/") == 0;
      const bool is_of_ranks = error.find("not all " + std::to_string(ranks) + " ranks arrived in time") == 0;
      const bool is_of_loss = error.find(" is lost: ") != std::string::npos;
      CHECK(is_of_store || is_of_ranks || is_of_loss, error);
      CHECK(CALL(stretto_end)(1, nullptr) == 1, "a job ends that has not begun");
      sum_once(rank < absent ? rank : rank - 1, ranks - 1, here / "second");
    }
    meet(here, "over", rank, ranks);
  }
}

/// Jobs go on, though strangers come to their listeners. Memory does not grow.
void hostile(int rank, int ranks, const fs::path& folder) {
  constexpr int first_counted = 3;
  long memory = 0;
  float is_over = 0;
  for (int job = 0; is_over == 0; ++job) {
    begin(rank, ranks, folder / std::to_string(job));
    stretto_group* group = everybody();
    note(folder / ("begun" + std::to_string(rank)));
    std::vector<std::byte> in(100'000);
    std::vector<std::byte> out(100'000);
    for (int call = 0; call < 20; ++call) {
      sum_and_check(group, 1000);
      // The call sends to ranks that are not connected yet.
      const int distance = call % ranks;
      stretto_work* received =
          CALL(stretto_group_recv)(group, in.data(), in.size(), (rank + ranks - distance) % ranks, 1);
      wait_for(CALL(stretto_group_send)(group, out.data(), out.size(), (rank + distance) % ranks, 1), "send");
      wait_for(received, "receive");
      std::this_thread::sleep_for(milliseconds(2));
    }
    is_over = fs::exists(folder / "over") ? 1 : 0;
    wait_for(CALL(stretto_group_allreduce)(group, &is_over, &is_over, 1, STRETTO_FLOAT32, STRETTO_MAX),
             "over");
    CALL(stretto_group_free)(group);
    end();
    if (job == first_counted) memory = resident_kib();
  }
  CHECK(memory == 0 || resident_kib() < memory + 8192,
        std::to_string(memory) + " KiB, then " + std::to_string(resident_kib()));
}

/// The strangers of hostile(), in the process that has started the ranks.
void attack(const std::vector<pid_t>& ranks, const fs::path& folder) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    CHECK(has_come(folder / ("begun" + std::to_string(rank))), "a rank does not begin");
  Strangers strangers(ranks);
  const int made = strangers.come(std::chrono::seconds(8));
  std::printf("%d connections were made\n", made);
  CHECK(made > 1000, "the strangers find no listeners");
  note(folder / "over");
}

/// Calls of a few lengths, several at once, so that specs are compared while some ranks are ahead of others.
/// Half of the ranks use the groups in another order: they wait for the second group while their calls of the
/// first one have not begun. That is no deadlock, because the other ranks start all calls before they wait.
void compared(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  const std::array<stretto_group*, 2> groups{everybody(), everybody()};
  std::mt19937 alike(1);
  std::mt19937 own(static_cast<unsigned>(rank) + 2);
  for (int step = 0; step < 120; ++step) {
    constexpr std::array<std::size_t, 3> lengths{16, 4'000, 40'000};
    const std::size_t elements = lengths.at(alike() % lengths.size());
    std::vector<std::vector<float>> data(1 + alike() % 20,
                                         std::vector<float>(elements, static_cast<float>(rank + step)));
    std::vector<stretto_work*> works;
    const auto start = [&] {
      for (std::vector<float>& one : data) works.push_back(sum(groups[0], one));
    };
    if (rank % 2 == 0) start();
    std::vector<float> other(16, 1);
    stretto_work* const of_other = sum(groups[1], other);
    if (own() % 8 == 0) std::this_thread::sleep_for(milliseconds(2));
    if (rank % 2 != 0) {
      wait_for(of_other, "the second group");
      start();
    }
    for (stretto_work* work : works) wait_for(work, "the first group");
    if (rank % 2 == 0) wait_for(of_other, "the second group");
    const auto wanted = static_cast<float>(ranks * step + ranks * (ranks - 1) / 2);
    for (const std::vector<float>& one : data)
      CHECK(std::all_of(one.begin(), one.end(), [&](float x) { return x == wanted; }), std::to_string(step));
  }
  for (stretto_group* group : groups) CALL(stretto_group_free)(group);
  // Groups that end while specs are compared leave nothing behind.
  long kib = 0;
  for (int round = 0; round < 200; ++round) {
    stretto_group* group = everybody();
    for (int call = 0; call < 10 + round % 20; ++call) sum_and_check(group, 16);
    CALL(stretto_group_free)(group);
    if (round == 99) kib = resident_kib();
  }
  CHECK(resident_kib() - kib < 1024, std::to_string(resident_kib()) + " KiB, before " + std::to_string(kib));
  end();
}

}  // namespace

#include "shrinking.hpp"

namespace {

struct Part {
  std::string_view name;
  void (*run)(int rank, int ranks, const fs::path& folder);
  bool kills = false;
  void (*beside)(const std::vector<pid_t>& ranks, const fs::path& folder) = nullptr;
};
constexpr Part parts[] = {{"groups", groups},
                          {"again", again},
                          {"compared", compared},
                          {"long_messages", long_messages},
                          {"killed", killed, true},
                          {"forked", forked, true},
                          {"parents", parents},
                          {"stopped", stopped},
                          {"silent", silent},
                          {"shot", shot, true},
                          {"gone", gone},
                          {"given_up", given_up},
                          {"leaving", leaving},
                          {"exiting", exiting},
                          {"lengths", lengths},
                          {"late", late},
                          {"missing", missing},
                          {"hostile", hostile, false, attack},
                          {"shrinking", shrinking, true},
                          {"shrunk_again", shrunk_again},
                          {"left_behind", left_behind},
                          {"left_out", left_out}};

/// Waits for all ranks. If one fails, the others get some seconds to report errors. Returns how many failed.
int wait_for_ranks(std::vector<pid_t> ranks, bool may_be_killed) {
  int wrong = 0;
  bool has_killed = false;
  Clock::time_point until = Clock::time_point::max();
  while (!ranks.empty()) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended <= 0) {
      std::this_thread::sleep_for(milliseconds(10));
      if (Clock::now() < until || has_killed) continue;
      for (const pid_t rank : ranks) kill(rank, SIGKILL);
      has_killed = true;
      continue;
    }
    if (std::erase(ranks, ended) == 0) continue;
    const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) continue;  // as gone() does
    if (status == 0 || (was_killed && may_be_killed && !has_killed)) continue;
    if (WIFSIGNALED(status)) std::fprintf(stderr, "process %d: %s\n", ended, strsignal(WTERMSIG(status)));
    ++wrong;
    until = std::min(until, Clock::now() + std::chrono::seconds(10));
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 4);
  const int ranks = std::atoi(argv[2]);
  const auto part =
      std::find_if(std::begin(parts), std::end(parts), [&](const Part& one) { return one.name == argv[3]; });
  CHECK(part != std::end(parts), argv[3]);
  std::string folder = fs::temp_directory_path() / "stretto-job-XXXXXX";
  CHECK(mkdtemp(folder.data()) != nullptr);
  note(fs::path(folder) / "seed");
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = fork();
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      stretto_object = dlopen(argv[1], RTLD_NOW);
      CHECK(stretto_object != nullptr, dlerror());
      part->run(rank, ranks, folder);
      std::exit(0);
    }
    processes.push_back(process);
  }
  if (part->beside != nullptr) part->beside(processes, folder);
  const int wrong = wait_for_ranks(processes, part->kills);
  fs::remove_all(folder);
  if (wrong > 0) std::fprintf(stderr, "%d ranks failed\n", wrong);
  return wrong > 0 ? 1 : 0;
}

// SPDX-License-Identifier: Apache-2.0
// Jobs without MPI, through the interface for frameworks: job LIBRARY RANKS PART. The ranks are processes of
// this one, and their store is a folder.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

/// A store whose values are files.
class FolderStore {
 public:
  explicit FolderStore(fs::path folder) : folder_(std::move(folder)) { fs::create_directories(folder_); }

  stretto_store interface() {
    return {.of = this,
            .set =
                [](void* of, const char* key, const void* value, size_t bytes) {
                  static_cast<FolderStore*>(of)->set(key, {static_cast<const char*>(value), bytes});
                  return 0;
                },
            .get = [](void* of, const char* key, void* value, size_t capacity) -> long {
              const std::string found = static_cast<FolderStore*>(of)->get(key);
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
  [[nodiscard]] std::string get(const std::string& key) const {
    while (!fs::exists(place(key))) std::this_thread::sleep_for(milliseconds(1));
    std::ifstream file(place(key), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  [[nodiscard]] fs::path place(std::string key) const {
    std::replace(key.begin(), key.end(), '/', '-');
    return folder_ / key;
  }
  fs::path folder_;
};

void begin(int rank, int ranks, const fs::path& folder) {
  FolderStore store(folder);
  const stretto_store its = store.interface();
  CHECK(CALL(stretto_begin_by_store)(rank, ranks, &its, "127.0.0.1", 60) == 0, CALL(stretto_error)());
  CHECK(CALL(stretto_find_place)(&place) == 0, CALL(stretto_error)());
  CHECK(place.rank == rank && place.ranks == ranks);
}

void end() {
  CHECK(CALL(stretto_end)(10) == 0, CALL(stretto_error)());
}

stretto_group* everybody() {
  stretto_group* group = CALL(stretto_group_make)(nullptr, 0, 0);
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

void sum_and_check(stretto_group* group, std::size_t count) {
  std::vector<float> data(count, static_cast<float>(place.rank + 1));
  wait_for(sum(group, data), "allreduce");
  const auto wanted = static_cast<float>(place.ranks * (place.ranks + 1) / 2);
  CHECK(std::all_of(data.begin(), data.end(), [&](float x) { return x == wanted; }), "allreduce");
}

int open_files() {
  int files = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) files += entry.exists() ? 1 : 0;
  return files;
}

int threads() {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) count += entry.exists() ? 1 : 0;
  return count;
}

long resident_kib() {
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

/// A rank is killed in the middle of calls. All others hear of it soon, and begin a smaller job.
void killed(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder / "first");
  stretto_group* group = everybody();
  sum_and_check(group, 100'000);
  const int victim = ranks / 2;
  if (rank == victim) {
    std::ofstream(folder / "death");
    raise(SIGKILL);
  }
  std::vector<float> data(1'000'000, 1);
  const std::string error = failure_of(sum(group, data), 20);
  CHECK(error.find("rank " + std::to_string(victim)) != std::string::npos, error);
  const auto took = fs::file_time_type::clock::now() - fs::last_write_time(folder / "death");
  CHECK(took < milliseconds(1500),
        std::to_string(std::chrono::duration<double>(took).count()) + " s: " + error);
  CHECK(std::string(CALL(stretto_failure)()) == error, error);
  CALL(stretto_group_free)(group);
  end();
  begin(rank < victim ? rank : rank - 1, ranks - 1, folder / "second");
  group = everybody();
  sum_and_check(group, 100'000);
  CALL(stretto_group_free)(group);
  end();
}

/// One rank does not call. Another one gives up, and its reason reaches all.
void overdue(int rank, int ranks, const fs::path& folder) {
  begin(rank, ranks, folder);
  stretto_group* group = everybody();
  sum_and_check(group, 10);
  std::vector<float> data(500'000, 1);
  std::string error;
  if (rank == ranks - 1) {
    while (CALL(stretto_failure)() == nullptr) {
      CALL(stretto_progress)();
      std::this_thread::sleep_for(milliseconds(1));
      if (CALL(stretto_failure)() != nullptr) break;
      stretto_work* poll = CALL(stretto_group_recv)(group, data.data(), 4, STRETTO_ANY_SOURCE, 5);
      if (poll == nullptr) break;
      error = failure_of(poll, 20);
    }
    error = CALL(stretto_failure)();
  } else {
    stretto_work* work = sum(group, data);
    if (rank == 0) {
      CHECK(CALL(stretto_work_wait)(work, 0.2) == 0);
      CALL(stretto_fail)("rank 0 waits no longer");
    }
    error = failure_of(work, 20);
  }
  CHECK(error == "rank 0 waits no longer", error);
  CALL(stretto_group_free)(group);
  end();
}

/// Ranks that end regularly, one after the other, disturb nobody.
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
  CHECK(CALL(stretto_failure)() == nullptr, CALL(stretto_failure)());
  CALL(stretto_group_free)(group);
  end();
}

struct Part {
  std::string_view name;
  void (*run)(int rank, int ranks, const fs::path& folder);
};
constexpr Part parts[] = {
    {"groups", groups}, {"again", again}, {"killed", killed}, {"overdue", overdue}, {"leaving", leaving}};

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 4);
  const int ranks = std::atoi(argv[2]);
  const auto part =
      std::find_if(std::begin(parts), std::end(parts), [&](const Part& one) { return one.name == argv[3]; });
  CHECK(part != std::end(parts), argv[3]);
  std::string folder = fs::temp_directory_path() / "stretto-job-XXXXXX";
  CHECK(mkdtemp(folder.data()) != nullptr);
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = fork();
    if (process == 0) {
      stretto_object = dlopen(argv[1], RTLD_NOW);
      CHECK(stretto_object != nullptr, dlerror());
      part->run(rank, ranks, folder);
      std::exit(0);
    }
    processes.push_back(process);
  }
  int wrong = 0;
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    wrong += status == 0 || (was_killed && part->run == killed) ? 0 : 1;
  }
  fs::remove_all(folder);
  if (wrong > 0) std::fprintf(stderr, "%d ranks failed\n", wrong);
  return wrong > 0 ? 1 : 0;
}

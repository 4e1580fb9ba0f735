// SPDX-License-Identifier: Apache-2.0
// Calls in the background of programs with functions that MPI calls, at each level of threads.
//
//   background PART LEVEL [sum]
//
//   waits    even ranks: start, F, wait      odd ranks: start, wait, F      for functions F that wait, of
//   which a
//            non-blocking reduction by the program's operation (with `sum`: by MPI_SUM) must go on in F
//   threads  the program's operation runs in the main thread only, and never in two threads at once
//   float    what a thread sets after MPI_Init (FTZ, DAZ, rounding) holds for its calls in the background
//   stack    an operation with large local arrays, in a program whose stack is not limited
//
// background_refers.cpp is the same program with references to MPI_Op_create and windows, which Stretto can
// see.
#include <dlfcn.h>
#include <fenv.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"

#ifdef REFERS
#define FOUND(name) (&(name))
#else
#define FOUND(name) reinterpret_cast<decltype(&(name))>(dlsym(RTLD_DEFAULT, #name))
#endif

namespace {

using namespace std::chrono_literals;

constexpr int count = 30000;

bool odd() {
  return world_rank() % 2 == 1;
}

const std::thread::id main_thread = std::this_thread::get_id();
std::atomic<int> calls_elsewhere{0};
std::atomic<int> running{0};
std::atomic<int> calls_at_once{0};

void add(void* in, void* inout, int* length, MPI_Datatype*) {
  if (std::this_thread::get_id() != main_thread) ++calls_elsewhere;
  if (running++ != 0) ++calls_at_once;
  for (int i = 0; i < *length; ++i) static_cast<double*>(inout)[i] += static_cast<const double*>(in)[i];
  --running;
}

void add_by_large_array(void* in, void* inout, int* length, MPI_Datatype*) {
  std::array<double, 512 * 1024> local;
  const auto n = static_cast<std::size_t>(*length);
  std::memcpy(local.data(), inout, n * sizeof(double));
  // The array needs a large stack. It is written from the far end on.
  for (volatile double* far = local.data() + local.size(); far-- > local.data() + n;) *far = 0;
  for (std::size_t i = 0; i < n; ++i) local[i] += static_cast<const double*>(in)[i];
  std::memcpy(inout, local.data(), n * sizeof(double));
}

MPI_Op make_op(MPI_User_function* function) {
  MPI_Op op{};
  FOUND(MPI_Op_create)(function, 1, &op);
  return op;
}

/// A non-blocking sum over all ranks, or over those up to this one.
class Sum {
 public:
  explicit Sum(MPI_Op op, bool is_scan = false) : is_scan_(is_scan) {
    for (int i = 0; i < count; ++i) in_[static_cast<std::size_t>(i)] = world_rank() + i % 7;
    if (is_scan_) {
      MPI_Iscan(in_.data(), out_.data(), count, MPI_DOUBLE, op, MPI_COMM_WORLD, &request_);
    } else {
      MPI_Iallreduce(in_.data(), out_.data(), count, MPI_DOUBLE, op, MPI_COMM_WORLD, &request_);
    }
  }
  void wait() {
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    const int ranks = is_scan_ ? world_rank() + 1 : size_of(MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) {
      const double wanted = ranks * (ranks - 1) / 2.0 + ranks * (i % 7);
      CHECK(out_[static_cast<std::size_t>(i)] == wanted, "element " + std::to_string(i));
    }
  }

 private:
  bool is_scan_;
  std::vector<double> in_ = std::vector<double>(count);
  std::vector<double> out_ = std::vector<double>(count);
  MPI_Request request_{};
};

MPI_Comm other = MPI_COMM_NULL;
MPI_Op own = MPI_OP_NULL;

int partner() {
  return world_rank() ^ 1;
}
void send() {
  const int number = 1;
  MPI_Send(&number, 1, MPI_INT, partner(), 5, other);
}
void receive() {
  int number = 0;
  MPI_Recv(&number, 1, MPI_INT, partner(), 5, other, MPI_STATUS_IGNORE);
  CHECK(number == 1);
}

/// Functions that return only when the odd rank has also called them.
std::vector<std::pair<const char*, std::function<void()>>> waiting_functions() {
  const auto odd_sends = [](const auto& receives) { return [=] { odd() ? send() : receives(); }; };
  const auto makes = [](const auto& make) {
    return [=] {
      MPI_Comm made = MPI_COMM_NULL;
      make(&made);
      if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
    };
  };
  const auto makes_window = [](const auto& make) {
    return [=] {
      static int number = 0;
      MPI_Win made = MPI_WIN_NULL;
      make(&number, &made);
      MPI_Win_free(&made);
    };
  };
  return {
    {"MPI_Iprobe", odd_sends([] {
       int found = 0;
       while (found == 0) MPI_Iprobe(partner(), 5, other, &found, MPI_STATUS_IGNORE);
       receive();
     })},
        {"MPI_Improbe", odd_sends([] {
           MPI_Message message{};
           int found = 0;
           int number = 0;
           while (found == 0) MPI_Improbe(partner(), 5, other, &found, &message, MPI_STATUS_IGNORE);
           MPI_Mrecv(&number, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
         })},
#if MPI_VERSION >= 4
        {"MPI_Recv_c", odd_sends([] {
           int number = 0;
           MPI_Recv_c(&number, 1, MPI_INT, partner(), 5, other, MPI_STATUS_IGNORE);
         })},
#endif
        {"MPI_Barrier", [] { MPI_Barrier(other); }},
        {"MPI_Scan",
         [] {
           int one = 1;
           int sum = 0;
           MPI_Barrier(other);
           MPI_Scan(&one, &sum, 1, MPI_INT, MPI_SUM, other);
         }},
        {"MPI_Comm_split_type", makes([](MPI_Comm* made) {
           MPI_Comm_split_type(other, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, made);
         })},
        {"MPI_Cart_create", makes([](MPI_Comm* made) {
           const int size = size_of(other);
           const int periodic = 0;
           MPI_Cart_create(other, 1, &size, &periodic, 0, made);
         })},
        {"MPI_Comm_create_group", makes([](MPI_Comm* made) {
           MPI_Group group{};
           MPI_Comm_group(other, &group);
           MPI_Comm_create_group(other, group, 3, made);
           MPI_Group_free(&group);
         })},
        {"MPI_Comm_dup_with_info",
         makes([](MPI_Comm* made) { MPI_Comm_dup_with_info(other, MPI_INFO_NULL, made); })},
        {"MPI_Win_create", makes_window([](int* number, MPI_Win* made) {
           FOUND(MPI_Win_create)(number, sizeof(int), 1, MPI_INFO_NULL, other, made);
         })},
        {"MPI_Win_allocate", makes_window([](int* /*number*/, MPI_Win* made) {
           void* memory = nullptr;
           FOUND(MPI_Win_allocate)(sizeof(int), 1, MPI_INFO_NULL, other, &memory, made);
         })},
        {"MPI_File_open", [] {
           MPI_File file{};
           MPI_File_open(other, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
           MPI_File_close(&file);
         }},
  };
}

void check_waits(MPI_Op op) {
  for (const auto& [name, function] : waiting_functions()) {
    for (int turn = 0; turn < 3; ++turn) {
      if (std::getenv("VERBOSE") != nullptr) std::fprintf(stderr, "%d %s\n", world_rank(), name);
      Sum sum(op);
      if (!odd()) function();
      sum.wait();
      if (odd()) function();
      MPI_Barrier(other);
    }
  }
}

void compute(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

void check_threads() {
  for (int turn = 0; turn < 20; ++turn) {
    Sum scan(own, true);
    Sum predefined(MPI_SUM);
    compute(5ms);
    CHECK(calls_elsewhere == 0, "the program's operation ran in another thread while the program computed");
    scan.wait();
    predefined.wait();
  }
#ifdef REFERS
  for (int turn = 0; turn < 20; ++turn) {
    Sum sum(own);
    std::vector<double> ones(count, 1.0);
    std::vector<double> sums(count);
    MPI_Scan(ones.data(), sums.data(), count, MPI_DOUBLE, own, other);
    sum.wait();
    CHECK(sums.back() == world_rank() + 1);
  }
  CHECK(calls_elsewhere == 0, "the program's operation ran in another thread");
#endif
  CHECK(calls_at_once == 0, "the program's operation ran in two threads at once");
}

/// Sums of subnormal numbers, which a thread that flushes them takes for 0, and of thirds, which are
/// rounded.
void check_float() {
  Sum(MPI_SUM).wait();  // so that threads exist that do not inherit the setting
#if defined(__SSE2__)
  _mm_setcsr(_mm_getcsr() | 0x8040U);  // FTZ and DAZ
#endif
  std::fesetround(FE_UPWARD);
  for (int turn = 0; turn < 20; ++turn) {
    std::vector<float> in(count, turn % 2 == 0 ? 1e-40F : static_cast<float>(world_rank() + 1) / 3);
    std::vector<float> out(in.size());
    std::vector<float> blocking(in.size());
    MPI_Request request{};
    MPI_Iallreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    compute(3ms);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(in.data(), blocking.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    // Compares bits: comparisons of numbers would flush them too.
    CHECK(std::memcmp(out.data(), blocking.data(), out.size() * sizeof(float)) == 0,
          "a call in the background has other bits than a blocking one, turn " + std::to_string(turn));
    std::vector<float> of_first = out;
    MPI_Bcast(of_first.data(), count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    CHECK(std::memcmp(out.data(), of_first.data(), out.size() * sizeof(float)) == 0, "ranks have other bits");
  }
}

void check_stack() {
  const MPI_Op large = make_op(add_by_large_array);
  for (int turn = 0; turn < 10; ++turn) {
    Sum scan(large, true);
    Sum sum(large);
    Sum predefined(MPI_SUM);
    MPI_Barrier(other);
    scan.wait();
    sum.wait();
    predefined.wait();
  }
}

/// Starts the program again with an unlimited stack, like `ulimit -s unlimited`.
void remove_limit_of_stack(char** argv) {
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_max != RLIM_INFINITY) return;
  limit.rlim_cur = RLIM_INFINITY;
  setrlimit(RLIMIT_STACK, &limit);
  execv("/proc/self/exe", argv);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "waits";
  const int level = argc > 2 ? std::atoi(argv[2]) : 0;
  const bool by_sum = argc > 3;
  if (part == "stack") remove_limit_of_stack(argv);
  constexpr std::array levels{MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                              MPI_THREAD_MULTIPLE};
  int provided = 0;
  MPI_Init_thread(&argc, &argv, levels.at(static_cast<std::size_t>(level)), &provided);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  if (!by_sum) own = make_op(add);
  if (part == "waits") check_waits(by_sum ? MPI_SUM : own);
  if (part == "threads") check_threads();
  if (part == "float") check_float();
  if (part == "stack") check_stack();
  MPI_Comm_free(&other);
  MPI_Finalize();
}

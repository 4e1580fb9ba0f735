// SPDX-License-Identifier: Apache-2.0
// One collective as a program calls it: its buffers, all forms of the call, and a check of the result.
// Every number follows from a seed, so no two calls have the same result.
#pragma once

#include <dlfcn.h>
#include <mpi.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Reduce_init MPIX_Reduce_init
#define MPI_Reduce_scatter_init MPIX_Reduce_scatter_init
#define MPI_Reduce_scatter_block_init MPIX_Reduce_scatter_block_init
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Alltoallv_init MPIX_Alltoallv_init
#define MPI_Gather_init MPIX_Gather_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Scan_init MPIX_Scan_init
#define MPI_Exscan_init MPIX_Exscan_init
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <vector>

#include "algorithms/mpi_function.hpp"
#include "check.hpp"

using stretto::MpiFunction;

/// The functions for tests that combine every two of them.
inline constexpr auto paired_functions = [] {
  using enum MpiFunction;
  return std::array{allreduce, bcast, reduce, reduce_scatter, reduce_scatter_block, allgather};
}();
/// The functions for all other tests.
inline constexpr auto called_functions = [] {
  using enum MpiFunction;
  return std::array{allreduce, bcast,    reduce,    reduce_scatter, reduce_scatter_block,
                    allgather, alltoall, alltoallv, gather,         scatter,
                    scan,      exscan};
}();
/// Returns the function of that name; all of them for "all".
inline std::vector<MpiFunction> functions_named(std::string_view name) {
  if (name == "all") return {called_functions.begin(), called_functions.end()};
  const auto found = stretto::find_mpi_function(name);
  CHECK(found.has_value() && std::ranges::find(called_functions, *found) != called_functions.end(),
        "no collective that tests call is called " + std::string(name));
  return {*found};
}

/// How often this process called each collective. A persistent one counts at every start. Stretto should
/// have counted the same.
inline std::array<std::atomic<long>, stretto::mpi_functions.size()> calls_of{};
inline void count_call(MpiFunction function) {
  calls_of.at(static_cast<std::size_t>(function)).fetch_add(1, std::memory_order_relaxed);
}
/// sums_right() of check.hpp, counted.
inline bool counted_sum_right(MPI_Comm comm, int count) {
  count_call(MpiFunction::allreduce);
  return sums_right(comm, count);
}
inline void print_calls() {
  if (world_rank() != 0) return;
  std::string line = "calls";
  for (const MpiFunction function : called_functions) {
    line += " " + std::string(name_of(function)) + "=" +
            std::to_string(calls_of.at(static_cast<std::size_t>(function)).load());
  }
  std::puts(line.c_str());
}

/// Elements hold whole numbers, as int or as double. They are `extent` bytes apart.
struct Elements {
  MPI_Datatype type;
  bool real;
  std::size_t extent;

  [[nodiscard]] std::size_t size() const { return real ? sizeof(double) : sizeof(int); }
};
inline Elements ints() {
  return {MPI_INT, false, sizeof(int)};
}
inline Elements doubles() {
  return {MPI_DOUBLE, true, sizeof(double)};
}
/// A committed datatype of the program, with a gap after each number.
inline Elements with_gaps(const Elements& dense) {
  Elements made{{}, dense.real, 3 * dense.size()};
  MPI_Type_create_resized(dense.type, 0, static_cast<MPI_Aint>(made.extent), &made.type);
  MPI_Type_commit(&made.type);
  return made;
}

/// `add` and `compose` are operations of the program, which also take elements with gaps.
enum class Combine { sum, max, add, compose };

/// Where numbers are composed, a number n stands for the function x → a x + b on the residues of this
/// prime, with a = n / prime, b = n % prime. Composition is associative, but not commutative. Sums of a
/// thousand such numbers fit an int.
inline constexpr std::int64_t prime = 1009;
inline std::int64_t combined(Combine how, std::int64_t left, std::int64_t right) {
  switch (how) {
    case Combine::sum:
    case Combine::add:
      return left + right;
    case Combine::max:
      return std::max(left, right);
    case Combine::compose:
      break;
  }
  const std::int64_t a = (left / prime) * (right / prime) % prime;
  const std::int64_t b = ((left / prime) * (right % prime) + left % prime) % prime;
  return a * prime + b;
}

template <typename Number, Combine how>
void user_operation(void* in, void* inout, int* length, MPI_Datatype* type) {
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(*type, &lower_bound, &extent);
  for (MPI_Aint i = 0; i < *length; ++i) {
    auto* left = reinterpret_cast<Number*>(static_cast<char*>(in) + i * extent);
    auto* right = reinterpret_cast<Number*>(static_cast<char*>(inout) + i * extent);
    *right = static_cast<Number>(
        combined(how, static_cast<std::int64_t>(*left), static_cast<std::int64_t>(*right)));
  }
}

/// Looked up at run time, since Stretto carries out no non-blocking call of a program below
/// MPI_THREAD_MULTIPLE that refers to MPI_Op_create.
inline int create_op(MPI_User_function* function, int commute, MPI_Op* op) {
  return reinterpret_cast<decltype(&MPI_Op_create)>(dlsym(RTLD_DEFAULT, "MPI_Op_create"))(function, commute,
                                                                                          op);
}

inline MPI_Op make_op(Combine how, bool real) {
  MPI_Op op{};
  if (how == Combine::add) {
    create_op(real ? user_operation<double, Combine::add> : user_operation<int, Combine::add>, 1, &op);
  } else {
    CHECK(how == Combine::compose);
    create_op(real ? user_operation<double, Combine::compose> : user_operation<int, Combine::compose>, 0,
              &op);
  }
  return op;
}
/// An operation that lives as long as the program.
inline MPI_Op op_of(Combine how, bool real) {
  if (how == Combine::sum) return MPI_SUM;
  if (how == Combine::max) return MPI_MAX;
  static const std::array<MPI_Op, 4> own{make_op(Combine::add, false), make_op(Combine::add, true),
                                         make_op(Combine::compose, false), make_op(Combine::compose, true)};
  return own.at((how == Combine::compose ? 2U : 0U) + (real ? 1U : 0U));
}

/// What to call. `count` is the length of the whole vector. If each rank has a block of it, it is cut
/// unevenly for reduce_scatter and alltoallv, and else rounded up to equal blocks.
struct Task {
  MpiFunction function;
  MPI_Comm comm;
  std::size_t count;
  Elements elements = doubles();
  Combine how = Combine::sum;
  int root = 0;
  bool in_place = false;
  MPI_Op op = MPI_OP_NULL;  // instead of the one that lives as long as the program
  // Growing blocks for reduce_scatter. MPICH 4.0.2's own MPI_Ireduce_scatter in place then copies a block
  // to a place that overlaps it, and aborts.
  bool rising = false;
};

/// Some call of this function. All of its features follow from the number.
inline Task some_task(MpiFunction function, MPI_Comm comm, std::size_t count, std::size_t number) {
  Task task{.function = function, .comm = comm, .count = count};
  task.elements = number % 2 == 0 ? doubles() : ints();
  task.how = static_cast<Combine>(number % 4);
  task.root = static_cast<int>(number % 3);
  task.in_place = number % 5 == 0;
  return task;
}

/// For calls in blocking form. MPICH 4.0.2's own MPI_Reduce of 1000 doubles in place reads from
/// MPI_IN_PLACE if the root is not rank 0.
inline Task blocking(Task task) {
#ifndef OPEN_MPI
  if (task.function == MpiFunction::reduce && task.root % size_of(task.comm) != 0) task.in_place = false;
#endif
  return task;
}

class Call {
 public:
  /// Reserves memory, so that buffers do not grow later.
  void reserve(std::size_t bytes) {
    for (std::vector<char>* buffer : {&in_, &out_}) {
      buffer->assign(bytes, filler);
      buffer->clear();
    }
  }

  void prepare(const Task& task, std::uint64_t seed) {
    task_ = task;
    if (task_.op == MPI_OP_NULL) task_.op = op_of(task.how, task.elements.real);
    rank_ = rank_in(task.comm);
    ranks_ = size_of(task.comm);
    task_.root %= ranks_;
    const auto ranks = static_cast<std::size_t>(ranks_);
    counts_.clear();
    bounds_.clear();
    std::size_t bound = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      std::size_t block = (task.count + ranks - 1) / ranks;
      if (task.function == MpiFunction::reduce_scatter || task.function == MpiFunction::alltoallv) {
        const auto below = [&](std::size_t n) { return task.count * n * (n + 1) / (ranks * (ranks + 1)); };
        const std::size_t place = task.rising ? r : ranks - 1 - r;
        block = below(place + 1) - below(place);
      }
      counts_.push_back(static_cast<int>(block));
      bounds_.push_back(bound);
      bound += block;
    }
#if MPI_VERSION >= 4
    large_counts_.assign(counts_.begin(), counts_.end());
#endif
    total_ = has_block_of_each_rank(collective_of(task.function)) ? bound : task.count;
    const std::size_t mine = static_cast<std::size_t>(counts_[static_cast<std::size_t>(rank_)]);
    sent_ = received_ = total_;
    if (task.function == MpiFunction::allgather || task.function == MpiFunction::gather) sent_ = mine;
    if (task.function == MpiFunction::reduce_scatter || task.function == MpiFunction::reduce_scatter_block)
      received_ = mine;
    if (task.function == MpiFunction::gather && !is_root()) received_ = 0;
    if (task.function == MpiFunction::scatter) {
      sent_ = is_root() ? total_ : 0;
      received_ = is_root() && task.in_place ? 0 : mine;
    }
    if (task.function == MpiFunction::alltoallv) exchange_unevenly();
    refill(seed);
  }

  /// New contents for another start of the same call. The buffers may change before it.
  void refill(std::uint64_t seed) {
    seed_ = seed;
    // A reduce in place is in place at the root only. The other ranks have no result, and so no buffer for
    // it.
    const bool nowhere = task_.function == MpiFunction::reduce && task_.in_place && !is_root();
    const std::size_t first =
        task_.function == MpiFunction::allgather || task_.function == MpiFunction::gather
            ? bounds_[static_cast<std::size_t>(rank_)]
            : 0;
    out_.assign((nowhere ? 0 : one_buffer() ? total_ : received_) * task_.elements.extent, filler);
    in_.assign((one_buffer() ? 0 : sent_) * task_.elements.extent, filler);
    if (task_.function == MpiFunction::bcast && !is_root()) return;
    for (std::size_t i = 0; i < sent_; ++i) {
      put(one_buffer() ? out_ : in_, one_buffer() ? first + i : i, contribution(rank_, i));
    }
  }

  // Each is a function of its own, because MPI is initialized in another way under a program that refers to
  // non-blocking collectives.
#define STRETTO_BLOCKING(Name, Iname, ...) MPI_##Name(__VA_ARGS__)
#define STRETTO_BEGUN(Name, Iname, ...) MPI_##Iname(__VA_ARGS__, request)
#define STRETTO_MADE(Name, Iname, ...) MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request)
#define STRETTO_BEGUN_LARGE(Name, Iname, ...) MPI_##Iname##_c(__VA_ARGS__, request)
#define STRETTO_MADE_LARGE(Name, Iname, ...) MPI_##Name##_init_c(__VA_ARGS__, MPI_INFO_NULL, request)
#define STRETTO_CALL(FORM, count, counts, places)                                                            \
  switch (task_.function) {                                                                                  \
    case MpiFunction::allreduce:                                                                             \
      return FORM(Allreduce, Iallreduce, from(), out(), count, type(), task_.op, task_.comm);                \
    case MpiFunction::bcast:                                                                                 \
      return FORM(Bcast, Ibcast, out(), count, type(), task_.root, task_.comm);                              \
    case MpiFunction::reduce:                                                                                \
      return FORM(Reduce, Ireduce, from(), out(), count, type(), task_.op, task_.root, task_.comm);          \
    case MpiFunction::reduce_scatter:                                                                        \
      return FORM(Reduce_scatter, Ireduce_scatter, from(), out(), counts.data(), type(), task_.op,           \
                  task_.comm);                                                                               \
    case MpiFunction::reduce_scatter_block:                                                                  \
      return FORM(Reduce_scatter_block, Ireduce_scatter_block, from(), out(), counts[0], type(), task_.op,   \
                  task_.comm);                                                                               \
    case MpiFunction::allgather:                                                                             \
      return FORM(Allgather, Iallgather, from(), counts[0], type(), out(), counts[0], type(), task_.comm);   \
    case MpiFunction::alltoall:                                                                              \
      return FORM(Alltoall, Ialltoall, from(), counts[0], type(), out(), counts[0], type(), task_.comm);     \
    case MpiFunction::alltoallv:                                                                             \
      return FORM(Alltoallv, Ialltoallv, from(), counts.data(), places.data(), type(), out(), counts.data(), \
                  places.data(), type(), task_.comm);                                                        \
    case MpiFunction::gather:                                                                                \
      return FORM(Gather, Igather, from(), counts[0], type(), out(), counts[0], type(), task_.root,          \
                  task_.comm);                                                                               \
    case MpiFunction::scatter:                                                                               \
      return FORM(Scatter, Iscatter, from(), counts[0], type(), out(), counts[0], type(), task_.root,        \
                  task_.comm);                                                                               \
    case MpiFunction::scan:                                                                                  \
      return FORM(Scan, Iscan, from(), out(), count, type(), task_.op, task_.comm);                          \
    case MpiFunction::exscan:                                                                                \
      return FORM(Exscan, Iexscan, from(), out(), count, type(), task_.op, task_.comm);                      \
    default:                                                                                                 \
      return MPI_ERR_OTHER;                                                                                  \
  }
  int block() {
    count_call(task_.function);
    STRETTO_CALL(STRETTO_BLOCKING, count(), counts_, places_)
  }
  int begin(MPI_Request* request) {
    count_call(task_.function);
    STRETTO_CALL(STRETTO_BEGUN, count(), counts_, places_)
  }
  /// Makes a persistent call, without starting it.
  int init(MPI_Request* request) {
    STRETTO_CALL(STRETTO_MADE, count(), counts_, places_)
  }
  int start(MPI_Request* request) const {
    count_call(task_.function);
    return MPI_Start(request);
  }
#if MPI_VERSION >= 4
  int begin_large(MPI_Request* request) {
    count_call(task_.function);
    STRETTO_CALL(STRETTO_BEGUN_LARGE, count(), large_counts_, large_places_)
  }
  int init_large(MPI_Request* request) {
    STRETTO_CALL(STRETTO_MADE_LARGE, count(), large_counts_, large_places_)
  }
#endif
#undef STRETTO_CALL
#undef STRETTO_BLOCKING
#undef STRETTO_BEGUN
#undef STRETTO_MADE
#undef STRETTO_BEGUN_LARGE
#undef STRETTO_MADE_LARGE

  /// To be called when the call is complete. Returns whether the result is right, and nothing else was
  /// written.
  void check(const std::string& context = "") const {
    const auto at_rank = static_cast<std::size_t>(rank_);
    const bool has_result = (task_.function != MpiFunction::reduce || is_root()) &&
                            (task_.function != MpiFunction::exscan || rank_ > 0);
    if (has_result) {
      for (std::size_t i = 0; i < received_; ++i) {
        std::int64_t wanted = 0;
        if (task_.function == MpiFunction::bcast) {
          wanted = contribution(task_.root, i);
        } else if (task_.function == MpiFunction::alltoall) {
          const auto block = static_cast<std::size_t>(counts_[0]);
          wanted = contribution(static_cast<int>(i / block), at_rank * block + i % block);
        } else if (task_.function == MpiFunction::alltoallv) {
          wanted = exchanged(i);
        } else if (task_.function == MpiFunction::scatter) {
          wanted = contribution(task_.root, bounds_[at_rank] + i);
        } else if (task_.function == MpiFunction::scan) {
          wanted = reduced(i, rank_);
        } else if (task_.function == MpiFunction::exscan) {
          wanted = reduced(i, rank_ - 1);
        } else if (task_.function == MpiFunction::allgather || task_.function == MpiFunction::gather) {
          const auto block = static_cast<std::size_t>(counts_[0]);
          wanted = contribution(static_cast<int>(i / block), i % block);
        } else {
          const bool has_blocks = has_block_of_each_rank(collective_of(task_.function));
          wanted = reduced(has_blocks ? bounds_[at_rank] + i : i, ranks_ - 1);
        }
        if (get(out_, i) != wanted) wrong(context, "result", i, get(out_, i), wanted);
        check_gap(out_, i, context);
      }
    } else {
      for (const char c : out_) CHECK(c == filler, text(context) + ": written to where there is no result");
    }
    for (std::size_t i = 0; i < in_.size() / task_.elements.extent; ++i) {
      if (get(in_, i) != contribution(rank_, i))
        wrong(context, "input", i, get(in_, i), contribution(rank_, i));
      check_gap(in_, i, context);
    }
  }

  [[nodiscard]] std::string text(const std::string& context) const {
    static constexpr std::array operations{"sum", "max", "add", "compose"};
    return context + ": " + std::string(name_of(task_.function)) + " of " + std::to_string(task_.count) +
           (task_.elements.real ? " doubles, " : " ints, ") +
           operations.at(static_cast<std::size_t>(task_.how)) + ", root " + std::to_string(task_.root) +
           (task_.in_place ? ", in place" : "") +
           (task_.elements.extent > task_.elements.size() ? ", gaps" : "");
  }
  [[nodiscard]] const Task& task() const {
    return task_;
  }

 private:
  static constexpr char filler = 0x5A;

  [[noreturn]] void wrong(const std::string& context, const char* what, std::size_t i, std::int64_t got,
                          std::int64_t wanted) const {
    fail(__FILE__, __LINE__, "right",
         text(context) + ": " + what + " " + std::to_string(i) + " is " + std::to_string(got) + ", not " +
             std::to_string(wanted));
  }
  [[nodiscard]] bool is_root() const {
    return rank_ == task_.root;
  }
  [[nodiscard]] bool one_buffer() const {
    if (task_.function == MpiFunction::bcast) return true;
    if (!task_.in_place || task_.function == MpiFunction::scatter) return false;
    // Rank 0 of an exscan has no result, so that it has nothing to replace.
    if (task_.function == MpiFunction::exscan) return rank_ > 0;
    return is_root() || (task_.function != MpiFunction::reduce && task_.function != MpiFunction::gather);
  }
  /// The block between two ranks has one length in both directions, as a call in place wants it.
  [[nodiscard]] int length_between(int one, int other) const {
    return lengths_[static_cast<std::size_t>((one + other) % ranks_)];
  }
  void exchange_unevenly() {
    lengths_ = counts_;
    places_.clear();
    int place = 0;
    for (int other = 0; other < ranks_; ++other) {
      counts_[static_cast<std::size_t>(other)] = length_between(rank_, other);
      places_.push_back(place);
      place += length_between(rank_, other);
    }
#if MPI_VERSION >= 4
    large_counts_.assign(counts_.begin(), counts_.end());
    large_places_.assign(places_.begin(), places_.end());
#endif
  }
  /// Returns element i of the data that this rank receives in an alltoallv.
  [[nodiscard]] std::int64_t exchanged(std::size_t i) const {
    int from = ranks_ - 1;
    while (static_cast<std::size_t>(places_[static_cast<std::size_t>(from)]) > i ||
           length_between(from, rank_) == 0)
      --from;
    std::size_t place = i - static_cast<std::size_t>(places_[static_cast<std::size_t>(from)]);
    for (int to = 0; to < rank_; ++to) place += static_cast<std::size_t>(length_between(from, to));
    return contribution(from, place);
  }
  // Open MPI takes two null buffers for the same one, which is an error.
  [[nodiscard]] const void* from() const {
    if (one_buffer()) return MPI_IN_PLACE;
    return in_.empty() ? &no_input_ : in_.data();
  }
  void* out() {
    if (task_.function == MpiFunction::scatter && task_.in_place && is_root()) return MPI_IN_PLACE;
    return out_.empty() ? &no_output_ : out_.data();
  }
  [[nodiscard]] int count() const {
    return static_cast<int>(task_.count);
  }
  [[nodiscard]] MPI_Datatype type() const {
    return task_.elements.type;
  }

  [[nodiscard]] std::int64_t contribution(int rank, std::size_t i) const {
    const std::uint64_t mixed =
        seed_ * 7919 + static_cast<std::uint64_t>(rank + 1) * 104729 + i * 31337 + (i >> 4) * 271;
    return static_cast<std::int64_t>(mixed % static_cast<std::uint64_t>(prime * prime));
  }
  [[nodiscard]] std::int64_t reduced(std::size_t i, int last) const {
    std::int64_t all = contribution(0, i);
    for (int rank = 1; rank <= last; ++rank) all = combined(task_.how, all, contribution(rank, i));
    return all;
  }
  void put(std::vector<char>& buffer, std::size_t i, std::int64_t value) const {
    char* at = buffer.data() + i * task_.elements.extent;
    if (task_.elements.real) {
      const auto number = static_cast<double>(value);
      std::memcpy(at, &number, sizeof(number));
    } else {
      const auto number = static_cast<int>(value);
      std::memcpy(at, &number, sizeof(number));
    }
  }
  [[nodiscard]] std::int64_t get(const std::vector<char>& buffer, std::size_t i) const {
    const char* at = buffer.data() + i * task_.elements.extent;
    if (task_.elements.real) {
      double number = 0;
      std::memcpy(&number, at, sizeof(number));
      // Memory that was never written need not hold a number.
      if (!(number >= 0 && number < 0x1p53)) return std::numeric_limits<std::int64_t>::min();
      return static_cast<std::int64_t>(number);
    }
    int number = 0;
    std::memcpy(&number, at, sizeof(number));
    return number;
  }
  void check_gap(const std::vector<char>& buffer, std::size_t i, const std::string& context) const {
    for (std::size_t k = task_.elements.size(); k < task_.elements.extent; ++k) {
      CHECK(buffer[i * task_.elements.extent + k] == filler,
            text(context) + ": written to the gap after " + std::to_string(i));
    }
  }

  Task task_{};
  std::uint64_t seed_ = 0;
  int rank_ = 0;
  int ranks_ = 1;
  std::size_t total_ = 0;     // elements of the whole vector
  std::size_t sent_ = 0;      // of them, the elements that this rank sends
  std::size_t received_ = 0;  // and the elements that it receives
  std::vector<int> counts_;   // of each rank's block, and where they begin
  std::vector<std::size_t> bounds_;
  std::vector<int> lengths_;  // of the blocks of an alltoallv, and where those of this rank begin
  std::vector<int> places_;
#if MPI_VERSION >= 4
  std::vector<MPI_Count> large_counts_;
  std::vector<MPI_Aint> large_places_;
#endif
  std::vector<char> in_;
  std::vector<char> out_;
  char no_input_ = 0;
  char no_output_ = 0;
};

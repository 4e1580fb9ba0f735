// SPDX-License-Identifier: Apache-2.0
// The interface for frameworks (include/stretto/group.h), looked up as frameworks do. Every call, type and
// operation is compared with results that are computed here, with many calls at once and on groups of some
// ranks. Errors are tested as well. The program that includes this has a CHECK of its own.
#pragma once

#include "stretto/group.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

/// The object with the functions. The default are the preloaded objects.
void* stretto_object = RTLD_DEFAULT;

template <typename Function>
Function* look_up(const char* name) {
  auto* found = reinterpret_cast<Function*>(dlsym(stretto_object, name));
  if (found == nullptr) std::fprintf(stderr, "there is no %s\n", name);
  return found;
}
#define CALL(name) look_up<decltype(name)>(#name)

const int count = 30'001;
stretto_place place;

void wait_for(stretto_work* work, const std::string& what, double seconds = 60) {
  CHECK(work != nullptr, what + ": " + CALL(stretto_error)());
  CHECK(CALL(stretto_work_wait)(work, seconds) == 1, what + " does not end");
  const char* error = CALL(stretto_work_error)(work);
  CHECK(error == nullptr, what + ": " + error);
  CALL(stretto_work_free)(work);
}

struct Type {
  stretto_type type;
  const char* name;
  std::size_t bytes;
  bool is_float;
  std::function<void(void*, double)> store;
  std::function<double(const void*)> load;
};

template <typename T>
Type type_of(stretto_type type, const char* name) {
  return {type,
          name,
          sizeof(T),
          std::is_floating_point_v<T> || std::is_same_v<T, _Float16>,
          [](void* into, double value) {
            const auto typed = static_cast<T>(value);
            std::memcpy(into, &typed, sizeof(T));
          },
          [](const void* from) {
            T typed{};
            std::memcpy(&typed, from, sizeof(T));
            return static_cast<double>(typed);
          }};
}

Type bfloat16() {
  return {STRETTO_BFLOAT16,
          "bfloat16",
          2,
          true,
          [](void* into, double value) {
            const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
            const auto upper = static_cast<std::uint16_t>(bits >> 16U);
            std::memcpy(into, &upper, 2);
          },
          [](const void* from) {
            std::uint16_t upper = 0;
            std::memcpy(&upper, from, 2);
            return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(upper) << 16U));
          }};
}

std::vector<Type> types() {
  return {type_of<std::int8_t>(STRETTO_INT8, "int8"),
          type_of<std::uint8_t>(STRETTO_UINT8, "uint8"),
          type_of<std::int16_t>(STRETTO_INT16, "int16"),
          type_of<std::int32_t>(STRETTO_INT32, "int32"),
          type_of<std::int64_t>(STRETTO_INT64, "int64"),
          type_of<_Float16>(STRETTO_FLOAT16, "float16"),
          bfloat16(),
          type_of<float>(STRETTO_FLOAT32, "float32"),
          type_of<double>(STRETTO_FLOAT64, "float64"),
          type_of<bool>(STRETTO_BOOL, "bool")};
}

struct Op {
  stretto_op op;
  const char* name;
  bool is_bitwise;
  std::function<int(int, int)> apply;
};

const Op ops[] = {{STRETTO_SUM, "sum", false, [](int a, int b) { return a + b; }},
                  {STRETTO_PRODUCT, "product", false, [](int a, int b) { return a * b; }},
                  {STRETTO_MIN, "min", false, [](int a, int b) { return std::min(a, b); }},
                  {STRETTO_MAX, "max", false, [](int a, int b) { return std::max(a, b); }},
                  {STRETTO_BAND, "band", true, [](int a, int b) { return a & b; }},
                  {STRETTO_BOR, "bor", true, [](int a, int b) { return a | b; }},
                  {STRETTO_BXOR, "bxor", true, [](int a, int b) { return a ^ b; }}};

/// Small numbers, so that sums and products over all ranks are exact in every type.
int input(int rank, int i) {
  return (i + rank) % 3;
}

/// Ranks in the job.
int result_of(const Type& type, const Op& op, const std::vector<int>& ranks, int i) {
  const auto value = [&](int rank) {
    return type.type == STRETTO_BOOL ? input(rank, i) != 0 : input(rank, i);
  };
  int result = value(ranks.front());
  for (std::size_t k = 1; k < ranks.size(); ++k) result = op.apply(result, value(ranks[k]));
  return type.type == STRETTO_BOOL ? static_cast<int>(result != 0) : result;
}

using Bytes = std::vector<std::byte>;

Bytes inputs(const Type& type, int elements = count) {
  Bytes bytes(static_cast<std::size_t>(elements) * type.bytes);
  for (int i = 0; i < elements; ++i)
    type.store(&bytes[static_cast<std::size_t>(i) * type.bytes], input(place.rank, i));
  return bytes;
}

/// Returns the elements from `first` on of the combined input of all ranks.
void check(const Type& type, const Op& op, const std::vector<int>& ranks, const Bytes& found, int first,
           int elements, const std::string& what) {
  for (int i = 0; i < elements; ++i) {
    const double value = type.load(&found[static_cast<std::size_t>(i) * type.bytes]);
    CHECK(value == result_of(type, op, ranks, first + i), what + " of " + type.name + " by " + op.name +
                                                              " at " + std::to_string(i) + ": " +
                                                              std::to_string(value));
  }
}

void reductions(stretto_group* group, const std::vector<int>& ranks) {
  const int own = static_cast<int>(std::find(ranks.begin(), ranks.end(), place.rank) - ranks.begin());
  const int size = static_cast<int>(ranks.size());
  for (const Type& type : types()) {
    for (const Op& op : ops) {
      const Bytes in = inputs(type);
      Bytes out(in.size());
      if (op.is_bitwise && type.is_float) {
        CHECK(CALL(stretto_group_allreduce)(group, in.data(), out.data(), count, type.type, op.op) ==
              nullptr);
        CHECK(std::string(CALL(stretto_error)()).find(type.name) != std::string::npos);
        continue;
      }
      wait_for(CALL(stretto_group_allreduce)(group, in.data(), out.data(), count, type.type, op.op),
               "allreduce");
      check(type, op, ranks, out, 0, count, "allreduce");
      Bytes both = in;
      wait_for(CALL(stretto_group_allreduce)(group, both.data(), both.data(), count, type.type, op.op),
               "in place");
      check(type, op, ranks, both, 0, count, "allreduce in place");
      const int root = size - 1;
      both = in;
      wait_for(CALL(stretto_group_reduce)(group, both.data(), both.data(), count, type.type, op.op, root),
               "reduce");
      if (own == root) check(type, op, ranks, both, 0, count, "reduce");
      // First all parts are equal, then the last one is one element longer.
      for (const int more : {0, 1}) {
        std::vector<std::size_t> counts(static_cast<std::size_t>(size), count / size);
        counts.back() += static_cast<std::size_t>(more);
        const Bytes whole = inputs(type, count / size * size + more);
        Bytes part(counts[static_cast<std::size_t>(own)] * type.bytes);
        wait_for(CALL(stretto_group_reduce_scatter)(group, whole.data(), part.data(), counts.data(),
                                                    type.type, op.op),
                 "reduce_scatter");
        check(type, op, ranks, part, own * (count / size),
              static_cast<int>(counts[static_cast<std::size_t>(own)]), "reduce_scatter");
      }
    }
  }
}

/// Returns the data of rank `from` of a group for rank `to`.
std::int32_t mark(int from, int to, int i) {
  return 1'000'000 * from + 100'000 * to + i % 1000;
}

void movements(stretto_group* group, int own, int size) {
  const auto ranks = static_cast<std::size_t>(size);
  const std::size_t block = count * sizeof(std::int32_t);
  using Numbers = std::vector<std::int32_t>;
  const auto make = [](int from, int to) {
    Numbers numbers(count);
    for (int i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = mark(from, to, i);
    return numbers;
  };
  const auto part = [](const Numbers& all, int which) {
    return Numbers(all.begin() + which * count, all.begin() + (which + 1) * count);
  };
  const int root = size / 2;
  Numbers numbers = make(own, 0);
  wait_for(CALL(stretto_group_bcast)(group, numbers.data(), block, root), "bcast");
  CHECK(numbers == make(root, 0), "bcast");

  const Numbers mine = make(own, 0);
  Numbers all(ranks * count);
  wait_for(CALL(stretto_group_allgather)(group, mine.data(), all.data(), block), "allgather");
  for (int i = 0; i < size; ++i) CHECK(part(all, i) == make(i, 0), "allgather");

  // Rank r has r + 1 numbers.
  std::vector<std::size_t> lengths(ranks);
  Numbers parts;
  for (int i = 0; i < size; ++i) {
    lengths[static_cast<std::size_t>(i)] = static_cast<std::size_t>(i + 1) * sizeof(std::int32_t);
    for (int k = 0; k <= i; ++k) parts.push_back(mark(i, 0, k));
  }
  Numbers collected(parts.size());
  wait_for(CALL(stretto_group_allgatherv)(group, mine.data(), collected.data(), lengths.data()),
           "allgatherv");
  CHECK(collected == parts, "allgatherv");

  Numbers gathered(own == root ? ranks * count : 0);
  wait_for(CALL(stretto_group_gather)(group, mine.data(), gathered.data(), block, root), "gather");
  if (own == root) CHECK(gathered == all, "gather");

  Numbers scattered(count);
  wait_for(CALL(stretto_group_scatter)(group, gathered.data(), scattered.data(), block, root), "scatter");
  CHECK(scattered == mine, "scatter");

  Numbers for_each;
  for (int i = 0; i < size; ++i) {
    const Numbers one = make(own, i);
    for_each.insert(for_each.end(), one.begin(), one.end());
  }
  Numbers from_each(ranks * count);
  wait_for(CALL(stretto_group_alltoall)(group, for_each.data(), from_each.data(), block), "alltoall");
  for (int i = 0; i < size; ++i) CHECK(part(from_each, i) == make(i, own), "alltoall");

  // Rank r has r + t numbers for rank t.
  Numbers sent;
  Numbers wanted;
  std::vector<std::size_t> to(ranks);
  std::vector<std::size_t> from(ranks);
  for (int other = 0; other < size; ++other) {
    const auto i = static_cast<std::size_t>(other);
    to[i] = from[i] = static_cast<std::size_t>(own + other) * sizeof(std::int32_t);
    for (int k = 0; k < own + other; ++k) sent.push_back(mark(own, other, k));
    for (int k = 0; k < own + other; ++k) wanted.push_back(mark(other, own, k));
  }
  Numbers received(wanted.size());
  wait_for(CALL(stretto_group_alltoallv)(group, sent.data(), to.data(), received.data(), from.data()),
           "alltoallv");
  CHECK(received == wanted, "alltoallv");

  wait_for(CALL(stretto_group_barrier)(group), "barrier");

  if (size < 2) return;
  Numbers arrived(count);
  if (own == 0) {
    for (int i = 1; i < size; ++i) {
      stretto_work* work = CALL(stretto_group_recv)(group, arrived.data(), block, STRETTO_ANY_SOURCE, 7);
      CHECK(work != nullptr && CALL(stretto_work_wait)(work, 60) == 1);
      const int source = CALL(stretto_work_source)(work);
      CHECK(arrived == make(source, 0), "received from " + std::to_string(source));
      CALL(stretto_work_free)(work);
    }
  } else {
    wait_for(CALL(stretto_group_send)(group, mine.data(), block, 0, 7), "send");
  }
}

/// Makes enough exchanges that the guard has compared Stretto's calls with the library's.
void many_exchanges(stretto_group* group, int own, int size) {
  constexpr int calls = 40;
  constexpr std::size_t elements = 16 << 10;
  const auto ranks = static_cast<std::size_t>(size);
  std::vector<std::int32_t> sent(ranks * elements);
  std::vector<std::int32_t> received(sent.size());
  for (int call = 0; call < calls; ++call) {
    for (std::size_t i = 0; i < sent.size(); ++i) {
      sent[i] = mark(own, static_cast<int>(i / elements), static_cast<int>(i) + call);
    }
    wait_for(
        CALL(stretto_group_alltoall)(group, sent.data(), received.data(), elements * sizeof(std::int32_t)),
        "an alltoall of many");
    for (std::size_t i = 0; i < received.size(); ++i) {
      const std::size_t in_block = i % elements + static_cast<std::size_t>(own) * elements;
      CHECK(received[i] == mark(static_cast<int>(i / elements), own, static_cast<int>(in_block) + call),
            "an alltoall of many");
    }
  }
}

/// Starts many calls in order. They end although no thread waits for a single one.
void many_at_once(stretto_group* group) {
  constexpr std::size_t calls = 60;
  std::vector<std::vector<float>> data(calls);
  std::vector<stretto_work*> works;
  for (std::size_t i = 0; i < calls; ++i) {
    data[i].assign(1 + 2000 * (i % 7), static_cast<float>(i + 1));
    works.push_back(i % 3 == 2
                        ? CALL(stretto_group_bcast)(group, data[i].data(), data[i].size() * sizeof(float), 0)
                        : CALL(stretto_group_allreduce)(group, data[i].data(), data[i].data(), data[i].size(),
                                                        STRETTO_FLOAT32, STRETTO_SUM));
    CHECK(works.back() != nullptr);
  }
  for (std::size_t ended = 0; ended < calls;) {
    CALL(stretto_progress)();
    for (stretto_work*& work : works) {
      if (work == nullptr || CALL(stretto_work_test)(work) == 0) continue;
      CALL(stretto_work_free)(work);
      work = nullptr;
      ++ended;
    }
  }
  for (std::size_t i = 0; i < calls; ++i) {
    const float wanted = static_cast<float>(i + 1) * static_cast<float>(i % 3 == 2 ? 1 : place.ranks);
    CHECK(std::all_of(data[i].begin(), data[i].end(), [&](float x) { return x == wanted; }),
          std::to_string(i));
  }
}

/// Makes all checks, on all ranks and on some. `place` is set.
void check_groups() {
  std::vector<int> everybody;
  for (int rank = 0; rank < place.ranks; ++rank) everybody.push_back(rank);
  stretto_group* all = CALL(stretto_group_make)(nullptr, 0, 0, 60);
  CHECK(all != nullptr, CALL(stretto_error)());
  reductions(all, everybody);
  movements(all, place.rank, place.ranks);
  many_at_once(all);
  many_exchanges(all, place.rank, place.ranks);

  // Only its ranks make it. The last one is its rank 0.
  std::vector<int> some(everybody.rbegin(), everybody.rend() - 1);
  if (place.rank != 0) {
    stretto_group* group = CALL(stretto_group_make)(some.data(), static_cast<int>(some.size()), 3, 60);
    CHECK(group != nullptr, CALL(stretto_error)());
    const int own = place.ranks - 1 - place.rank;
    reductions(group, some);
    movements(group, own, static_cast<int>(some.size()));
    CALL(stretto_group_free)(group);
  }
  CALL(stretto_group_free)(all);
}

}  // namespace

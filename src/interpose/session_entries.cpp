// SPDX-License-Identifier: Apache-2.0
// Where a session begins and ends, and what the program hears of threads.
#include <algorithm>
#include <atomic>

#include "interpose/entry.hpp"
#include "interpose/session.hpp"
#include "interpose/thread_level.hpp"

namespace stretto {
namespace {

/// What the program asked for; the library may give more.
std::atomic<int> asked_level{MPI_THREAD_MULTIPLE};

/// Initializes MPI by `init_thread` for at least `required`, and begins a session.
template <typename InitThread>
int initialize(const InitThread& init_thread, int* argc, char*** argv, int required, int* provided) {
  int given = MPI_THREAD_SINGLE;
  const int wanted = wants_helper_thread() ? MPI_THREAD_MULTIPLE : required;
  asked_level = required;
  const int result = init_thread(argc, argv, wanted, &given);
  if (provided != nullptr) *provided = wanted == required ? given : std::min(given, required);
  if (wanted == required) asked_level = given;
  if (result == MPI_SUCCESS) begin_session(given);
  return result;
}

}  // namespace

STRETTO_TAKE_OVER(Init_thread, (int* argc, char*** argv, int required, int* provided), {
  if (next.was_looked_at()) return next(argc, argv, required, provided);
  return initialize(next, argc, argv, required, provided);
})

// Only where that is needed: a tool may know MPI_Init alone.
#define STRETTO_TAKE_OVER_INIT(P)                                                                   \
  STRETTO_DEFINE(P##MPI_Init, nullptr, nullptr, (int* argc, char*** argv), {                        \
    static const Next<int(int*, char***, int, int*)> thread(#P "MPI_Init_thread", nullptr, nullptr); \
    if (next.was_looked_at()) return next(argc, argv);                                              \
    if (wants_helper_thread()) return initialize(thread, argc, argv, MPI_THREAD_SINGLE, nullptr);   \
    const int result = next(argc, argv);                                                            \
    if (result == MPI_SUCCESS) begin_session(MPI_THREAD_SINGLE);                                    \
    return result;                                                                                  \
  })
STRETTO_TAKE_OVER_INIT()
STRETTO_TAKE_OVER_INIT(P)

STRETTO_TAKE_OVER(Query_thread, (int* provided), {
  const int result = next(provided);
  if (provided != nullptr) *provided = std::min(*provided, asked_level.load());
  return result;
})

STRETTO_TAKE_OVER(Finalize, (), {
  if (!next.was_looked_at()) end_session();
  return next();
})

}  // namespace stretto

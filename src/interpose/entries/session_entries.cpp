// SPDX-License-Identifier: Apache-2.0
// Begins a session, and sets the thread level that the program sees. When MPI_Finalize begins, no other
// thread may be in MPI.
#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "interpose/passing/entry.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/thread_level.hpp"
#include "interpose/start/begin_session.hpp"

namespace stretto {
namespace {

/// The thread level that Stretto reports to the program, and the one that the MPI library gives.
std::atomic<int> asked_level{INT_MAX};  // nothing was asked: the one that the library gives
std::atomic<int> given_level{0};        // MPI_THREAD_SINGLE in every interface

/// Initializes MPI with at least the thread level `required`.
template <typename InitThread>
int initialize(const InitThread& init_thread, int* argc, char*** argv, int required, int* provided) {
  int given = mpi.thread_single;
  const bool raises = plan_background(required) == Background::own;
  const int wanted = raises ? mpi.thread_multiple : required;
  const int result = init_thread(argc, argv, wanted, &given);
  given_level = given;
  asked_level = wanted == required ? given : std::min(given, required);
  if (provided != nullptr) *provided = asked_level;
  return result;
}

/// Whether the call goes on from here to an MPI library that Stretto knows.
template <typename NextInit>
bool raises_here(const NextInit& next) {
  return !next.goes_to_tool() && load_mpi(next.address()).empty();
}

/// Returns the thread level of MPI_Init, which an environment variable may set. To be called once the library
/// is known.
int level_of_init() {
  for (const char* name : {"OMPI_MPI_THREAD_LEVEL", "MPIR_CVAR_DEFAULT_THREAD_LEVEL"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    const std::string_view level = value;
    if (level == "3" || level == "multiple" || level == "MPI_THREAD_MULTIPLE") return mpi.thread_multiple;
  }
  return mpi.thread_single;
}

/// Begins the session. To be called once MPI is initialized: only then is it certain which library the
/// program calls. `required` is empty if MPI_Init was called, which requires no level.
void begin(std::optional<int> required = std::nullopt) {
  const bool is_known = load_mpi().empty();
  const Background background =
      is_known ? settle_background(plan_background(required ? *required : level_of_init()), given_level)
               : Background::not_expected;
  begin_session(background, Participation::uncertain);
}

}  // namespace

// A tool behind Stretto gets the call as the program made it, and passes it on to PMPI. The level is
// raised there.

#define STRETTO_TAKE_OVER_INIT(P)                                                                  \
  STRETTO_DEFINE(P##MPI_Init_thread, (int* argc, char*** argv, int required, int* provided), {     \
    const int result = raises_here(next) ? initialize(next, argc, argv, required, provided)        \
                                         : next(argc, argv, required, provided);                   \
    if (result == MPI_SUCCESS && !next.was_handled()) begin(required);                             \
    return result;                                                                                 \
  })                                                                                               \
  STRETTO_DEFINE(P##MPI_Init, (int* argc, char*** argv), {                                         \
    static const Next<int(int*, char***, int, int*)> init_thread(#P "MPI_Init_thread");            \
    const bool raises = raises_here(next) && plan_background(level_of_init()) == Background::own;  \
    const int result =                                                                             \
        raises ? initialize(init_thread, argc, argv, level_of_init(), nullptr) : next(argc, argv); \
    if (result == MPI_SUCCESS && !next.was_handled()) begin();                                     \
    return result;                                                                                 \
  })                                                                                               \
  STRETTO_DEFINE(P##MPI_Query_thread, (int* provided), {                                           \
    const int result = next(provided);                                                             \
    if (!load_mpi().empty()) return result;                                                        \
    if (provided != nullptr) *provided = std::min(*provided, asked_level.load());                  \
    return result;                                                                                 \
  })
STRETTO_TAKE_OVER_INIT()
STRETTO_TAKE_OVER_INIT(P)

STRETTO_TAKE_OVER(Finalize, (), (), {
  stop_helper();
  return next();
})

}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
// The collectives that Stretto handles, in all forms: MPI_X, MPI_IX and MPI_X_init, with counts of int
// and, on MPICH's interface, of MPI_Count.
#include "interpose/collectives/collective_forms.hpp"

namespace stretto {
namespace {

Form non_blocking(void* request) {
  return {.face = Face::non_blocking, .request = static_cast<MPI_Request*>(request)};
}

Form persistent(void* request) {
  return {.face = Face::persistent, .request = static_cast<MPI_Request*>(request)};
}

}  // namespace

// One collective in its three forms. Before MPI 4, MPI_X_init was called MPIX_X_init.
#define STRETTO_NARROWED(suffix, name) (sizeof(#suffix) > 1 ? name : nullptr)
#define STRETTO_FORMS_OF(P, Name, Iname, suffix, function, parameters, arguments)                            \
  STRETTO_DEFINE##suffix(P##MPI_##Name##suffix, nullptr, STRETTO_NARROWED(suffix, #P "MPI_" #Name),          \
                         (STRETTO_LIST parameters), return function(next, Form{}, STRETTO_LIST arguments);)  \
      STRETTO_DEFINE##suffix(P##MPI_##Iname##suffix, nullptr, STRETTO_NARROWED(suffix, #P "MPI_" #Iname),    \
                             (STRETTO_LIST parameters, void* request),                                       \
                             return function(next, non_blocking(request), STRETTO_LIST arguments, request);) \
          STRETTO_DEFINE##suffix(                                                                            \
              P##MPI_##Name##_init##suffix, #P "MPIX_" #Name "_init",                                        \
              STRETTO_NARROWED(suffix, #P "MPI_" #Name "_init"),                                             \
              (STRETTO_LIST parameters, RawHandle info, void* request),                                      \
              return function(next, persistent(request), STRETTO_LIST arguments, info, request);)
#define STRETTO_FORMS(Name, Iname, suffix, function, parameters, arguments) \
  STRETTO_FORMS_OF(, Name, Iname, suffix, function, parameters, arguments)  \
  STRETTO_FORMS_OF(P, Name, Iname, suffix, function, parameters, arguments)

#define STRETTO_INT_FORMS(Name, Iname, name, iname, collective, parameters, arguments) \
  STRETTO_FORMS(Name, Iname, , name, parameters, arguments)
STRETTO_RAW_COLLECTIVES(STRETTO_INT_FORMS, int)

#ifdef STRETTO_HAS_MPI_4
#define STRETTO_LARGE_FORMS(Name, Iname, name, iname, collective, parameters, arguments) \
  STRETTO_FORMS(Name, Iname, _c, name, parameters, arguments)
STRETTO_RAW_COUNTED_COLLECTIVES(STRETTO_LARGE_FORMS, RawCount)
#else
// Open MPI 4 and 5 have no large-count forms, and a program may check whether they exist. Open MPI 4 has
// persistent collectives under the names from before MPI 4.
#define STRETTO_OLD_PERSISTENT(symbol, name, parameters, arguments)                                  \
  STRETTO_DEFINE(symbol, nullptr, nullptr, (STRETTO_LIST parameters, RawHandle info, void* request), \
                 return name(next, persistent(request), STRETTO_LIST arguments, info, request);)
#define STRETTO_OLD_FORMS(Name, Iname, name, iname, collective, parameters, arguments) \
  STRETTO_OLD_PERSISTENT(MPIX_##Name##_init, name, parameters, arguments)              \
  STRETTO_OLD_PERSISTENT(PMPIX_##Name##_init, name, parameters, arguments)
STRETTO_RAW_COLLECTIVES(STRETTO_OLD_FORMS, int)
#endif

}  // namespace stretto

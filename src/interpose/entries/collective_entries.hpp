// SPDX-License-Identifier: Apache-2.0
// Entries of a collective in all forms: MPI_X, MPI_IX and MPI_X_init.
#pragma once

#include "interpose/collectives/collective_forms.hpp"

namespace stretto {

inline FormArguments non_blocking(void* request) {
  return {.form = Form::non_blocking, .request = request};
}
inline FormArguments persistent(void* request) {
  return {.form = Form::persistent, .request = request};
}

}  // namespace stretto

// One collective in its three forms.
#define STRETTO_FORMS_OF(P, Name, Iname, suffix, function, parameters, arguments)                        \
  STRETTO_DEFINE(P##MPI_##Name##suffix, (STRETTO_LIST parameters),                                       \
                 return function(next, FormArguments{}, STRETTO_LIST arguments);)                        \
  STRETTO_DEFINE(P##MPI_##Iname##suffix, (STRETTO_LIST parameters, void* request),                       \
                 return function(next, non_blocking(request), STRETTO_LIST arguments, request);)         \
  STRETTO_DEFINE(P##MPI_##Name##_init##suffix, (STRETTO_LIST parameters, RawHandle info, void* request), \
                 return function(next, persistent(request), STRETTO_LIST arguments, info, request);)
#define STRETTO_FORMS(Name, Iname, suffix, function, parameters, arguments) \
  STRETTO_FORMS_OF(, Name, Iname, suffix, function, parameters, arguments)  \
  STRETTO_FORMS_OF(P, Name, Iname, suffix, function, parameters, arguments)

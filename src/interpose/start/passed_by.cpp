// SPDX-License-Identifier: Apache-2.0
// A preload is looked past where a library is opened with RTLD_DEEPBIND, and where functions are looked up by
// dlsym in a handle. Then nothing of Stretto runs but what is here, at both ends of the process.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "interpose/session/session.hpp"
#include "interpose/start/launcher.hpp"
#include "mpi/mpi.hpp"

namespace stretto {
namespace {

pid_t process = 0;

std::string_view value_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

__attribute__((constructor)) void note_process() {
  process = getpid();
}

/// A child by fork has initialized nothing itself. Where Stretto is not preloaded, nobody expects anything.
__attribute__((destructor)) void tell_of_calls_that_passed_by() {
  if (getpid() != process || value_of("STRETTO_DISABLE") == "1" || !may_be_rank_0() ||
      value_of("LD_PRELOAD").find("libstretto") == std::string_view::npos)
    return;
  const std::string path = find_passed_by();
  if (path.empty()) return;
  complain(
      "none of the calls of " + path +
      " came by Stretto: it was opened with RTLD_DEEPBIND, or its functions were looked up in it by dlsym; "
      "link the program with the library, or open it without RTLD_DEEPBIND");
}

}  // namespace
}  // namespace stretto

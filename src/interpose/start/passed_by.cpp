// SPDX-License-Identifier: Apache-2.0
// A preload is looked past where a library is opened with RTLD_DEEPBIND, and where functions are looked up by
// dlsym in a handle. Then nothing of Stretto runs but what is here, at the end of the process.
#include <fstream>
#include <sstream>
#include <string>

#include "interpose/session/session.hpp"
#include "interpose/start/launcher.hpp"
#include "mpi/mpi.hpp"
#include "text/environment.hpp"

namespace stretto {
namespace {

/// Whether this process was forked and has started no program: it has initialized nothing itself.
bool is_forked() {
  constexpr unsigned long forked_and_no_exec = 0x40;  // PF_FORKNOEXEC of Linux
  constexpr int words_before_flags = 6;               // behind the name, which ends with the last bracket
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream words(text.substr(text.rfind(')') + 1));
  std::string word;
  for (int i = 0; i < words_before_flags; ++i) words >> word;
  unsigned long flags = 0;
  return words >> flags && (flags & forked_and_no_exec) != 0;
}

/// Where Stretto is not preloaded, nobody expects anything. It uses nothing that a destructor may have ended.
__attribute__((destructor)) void tell_of_calls_that_passed_by() {
  if (environment("STRETTO_DISABLE") == "1" || !may_be_rank_0() ||
      environment("LD_PRELOAD").find("libstretto") == std::string::npos)
    return;
  const std::string path = find_passed_by();
  if (path.empty() || is_forked()) return;
  complain(
      "none of the calls of " + path +
      " came by Stretto: it was opened with RTLD_DEEPBIND, or its functions were looked up in it by dlsym; "
      "link the program with the library, or open it without RTLD_DEEPBIND");
}

}  // namespace
}  // namespace stretto

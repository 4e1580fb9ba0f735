// SPDX-License-Identifier: Apache-2.0
// Reports that calls have passed by Stretto, at the end of a process. If calls look past the preload, and no
// audit brings them here (src/audit), this file is all of Stretto that runs (front/passed_by.cpp).
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "elf/inside.hpp"
#include "interpose/start/launcher.hpp"
#include "interpose/start/unserved.hpp"
#include "mpi/mpi.hpp"
#include "text/environment.hpp"

namespace stretto {
namespace {

/// Whether this process was forked and has started no program. Such a process has initialized nothing itself.
bool is_forked() {
  constexpr unsigned long forked_and_no_exec = 0x40;  // PF_FORKNOEXEC of Linux
  constexpr int words_before_flags = 6;               // after the name, which ends with the last bracket
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream words(text.substr(text.rfind(')') + 1));
  std::string word;
  for (int i = 0; i < words_before_flags; ++i) words >> word;
  unsigned long flags = 0;
  return words >> flags && (flags & forked_and_no_exec) != 0;
}

/// Returns the reason why no MPI call reached Stretto; empty if none was made, as far as one can tell.
std::string find_reason() {
  const std::string path = find_passed_by();
  if (!path.empty()) {
    const bool is_audited = environment("LD_AUDIT").find("libstretto-audit") != std::string::npos;
    return "none of the calls of " + path +
           " reached Stretto: it was opened with RTLD_DEEPBIND, or its functions were looked up in it by "
           "dlsym; " +
           (is_audited ? "link the program with it, or run it where glibc is 2.35 or later"
                       : "start the program by stretto run or stretto exec");
  }
  if (was_library_looked_for() || !has_launcher() || !has_mpi_inside("/proc/self/exe")) return {};
  return "none of the calls of " + std::string(program_invocation_name) +
         " reached Stretto: an MPI library is linked into it statically; link it with the shared library";
}

}  // namespace
}  // namespace stretto

/// Writes the reason, unless Stretto is not preloaded: then nobody expects it to serve. The function uses
/// nothing that a destructor may have ended.
extern "C" __attribute__((visibility("default"))) void stretto_core_tell_of_passed_by() {
  if (stretto::environment("STRETTO_DISABLE") == "1" || !stretto::may_be_rank_0() ||
      stretto::environment("LD_PRELOAD").find("libstretto") == std::string::npos)
    return;
  const std::string reason = stretto::find_reason();
  if (reason.empty() || stretto::is_forked()) return;
  stretto::tell_unserved(reason);
  if (!stretto::is_strict()) return;
  std::fflush(nullptr);
  _exit(EXIT_FAILURE);
}

// SPDX-License-Identifier: Apache-2.0
// At the end of a process, lets the core tell if calls have passed by Stretto
// (interpose/start/passed_by.cpp). The core is not loaded for a process that cannot have made any.
#include <dlfcn.h>
#include <link.h>

#include <cstdlib>

#include "elf/inside.hpp"
#include "elf/objects.hpp"
#include "front/audited.hpp"
#include "front/core.hpp"
#include "text/rank_variables.hpp"

namespace stretto {
namespace {

/// Whether the process has loaded an MPI library, as far as names tell, or may have one inside.
bool has_mpi() {
  const auto look_at = [](dl_phdr_info* object, std::size_t /*size*/, void* /*data*/) {
    return object->dlpi_name != nullptr && may_be_mpi(base_name(object->dlpi_name)) ? 1 : 0;
  };
  const bool may_have_loaded = stretto_front_audit != Audit::no_mpi;
  if (may_have_loaded && dl_iterate_phdr(look_at, nullptr) != 0) return true;
  return has_launcher(std::getenv, true) && has_mpi_inside("/proc/self/exe");
}

__attribute__((destructor)) void tell_of_calls_that_passed_by() {
  if (!is_core_loaded() && !has_mpi()) return;
  void* const core = load_core();
  void* const tell = core == nullptr ? nullptr : dlsym(core, "stretto_core_tell_of_passed_by");
  if (tell != nullptr) reinterpret_cast<void (*)()>(tell)();
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
#include "interpose/passing/entry.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "interpose/session/session.hpp"
#include "mpi/mpi.hpp"

namespace stretto {

bool lacks_large_counts() {
  // The linker asks for each function, but libraries are rarely loaded. So the number of loads and unloads is
  // kept, with the answer in the bit below.
  static std::atomic<unsigned long long> known{0};
  struct Seen {
    unsigned long long changes = 0;
    bool is_known = false;
    bool open_mpi = false;
    bool another = false;
  } seen;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* data) {
        auto& all = *static_cast<Seen*>(data);
        all.changes = info->dlpi_adds + info->dlpi_subs;
        all.is_known = known / 2 == all.changes;
        if (all.is_known) return 1;
        const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        if (!path.substr(path.rfind('/') + 1).starts_with("libmpi")) return 0;
        // The name of the file behind the link has the version.
        std::array<char, PATH_MAX> real{};
        const std::string_view file = realpath(info->dlpi_name, real.data()) == nullptr ? path : real.data();
        const std::string_view name = file.substr(file.rfind('/') + 1);
        const std::optional<Interface> interface = interface_of_file(name);
        all.another = all.another || interface == Interface::mpich || interface == Interface::abi;
        all.open_mpi = all.open_mpi || name.starts_with("libmpi.so.40") || name.starts_with("libmpi.so.20");
        return 0;
      },
      &seen);
  if (!seen.is_known) known = 2 * seen.changes + (seen.open_mpi && !seen.another ? 1 : 0);
  return known % 2 == 1;
}

void* find_next(const char* symbol, const char* otherwise) {
  void* found = dlsym(RTLD_NEXT, symbol);
  // An interpreter may have loaded its MPI library privately, where RTLD_NEXT does not look.
  if (found == nullptr) found = any_mpi_symbol(symbol);
  return found == nullptr && otherwise != nullptr ? find_next(otherwise) : found;
}

bool is_of_library(void* function, const char* symbol) {
  return function == any_mpi_symbol(symbol);
}

int report_no_memory() {
  if (session.serves_program) mpi.Comm_call_errhandler(mpi.comm_world, mpi.err_no_mem);
  return mpi.err_no_mem;
}

int refuse_missing(const char* symbol) {
  complain_once_on_rank_0("the MPI library of this process has no " + std::string(symbol));
  if (session.serves_program) mpi.Comm_call_errhandler(mpi.comm_world, mpi.err_unsupported_operation);
  return mpi.err_unsupported_operation;
}

int refuse_count(RawComm comm) {
  if (session.serves_program) mpi.Comm_call_errhandler(comm, mpi.err_count);
  return mpi.err_count;
}

}  // namespace stretto

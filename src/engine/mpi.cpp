// SPDX-License-Identifier: Apache-2.0
#include "engine/mpi.hpp"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

namespace stretto {

MpiLibrary mpi;

namespace {

// Each binary interface is recognized by a symbol that only its libraries have.
#ifdef STRETTO_ABI_OPENMPI
constexpr const char* our_mark = "ompi_mpi_comm_world";
constexpr const char* our_name = "openmpi";
constexpr const char* other_name = "mpich";
#else
constexpr const char* our_mark = "MPIR_Err_create_code";
constexpr const char* our_name = "mpich";
constexpr const char* other_name = "openmpi";
#endif

void* library = nullptr;

/// Returns the paths of all objects that the process has loaded, even privately.
std::vector<std::string> loaded_objects() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t /*size*/, void* result) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
          static_cast<std::vector<std::string>*>(result)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &paths);
  return paths;
}

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// Only libmpi itself. A language layer (libmpi_mpifh) or a tool that depends on it would also offer its
/// symbols.
bool may_be_mpi(const std::string& path) {
  const std::string name = base_name(path);
  return name.starts_with("libmpi.so") || name.starts_with("libmpich.so") ||
         name.starts_with("libmpi_abi.so");
}

}  // namespace

void* mpi_symbol(const char* name) {
  return dlsym(library, name);
}

void* mpi_variable(const char* name) {
  void* variable = dlsym(RTLD_DEFAULT, name);
  return variable != nullptr ? variable : mpi_symbol(name);
}

void* any_mpi_symbol(const char* name) {
  if (library != nullptr) return mpi_symbol(name);
  for (const std::string& path : loaded_objects()) {
    if (!may_be_mpi(path)) continue;
    void* candidate = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    void* symbol = candidate == nullptr ? nullptr : dlsym(candidate, name);
    if (symbol != nullptr) return symbol;
  }
  return nullptr;
}

std::string load_mpi() {
  if (library != nullptr) return {};
  std::string wrong;
  for (const std::string& path : loaded_objects()) {
    if (!may_be_mpi(path)) continue;
    void* candidate = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (candidate == nullptr) continue;
    const bool standard_abi = base_name(path).starts_with("libmpi_abi.so");
    if (!standard_abi && dlsym(candidate, our_mark) != nullptr) {
      library = candidate;
      break;
    }
    if (dlsym(candidate, "PMPI_Init") != nullptr && wrong.empty()) {
      wrong = "this is Stretto for the binary interface " + std::string(our_name) +
              ", but the process uses " + path +
              (standard_abi ? " (the MPI-5 standard ABI, which Stretto does not serve)"
                            : "; preload the one for " + std::string(other_name));
    }
    dlclose(candidate);
  }
  if (library == nullptr) return wrong.empty() ? "no MPI library is loaded in this process" : wrong;

#define STRETTO_FIND(name)                                                    \
  mpi.name = reinterpret_cast<decltype(mpi.name)>(mpi_symbol("PMPI_" #name)); \
  if (mpi.name == nullptr) {                                                  \
    library = nullptr;                                                        \
    return "the MPI library of this process lacks PMPI_" #name;               \
  }
  STRETTO_MPI_FUNCTIONS(STRETTO_FIND)
#undef STRETTO_FIND
#ifdef STRETTO_ABI_MPICH
#define STRETTO_FIND(name) mpi.name = reinterpret_cast<decltype(mpi.name)>(mpi_symbol("PMPI_" #name));
  STRETTO_MPI_4_FUNCTIONS(STRETTO_FIND)
#undef STRETTO_FIND
#endif
  load_mpi_handles();
  return {};
}

}  // namespace stretto

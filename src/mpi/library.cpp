// SPDX-License-Identifier: Apache-2.0
#include "mpi/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elf/objects.hpp"
#include "mpi/mpi.hpp"

namespace stretto {

constinit MpiLibrary mpi;

namespace {

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

/// Returns the binary interface of a library. Each interface has a symbol that libraries of other interfaces
/// lack, with one exception: MPICH's library of the standard ABI also has the symbol of MPICH's interface.
/// But a library of the standard ABI has a name of its own in every MPI library, and in translators of it
/// into another interface.
std::optional<Interface> interface_of(const std::string& path, void* handle) {
  if (interface_of_file(base_name(path.c_str())) == Interface::abi) return Interface::abi;
  if (dlsym(handle, "ompi_mpi_comm_world") != nullptr) return Interface::openmpi;
  if (dlsym(handle, "MPIR_Err_create_code") != nullptr) return Interface::mpich;
  return std::nullopt;
}

/// Whether MPI_Init has been called in this library. That call is the same in all interfaces.
bool is_initialized(void* handle) {
  auto* const ask =
      handle == nullptr ? nullptr : reinterpret_cast<int (*)(int*)>(dlsym(handle, "PMPI_Initialized"));
  int answer = 0;
  return ask != nullptr && ask(&answer) == 0 && answer != 0;
}

std::optional<Library> open_library(const std::string& path) {
  std::unique_ptr<void, CloseLibrary> handle(dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD));
  if (handle == nullptr || dlsym(handle.get(), "PMPI_Init") == nullptr) return std::nullopt;
  const std::optional<Interface> interface = interface_of(path, handle.get());
  return Library{path, std::move(handle), interface};
}

std::optional<Library> find_any_library() {
  std::optional<Library> found;
  for (const std::string& path : loaded_objects()) {
    std::optional<Library> one = may_be_mpi(base_name(path.c_str())) ? open_library(path) : std::nullopt;
    if (!one) continue;
    const bool is_in_use = is_initialized(one->handle.get());
    if (is_in_use || !found) found = std::move(one);
    if (is_in_use) break;
  }
  return found;
}

void* library = nullptr;  // of dlopen, once it is found
bool was_looked_for = false;

}  // namespace

void CloseLibrary::operator()(void* handle) const {
  dlclose(handle);
}

std::optional<Library> find_library(const void* function) {
  if (function == nullptr) return find_any_library();
  Dl_info object{};
  return dladdr(function, &object) == 0 ? std::nullopt : open_library(object.dli_fname);
}

bool is_library_certain() {
  was_looked_for = true;
  static bool is_certain = false;
  // A process may load several MPI libraries, and only one of them is initialized.
  is_certain = is_certain || is_initialized(library);
  return is_certain;
}

void use_library(void* handle) {
  library = handle;
}

void* mpi_symbol(const char* name) {
  if (!mpi.has_library()) return nullptr;
  assert(library != nullptr);
  return library == nullptr ? nullptr : dlsym(library, name);
}

void* mpi_variable(const char* name) {
  void* variable = dlsym(RTLD_DEFAULT, name);
  return variable == nullptr && library != nullptr ? mpi_symbol(name) : variable;
}

void* any_mpi_symbol(const char* name) {
  if (library != nullptr) return mpi_symbol(name);
  const std::optional<Library> found = find_any_library();
  return found ? dlsym(found->handle.get(), name) : nullptr;
}

bool was_library_looked_for() {
  return was_looked_for;
}

std::string find_passed_by() {
  if (was_looked_for) return {};
  const std::optional<Library> found = find_any_library();
  return found && is_initialized(found->handle.get()) ? found->path : "";
}

}  // namespace stretto

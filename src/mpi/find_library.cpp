// SPDX-License-Identifier: Apache-2.0
#include "mpi/mpi.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elf/objects.hpp"

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

struct Close {
  void operator()(void* handle) const { dlclose(handle); }
};

/// An MPI library of the process.
struct Library {
  std::string path;
  std::unique_ptr<void, Close> handle;  // of dlopen
  std::optional<Interface> interface;   // nothing: one that Stretto does not know
};

std::optional<Library> open_library(const std::string& path) {
  std::unique_ptr<void, Close> handle(dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD));
  if (handle == nullptr || dlsym(handle.get(), "PMPI_Init") == nullptr) return std::nullopt;
  const std::optional<Interface> interface = interface_of(path, handle.get());
  return Library{path, std::move(handle), interface};
}

/// Returns the library that the program calls, if any is loaded: the first one that is initialized, or else
/// the first one. (A library of the standard ABI that translates has loaded another one behind it, for
/// itself.)
std::optional<Library> find_library() {
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

/// Returns the library that has a function.
std::optional<Library> library_of(const void* function) {
  Dl_info object{};
  return dladdr(function, &object) == 0 ? std::nullopt : open_library(object.dli_fname);
}

void* library = nullptr;  // of dlopen, once it is found
bool is_certain = false;  // that the program calls it
bool was_looked_for = false;

}  // namespace

void* mpi_symbol(const char* name) {
  if (!mpi.has_library()) return mpi.own_symbol(name);
  assert(library != nullptr);
  return library == nullptr ? nullptr : dlsym(library, name);
}

void* mpi_variable(const char* name) {
  void* variable = dlsym(RTLD_DEFAULT, name);
  return variable == nullptr && library != nullptr ? mpi_symbol(name) : variable;
}

void* any_mpi_symbol(const char* name) {
  if (!mpi.has_library()) {
    if (void* own = mpi.own_symbol(name)) return own;
  }
  if (library != nullptr) return mpi_symbol(name);
  const std::optional<Library> found = find_library();
  return found ? dlsym(found->handle.get(), name) : nullptr;
}

bool was_library_looked_for() {
  return was_looked_for;
}

std::string find_passed_by() {
  if (was_looked_for) return {};
  const std::optional<Library> found = find_library();
  return found && is_initialized(found->handle.get()) ? found->path : "";
}

std::string load_mpi(const void* function) {
  was_looked_for = true;
  if (!mpi.has_library()) return {};
  // A process may load several MPI libraries, and only one of them is initialized.
  is_certain = is_certain || is_initialized(library);
  if (is_certain) return {};
  std::optional<Library> found = function == nullptr ? find_library() : library_of(function);
  if (!found) return "no MPI library is loaded in this process";
  const BindFace bind = found->interface ? face_of(*found->interface) : nullptr;
  if (bind == nullptr) {
    library = nullptr;
    return "the process uses " + found->path +
           (found->interface ? ", of the binary interface " + std::string(name_of(*found->interface)) +
                                   ", for which this Stretto was not built"
                             : ", of a binary interface that Stretto does not know");
  }
  library = found->handle.release();
  if (const char* const missing = bind(mpi_symbol)) {
    library = nullptr;
    return "the MPI library of this process lacks " + std::string(missing);
  }
  return {};
}

}  // namespace stretto

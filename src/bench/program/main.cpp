// SPDX-License-Identifier: Apache-2.0
// The measuring program that a launcher starts. It finds an MPI library of the interface that its first
// argument names, and then loads the rest (../main.cpp), which is a shared object beside it. No MPI library
// is linked, so one build runs on each, whatever its file is called. Stretto is linked, so its functions come
// first.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/mpi_interface.hpp"

namespace stretto::bench {
namespace {

/// Returns the names by which programs of an interface load their library. Debian has its own name for
/// MPICH's.
std::vector<std::string> names_of_library(Interface interface) {
  switch (interface) {
    case Interface::openmpi:
      return {"libmpi.so.40"};
    case Interface::mpich:
      return {"libmpi.so.12", "libmpich.so.12"};
    case Interface::abi:
      break;
  }
  return {"libmpi_abi.so.1", "libmpi_abi.so.0"};
}

bool open_globally(const std::string& path) {
  return dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL) != nullptr;
}

/// Returns the folders of LD_LIBRARY_PATH.
std::vector<std::string> named_folders() {
  std::vector<std::string> folders;
  const char* value = std::getenv("LD_LIBRARY_PATH");
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(":;"), rest.size());
    folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return folders;
}

/// Returns whether the process has an MPI library of an interface already: it may be preloaded.
bool is_loaded(Interface interface) {
  return dl_iterate_phdr(
             [](dl_phdr_info* object, std::size_t /*size*/, void* wanted) {
               const std::string_view path = object->dlpi_name;
               const auto found = interface_of_file(path.substr(path.rfind('/') + 1));
               return found == *static_cast<const Interface*>(wanted) ? 1 : 0;
             },
             &interface) != 0;
}

/// Loads the MPI library unless the process has it already. A folder that the user names takes precedence
/// over the order of names: the system may have another library under the other name.
bool load_library(Interface interface) {
  if (is_loaded(interface)) return true;
  const std::vector<std::string> names = names_of_library(interface);
  for (const std::string& folder : named_folders()) {
    for (const std::string& name : names) {
      if (!folder.empty() && open_globally(folder + "/" + name)) return true;
    }
  }
  return std::ranges::any_of(names, open_globally);
}

/// The argument in place of the interface if the job has no MPI library.
constexpr std::string_view without_mpi = "sockets";

int fail(const std::string& reason) {
  std::fprintf(stderr, "stretto-bench: %s\n", reason.c_str());
  return 2;
}

/// Returns the path of the rest of this program.
std::string path_of_rest() {
  char* own = realpath("/proc/self/exe", nullptr);
  std::string path = own == nullptr ? "stretto-bench" : own;
  std::free(own);
  return path + ".so";
}

std::optional<Interface> find_interface(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(interfaces, [&](Interface interface) { return name_of(interface) == name; });
  return found == interfaces.end() ? std::nullopt : std::optional(*found);
}

int start(int count, char** words) {
  const std::string_view named = count < 2 ? "" : words[1];
  const std::optional<Interface> interface = find_interface(named);
  if (!interface && named != without_mpi)
    return fail("the first argument must be a binary interface (openmpi, mpich or abi) or sockets");
  if (interface && !load_library(*interface)) {
    std::string names;
    for (const std::string& name : names_of_library(*interface))
      names += (names.empty() ? "" : " or ") + name;
    return fail(names + " was not found; add the folder of your MPI library to LD_LIBRARY_PATH");
  }
  const std::string path = path_of_rest();
  // Without MPI, some functions are never called and do not exist, so symbols are bound lazily.
  void* rest = dlopen(path.c_str(), (interface ? RTLD_NOW : RTLD_LAZY) | RTLD_LOCAL);
  if (rest == nullptr) return fail(dlerror());
  auto* const run = reinterpret_cast<int (*)(int, char**)>(dlsym(rest, "stretto_bench_main"));
  return run == nullptr ? fail(path + " is of another version; install Stretto again")
                        : run(count - 1, words + 1);
}

}  // namespace
}  // namespace stretto::bench

int main(int argc, char** argv) {
  return stretto::bench::start(argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
#include "interface.hpp"

#include <dlfcn.h>
#include <link.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace stretto_torch {

Interface stretto;

namespace {

/// Returns the preloaded Stretto that serves the MPI library of this process; RTLD_DEFAULT if there is none.
/// Several may be preloaded, one for each binary interface (`stretto exec`).
void* find_preloaded() {
  std::vector<std::string> strettos;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t /*size*/, void* result) {
        const std::string path = object->dlpi_name;
        if (path.compare(path.rfind('/') + 1, 11, "libstretto-") == 0) {
          static_cast<std::vector<std::string>*>(result)->push_back(path);
        }
        return 0;
      },
      &strettos);
  for (const std::string& path : strettos) {
    void* const object = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) continue;
    auto* const serves = reinterpret_cast<int (*)()>(dlsym(object, "_stretto_serves_process"));
    if (serves != nullptr && serves() != 0) return object;
  }
  return RTLD_DEFAULT;
}

}  // namespace

bool load_interface(void* object) {
  void* where = object == nullptr ? find_preloaded() : object;
  Interface found;
  bool is_there = true;
#define STRETTO_TORCH_FIND(name)                                                       \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(where, "stretto_" #name)); \
  is_there = is_there && found.name != nullptr;
  STRETTO_TORCH_FUNCTIONS(STRETTO_TORCH_FIND)
#undef STRETTO_TORCH_FIND
  if (!is_there) {
    if (dlsym(where, "stretto_version") == nullptr) return false;
  } else if (found.group_interface() == STRETTO_GROUP_INTERFACE) {
    stretto = found;
    return true;
  }
  throw std::runtime_error(
      "the Stretto that is preloaded is of another version than this package; start the job by the `stretto "
      "run` of "
      "this package, or without");
}

void throw_error() {
  throw std::runtime_error(std::string("stretto: ") + stretto.error());
}

}  // namespace stretto_torch

// SPDX-License-Identifier: Apache-2.0
#include "interface.hpp"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace stretto_torch {

Interface stretto;

bool load_interface(void* object) {
  void* const where = object == nullptr ? RTLD_DEFAULT : object;
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
      "the preloaded Stretto is of another version than this package; start the job by this package's "
      "`stretto run`, or without it");
}

void throw_error() {
  throw std::runtime_error(std::string("stretto: ") + stretto.error());
}

}  // namespace stretto_torch

// SPDX-License-Identifier: Apache-2.0
// Loads libstretto-core.so, which is all of Stretto but its entries, at the first call. A process that never
// calls MPI pays for a small library without relocations.
#include "front/core.hpp"

#include <dlfcn.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "front/entries.hpp"

namespace stretto {
namespace {

constinit std::atomic<void*> core{nullptr};
constinit std::atomic<bool> has_failed{false};

/// Writes the path of the core into a text of PATH_MAX characters: it lies beside this library, of which
/// there may be symbolic links elsewhere. Returns whether the path fits.
bool path_of_core(char* path) {
  constexpr char name[] = "libstretto-core.so";
  Dl_info own{};
  if (dladdr(stretto_front_entries, &own) == 0 || realpath(own.dli_fname, path) == nullptr) return false;
  char* const beginning = std::strrchr(path, '/') + 1;
  if (beginning + sizeof name > path + PATH_MAX) return false;
  std::memcpy(beginning, name, sizeof name);
  return true;
}

}  // namespace

bool is_core_loaded() {
  return core.load(std::memory_order_acquire) != nullptr;
}

void* load_core() {
  // Threads that come here at the same time get the same handle.
  if (void* const known = core.load(std::memory_order_acquire)) return known;
  if (has_failed.load(std::memory_order_relaxed)) return nullptr;
  char path[PATH_MAX];
  void* const loaded = path_of_core(path) ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : nullptr;
  void* const begin = loaded == nullptr ? nullptr : dlsym(loaded, "stretto_core_begin");
  if (begin == nullptr) {
    has_failed.store(true);
    const char* const reason = dlerror();
    std::fprintf(stderr, "stretto: %s; the program runs without Stretto; install Stretto again, all of it\n",
                 reason == nullptr ? "libstretto-core.so is not beside libstretto.so" : reason);
    return nullptr;
  }
  reinterpret_cast<void (*)(void* (*)(const char*))>(begin)(next_definition);
  core.store(loaded, std::memory_order_release);
  return loaded;
}

void* next_definition(const char* name) {
  void* function = dlsym(RTLD_NEXT, name);
  // dlsym looks for the caller by its return address, so the call must not be the last thing done.
  __asm__ volatile("" : "+r"(function));
  return function;
}

}  // namespace stretto

void* stretto_front_bind(unsigned number) {
  const char* const name = stretto::name_of_entry(number);
  void* const core = stretto::load_core();
  void* function = core == nullptr ? nullptr : dlsym(core, name);
  if (function == nullptr) function = stretto::next_definition(name);
  if (function == nullptr) {
    std::fprintf(stderr, "stretto: there is no %s in this process; install Stretto again, all of it\n", name);
    std::abort();
  }
  stretto_front_slots[number].store(function, std::memory_order_release);
  return function;
}

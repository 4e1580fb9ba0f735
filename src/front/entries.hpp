// SPDX-License-Identifier: Apache-2.0
// Where the code is that a program calls, by the number of a function in front_entries.inc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// front_entries.inc is made by cmake/front_entries.py: STRETTO_ENTRY(0, MPI_X), and so on.
#define STRETTO_ENTRY(number, name) +1
namespace stretto {
constexpr std::size_t entry_count = 0
#include "front_entries.inc"
    ;
/// The bytes from the code of one entry to the next one's.
constexpr std::size_t entry_stride = 32;
/// Likewise of the functions that return the address of an entry (late.cpp).
constexpr std::size_t finder_stride = 16;
}  // namespace stretto
#undef STRETTO_ENTRY

#define STRETTO_HIDDEN __attribute__((visibility("hidden")))

extern "C" {
/// The code of all entries, and of all finders.
extern const char stretto_front_entries[] STRETTO_HIDDEN;
extern const char stretto_front_finders[] STRETTO_HIDDEN;
/// The function to which each entry goes on; nullptr: not known yet.
extern std::atomic<void*> stretto_front_slots[stretto::entry_count] STRETTO_HIDDEN;
/// Returns the function of the core that an entry stands for, and keeps it in its slot.
void* stretto_front_bind(unsigned number) STRETTO_HIDDEN;
/// Returns what an object that looks for an entry's name shall find (late.cpp).
void* stretto_front_find(unsigned number) STRETTO_HIDDEN;
}

namespace stretto {

/// Returns the name of an entry.
const char* name_of_entry(std::size_t number);
/// Returns the next object's definition of a function after libstretto.so; nullptr if there is none.
void* next_definition(const char* name);

}  // namespace stretto

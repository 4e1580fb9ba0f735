/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables put Stretto under a program, and how. This is the one list of them: `stretto exec` sets
 * them, `stretto run` asks `stretto exec` for them, and Slurm's plugin is made with this file. It is C,
 * because a cluster compiles the plugin as C. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// NOLINTBEGIN(modernize-*): C has nothing else.

/* A variable that holds a list. Stretto adds an entry to it. */
struct StrettoVariable {
  const char* name;
  const char* separators;
  const char* entry; /* with a slash in front: a file in the folder of the library */
};

static const struct StrettoVariable stretto_variables[] = {
    {"LD_PRELOAD", ": ", "/libstretto.so"},
    /* Calls that look past a preload (src/audit). */
    {"LD_AUDIT", ":", "/libstretto-audit.so"},
    /* The address sanitizer refuses to start if any library is preloaded before it. It works all the same: it
     * still comes before the libraries whose functions it replaces, and Stretto has none of these. */
    {"ASAN_OPTIONS", ":", "verify_asan_link_order=0"},
};

/* Whether an entry must come after Stretto's: an MPI library, since its functions would be found first, or
 * another Stretto. */
static bool stretto_stays_behind(const char* entry, size_t length) {
  static const char* const beginnings[] = {"libmpi.so", "libmpich.so", "libmpi_abi.so", "libstretto"};
  const char* name = entry;
  for (size_t i = 0; i < length; ++i) {
    if (entry[i] == '/') name = entry + i + 1;
  }
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; ++i) {
    const size_t begins = strlen(beginnings[i]);
    if (length - (size_t)(name - entry) >= begins && strncmp(name, beginnings[i], begins) == 0) return true;
  }
  return false;
}

/* Appends an entry to a list. */
static void stretto_append(char* list, const char* entry, size_t length) {
  char* end = list + strlen(list);
  if (end != list) *end++ = ':';
  memcpy(end, entry, length);
  end[length] = '\0';
}

/* Puts an entry into a list, or takes it out. Entries that are there already, such as a PMPI tool, come
 * before it: a tool in front sees each call of the program once, and a tool behind would miss the calls that
 * Stretto handles. `result` has room for both and two more characters. */
static void stretto_change_list(char* result, const char* list, const char* separators, const char* entry,
                                bool in) {
  result[0] = '\0';
  for (int behind = 0; behind < 2; ++behind) {
    for (const char* rest = list; *rest != '\0';) {
      const size_t length = strcspn(rest, separators);
      const bool is_it = length == strlen(entry) && strncmp(rest, entry, length) == 0;
      if (length > 0 && !is_it && stretto_stays_behind(rest, length) == (behind == 1)) {
        stretto_append(result, rest, length);
      }
      rest += length + (rest[length] != '\0');
    }
    if (in && behind == 0) stretto_append(result, entry, strlen(entry));
  }
}

// NOLINTEND(modernize-*)

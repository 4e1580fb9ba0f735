/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of Slurm: `srun --stretto ./program` puts Stretto under the tasks, as `stretto exec` does.
 *
 *   cc -O2 -fPIC -shared -o spank_stretto.so spank_stretto.c
 *
 * Slurm loads it only if it was compiled with the headers of that release of Slurm. A line of plugstack.conf
 * names it, on all nodes and where jobs are submitted:
 *
 *   optional /opt/stretto/spank_stretto.so lib=/opt/stretto/lib
 *
 * lib=FOLDER is the folder of libstretto.so. By default it is the folder of the plugin. default=on applies to
 * jobs without --stretto. No error ends a job: one line says what is wrong, and the tasks run without
 * Stretto. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/rank_environment.h"

SPANK_PLUGIN(stretto, 1)

enum Choice { not_said, off, on };

static enum Choice asked = not_said;
static enum Choice by_default = not_said;
static char folder[4096];

static enum Choice read_choice(const char* text) {
  // The forms in which srun, its tasks, and an srun inside a job with the option get `--stretto` alone.
  if (text == NULL || text[0] == '\0' || strcmp(text, "(null)") == 0) return on;
  if (strcmp(text, "on") == 0) return on;
  return strcmp(text, "off") == 0 ? off : not_said;
}

static int follow_option(int value, const char* text, int remote) {
  (void)value;
  asked = read_choice(text);
  if (asked != not_said || remote != 0) return 0;
  slurm_error("--stretto=%s: expected on or off", text);
  return -1;  // before there is a job
}

/* Stretto's own folder, unless plugstack.conf names one. */
static void find_folder(void) {
  Dl_info info;
  if (dladdr(folder, &info) == 0 || info.dli_fname == NULL) return;
  const char* slash = strrchr(info.dli_fname, '/');
  if (slash == NULL) return;
  (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - info.dli_fname), info.dli_fname);
}

static void follow_argument(const char* word) {
  if (strncmp(word, "lib=", 4) == 0) {
    const char* named = word + 4;
    // The dynamic linker would split or replace a path with other characters in LD_PRELOAD.
    if (named[0] == '/' && strpbrk(named, ": $") == NULL && strlen(named) < sizeof folder) {
      (void)snprintf(folder, sizeof folder, "%s", named);
      return;
    }
  } else if (strcmp(word, "default=on") == 0) {
    by_default = on;
    return;
  }
  slurm_error("stretto: plugstack.conf: %s: expected lib=/FOLDER or default=on", word);
}

int slurm_spank_init(spank_t spank, int count, char** words) {
  static struct spank_option option = {
      .name = "stretto",
      .arginfo = "on|off",
      .usage = "run the tasks with Stretto, which carries out MPI collectives faster",
      .has_arg = 2,
      .val = 0,
      .cb = follow_option,
  };
  const spank_context_t context = spank_context();
  if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE) return 0;
  find_folder();
  for (int i = 0; i < count; ++i) follow_argument(words[i]);
  return spank_option_register(spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

/* The value of a variable of the task; "" if it has none. */
static const char* value_of(spank_t spank, const char* name) {
  char** variables = NULL;
  if (spank_get_item(spank, S_JOB_ENV, &variables) != ESPANK_SUCCESS) return "";
  const size_t length = strlen(name);
  for (; variables != NULL && *variables != NULL; ++variables) {
    if (strncmp(*variables, name, length) == 0 && (*variables)[length] == '=') return *variables + length + 1;
  }
  return "";
}

/* Changes one of the task's lists. */
static void change(spank_t spank, const struct StrettoVariable* variable, const char* entry, bool in) {
  const char* before = value_of(spank, variable->name);
  char* after = malloc(strlen(before) + strlen(entry) + 2);
  if (after == NULL) return;
  stretto_change_list(after, before, variable->separators, entry, in);
  if (after[0] != '\0') {
    (void)spank_setenv(spank, variable->name, after, 1);
  } else {
    (void)spank_unsetenv(spank, variable->name);
  }
  free(after);
}

/* Returns the choice for this task. */
static enum Choice find_choice(spank_t spank) {
  if (asked != not_said) return asked;
  // If sbatch passes on no variables, the step of a batch script finds the job's options only here.
  const char* inherited = value_of(spank, "SLURM_SPANK__SLURM_SPANK_OPTION_stretto_stretto");
  return inherited[0] != '\0' ? read_choice(inherited) : by_default;
}

/* Slurm calls this in each task, as the task's user, with the variables that the task will have. The
 * variables of srun do not matter, since srun may pass on none (--export=NONE). */
int slurm_spank_task_init(spank_t spank, int count, char** words) {
  (void)count;
  (void)words;
  const enum Choice choice = find_choice(spank);
  if (choice == not_said) return 0;
  // A task with --stretto=off may be in a job with Stretto, which must then be removed.
  const bool wanted = choice == on;
  for (size_t i = 0; i < sizeof stretto_variables / sizeof *stretto_variables; ++i) {
    const struct StrettoVariable* variable = stretto_variables + i;
    if (variable->entry[0] != '/') {
      if (wanted) change(spank, variable, variable->entry, true);
      continue;
    }
    char file[sizeof folder + 32];
    (void)snprintf(file, sizeof file, "%s%s", folder, variable->entry);
    if (!wanted || access(file, R_OK) == 0) {
      change(spank, variable, file, wanted);
    } else if (i == 0) {
      uint32_t rank = 0;
      const int error = errno;
      if (spank_get_item(spank, S_TASK_GLOBAL_ID, &rank) != ESPANK_SUCCESS || rank == 0) {
        slurm_error("stretto: %s: %s; the tasks run without Stretto", file, strerror(error));
      }
      return 0;
    }
  }
  return 0;
}

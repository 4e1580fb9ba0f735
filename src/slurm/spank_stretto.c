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

/* Whether a preloaded object must come after Stretto: an MPI library, since its functions would be found
 * first, or another Stretto. The same as stays_behind() in src/exec/preload.cpp. */
static bool stays_behind(const char* entry, size_t length) {
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

/* Appends an entry to a list that has room for it. */
static void append(char* list, const char* entry, size_t length) {
  char* end = list + strlen(list);
  if (end != list) *end++ = ':';
  memcpy(end, entry, length);
  end[length] = '\0';
}

/* Puts an object into a list of the dynamic linker, or takes it out. The objects that users preload stay in
 * front, as in preload_value() of src/exec/preload.cpp: a PMPI tool in front sees each call of the program
 * once. */
static void change_list(spank_t spank, const char* name, const char* separators, const char* object,
                        bool in) {
  const char* rest = value_of(spank, name);
  const size_t most = strlen(rest) + strlen(object) + 3;
  char* list = calloc(2, most);
  if (list == NULL) return;
  char* behind = list + most;
  while (*rest != '\0') {
    const size_t length = strcspn(rest, separators);
    const bool is_it = length == strlen(object) && strncmp(rest, object, length) == 0;
    if (length > 0 && !is_it) append(stays_behind(rest, length) ? behind : list, rest, length);
    rest += length + (rest[length] != '\0');
  }
  if (in) append(list, object, strlen(object));
  if (behind[0] != '\0') append(list, behind, strlen(behind));
  if (list[0] != '\0') {
    (void)spank_setenv(spank, name, list, 1);
  } else {
    (void)spank_unsetenv(spank, name);
  }
  free(list);
}

/* Lets the address sanitizer start although libraries are preloaded before it. */
static void set_sanitizer_options(spank_t spank) {
  static const char any_order[] = "verify_asan_link_order=0";
  const char* existing = value_of(spank, "ASAN_OPTIONS");
  if (strstr(existing, any_order) != NULL) return;
  char* options = NULL;
  if (asprintf(&options, "%s%s%s", existing, existing[0] != '\0' ? ":" : "", any_order) < 0) return;
  (void)spank_setenv(spank, "ASAN_OPTIONS", options, 1);
  free(options);
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
  char library[sizeof folder + 32];
  char auditor[sizeof folder + 32];
  (void)snprintf(library, sizeof library, "%s/libstretto.so", folder);
  (void)snprintf(auditor, sizeof auditor, "%s/libstretto-audit.so", folder);
  if (wanted && access(library, R_OK) != 0) {
    uint32_t rank = 0;
    const int error = errno;
    if (spank_get_item(spank, S_TASK_GLOBAL_ID, &rank) != ESPANK_SUCCESS || rank == 0) {
      slurm_error("stretto: %s: %s; the tasks run without Stretto", library, strerror(error));
    }
    return 0;
  }
  change_list(spank, "LD_PRELOAD", ": ", library, wanted);
  if (!wanted || access(auditor, R_OK) == 0) change_list(spank, "LD_AUDIT", ":", auditor, wanted);
  if (wanted) set_sanitizer_options(spank);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A tool in which the kernel says of every thread that it never waits for a core (CORE_TIME=idle), or that it
// does nothing else (CORE_TIME=busy).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int Open(const char*, int, ...);

static int make_counters(const char* what) {
  static _Atomic long readings = 1;
  char text[100];
  const long seconds = strcmp(what, "busy") == 0 ? 1000 * readings++ : 0;
  const int length = snprintf(text, sizeof text, "1000000000 %ld000000000 1\n", seconds);
  const int file = memfd_create("schedstat", MFD_CLOEXEC);
  if (file < 0 || write(file, text, (size_t)length) != length || lseek(file, 0, SEEK_SET) != 0) abort();
  return file;
}

static int open_by(const char* name, const char* path, int flags, int mode) {
  Open* const next = (Open*)dlsym(RTLD_NEXT, name);
  const char* const what = getenv("CORE_TIME");
  if (what != NULL && strcmp(path, "/proc/thread-self/schedstat") == 0) return make_counters(what);
  return next(path, flags, mode);
}

static int mode_of(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, int) : 0;
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = mode_of(flags, more);
  va_end(more);
  return open_by("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int mode = mode_of(flags, more);
  va_end(more);
  return open_by("open64", path, flags, mode);
}

// SPDX-License-Identifier: Apache-2.0
// forbid CALL ERROR COMMAND...: runs a command in which a system call fails with this error, as under a
// filter of a container or on an older kernel.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
  const char* name;
  unsigned number;
} calls[] = {{"memfd_create", SYS_memfd_create}, {"fallocate", SYS_fallocate}},
  errors[] = {
      {"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"ENOSPC", ENOSPC}, {"ENOMEM", ENOMEM}, {"EMFILE", EMFILE}};

int main(int argc, char** argv) {
  unsigned number = 0;
  unsigned error = 0;
  if (argc < 4) return 2;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    if (strcmp(argv[1], calls[i].name) == 0) number = calls[i].number;
  }
  for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i) {
    if (strcmp(argv[2], errors[i].name) == 0) error = errors[i].number;
  }
  if (number == 0 || error == 0) return 2;
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    perror("seccomp");
    return 2;
  }
  execvp(argv[3], argv + 3);
  perror(argv[3]);
  return 2;
}

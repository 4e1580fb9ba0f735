/* SPDX-License-Identifier: Apache-2.0 */
/* In place of that of glibc 2.32, for the PyTorch extension that wheels carry: libstdc++ then always counts
 * by atomic operations, as a process with PyTorch in it must. */
#pragma once

static const bool __libc_single_threaded = false;

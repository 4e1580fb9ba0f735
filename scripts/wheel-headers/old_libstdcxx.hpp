// SPDX-License-Identifier: Apache-2.0
// Read before all of the PyTorch extension that wheels carry (scripts/wheel). The headers are those of the
// system's libstdc++; the extension must run with that of GCC 8, as PyTorch's own builds do.
#pragma once

#include <bits/c++config.h>

// glibc has pthread_cond_clockwait from 2.30 on.
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT

// The newer version differs in nothing but what it promises about exceptions.
__asm__(
    ".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE, "
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");

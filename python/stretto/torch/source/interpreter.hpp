// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace stretto_torch {

/// A scope in which the thread does not hold the interpreter's lock, which works in flight may need to end. A
/// thread that destroys a group with its Python object holds the lock.
class WithoutInterpreterLock {
 public:
  WithoutInterpreterLock()
      : thread_(Py_IsInitialized() != 0 && PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr) {}
  WithoutInterpreterLock(const WithoutInterpreterLock&) = delete;
  WithoutInterpreterLock& operator=(const WithoutInterpreterLock&) = delete;
  ~WithoutInterpreterLock() {
    if (thread_ != nullptr) PyEval_RestoreThread(thread_);
  }

 private:
  PyThreadState* thread_;
};

}  // namespace stretto_torch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>

namespace stretto_torch {

/// While this exists, the thread does not hold the interpreter's lock, which works in flight may need to end.
/// A group may go with a Python object, whose thread holds it.
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

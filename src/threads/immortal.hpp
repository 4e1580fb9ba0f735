// SPDX-License-Identifier: Apache-2.0
// Static objects that are made at their first use and never destroyed. MPI_Init may run before the
// constructors of static objects (in the constructor of a shared library). MPI_Finalize and Stretto's threads
// may run after the destructors. So Stretto has neither (cmake/check_static_objects.py).
#pragma once

#include <atomic>
#include <utility>

namespace stretto {

/// A static object: `constinit Immortal<Table> table;`, and `table()` from then on. Thread-safe.
template <typename T>
class Immortal {
 public:
  T& operator()() {
    T* const object = object_.load(std::memory_order_acquire);
    return object != nullptr ? *object : make();
  }

 private:
  T& make() {
    T* const made = new T();
    T* first = nullptr;
    if (object_.compare_exchange_strong(first, made, std::memory_order_acq_rel)) return *made;
    delete made;
    return *first;
  }

  std::atomic<T*> object_{nullptr};
};

/// Makes such an object for a static reference in a function.
template <typename T, typename... Arguments>
T& make_immortal(Arguments&&... arguments) {
  return *new T(std::forward<Arguments>(arguments)...);
}

}  // namespace stretto

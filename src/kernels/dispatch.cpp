// SPDX-License-Identifier: Apache-2.0

// Highway could choose by itself, but its code for that is in libhwy, a shared library that needs
// libstdc++.so. These kernels are preloaded into unknown processes, so they must not need other libraries.

#include "kernels/dispatch.hpp"

namespace stretto::kernels {
namespace {

const Target& best_target() noexcept {
  for (const Target* target : targets()) {
    if (target->supported()) return *target;
  }
  return plain_target;
}

}  // namespace

const Target& chosen_target() noexcept {
  static const Target& target = best_target();
  return target;
}

Function find(const Target& target, Type type, Op op) noexcept {
  const Function function = target.table.at(type, op);
  return function != nullptr ? function : plain_target.table.at(type, op);
}

Function find(Type type, Op op) noexcept {
  return find(chosen_target(), type, op);
}

Copy find_copy() noexcept {
  return chosen_target().copy;
}

Copy find_streaming_copy() noexcept {
  return chosen_target().streaming_copy;
}

std::size_t size_of(Type type) noexcept {
  switch (type) {
    case Type::i8:
    case Type::u8:
      return 1;
    case Type::i16:
    case Type::u16:
    case Type::f16:
    case Type::bf16:
      return 2;
    case Type::i32:
    case Type::u32:
    case Type::f32:
      return 4;
    case Type::i64:
    case Type::u64:
    case Type::f64:
    case Type::c32:
      return 8;
    case Type::f80:
      return sizeof(long double);
    case Type::c64:
      return 16;
    case Type::c80:
      return 2 * sizeof(long double);
    case Type::boolean:
      return sizeof(bool);
  }
  return 0;
}

}  // namespace stretto::kernels

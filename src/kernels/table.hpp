// SPDX-License-Identifier: Apache-2.0
#pragma once

// Internal: the table of kernels of one instruction set. Only this file says which operations exist on which
// types.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/reduce.hpp"

namespace stretto::kernels {

inline constexpr std::size_t type_count = static_cast<std::size_t>(Type::bf16) + 1;
inline constexpr std::size_t op_count = static_cast<std::size_t>(Op::bxor) + 1;

// The element type of the complex kernels. It is not std::complex, whose operators are library functions that
// the linker merges across instruction sets, and which follow Annex G.
template <class Part>
struct Complex {
  Part real;
  Part imaginary;
};

template <class T>
inline constexpr bool is_complex = false;
template <class Part>
inline constexpr bool is_complex<Complex<Part>> = true;

// Floats of two bytes, as their bits.
struct Half {
  std::uint16_t bits;
};
struct BFloat {
  std::uint16_t bits;
};

template <class T>
inline constexpr bool is_short_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;

struct Table {
  std::array<std::array<Function, op_count>, type_count> functions{};

  constexpr Function at(Type type, Op op) const {
    return functions[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
  }
};

// Builds the table. `Kernels` provides `template <Op, class Element> static constexpr Function function()`,
// which returns nullptr if there is no kernel. consteval keeps these templates out of the objects: the linker
// could take code with the same name from the wrong instruction set.
template <class Kernels>
class TableBuilder {
 public:
  static consteval Table build() {
    Table table;
    integer<std::int8_t>(table, Type::i8);
    integer<std::int16_t>(table, Type::i16);
    integer<std::int32_t>(table, Type::i32);
    integer<std::int64_t>(table, Type::i64);
    integer<std::uint8_t>(table, Type::u8);
    integer<std::uint16_t>(table, Type::u16);
    integer<std::uint32_t>(table, Type::u32);
    integer<std::uint64_t>(table, Type::u64);
    real<float>(table, Type::f32);
    real<double>(table, Type::f64);
    real<long double>(table, Type::f80);
    arithmetic<Complex<float>>(table, Type::c32);
    arithmetic<Complex<double>>(table, Type::c64);
    arithmetic<Complex<long double>>(table, Type::c80);
    logical<std::uint8_t>(table, Type::boolean);
    real<Half>(table, Type::f16);
    real<BFloat>(table, Type::bf16);
    return table;
  }

 private:
  template <class Element, Op... ops>
  static consteval void fill(Table& table, Type type) {
    auto& row = table.functions[static_cast<std::size_t>(type)];
    ((row[static_cast<std::size_t>(ops)] = Kernels::template function<ops, Element>()), ...);
  }

  template <class Element>
  static consteval void arithmetic(Table& table, Type type) {
    fill<Element, Op::sum, Op::prod>(table, type);
  }

  template <class Element>
  static consteval void ordered(Table& table, Type type) {
    fill<Element, Op::min, Op::max>(table, type);
  }

  template <class Element>
  static consteval void logical(Table& table, Type type) {
    fill<Element, Op::land, Op::lor, Op::lxor>(table, type);
  }

  template <class Element>
  static consteval void real(Table& table, Type type) {
    arithmetic<Element>(table, type);
    ordered<Element>(table, type);
  }

  // Only comparisons depend on the sign of integers. Everything else uses unsigned ones, which wrap; that
  // halves the number of kernels.
  template <class Element>
  static consteval void integer(Table& table, Type type) {
    using Unsigned = std::make_unsigned_t<Element>;
    arithmetic<Unsigned>(table, type);
    ordered<Element>(table, type);
    logical<Unsigned>(table, type);
    fill<Unsigned, Op::band, Op::bor, Op::bxor>(table, type);
  }
};

}  // namespace stretto::kernels

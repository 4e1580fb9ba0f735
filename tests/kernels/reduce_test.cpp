// SPDX-License-Identifier: Apache-2.0

// Every kernel of every instruction set that this processor has, against the reference, to the bit: counts
// around the vector lengths, operands and result at all element alignments, result in a third buffer or over
// an operand.

#include "kernels/reduce.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/dispatch.hpp"
#include "reference.hpp"
#include "values.hpp"

namespace stretto::kernels {
namespace {

constexpr std::size_t guard = 128;  // bytes before and after a buffer that must not change
constexpr unsigned char sentinel = 0xA5;

// `count` elements, `shift` elements after a 64-byte boundary, between sentinels.
template <class T>
class Buffer {
 public:
  Buffer(const std::vector<unsigned char>& content, std::size_t shift)
      : size_(content.size()), storage_(content.size() + 2 * guard + 64 + shift * sizeof(T), sentinel) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data()) + guard;
    begin_ = guard + (64 - address % 64) % 64 + shift * sizeof(T);
    if (size_ > 0) std::memcpy(data(), content.data(), size_);
  }

  unsigned char* data() { return storage_.data() + begin_; }

  // Compared in blocks, here and below: byte by byte takes minutes under a thread sanitizer.
  bool guards_intact() const {
    const std::size_t end = begin_ + size_;
    const std::vector<unsigned char> expected(std::max(begin_, storage_.size() - end), sentinel);
    return std::memcmp(storage_.data(), expected.data(), begin_) == 0 &&
           std::memcmp(storage_.data() + end, expected.data(), storage_.size() - end) == 0;
  }

 private:
  std::size_t size_;
  std::vector<unsigned char> storage_;
  std::size_t begin_ = 0;
};

// The size of an element without padding at its end, as in the long double of x86.
template <class Part>
constexpr std::size_t meaningful_bytes = sizeof(Part) == 16 && std::numeric_limits<Part>::digits == 64
                                             ? 10
                                             : sizeof(Part);

template <class T>
struct PartOf {
  using type = T;
};
template <class T>
struct PartOf<std::complex<T>> {
  using type = T;
};

template <class T>
bool same_bits(const unsigned char* a, const unsigned char* b, std::size_t bytes) {
  using Part = typename PartOf<T>::type;
  if (meaningful_bytes<Part> == sizeof(Part)) return std::memcmp(a, b, bytes) == 0;
  for (std::size_t i = 0; i < bytes; i += sizeof(Part)) {
    if (std::memcmp(a + i, b + i, meaningful_bytes<Part>) != 0) return false;
  }
  return true;
}

enum class Alias { none, left, right };

template <class T>
struct Case {
  Function function;
  Op op;
  std::vector<unsigned char> left, right, expected;

  // Empty if the result is right, else what is wrong.
  std::string run(Alias alias, std::size_t into_shift, std::size_t left_shift,
                  std::size_t right_shift) const {
    Buffer<T> a(left, left_shift);
    Buffer<T> b(right, right_shift);
    Buffer<T> separate(std::vector<unsigned char>(left.size(), 0x5A), into_shift);
    Buffer<T>& into = alias == Alias::left ? a : alias == Alias::right ? b : separate;
    const std::size_t count = left.size() / sizeof(T);
    function(into.data(), a.data(), b.data(), count);
    if (count > 0 && !same_bits<T>(into.data(), expected.data(), expected.size())) {
      return "wrong result of " + std::to_string(count);
    }
    if (!a.guards_intact() || !b.guards_intact() || !separate.guards_intact()) return "wrote outside";
    const bool kept_left =
        alias == Alias::left || left.empty() || std::memcmp(a.data(), left.data(), left.size()) == 0;
    const bool kept_right =
        alias == Alias::right || right.empty() || std::memcmp(b.data(), right.data(), right.size()) == 0;
    return kept_left && kept_right ? "" : "wrote to an operand";
  }
};

template <class T>
Case<T> make_case(Function function, Op op, std::size_t count) {
  std::mt19937_64 random(count * 31 + static_cast<std::size_t>(op));
  Case<T> c{function, op, random_bytes<T>(count, random), random_bytes<T>(count, random), {}};
  c.expected.resize(c.left.size());
  for (std::size_t i = 0; i < c.left.size(); i += sizeof(T)) {
    T left, right;
    std::memcpy(&left, &c.left[i], sizeof(T));
    std::memcpy(&right, &c.right[i], sizeof(T));
    const T value = reference::element(op, left, right);
    std::memcpy(&c.expected[i], &value, sizeof(T));
  }
  return c;
}

template <class T>
void check_kernel(Function function, Op op) {
  constexpr Alias aliases[] = {Alias::none, Alias::left, Alias::right};
  // Misalignments by elements within a 64-byte vector: all of them for wide types, and some for narrow types.
  constexpr std::size_t positions = sizeof(T) >= 64 ? 1 : 64 / sizeof(T);
  constexpr std::size_t stride = positions > 8 ? positions / 8 + 1 : 1;
  for (std::size_t count = 0; count <= 130; ++count) {
    const auto c = make_case<T>(function, op, count);
    for (const Alias alias : aliases) {
      for (std::size_t shift = 0; shift < positions; shift += stride) {
        const std::size_t other = (shift * 5 + count) % positions;
        ASSERT_EQ(c.run(alias, shift, other, (other + count) % positions), "")
            << "shift " << shift << ", alias " << static_cast<int>(alias);
        ASSERT_EQ(c.run(alias, shift, shift, shift), "") << "shift " << shift;
      }
    }
  }
  const auto large = make_case<T>(function, op, 40'009);
  for (const Alias alias : aliases) ASSERT_EQ(large.run(alias, 1, 2 % positions, 0), "") << "large";
}

template <class T>
void check_type(const Target& target, Type type, Op op) {
  EXPECT_EQ(size_of(type), sizeof(T));
  check_kernel<T>(find(target, type, op), op);
}

void check(const Target& target, Type type, Op op) {
  switch (type) {
    case Type::i8:
      return check_type<std::int8_t>(target, type, op);
    case Type::i16:
      return check_type<std::int16_t>(target, type, op);
    case Type::i32:
      return check_type<std::int32_t>(target, type, op);
    case Type::i64:
      return check_type<std::int64_t>(target, type, op);
    case Type::u8:
      return check_type<std::uint8_t>(target, type, op);
    case Type::u16:
      return check_type<std::uint16_t>(target, type, op);
    case Type::u32:
      return check_type<std::uint32_t>(target, type, op);
    case Type::u64:
      return check_type<std::uint64_t>(target, type, op);
    case Type::f32:
      return check_type<float>(target, type, op);
    case Type::f64:
      return check_type<double>(target, type, op);
    case Type::f80:
      return check_type<long double>(target, type, op);
    case Type::c32:
      return check_type<std::complex<float>>(target, type, op);
    case Type::c64:
      return check_type<std::complex<double>>(target, type, op);
    case Type::c80:
      return check_type<std::complex<long double>>(target, type, op);
    case Type::boolean:
      return check_type<bool>(target, type, op);
    case Type::f16:
    case Type::bf16:
      FAIL() << "they have tests of their own (short_float_test.cpp)";
  }
}

constexpr const char* type_names[] = {"i8",  "i16", "i32", "i64", "u8",  "u16", "u32",    "u64",
                                      "f32", "f64", "f80", "c32", "c64", "c80", "boolean"};
constexpr const char* op_names[] = {"sum", "prod", "min",  "max", "land",
                                    "lor", "lxor", "band", "bor", "bxor"};

using Parameter = std::tuple<const Target*, Type, Op>;

std::vector<Parameter> all_kernels() {
  std::vector<Parameter> kernels;
  for (const Target* target : targets()) {
    if (!target->supported()) continue;
    for (std::size_t type = 0; type < std::size(type_names); ++type) {
      for (std::size_t op = 0; op < op_count; ++op) {
        const Parameter kernel{target, static_cast<Type>(type), static_cast<Op>(op)};
        if (target->table.at(std::get<1>(kernel), std::get<2>(kernel)) != nullptr) kernels.push_back(kernel);
      }
    }
  }
  return kernels;
}

class Kernel : public testing::TestWithParam<Parameter> {};

TEST_P(Kernel, EqualsReference) {
  const auto [target, type, op] = GetParam();
  check(*target, type, op);
}

std::string kernel_name(const testing::TestParamInfo<Parameter>& parameter) {
  const auto [target, type, op] = parameter.param;
  return std::string(target->name) + "_" + type_names[static_cast<int>(type)] + "_" +
         op_names[static_cast<int>(op)];
}

INSTANTIATE_TEST_SUITE_P(All, Kernel, testing::ValuesIn(all_kernels()), kernel_name);

}  // namespace
}  // namespace stretto::kernels

// SPDX-License-Identifier: Apache-2.0

#include "kernels/dispatch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

namespace stretto::kernels {
namespace {

// MPI 4.1, section 6.9.2, written once more.
bool defined(Type type, Op op) {
  const bool complex = type == Type::c32 || type == Type::c64 || type == Type::c80;
  const bool of_two_bytes = type == Type::f16 || type == Type::bf16;  // not MPI's: as its floats
  const bool floating = of_two_bytes || type == Type::f32 || type == Type::f64 || type == Type::f80;
  const bool boolean = type == Type::boolean;
  const bool integer = !complex && !floating && !boolean;
  switch (op) {
    case Op::sum:
    case Op::prod:
      return !boolean;
    case Op::min:
    case Op::max:
      return integer || floating;
    case Op::land:
    case Op::lor:
    case Op::lxor:
      return integer || boolean;
    case Op::band:
    case Op::bor:
    case Op::bxor:
      return integer;
  }
  return false;
}

TEST(Dispatch, FindsWhatMpiDefinesAndNothingElse) {
  for (const Target* target : targets()) {
    for (std::size_t t = 0; t < type_count; ++t) {
      for (std::size_t o = 0; o < op_count; ++o) {
        const auto type = static_cast<Type>(t);
        const auto op = static_cast<Op>(o);
        EXPECT_EQ(find(*target, type, op) != nullptr, defined(type, op))
            << target->name << ' ' << t << ' ' << o;
        EXPECT_EQ(find(type, op) != nullptr, defined(type, op)) << t << ' ' << o;
      }
    }
  }
}

TEST(Dispatch, ChoosesTheFirstSupportedTarget) {
  ASSERT_EQ(targets().back(), &plain_target);
  EXPECT_TRUE(plain_target.supported());
  for (const Target* target : targets()) {
    if (!target->supported()) continue;
    EXPECT_EQ(target, &chosen_target());
    break;
  }
}

TEST(Dispatch, IsTheSameFromAllThreads) {
  std::vector<Function> found(8);
  std::vector<std::thread> threads;
  threads.reserve(found.size());
  for (Function& function : found) {
    threads.emplace_back([&function] { function = find(Type::f32, Op::sum); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Function function : found) EXPECT_EQ(function, find(chosen_target(), Type::f32, Op::sum));
}

TEST(Contract, LeftOperandWinsAmongZerosAndNans) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float left[] = {0.0F, -0.0F, nan, 1.0F, -nan};
  const float right[] = {-0.0F, 0.0F, 1.0F, nan, nan};
  for (const Op op : {Op::min, Op::max}) {
    float into[5];
    find(Type::f32, op)(into, left, right, 5);
    EXPECT_FALSE(std::signbit(into[0]));
    EXPECT_TRUE(std::signbit(into[1]));
    EXPECT_TRUE(std::isnan(into[2]));
    EXPECT_EQ(into[3], 1.0F);
    EXPECT_TRUE(std::isnan(into[4]) && std::signbit(into[4]));
  }
}

TEST(Contract, AnyByteThatIsNotZeroIsTrue) {
  const std::uint8_t left[] = {0, 2, 0x80, 0, 255};
  const std::uint8_t right[] = {0, 4, 0, 0x80, 255};
  std::uint8_t into[5];
  find(Type::boolean, Op::land)(into, left, right, 5);
  EXPECT_EQ(std::vector<std::uint8_t>(into, into + 5), (std::vector<std::uint8_t>{0, 1, 0, 0, 1}));
  find(Type::boolean, Op::lor)(into, left, right, 5);
  EXPECT_EQ(std::vector<std::uint8_t>(into, into + 5), (std::vector<std::uint8_t>{0, 1, 1, 1, 1}));
  find(Type::boolean, Op::lxor)(into, left, right, 5);
  EXPECT_EQ(std::vector<std::uint8_t>(into, into + 5), (std::vector<std::uint8_t>{0, 0, 1, 1, 0}));
}

TEST(Contract, CountZeroTouchesNothing) {
  for (const Target* target : targets()) {
    if (target->supported()) find(*target, Type::f64, Op::sum)(nullptr, nullptr, nullptr, 0);
  }
}

}  // namespace
}  // namespace stretto::kernels

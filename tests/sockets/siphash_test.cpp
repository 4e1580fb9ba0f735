// SPDX-License-Identifier: Apache-2.0
#include "sockets/siphash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace stretto {
namespace {

std::vector<std::byte> counted(std::size_t bytes) {
  std::vector<std::byte> text(bytes);
  for (std::size_t i = 0; i < bytes; ++i) text[i] = std::byte(i);
  return text;
}

SipKey counted_key() {
  SipKey key{};
  std::ranges::copy(counted(key.size()), key.begin());
  return key;
}

std::string hex(const SipTag& tag) {
  std::string text;
  for (const std::byte byte : tag) {
    constexpr std::string_view digits = "0123456789abcdef";
    text += digits[std::to_integer<std::size_t>(byte) / 16];
    text += digits[std::to_integer<std::size_t>(byte) % 16];
  }
  return text;
}

/// Those of the authors' 64 vectors (vectors_sip128) that are around the ends of words.
TEST(SipHash, GivesThePublishedTags) {
  struct Vector {
    std::size_t bytes;
    std::string_view tag;
  };
  for (const auto& [bytes, tag] : {Vector{0, "a3817f04ba25a8e66df67214c7550293"},
                                   {1, "da87c1d86b99af44347659119b22fc45"},
                                   {2, "8177228da4a45dc7fca38bdef60affe4"},
                                   {7, "a1f1ebbed8dbc153c0b84aa61ff08239"},
                                   {8, "3b62a9ba6258f5610f83e264f31497b4"},
                                   {9, "264499060ad9baabc47f8b02bb6d71ed"},
                                   {15, "5493e99933b0a8117e08ec0f97cfc3d9"},
                                   {16, "6ee2a4ca67b054bbfd3315bf85230577"},
                                   {17, "473d06e8738db89854c066c47ae47740"},
                                   {62, "5853542321f567a005d547a4f04759bd"},
                                   {63, "5150d1772f50834a503e069a973fbd7c"}})
    EXPECT_EQ(hex(siphash(counted_key(), counted(bytes))), tag) << bytes << " bytes";
}

TEST(SipHash, DependsOnEachBitOfKeyAndText) {
  const std::vector<std::byte> text = counted(29);
  const SipTag tag = siphash(counted_key(), text);
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::vector<std::byte> other = text;
    other[bit / 8] ^= std::byte(1U << (bit % 8));
    EXPECT_FALSE(are_equal(tag, siphash(counted_key(), other)));
  }
  for (std::size_t bit = 0; bit < 8 * sizeof(SipKey); ++bit) {
    SipKey key = counted_key();
    key[bit / 8] ^= std::byte(1U << (bit % 8));
    EXPECT_FALSE(are_equal(tag, siphash(key, text)));
  }
}

TEST(SipHash, TagsAreEqualInAllBitsOnly) {
  const SipTag tag = siphash(counted_key(), {});
  EXPECT_TRUE(are_equal(tag, SipTag(tag)));
  for (std::size_t bit = 0; bit < 8 * sizeof(SipTag); ++bit) {
    SipTag other = tag;
    other[bit / 8] ^= std::byte(1U << (bit % 8));
    EXPECT_FALSE(are_equal(tag, other)) << bit;
  }
}

TEST(SipHash, RandomNumbersDiffer) {
  SipKey one{};
  SipKey other{};
  fill_randomly(one);
  fill_randomly(other);
  EXPECT_NE(one, other);
  EXPECT_NE(one, SipKey{});
  fill_randomly({});
}

}  // namespace
}  // namespace stretto

// SPDX-License-Identifier: Apache-2.0
#include "select/form.hpp"

#include <gtest/gtest.h>

#include <set>

namespace stretto {
namespace {

TEST(Form, EveryCallHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const Collective collective : collectives) {
    for (const Form form : forms) {
      const std::string name = name_of(collective, form);
      names.insert(name);
      const auto found = find_call(name);
      ASSERT_TRUE(found.has_value()) << name;
      EXPECT_EQ(found->collective, collective) << name;
      EXPECT_EQ(found->form, form) << name;
    }
  }
  EXPECT_EQ(names.size(), collectives.size() * forms.size());
  EXPECT_TRUE(names.contains("reduce_scatter") && names.contains("ibcast") && names.contains("reduce_init"));
}

TEST(Form, WhatIsNoCallIsNotFound) {
  for (const char* name : {"", "i", "_init", "iallreduce_init", "Allreduce", "allreduce ", "alltoallw"}) {
    EXPECT_FALSE(find_call(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace stretto

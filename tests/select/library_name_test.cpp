// SPDX-License-Identifier: Apache-2.0
#include "select/library_name.hpp"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(LibraryName, OfWhatTheLibrariesSay) {
  const auto name_of = [](std::string_view text) {
    const auto name = parse_library_name(text);
    return name ? std::string(name->family) + ": " + name->name : "";
  };
  EXPECT_EQ(name_of("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"),
            "openmpi: Open MPI 4.1.4");
  EXPECT_EQ(name_of("Open MPI v5.0.0rc12, package: x"), "openmpi: Open MPI 5.0.0rc12");
  EXPECT_EQ(name_of("MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7"), "mpich: MPICH 4.0.2");
  EXPECT_EQ(name_of("Intel(R) MPI Library 2021.13 for Linux* OS\n"), "intelmpi: Intel MPI 2021.13");
  EXPECT_EQ(name_of("Stretto sockets 0.1.0"), "sockets: Stretto sockets 0.1.0");
  for (const char* other :
       {"", "Open MPI", "Open MPI v", "MPICH Version:", "MVAPICH2 Version 2.3.7",
        "MPI VERSION    : CRAY MPICH version 8.1.25 (ANL base 3.4a2)", "x Open MPI v4.1.4"}) {
    EXPECT_EQ(name_of(other), "") << other;
  }
}

TEST(LibraryName, TheNameOfANameIsThatName) {
  for (const char* name : {"Open MPI 4.1.4", "MPICH 4.0.2", "Intel MPI 2021.13", "Stretto sockets 0.1.0"}) {
    EXPECT_EQ(parse_library_name(name).value().name, name);
  }
}

}  // namespace
}  // namespace stretto

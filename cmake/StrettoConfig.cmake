# SPDX-License-Identifier: Apache-2.0
# find_package(Stretto)
#
# Stretto::stretto   libstretto.so, for programs of any MPI that Stretto was built for
#
# It does not bring MPI: find_package(MPI) does, and the program links MPI::MPI_C or MPI::MPI_CXX itself.
include("${CMAKE_CURRENT_LIST_DIR}/StrettoTargets.cmake")

# Of two shared objects that define MPI_Allreduce, the one that stands first serves the program. Options stand before
# all libraries, in whatever order a program names its targets. Many toolchains drop a library that no symbol seems to
# need: Stretto, where only a shared library calls MPI; or the MPI library, where Stretto defines all that a program
# calls.
get_target_property(Stretto_file Stretto::stretto LOCATION)
set_property(TARGET Stretto::stretto PROPERTY INTERFACE_LINK_OPTIONS "SHELL:-Wl,--no-as-needed \"${Stretto_file}\"")
unset(Stretto_file)

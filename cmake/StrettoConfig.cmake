# SPDX-License-Identifier: Apache-2.0
# find_package(Stretto [COMPONENTS openmpi mpich abi])
#
# Stretto::openmpi   libstretto-openmpi.so, for programs that are built for Open MPI
# Stretto::mpich     libstretto-mpich.so, for programs that are built for MPICH or Intel MPI
# Stretto::abi       libstretto-abi.so, for programs that are built for the standard ABI of MPI 5
#
# None brings MPI: find_package(MPI) does, and the program links MPI::MPI_C or MPI::MPI_CXX itself.
include("${CMAKE_CURRENT_LIST_DIR}/StrettoTargets.cmake")

foreach(Stretto_abi IN ITEMS openmpi mpich abi)
  if(TARGET Stretto::${Stretto_abi})
    set(Stretto_${Stretto_abi}_FOUND TRUE)
    # Of two shared objects that define MPI_Allreduce, the one that stands first serves the program. Options stand
    # before all libraries, in whatever order a program names its targets. Many toolchains drop a library that no
    # symbol seems to need: Stretto, where only a shared library calls MPI; or the MPI library, where Stretto
    # defines all that a program calls.
    get_target_property(Stretto_file Stretto::${Stretto_abi} LOCATION)
    set_property(TARGET Stretto::${Stretto_abi} PROPERTY INTERFACE_LINK_OPTIONS
                 "SHELL:-Wl,--no-as-needed \"${Stretto_file}\"")
    # The header refuses the mpi.h of the other one.
    string(TOUPPER "STRETTO_LIBRARY_${Stretto_abi}" Stretto_definition)
    set_property(TARGET Stretto::${Stretto_abi} PROPERTY INTERFACE_COMPILE_DEFINITIONS "${Stretto_definition}")
  endif()
endforeach()
foreach(Stretto_abi IN LISTS Stretto_FIND_COMPONENTS)
  if(Stretto_FIND_REQUIRED_${Stretto_abi} AND NOT Stretto_${Stretto_abi}_FOUND)
    set(Stretto_FOUND FALSE)
    set(Stretto_NOT_FOUND_MESSAGE "This Stretto was built without ${Stretto_abi}.")
  endif()
endforeach()
unset(Stretto_abi)
unset(Stretto_file)
unset(Stretto_definition)

# SPDX-License-Identifier: Apache-2.0
# The measuring program in virtual time: target stretto-simulate, where SimGrid's SMPI is found.
#
# The same engine as everywhere, and of the measuring program what says what is measured. SMPI's mpi.h is one more face;
# smpirun loads the program as a shared object.

if(STRETTO_SANITIZE)
  return()  # SimGrid's launcher, which loads the program, is not built with sanitizers
endif()
find_program(STRETTO_SMPICXX NAMES smpicxx DOC "Compiler wrapper of SimGrid's SMPI")
if(NOT STRETTO_SMPICXX)
  message(STATUS "No SimGrid (smpicxx, of libsimgrid-dev): stretto simulate is left out")
  return()
endif()
stretto_import_mpi(smpi "${STRETTO_SMPICXX}")

# What of the engine a simulation runs is linked from where all others have it.
file(GLOB simulate_sources CONFIGURE_DEPENDS src/simulate/*.cpp)
add_library(stretto-simulate MODULE ${simulate_sources} src/faces/smpi/face.cpp $<TARGET_OBJECTS:stretto_bench_cases>)
# main() is found by name.
set_target_properties(stretto-simulate PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET default)
target_link_libraries(stretto-simulate PRIVATE stretto_engine stretto_mpi_smpi simgrid)
if(building_wheel)
  install(TARGETS stretto-simulate LIBRARY DESTINATION "${STRETTO_INSTALL_LIBDIR}" COMPONENT stretto)
endif()

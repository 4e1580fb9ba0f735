# SPDX-License-Identifier: Apache-2.0
# The measuring program in virtual time: target stretto-simulate, where SimGrid's SMPI is found.
#
# From the same sources as the others: the engine, and of the benchmark what says what is measured. SMPI's
# mpi.h is one more MPI; smpirun loads the program as a shared object.

if(STRETTO_SANITIZE)
  return()  # SimGrid's launcher, which loads the program, is not built with sanitizers
endif()
find_program(STRETTO_SMPICXX NAMES smpicxx DOC "Compiler wrapper of SimGrid's SMPI")
if(NOT STRETTO_SMPICXX)
  message(STATUS "No SimGrid (smpicxx, of libsimgrid-dev): stretto simulate is left out")
  return()
endif()
stretto_import_mpi(smpi "${STRETTO_SMPICXX}")

set(engine_sources src/engine/buffer_pool.cpp src/engine/element.cpp src/engine/library_progress.cpp
                   src/engine/message_requests.cpp src/engine/relayed_execution.cpp
                   src/engine/schedule_execution.cpp src/engine/staged_segments.cpp)
file(GLOB bench_sources CONFIGURE_DEPENDS src/bench/cases/*.cpp)
file(GLOB simulate_sources CONFIGURE_DEPENDS src/simulate/*.cpp)
add_library(stretto-simulate MODULE ${simulate_sources} ${engine_sources} ${bench_sources})
# main() is found by name.
set_target_properties(stretto-simulate PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET default)
target_link_libraries(stretto-simulate PRIVATE stretto_core stretto_kernels stretto_mpi_smpi simgrid)
if(building_wheel)
  install(TARGETS stretto-simulate LIBRARY DESTINATION "${STRETTO_INSTALL_LIBDIR}" COMPONENT stretto)
endif()

# SPDX-License-Identifier: Apache-2.0
# How tests are made: stretto_unit_tests for what is free of MPI, stretto_mpi_test for what runs under mpirun.
#
# Labels: `unit` and `mpi` say what a test is; `long`, `memory` (several GB) and `repeated` (what a test on another MPI
# library finds, too) why `make test` leaves it to `make test-all`. Target stretto-tests builds what the tests of a
# preset need, and nothing else.

add_custom_target(stretto-tests)

# stretto_unit_tests(FOLDER...): tests/FOLDER/*_test.cpp become one GoogleTest program each folder. Those of the engine
# are in tests/engine/in_process, with ranks in one process.
function(stretto_unit_tests)
  foreach(name IN LISTS ARGN)
    set(folder ${name})
    set(libraries stretto_core stretto_kernels)
    if(name STREQUAL "engine")
      set(folder engine/in_process)
      set(libraries stretto_engine)
    endif()
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.cpp")
    if(sources)
      add_executable(${name}_test ${sources})
      target_link_libraries(${name}_test PRIVATE ${libraries} stretto_options GTest::gtest_main)
      add_dependencies(stretto-tests ${name}_test)
      gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST
                           PROPERTIES TIMEOUT 300 LABELS unit)
    endif()
  endforeach()
endfunction()

# stretto_mpi_test(NAME name ABI abi RANKS n... SOURCE file [PRELOAD yes|no] [ENV NAME=VALUE...] [ARGS ...] [TIMEOUT s]
#                  [LABELS ...])
# Builds SOURCE once for the ABI and runs it by that MPI's launcher, as a test for each number of ranks. Programs of
# tests/engine link the engine and are compiled once for all; all others are plain MPI programs, under Stretto only by
# PRELOAD.
function(stretto_mpi_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;ABI;SOURCE;PRELOAD;TIMEOUT" "RANKS;ENV;ARGS;LABELS")
  foreach(needed IN ITEMS NAME ABI SOURCE RANKS)
    if(NOT arg_${needed})
      message(FATAL_ERROR "stretto_mpi_test needs ${needed}")
    endif()
  endforeach()
  if(NOT arg_ABI IN_LIST STRETTO_ABIS)
    return()
  endif()

  set(options "")
  foreach(option IN ITEMS PRELOAD TIMEOUT)
    if(arg_${option})
      list(APPEND options ${option} ${arg_${option}})
    endif()
  endforeach()

  cmake_path(ABSOLUTE_PATH arg_SOURCE BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/tests" NORMALIZE)
  cmake_path(GET arg_SOURCE STEM stem)
  cmake_path(GET arg_SOURCE PARENT_PATH folder)
  cmake_path(GET folder FILENAME folder)
  set(program ${folder}_${stem}_${arg_ABI})
  if(NOT TARGET ${program})
    if(folder STREQUAL "engine")
      if(NOT TARGET engine_${stem})
        add_library(engine_${stem} OBJECT "${arg_SOURCE}")
        target_link_libraries(engine_${stem} PRIVATE stretto_engine)
      endif()
      add_executable(${program} $<TARGET_OBJECTS:engine_${stem}>)
      target_link_libraries(${program} PRIVATE stretto_faces stretto_engine)
    else()
      add_executable(${program} "${arg_SOURCE}")
    endif()
    target_link_libraries(${program} PRIVATE stretto_options)
    target_link_libraries(${program} PRIVATE GTest::gtest stretto_mpi_${arg_ABI})
    add_dependencies(stretto-tests ${program})
  endif()

  stretto_mpi_run(NAME ${arg_NAME} ABI ${arg_ABI} PROGRAM $<TARGET_FILE:${program}> RANKS ${arg_RANKS}
                  ${options} ENV ${arg_ENV} ARGS ${arg_ARGS} LABELS ${arg_LABELS})
endfunction()

# stretto_mpi_run(NAME name ABI abi RANKS n... PROGRAM file [PRELOAD yes|no] [ENV NAME=VALUE...] [ARGS ...] [TIMEOUT s]
#                  [LABELS ...])
# Runs a program that is built by that MPI's launcher, as a test for each number of ranks. Ranks that wait give their
# core away, so that a test counts for half as many cores as it has ranks: two of few ranks run at once on two cores.
function(stretto_mpi_run)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;ABI;PROGRAM;PRELOAD;TIMEOUT" "RANKS;ENV;ARGS;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  # A tuning table at its default place, and what other jobs have found, would change what the library chooses.
  set(settings STRETTO_TABLE=none STRETTO_FABRIC=none ${arg_ENV})
  # Tests make communicators for a few calls, which must be Stretto's.
  if(NOT arg_ENV MATCHES "_STRETTO_YOUTH=")
    list(APPEND settings _STRETTO_YOUTH=0)
  endif()
  set(preloads "")
  if(arg_PRELOAD)
    add_dependencies(stretto-tests stretto stretto-audit)
    list(APPEND preloads "$<TARGET_FILE:stretto>")
    list(APPEND settings "LD_AUDIT=$<TARGET_FILE:stretto-audit>")
  endif()
  if(NOT arg_ABI STREQUAL "openmpi")
    if(NOT TARGET yield_when_idle)
      add_library(yield_when_idle MODULE "${PROJECT_SOURCE_DIR}/tests/yield_when_idle.c")
      target_link_libraries(yield_when_idle PRIVATE ${CMAKE_DL_LIBS})
      add_dependencies(stretto-tests yield_when_idle)
    endif()
    list(APPEND preloads "$<TARGET_FILE:yield_when_idle>")
  endif()
  if(preloads)
    list(JOIN preloads ":" preloads)
    list(APPEND settings "LD_PRELOAD=${preloads}")
  endif()
  if(arg_ABI STREQUAL "openmpi")
    set(launch "${STRETTO_MPIRUN_openmpi}" --allow-run-as-root --oversubscribe --mca btl self,vader
               --mca mpi_yield_when_idle 1)
    foreach(setting IN LISTS settings)
      list(APPEND launch -x "${setting}")
    endforeach()
  else()
    set(launch "${STRETTO_MPIRUN_${arg_ABI}}")
    foreach(setting IN LISTS settings)
      string(REGEX MATCH "^([^=]*)=(.*)$" whole "${setting}")
      list(APPEND launch -genv "${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}")
    endforeach()
  endif()

  foreach(ranks IN LISTS arg_RANKS)
    set(test ${arg_NAME}.${arg_ABI}.${ranks})
    add_test(NAME ${test} COMMAND ${launch} -n ${ranks} ${arg_PROGRAM} ${arg_ARGS})
    math(EXPR processors "${ranks} / 2")
    if(processors EQUAL 0)
      set(processors 1)
    endif()
    set_tests_properties(${test} PROPERTIES TIMEOUT ${arg_TIMEOUT} PROCESSORS ${processors} LABELS "mpi;${arg_LABELS}")
    if("memory" IN_LIST arg_LABELS)
      set_tests_properties(${test} PROPERTIES RUN_SERIAL YES)
    endif()
    if(arg_PRELOAD)
      # What was not under Stretto would prove nothing.
      set_tests_properties(${test} PROPERTIES FAIL_REGULAR_EXPRESSION "the MPI library handles non-blocking calls")
    endif()
  endforeach()
endfunction()

# SPDX-License-Identifier: Apache-2.0
# Finds one MPI of each binary interface. What calls MPI is compiled once; a face for each interface is all that knows
# its mpi.h.
#
# STRETTO_ABIS                     the interfaces that were found, of openmpi, mpich and abi (the MPI-5 standard ABI)
# stretto_mpi_headers_ABI          target: mpi.h only
# stretto_mpi_ABI                  target: mpi.h and libmpi
# STRETTO_MPIRUN_ABI               the launcher that belongs to it
# stretto_engine, stretto_faces    targets: the engine, and what it needs of each interface
# stretto, stretto-bench           targets: the library and the measuring program, for every interface

set(STRETTO_INTERFACES "openmpi;mpich;abi" CACHE STRING "Binary interfaces to build for, as far as an MPI is found")
option(STRETTO_LIBC_COPIES "Take memcpy of the C library, where the compiler brings another one (zig)" OFF)
option(STRETTO_ALL_INTERFACES "Fail if no MPI is found for one of STRETTO_INTERFACES" OFF)
set(STRETTO_MPICC_OPENMPI "" CACHE FILEPATH "Compiler wrapper of an Open MPI (empty: search)")
set(STRETTO_MPICC_MPICH "" CACHE FILEPATH "Compiler wrapper of an MPICH or Intel MPI (empty: search)")
set(STRETTO_MPICC_ABI "" CACHE FILEPATH
    "Compiler wrapper for the standard ABI, such as MPICH's mpicc_abi (empty: search)")

# Which binary interface the mpi.h of a compiler wrapper has: openmpi, mpich, abi, or empty.
function(stretto_mpi_kind mpicc result)
  set(probe "${CMAKE_CURRENT_BINARY_DIR}/mpi_kind.c")
  file(WRITE "${probe}" [[
#include <mpi.h>
#if defined(OPEN_MPI)
stretto_kind=openmpi
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION)
stretto_kind=mpich
#elif defined(MPI_ABI_VERSION)
stretto_kind=abi
#endif
]])
  execute_process(COMMAND "${mpicc}" -E "${probe}" OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE status)
  set(kind "")
  if(status EQUAL 0 AND text MATCHES "stretto_kind=([a-z]+)")
    set(kind "${CMAKE_MATCH_1}")
  endif()
  set(${result} "${kind}" PARENT_SCOPE)
endfunction()

# What the wrapper's mpi.h declares, for classify_functions.py.
function(stretto_preprocess_mpi abi mpicc)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/generated/${abi}")
  file(WRITE "${folder}/mpi.c" "#include <mpi.h>\n")
  execute_process(COMMAND "${mpicc}" -E -P "${folder}/mpi.c" OUTPUT_FILE "${folder}/mpi.txt" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Makes generated_entries.inc of the functions that any of the mpi.h declares. It is made here, not by the build, since
# clang-tidy reads it without one.
function(stretto_make_entries)
  set(generated "${CMAKE_CURRENT_BINARY_DIR}/generated")
  set(script "${PROJECT_SOURCE_DIR}/cmake/classify_functions.py")
  set(table "${PROJECT_SOURCE_DIR}/src/interpose/entries/functions.txt")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}" "${table}")
  list(TRANSFORM STRETTO_ABIS REPLACE "(.+)" "${generated}/\\1/mpi.txt" OUTPUT_VARIABLE headers)
  execute_process(COMMAND "${Python_EXECUTABLE}" "${script}" "${table}" "${generated}/generated_entries.inc" ${headers}
                  ERROR_VARIABLE remark ERROR_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${remark}")
  elseif(remark)
    message(WARNING "${remark}")
  endif()
endfunction()

# Makes the imported targets from what the wrapper would pass to the compiler.
function(stretto_import_mpi abi mpicc)
  execute_process(COMMAND "${mpicc}" -show OUTPUT_VARIABLE command OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(words UNIX_COMMAND "${command}")
  list(POP_FRONT words)
  set(include_dirs "")
  set(library_dirs "")
  set(link_words "")
  set(definitions "")
  foreach(word IN LISTS words)
    if(word MATCHES "^-I(.+)")
      list(APPEND include_dirs "${CMAKE_MATCH_1}")
    elseif(word MATCHES "^-L(.+)")
      list(APPEND library_dirs "${CMAKE_MATCH_1}")
    elseif(word MATCHES "^-D(.+)")
      list(APPEND definitions "${CMAKE_MATCH_1}")
    elseif(word MATCHES "^(-l.+|-pthread|-Wl,-rpath.*|-Wl,/.+|-Wl,--enable-new-dtags)$")
      list(APPEND link_words "${word}")
    endif()
  endforeach()

  add_library(stretto_mpi_headers_${abi} INTERFACE)
  target_include_directories(stretto_mpi_headers_${abi} SYSTEM INTERFACE ${include_dirs})
  # The C++ bindings, gone from MPI since 3.0, would drag in symbols of a libmpi_cxx.
  target_compile_definitions(stretto_mpi_headers_${abi} INTERFACE ${definitions} OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  add_library(stretto_mpi_${abi} INTERFACE)
  target_link_directories(stretto_mpi_${abi} INTERFACE ${library_dirs})
  target_link_libraries(stretto_mpi_${abi} INTERFACE stretto_mpi_headers_${abi} ${link_words})

  get_filename_component(bin_dir "${mpicc}" DIRECTORY)
  find_program(STRETTO_MPIRUN_${abi} NAMES mpirun.${abi} mpiexec.hydra mpirun mpiexec PATHS "${bin_dir}" NO_DEFAULT_PATH
               DOC "Launcher of the ${abi} interface")
  message(STATUS "MPI with the ${abi} interface: ${mpicc}")
endfunction()

find_package(Python 3.9 REQUIRED COMPONENTS Interpreter)
find_program(STRETTO_FOUND_MPICC_OPENMPI NAMES mpicc.openmpi)
find_program(STRETTO_FOUND_MPICC_MPICH NAMES mpicc.mpich)
# scripts/setup fetches an MPICH that has it.
find_program(STRETTO_FOUND_MPICC_ABI NAMES mpicc_abi HINTS "${PROJECT_SOURCE_DIR}/.mpi/mpich5/bin")
find_program(STRETTO_FOUND_MPICC NAMES mpicc)
mark_as_advanced(STRETTO_FOUND_MPICC_OPENMPI STRETTO_FOUND_MPICC_MPICH STRETTO_FOUND_MPICC_ABI STRETTO_FOUND_MPICC)

set(STRETTO_ABIS "")
foreach(abi IN LISTS STRETTO_INTERFACES)
  string(TOUPPER "${abi}" upper)
  set(named "${STRETTO_MPICC_${upper}}")
  if(named)
    stretto_mpi_kind("${named}" kind)
    if(NOT kind STREQUAL abi)
      message(FATAL_ERROR "STRETTO_MPICC_${upper} is '${named}', which is no compiler wrapper of an MPI with the "
                          "${abi} interface (found: '${kind}')")
    endif()
  endif()
  foreach(mpicc IN ITEMS "${named}" "${STRETTO_FOUND_MPICC_${upper}}" "${STRETTO_FOUND_MPICC}")
    if(mpicc AND NOT abi IN_LIST STRETTO_ABIS)
      stretto_mpi_kind("${mpicc}" kind)
      if(kind STREQUAL abi)
        stretto_import_mpi(${abi} "${mpicc}")
        stretto_preprocess_mpi(${abi} "${mpicc}")
        list(APPEND STRETTO_ABIS ${abi})
      endif()
    endif()
  endforeach()
endforeach()
if(STRETTO_ALL_INTERFACES AND NOT STRETTO_ABIS STREQUAL STRETTO_INTERFACES)
  message(FATAL_ERROR
          "STRETTO_ALL_INTERFACES: an MPI was found for '${STRETTO_ABIS}' only, of '${STRETTO_INTERFACES}'; "
                      "install libopenmpi-dev and libmpich-dev (Debian, Ubuntu), and for abi run scripts/setup")
endif()
if(NOT STRETTO_ABIS)
  message(FATAL_ERROR "No MPI was found: install libopenmpi-dev or libmpich-dev (Debian, Ubuntu), or name a compiler "
                      "wrapper by STRETTO_MPICC_OPENMPI or STRETTO_MPICC_MPICH")
endif()

stretto_make_entries()

# A wheel's compiler has a slow memcpy of its own.
set(libc_copies "")
if(STRETTO_LIBC_COPIES)
  set(libc_copies "${PROJECT_SOURCE_DIR}/cmake/wheel/libc_copies.c")
  set_source_files_properties("${libc_copies}" PROPERTIES COMPILE_OPTIONS "-O3;-fno-builtin")
endif()

file(GLOB_RECURSE engine_sources CONFIGURE_DEPENDS src/mpi/*.cpp src/engine/*.cpp)
stretto_static_library(stretto_engine ${engine_sources})
target_link_libraries(stretto_engine PUBLIC stretto_core stretto_kernels)

# The faces: each is compiled with the mpi.h of its interface. Functions are found at run time, so no library is needed.
set(faces "")
foreach(abi IN LISTS STRETTO_ABIS)
  add_library(stretto_face_${abi} OBJECT src/faces/${abi}/face.cpp)
  target_link_libraries(stretto_face_${abi} PRIVATE stretto_engine stretto_mpi_headers_${abi})
  string(TOUPPER "STRETTO_HAS_${abi}" definition)
  list(APPEND has_faces ${definition})
  list(APPEND faces $<TARGET_OBJECTS:stretto_face_${abi}>)
endforeach()
file(GLOB own_network_sources CONFIGURE_DEPENDS src/faces/sockets/*.cpp)
stretto_static_library(stretto_own_network ${own_network_sources})
target_link_libraries(stretto_own_network PUBLIC stretto_engine)
stretto_static_library(stretto_faces src/faces/faces.cpp src/faces/load_mpi.cpp ${faces})
target_compile_definitions(stretto_faces PRIVATE ${has_faces})
target_link_libraries(stretto_faces PUBLIC stretto_engine)

# The library that is put under programs, in two parts. `stretto` has an entry for each function; `stretto-core` is the
# rest, which the former loads when a program calls MPI.
file(GLOB_RECURSE interpose_sources CONFIGURE_DEPENDS src/interpose/*.cpp)
add_library(stretto-core SHARED ${interpose_sources} ${libc_copies})
# Sources of one of these folders have names of their own for like things.
list(FILTER interpose_sources EXCLUDE REGEX "/interpose/(collectives|handles|interface|observe|passing)/")
stretto_unite_folders(stretto-core ${interpose_sources})
target_include_directories(stretto-core PRIVATE "${PROJECT_BINARY_DIR}/generated")
target_link_libraries(stretto-core PRIVATE stretto_faces stretto_own_network stretto_engine stretto_build_mark
                                           stretto_json ${CMAKE_DL_LIBS})
target_link_options(stretto-core PRIVATE -static-libstdc++ -static-libgcc -Wl,-z,lazy -Wl,-z,nodelete)
set(exports "${PROJECT_SOURCE_DIR}/src/interpose/exports.map")
target_link_options(stretto-core PRIVATE "-Wl,--version-script=${exports}")
set_property(TARGET stretto-core PROPERTY LINK_DEPENDS "${exports}")

# Each process loads the entries, so they need nothing but the C library.
set(entries "${PROJECT_BINARY_DIR}/generated/front/front_entries.inc")
add_custom_command(
  OUTPUT "${entries}"
  COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/front_entries.py" "${CMAKE_READELF}"
          $<TARGET_FILE:stretto-core> "${entries}"
  DEPENDS stretto-core "${PROJECT_SOURCE_DIR}/cmake/front_entries.py"
  COMMENT "Listing the functions of libstretto-core.so" VERBATIM)
file(GLOB front_sources CONFIGURE_DEPENDS src/front/*.cpp)
add_library(stretto SHARED ${front_sources} "${entries}")
add_dependencies(stretto stretto-audit)
target_include_directories(stretto PRIVATE src "${PROJECT_BINARY_DIR}/generated/front")
target_compile_options(stretto PRIVATE -Wall -Wextra -Wconversion -Wshadow -fno-exceptions -fno-rtti -fno-lto
                                       -fno-asynchronous-unwind-tables -fvisibility=hidden)
# Few segments load faster. The table of symbols, which is written to, must not share a page with code: pages of 4 KiB
# keep them apart.
set(segments -Wl,-z,norelro)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  list(APPEND segments -Wl,-z,noseparate-code)
endif()
target_link_options(stretto PRIVATE -nodefaultlibs -nostartfiles "-Wl,--version-script=${exports}" -Wl,-z,defs
                                    -Wl,-z,lazy -Wl,-z,nodelete ${segments})
# A program that links the C interface finds no library whose interface has changed since. The preload names
# libstretto.so, whatever its version: a link, or a copy of the 90 KB where links are not possible (wheels). The other
# two libraries have no version: what finds them looks beside this one.
set_target_properties(stretto PROPERTIES SOVERSION 0)
target_link_libraries(stretto PRIVATE ${CMAKE_DL_LIBS} c)
set_property(TARGET stretto PROPERTY LINK_DEPENDS "${exports}")

# The measuring program. No test under a sanitizer runs it. What says what is measured serves simulations, too.
if(NOT STRETTO_SANITIZE)
  file(GLOB case_sources CONFIGURE_DEPENDS src/bench/cases/*.cpp)
  add_library(stretto_bench_cases OBJECT ${case_sources})
  target_link_libraries(stretto_bench_cases PRIVATE stretto_engine)
  # Two parts, so that no MPI library is linked: the program finds one, then loads the rest.
  file(GLOB_RECURSE bench_sources CONFIGURE_DEPENDS src/bench/*.cpp)
  list(FILTER bench_sources EXCLUDE REGEX "/src/bench/(program|cases)/")
  add_executable(stretto-bench src/bench/program/main.cpp)
  add_library(stretto-bench-rest MODULE ${bench_sources} $<TARGET_OBJECTS:stretto_bench_cases> ${libc_copies})
  list(FILTER bench_sources EXCLUDE REGEX "/calibration/")
  stretto_unite_folders(stretto-bench-rest ${bench_sources})
  set_target_properties(stretto-bench-rest PROPERTIES PREFIX "" OUTPUT_NAME stretto-bench)
  target_link_libraries(stretto-bench-rest PRIVATE stretto stretto_faces stretto_engine stretto_json)
  # Stretto stands before libmpi, so that its MPI_Allreduce is the one that is found.
  target_link_libraries(stretto-bench PRIVATE stretto_options ${CMAKE_DL_LIBS} -Wl,--no-as-needed stretto)
  add_dependencies(stretto-bench stretto-bench-rest)
  foreach(part IN ITEMS stretto-bench stretto-bench-rest)
    target_link_options(${part} PRIVATE -static-libstdc++ -static-libgcc)
    set_target_properties(${part} PROPERTIES INSTALL_RPATH "$ORIGIN")
    if(building_wheel)
      install(TARGETS ${part} DESTINATION "${STRETTO_INSTALL_LIBDIR}" COMPONENT stretto)
    endif()
  endforeach()
endif()

# SPDX-License-Identifier: Apache-2.0
# What every target of Stretto is compiled with: target stretto_options.

add_library(stretto_options INTERFACE)
target_include_directories(stretto_options INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
target_compile_definitions(stretto_options INTERFACE STRETTO_VERSION="${PROJECT_VERSION}")
target_compile_options(stretto_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports it for plain sums of std::string (GCC bug 105329).
  target_compile_options(stretto_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()

if(STRETTO_SANITIZE STREQUAL "address+undefined")
  # GCC's check of virtual tables opens a pipe, and reports a wrong object where no file is left, as in some tests.
  set(sanitizer -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(STRETTO_SANITIZE STREQUAL "thread")
  set(sanitizer -fsanitize=thread -fno-omit-frame-pointer)
elseif(NOT STRETTO_SANITIZE STREQUAL "")
  message(FATAL_ERROR "STRETTO_SANITIZE is '${STRETTO_SANITIZE}'; it must be empty, address+undefined or thread")
endif()
if(STRETTO_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "STRETTO_BUILD_FUZZERS needs clang (Debian: clang-14, libclang-rt-14-dev): "
                        "set CMAKE_CXX_COMPILER to clang++")
  endif()
  list(APPEND sanitizer -fsanitize=fuzzer-no-link)
endif()
if(STRETTO_COVERAGE)
  target_compile_options(stretto_options INTERFACE --coverage)
  target_compile_definitions(stretto_options INTERFACE STRETTO_COVERAGE)
  target_link_options(stretto_options INTERFACE --coverage)
endif()
if(sanitizer)
  target_compile_options(stretto_options INTERFACE ${sanitizer})
  target_link_options(stretto_options INTERFACE ${sanitizer})
endif()

option(STRETTO_UNITY "Compile the sources of a folder together, where that was found to save half the time" ON)

# stretto_unite_folders(TARGET SOURCES...): compiles those sources of the target that share a folder as one
function(stretto_unite_folders target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${STRETTO_UNITY} UNITY_BUILD_MODE GROUP
                                             UNITY_BUILD_RELOCATABLE ON)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/src")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    set_property(SOURCE "${source}" PROPERTY UNITY_GROUP ${folder})
  endforeach()
endfunction()

# stretto_static_library(NAME SOURCES...)
function(stretto_static_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC stretto_options)
endfunction()

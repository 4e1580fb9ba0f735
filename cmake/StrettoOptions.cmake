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
  set(sanitizer -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
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
  # Ranks of one job count in the same files.
  target_compile_options(stretto_options INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(stretto_options INTERFACE --coverage)
endif()
if(sanitizer)
  target_compile_options(stretto_options INTERFACE ${sanitizer})
  target_link_options(stretto_options INTERFACE ${sanitizer})
endif()

# stretto_static_library(NAME SOURCES...)
function(stretto_static_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC stretto_options)
endfunction()

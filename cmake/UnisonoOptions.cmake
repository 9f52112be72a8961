# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
# What can be switched, and the flags every target shares.
option(UNISONO_TESTS "Build the tests beside the code" ${PROJECT_IS_TOP_LEVEL})
option(UNISONO_TOOLS "Build the unisono command" ON)
option(UNISONO_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(UNISONO_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(UNISONO_HWLOC "Read the layout of the machine through hwloc; OFF: from the affinity mask alone" ON)
option(UNISONO_PYTHON "Build the Python module" OFF)
option(UNISONO_INSTALL "Generate install rules" ON)
option(UNISONO_WERROR "Warnings are errors" ON)
option(UNISONO_FAST_LINKER "Link with mold or lld where one is found" ${PROJECT_IS_TOP_LEVEL})
option(UNISONO_UNITY "Compile several files of a folder as one: less work, larger steps" OFF)
option(UNISONO_FUZZ "Build the fuzz targets; needs clang" OFF)
set(UNISONO_SANITIZE "" CACHE STRING "address, undefined or thread")
option(UNISONO_ALL_SIMD_TARGETS "Kernels for all instruction sets in sanitised builds, too" OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# For sanitisers: optimised enough to run, little enough to compile quickly.
set(CMAKE_CXX_FLAGS_CHECKED "-O1 -DNDEBUG")
set(CMAKE_C_FLAGS_CHECKED "-O1 -DNDEBUG")
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Tests are compiled with a precompiled header, which ccache caches only when told that none of
  # our headers hangs on the date or on macros that come before the precompiled part.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

if(UNISONO_FAST_LINKER)
  include(CheckLinkerFlag)
  foreach(linker mold lld)
    check_linker_flag(CXX -fuse-ld=${linker} UNISONO_HAS_${linker})
    if(UNISONO_HAS_${linker})
      add_link_options(-fuse-ld=${linker})
      break()
    endif()
  endforeach()
endif()

add_library(unisono_flags INTERFACE)
target_compile_options(unisono_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       -Wno-sign-conversion -Wno-missing-field-initializers $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(UNISONO_WERROR)
  target_compile_options(unisono_flags INTERFACE -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # These follow the flow through inlined library code and see overflows that are not there;
    # which ones changes with every release of the compiler. They stay warnings.
    target_compile_options(unisono_flags INTERFACE -Wno-error=array-bounds
                           -Wno-error=stringop-overflow)
  endif()
endif()
if(UNISONO_SANITIZE)
  # Sanitisers change code generation, so they apply to everything that is built here. Names of
  # functions and lines are all the debugging information that their reports use.
  add_compile_options(-fsanitize=${UNISONO_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${UNISONO_SANITIZE})
  add_compile_definitions(UNISONO_SANITIZED=1)
  # The kernels for every instruction set take minutes with a sanitiser.
  if(NOT UNISONO_ALL_SIMD_TARGETS)
    add_compile_definitions(UNISONO_FEWER_SIMD_TARGETS=1)
  endif()
  if(UNISONO_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC warns that it does not model fences. Ours only decide whether to ring a doorbell
    # (base/doorbell.hpp); data crosses threads by locks and acquire/release pairs, which it models.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
  endif()
endif()
if(UNISONO_FUZZ)
  # Every object tells the fuzzer which of its branches were taken.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

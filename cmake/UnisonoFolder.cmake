# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
# One target per folder under src/, and the dependency graph enforced by the compiler:
# folder F is reached through its own include directory, which holds nothing but F, so a file that
# includes another folder's header compiles only if its target names that folder in DEPENDS.
#
#   unisono_folder(order DEPENDS model base [LIBRARIES external...] [TEST_DEPENDS ...] [EXCEPT file...]
#                  [ALONE file...])
#
# Takes every *.cpp below the folder; *_test.cpp and what is in testing/ become the GoogleTest binary
# <folder>_test. A file
# named in EXCEPT belongs to a target of its own. With UNISONO_UNITY several files of a folder are
# compiled as one; those in ALONE have private names that others of the folder use differently.
set(UNISONO_COMMON_HEADERS
    <algorithm> <array> <atomic> <chrono> <cstdint> <deque> <functional> <map> <memory> <mutex>
    <optional> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector>)

function(unisono_folder name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES;TEST_DEPENDS;EXCEPT;ALONE" ${ARGN})
  set(folder ${CMAKE_SOURCE_DIR}/src/${name})
  if(NOT IS_DIRECTORY ${folder})
    set(folder ${PROJECT_SOURCE_DIR}/src/${name})
  endif()
  set(seam ${PROJECT_BINARY_DIR}/seams/${name})
  file(MAKE_DIRECTORY ${seam})
  file(CREATE_LINK ${folder} ${seam}/${name} SYMBOLIC)

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  # Tests, and what only tests use.
  set(is_test "/src/${name}/([a-z_]+/)*testing/[a-z_]+\\.cpp$|_test\\.cpp$")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "${is_test}")
  list(FILTER tests INCLUDE REGEX "${is_test}")
  list(TRANSFORM ARG_EXCEPT PREPEND ${folder}/)
  if(ARG_EXCEPT)
    list(REMOVE_ITEM sources ${ARG_EXCEPT})
  endif()

  list(TRANSFORM ARG_ALONE PREPEND ${folder}/)
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

  if(sources)
    add_library(unisono_${name} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(unisono_${name} PRIVATE unisono_flags)
    unisono_common_headers(unisono_${name})
    unisono_unity(unisono_${name})
  else()
    add_library(unisono_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(unisono_${name} ${scope} ${seam} ${PROJECT_SOURCE_DIR}/include)
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(unisono_${name} ${scope} unisono_${dependency})
  endforeach()
  target_link_libraries(unisono_${name} ${scope} Threads::Threads ${ARG_LIBRARIES})

  if(UNISONO_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE unisono_${name} unisono_flags GTest::gmock
                          GTest::gtest GTest::gtest_main)
    foreach(dependency IN LISTS ARG_TEST_DEPENDS)
      target_link_libraries(${name}_test PRIVATE unisono_${dependency})
    endforeach()
    unisono_as_test(${name}_test)
    unisono_unity(${name}_test)
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}/" DISCOVERY_TIMEOUT 300
                         PROPERTIES TIMEOUT 300 LABELS "unit")
  endif()
endfunction()

function(unisono_unity target)
  if(UNISONO_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# The standard library's headers that nearly every file includes are read once for all folders.
function(unisono_common_headers target)
  if(NOT TARGET unisono_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/common_headers.cpp CONTENT "")
    add_library(unisono_headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/common_headers.cpp)
    target_link_libraries(unisono_headers PRIVATE unisono_flags Threads::Threads)
    target_precompile_headers(unisono_headers PRIVATE ${UNISONO_COMMON_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM unisono_headers)
  # A target with flags of its own reads the headers themselves.
  target_compile_options(${target} PRIVATE -Wno-error=invalid-pch)
endfunction()

# How test code is compiled: fast rather than for speed, with GoogleTest's headers and the common ones
# of the library read once for all folders.
function(unisono_as_test target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(NOT TARGET unisono_test_headers)
    # An executable, since flags must be those of the tests.
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cpp CONTENT "int main() {}\n")
    add_executable(unisono_test_headers EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/test_headers.cpp)
    target_link_libraries(unisono_test_headers PRIVATE unisono_flags Threads::Threads GTest::gmock
                          GTest::gtest)
    target_compile_options(unisono_test_headers PRIVATE $<$<CONFIG:Release>:-O1>)
    target_precompile_headers(unisono_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>
                              ${UNISONO_COMMON_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM unisono_test_headers)
  # A test with flags of its own reads the headers themselves.
  target_compile_options(${target} PRIVATE -Wno-error=invalid-pch)
endfunction()

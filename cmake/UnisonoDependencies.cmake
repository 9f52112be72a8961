# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
# Everything found outside the project; docs/DEPENDENCIES.md gives the reason for each.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# Declares IMPORTED target unisono_dep::<name> from pkg-config, with the mend in the error.
function(unisono_pkg name module debian)
  pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "unisono needs ${module}, which was not found. "
                        "Debian or Ubuntu: apt-get install ${debian}; or run scripts/setup.")
  endif()
  add_library(unisono_dep::${name} ALIAS PkgConfig::${name})
endfunction()

unisono_pkg(sodium libsodium libsodium-dev)
unisono_pkg(crypto libcrypto libssl-dev)
unisono_pkg(xxhash libxxhash libxxhash-dev)
unisono_pkg(highway libhwy libhwy-dev)
if(UNISONO_HWLOC)
  unisono_pkg(hwloc hwloc libhwloc-dev)
endif()
# Optional: without it everything is built, and `unisono opt` refuses packed files.
set(UNISONO_ZLIB "")
pkg_check_modules(zlib QUIET IMPORTED_TARGET GLOBAL zlib)
if(zlib_FOUND)
  add_library(unisono_dep::zlib ALIAS PkgConfig::zlib)
  set(UNISONO_ZLIB unisono_dep::zlib)
endif()
if(UNISONO_TOOLS)
  find_package(CLI11 CONFIG REQUIRED)
  find_package(nlohmann_json CONFIG REQUIRED)
endif()
if(UNISONO_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

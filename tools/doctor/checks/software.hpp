// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What else is installed: Python with its frameworks, MPI, NCCL, UCX, ssh. Nothing of it is
// required, so what is missing is only named. Pure; what asks the machine is in
// software_probe.hpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "doctor/finding.hpp"

namespace unisono::tools {

using Versions = std::map<std::string, std::string>;  // by name

// What precedes the answer of the Python probe.
inline constexpr std::string_view kPythonAnswer = "UNISONO-PYTHON ";

struct PythonFacts {
  std::string version, executable;
  Versions packages;
};
// What the probe printed, after whatever the start of that Python prints; nothing when it is not
// there.
std::optional<PythonFacts> parse_python_answer(std::string_view out);

struct PythonTried {
  std::string path;  // "" when there is no Python
  bool in_time = true;
  std::optional<PythonFacts> facts;
  std::string last_words;  // of a Python that failed
};
// own: the version of this command, which that of the package must equal.
Finding judge_python(const PythonTried& tried, std::string_view own);

// "Open MPI 4.1.4", "MPICH 4.0.2" of what mpirun --version prints; "" when it prints nothing.
std::string parse_mpi_version(std::string_view out);
// "1.13.1" of what ucx_info -v prints.
std::string parse_ucx_version(std::string_view out);
// "OpenSSH_9.2p1" of what ssh -V prints.
std::string parse_ssh_version(std::string_view text);
// "2.18.3" of the file name libnccl.so.2.18.3 and the stem libnccl.so; "" when there is none in it.
std::string library_version(std::string_view file, std::string_view stem);
// "2.28.9" of the text of nccl.h; "" when it is not in there.
std::string parse_nccl_header(std::string_view text);
// The version of a library that this process has loaded, from /proc/self/maps.
std::string loaded_version(std::string_view maps, std::string_view stem);

}  // namespace unisono::tools

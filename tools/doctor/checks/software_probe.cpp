// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/software_probe.hpp"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/data/text.hpp"
#include "processes/capture.hpp"
#include "doctor/checks/files.hpp"
#include "model/options/option_values.hpp"

namespace unisono::tools {
namespace {

constexpr double kPythonS = 10, kOtherS = 5;

// Asks for the versions without importing anything: PyTorch alone takes seconds to import. The
// current folder is left out of the path, since files there may have the names of modules.
constexpr const char* kPythonProbe = R"(
import sys
sys.path = [folder for folder in sys.path if folder]
import json, platform
from importlib import metadata
packages = {}
for name in ("unisono", "numpy", "torch", "jax", "tensorflow", "tensorflow-cpu", "horovod",
             "mpi4py", "nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13", "ucx-py"):
    try:
        packages[name] = metadata.version(name)
    except Exception:
        pass
print("UNISONO-PYTHON " + json.dumps({"python": platform.python_version(),
                                      "executable": sys.executable, "packages": packages}))
)";

std::string last_line_of(std::string_view text) {
  text = trim(text);
  return std::string(text.substr(text.rfind('\n') + 1));
}

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {
    for (std::string_view rest = path; !rest.empty();) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) folders.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  utsname about{};
  ::uname(&about);
  folders.insert(folders.end(),
                 {cat("/usr/lib/", about.machine, "-linux-gnu"), "/usr/lib64", "/usr/lib",
                  "/usr/local/lib", "/usr/local/cuda/lib64", "/opt/ucx/lib", "/opt/nccl/lib"});
  return folders;
}

struct FoundLibrary {
  std::string folder, version;  // both "" when there is none
};

// The library in the first of the usual folders that has it, by the longest version in the names
// of its files; "?" when there is none in them.
FoundLibrary find_library(const std::string& stem) {
  for (const std::string& folder : library_folders()) {
    FoundLibrary found;
    std::error_code trouble;
    for (const auto& entry : std::filesystem::directory_iterator(folder, trouble)) {
      const std::string file = entry.path().filename().string();
      if (file != stem && !file.starts_with(stem + ".")) continue;
      const std::string version = library_version(file, stem);
      if (found.folder.empty() || version.size() > found.version.size()) {
        found = {folder, version.empty() ? "?" : version};
      }
    }
    if (!found.folder.empty()) return found;
  }
  return {};
}

std::string nccl_version() {
  const FoundLibrary found = find_library("libnccl.so");
  if (found.folder.empty()) return "";
  // Where the files are called by the major version only, the header beside them knows it all.
  const std::string header = parse_nccl_header(text_of(found.folder + "/../include/nccl.h"));
  return header.empty() ? found.version : header;
}

Finding note(Versions& versions, const std::string& name, const std::string& version,
             std::string_view without) {
  if (version.empty()) return good(name, cat("none", without));
  versions[name] = version;
  return good(name, version);
}

Finding check_runtime(Versions& versions) {
  utsname about{};
  ::uname(&about);
  versions["glibc"] = ::gnu_get_libc_version();
  versions["kernel"] = about.release;
  versions["architecture"] = about.machine;
  const std::string runtime = loaded_version(text_of("/proc/self/maps"), "libstdc++.so");
  if (!runtime.empty()) versions["libstdc++"] = runtime;
  return good("versions", cat("unisono ", UNISONO_VERSION_TEXT, ", glibc ", versions["glibc"],
                              runtime.empty() ? "" : cat(", libstdc++ ", runtime), ", Linux ",
                              about.release, ", ", about.machine));
}

Finding check_python(Versions& versions, const Tick& tick) {
  PythonTried tried;
  tried.path = choose_python();
  if (!tried.path.empty()) {
    const Captured answer = capture({tried.path, "-c", kPythonProbe}, kPythonS, tick);
    tried.in_time = answer.in_time;
    tried.facts = parse_python_answer(answer.out);
    tried.last_words = last_line_of(answer.err);
  }
  if (tried.facts) {
    versions["python"] = tried.facts->version;
    for (const auto& [name, version] : tried.facts->packages) {
      versions[name == "unisono" ? "unisono (python)" : name] = version;
    }
  }
  return judge_python(tried, UNISONO_VERSION_TEXT);
}

// What a command says about itself; "" when it is not there or does not answer.
std::string said_by(const char* program, const char* question, const Tick& tick) {
  const std::string path = find_on_path(program);
  if (path.empty()) return "";
  const Captured answer = capture({path, question}, kOtherS, tick);
  return answer.in_time ? answer.out + answer.err : "";
}

}  // namespace

std::string choose_python() {
  const auto in_folder = [](const std::string& folder) {
    for (const char* name : {"/python3", "/python"}) {
      if (::access((folder + name).c_str(), X_OK) == 0) return folder + name;
    }
    return std::string();
  };
  if (const char* active = std::getenv("VIRTUAL_ENV"); active != nullptr && *active != '\0') {
    if (std::string path = in_folder(cat(active, "/bin")); !path.empty()) return path;
  }
  const std::filesystem::path folder = std::filesystem::path(own_path()).parent_path();
  if (::access((folder.parent_path() / "pyvenv.cfg").c_str(), R_OK) == 0) {
    if (std::string path = in_folder(folder.string()); !path.empty()) return path;
  }
  return find_on_path("python3");
}

std::vector<Finding> check_software(Versions& versions, const Tick& tick) {
  std::vector<Finding> rows{check_runtime(versions), check_python(versions, tick)};
  std::string ucx = parse_ucx_version(said_by("ucx_info", "-v", tick));
  if (ucx.empty()) ucx = find_library("libucp.so").version;
  rows.push_back(
      note(versions, "mpi", parse_mpi_version(said_by("mpirun", "--version", tick)), ""));
  rows.push_back(note(versions, "nccl", nccl_version(), ""));
  rows.push_back(note(versions, "ucx", ucx, ""));
  rows.push_back(note(versions, "ssh", parse_ssh_version(said_by("ssh", "-V", tick)),
                      "; only jobs on several hosts need it"));
  return rows;
}

}  // namespace unisono::tools

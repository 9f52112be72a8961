// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/capture.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/os/fd.hpp"
#include "base/data/text.hpp"
#include "bench/interrupt.hpp"

namespace unisono::tools {
namespace {

std::string contents(int fd) {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return "";
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

}  // namespace

Captured capture(const std::vector<std::string>& command, double limit_s) {
  using namespace std::chrono;
  Captured result;
  const Fd out(::memfd_create("out", MFD_CLOEXEC)), err(::memfd_create("err", MFD_CLOEXEC));
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(nothing.get(), 0);
    ::dup2(out.get(), 1);
    ::dup2(err.get(), 2);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  if (pid < 0) return result;
  int status = 0;
  for (const auto start = steady_clock::now(); ::waitpid(pid, &status, WNOHANG) == 0;) {
    if (interrupted() != 0 || steady_clock::now() - start > duration<double>(limit_s)) {
      ::kill(pid, SIGKILL);
    }
    std::this_thread::sleep_for(milliseconds(2));
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.out = contents(out.get());
  result.err = contents(err.get());
  return result;
}

std::string find_on_path(std::string_view name) {
  if (name.find('/') != std::string_view::npos) {
    return ::access(std::string(name).c_str(), X_OK) == 0 ? std::string(name) : "";
  }
  std::string_view path = std::getenv("PATH") == nullptr ? "/usr/bin:/bin" : std::getenv("PATH");
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const std::string candidate = cat(path.substr(0, end), "/", name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return "";
}

std::string own_path() {
  char self[4096];
  const ssize_t n = ::readlink("/proc/self/exe", self, sizeof self);
  return n > 0 ? std::string(self, static_cast<std::size_t>(n)) : "unisono";
}

}  // namespace unisono::tools

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The note that rank 0 leaves for the others, found in a folder that others may write to.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "launch/job_file.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

const std::string& folder() {
  static const std::string made = [] {
    std::string path = (std::filesystem::temp_directory_path() / "unisono-fuzz-XXXXXX").string();
    must(::mkdtemp(path.data()) != nullptr, "no folder for job files");
    static const std::string kept = path;
    std::atexit([] { std::filesystem::remove_all(kept); });
    return path;
  }();
  return made;
}

Bytes read_all(const std::string& path) {
  Bytes bytes(4096);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t n = ::read(file.get(), bytes.data(), bytes.size());
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return bytes;
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  const JobFile file("a job", folder());
  {
    const Fd note(::open(file.path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    must(note.valid() && ::write(note.get(), bytes.data(), bytes.size()) ==
                             static_cast<ssize_t>(bytes.size()),
         "the job file could not be written");
  }
  static_cast<void>(file.look());
}

std::vector<Bytes> seeds() {
  JobFile file("another job", folder());
  must(file.leave({JobKey{1, 2, 3}, "127.0.0.1:29500"}).ok(), "no job file");
  return {read_all(file.path())};
}

}  // namespace unisono::fuzz

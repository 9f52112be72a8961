// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "launch/job_file.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "launch/sockets.hpp"

namespace unisono {
namespace {

constexpr std::uint32_t kNoteMagic = 0x314A4E55;  // "UNJ1"
constexpr std::size_t kNoteBytesMost = 1024;

// When a process started, in clock ticks since boot; tells a pid from one used again. 0: gone.
std::uint64_t start_time(std::int64_t pid) {
  std::ifstream file(cat("/proc/", pid, "/stat"));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 1));
  std::string field;
  // The state is field 3 and the start time field 22.
  for (int i = 3; i < 22; ++i) rest >> field;
  std::uint64_t ticks = 0;
  rest >> ticks;
  return ticks;
}

std::string boot_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

std::string directory_for(const std::string& asked) {
  if (!asked.empty()) return asked;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  return runtime != nullptr && ::access(runtime, W_OK) == 0 ? runtime : "/tmp";
}

Status trouble(const std::string& doing, const std::string& path) {
  return Status(Code::unavailable, cat(doing, " the job file ", path, ": ", std::strerror(errno),
                                       "; UNISONO_JOB_DIR names another folder for it"));
}

}  // namespace

JobFile::JobFile(const std::string& job, const std::string& directory) {
  const std::string name =
      job.empty() ? cat("parent ", ::getppid(), " ", start_time(::getppid())) : job;
  const std::string salted = cat(::geteuid(), "/", name);
  unsigned char digest[16];
  crypto_generichash(digest, sizeof digest, reinterpret_cast<const unsigned char*>(salted.data()),
                     salted.size(), nullptr, 0);
  char hex[sizeof digest * 2 + 1];
  sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
  path_ = cat(directory_for(directory), "/unisono-", ::geteuid(), "-", hex);
}

JobFile::~JobFile() {
  take_away();
}

void JobFile::take_away() {
  if (left_) ::unlink(path_.c_str());
  left_ = false;
}

Status JobFile::leave(const JobNote& note) {
  ByteWriter out;
  out.put(kNoteMagic);
  out.put_raw(std::as_bytes(std::span(note.key)));
  out.put_text(note.address);
  out.put_text(boot_name());
  out.put(static_cast<std::int64_t>(::getpid()));
  out.put(start_time(::getpid()));

  std::string aside = path_ + ".XXXXXX";
  const Fd file(::mkostemp(aside.data(), O_CLOEXEC));  // creates with O_EXCL and mode 0600
  if (!file.valid()) return trouble("cannot create", path_);
  Status status;
  if (::write(file.get(), out.bytes().data(), out.size()) != static_cast<ssize_t>(out.size())) {
    status = trouble("cannot write", path_);
  }
  for (int attempt = 0; status.ok() && !left_; ++attempt) {
    if (::link(aside.c_str(), path_.c_str()) == 0) {
      left_ = true;
      break;
    }
    if (errno != EEXIST || attempt == 3) {
      status = trouble("cannot create", path_);
      break;
    }
    const auto other = look();
    if (!other) {
      status = other.status();
    } else if (other.value().has_value()) {
      status = Status(Code::refused, cat("another rank 0 of the same job waits already (", path_,
                                         "); give each job its own UNISONO_JOB"));
    } else {
      ::unlink(path_.c_str());
    }
  }
  ::unlink(aside.c_str());
  return status;
}

Result<std::optional<JobNote>> JobFile::look() const {
  const std::optional<JobNote> not_yet;
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) {
    if (errno == ENOENT) return not_yet;
    return trouble("cannot open", path_);
  }
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return trouble("cannot inspect", path_);
  if (!S_ISREG(about.st_mode) || about.st_uid != ::geteuid() || (about.st_mode & 0777) != 0600) {
    return Status(Code::refused, cat("the job file ", path_, " is not a private file of this user ",
                                     "(uid ", about.st_uid, "); remove it or set UNISONO_JOB_DIR"));
  }
  std::vector<std::byte> bytes(kNoteBytesMost);
  const ssize_t n = ::read(file.get(), bytes.data(), bytes.size());
  ByteReader in(
      std::span<const std::byte>(bytes).first(static_cast<std::size_t>(std::max<ssize_t>(n, 0))));
  const auto magic = in.get<std::uint32_t>();
  const auto key = in.get_raw(kKeyBytes);
  JobNote note;
  note.address = in.get_text();
  const std::string boot = in.get_text();
  const auto pid = in.get<std::int64_t>();
  const auto started = in.get<std::uint64_t>();
  if (!in.finished() || magic != kNoteMagic) return not_yet;
  if (boot == boot_name() && start_time(pid) != started) return not_yet;
  std::memcpy(note.key.data(), key.data(), kKeyBytes);
  return std::optional(note);
}

}  // namespace unisono

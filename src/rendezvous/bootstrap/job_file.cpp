// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/bootstrap/job_file.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/data/bytes.hpp"
#include "base/os/fd.hpp"
#include "base/data/text.hpp"
#include "base/os/text_file.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::rendezvous {
namespace {

constexpr std::uint32_t kNoteMagic = 0x324A4E55;  // "UNJ2"
constexpr std::size_t kNoteBytesMax = 1024;

// Returns when a process started, in clock ticks since boot, to detect a pid that was reused.
// Returns 0 when the process is gone.
std::uint64_t start_time(std::int64_t pid) {
  const auto text = text_of_file(cat("/proc/", pid, "/stat"));
  const std::size_t name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return 0;
  // The state is field 3 and the start time field 22; the name, field 2, may have spaces.
  constexpr std::size_t kState = 0, kStart = 22 - 3;
  const auto fields = words_of(std::string_view(*text).substr(name_end + 1));
  // It has ended, and its parent has not reaped it yet.
  if (fields.size() <= kStart || fields[kState] == "Z" || fields[kState] == "X") return 0;
  return number_of<std::uint64_t>(fields[kStart]).value_or(0);
}

// Identifies where a pid is unique: one boot of one machine and one pid namespace.
std::string place_of_pids() {
  const std::string boot = word_in_file("/proc/sys/kernel/random/boot_id");
  struct stat space {};
  if (boot.empty() || ::stat("/proc/self/ns/pid", &space) != 0) return "";
  return cat(boot, ":", space.st_ino);
}

std::string owner_text(const struct stat& about) {
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(about.st_mode & 07777));
  return cat("owner uid ", about.st_uid, ", mode ", mode);
}

bool is_private(const struct stat& about) {
  return about.st_uid == ::geteuid() && (about.st_mode & 077) == 0;
}

Status trouble(const std::string& doing, const std::string& path) {
  return Status(Code::unavailable, cat(doing, " the job file ", path, ": ", std::strerror(errno),
                                       "; UNISONO_JOB_DIR names another folder for it"));
}

}  // namespace

std::vector<std::byte> encode_note(const WrittenNote& written) {
  ByteWriter out;
  out.put(kNoteMagic);
  out.put_raw(std::as_bytes(std::span(written.note.key)));
  out.put_text(written.note.address);
  out.put_text(written.place);
  out.put(written.pid);
  out.put(written.started);
  return out.take();
}

std::optional<WrittenNote> parse_note(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  WrittenNote written;
  const auto magic = in.get<std::uint32_t>();
  const auto key = in.get_raw(kKeyBytes);
  written.note.address = in.get_text();
  written.place = in.get_text();
  written.pid = in.get<std::int64_t>();
  written.started = in.get<std::uint64_t>();
  if (!in.finished() || magic != kNoteMagic) return std::nullopt;
  std::memcpy(written.note.key.data(), key.data(), kKeyBytes);
  return written;
}

JobFile::JobFile(const std::string& job, const std::string& directory, Answers answers)
    : folder_(directory), answers_(std::move(answers)) {
  if (folder_.empty()) {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    struct stat about {};
    own_folder_ = runtime == nullptr || ::stat(runtime, &about) != 0 || !is_private(about);
    folder_ = own_folder_ ? cat("/tmp/unisono-", ::geteuid()) : runtime;
  }
  const std::string name =
      job.empty() ? cat("parent ", ::getppid(), " ", start_time(::getppid())) : job;
  const std::string salted = cat(::geteuid(), "/", name);
  unsigned char digest[16];
  crypto_generichash(digest, sizeof digest, reinterpret_cast<const unsigned char*>(salted.data()),
                     salted.size(), nullptr, 0);
  char hex[sizeof digest * 2 + 1];
  sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
  path_ = cat(folder_, "/unisono-", ::geteuid(), "-", hex);
}

JobFile::~JobFile() {
  take_away();
}

void JobFile::take_away() {
  if (!std::exchange(left_, false)) return;
  // Another rank 0 may have assumed that this one is dead and written its own note there.
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::vector<std::byte> there(mine_.size() + 1);
  const ssize_t n = file.valid() ? ::read(file.get(), there.data(), there.size()) : -1;
  there.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (there == mine_) ::unlink(path_.c_str());
  if (own_folder_) ::rmdir(folder_.c_str());  // only when it is empty
}

Status make_private_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return trouble("cannot make", folder);
  struct stat about {};
  if (::lstat(folder.c_str(), &about) != 0) return trouble("cannot inspect", folder);
  if (S_ISDIR(about.st_mode) && is_private(about)) return {};
  return Status(Code::refused, cat("the folder for job files, ", folder, ", is not private to this "
                                   "user (", owner_text(about), "); remove it, or set "
                                   "UNISONO_JOB_DIR to a folder of your own on every rank"));
}

Status JobFile::leave(const JobNote& note) {
  std::string aside;
  Fd file;
  // Another job of this user may remove the empty folder in between.
  for (int attempt = 0; attempt < 3 && !file.valid(); ++attempt) {
    if (own_folder_) {
      if (Status status = make_private_folder(folder_); !status.ok()) return status;
    }
    aside = path_ + ".XXXXXX";
    file = Fd(::mkostemp(aside.data(), O_CLOEXEC));  // creates with O_EXCL and mode 0600
    if (!file.valid() && errno != ENOENT) break;
  }
  if (!file.valid()) return trouble("cannot create", path_);
  const auto text = encode_note({note, place_of_pids(), ::getpid(), start_time(::getpid())});
  Status status;
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    status = trouble("cannot write", path_);
  }
  for (int attempt = 0; status.ok() && !left_; ++attempt) {
    if (::link(aside.c_str(), path_.c_str()) == 0) {
      mine_ = text;
      left_ = true;
      break;
    }
    if (errno != EEXIST || attempt == 3) {
      status = trouble("cannot create", path_);
      break;
    }
    const auto other = look();
    if (other.ok() && other.value().has_value()) {
      status = Status(Code::refused, cat("another rank 0 of the same job waits already (", path_,
                                         "); give each job its own UNISONO_JOB"));
    } else if (::unlink(path_.c_str()) != 0 && errno != ENOENT) {
      // The file belongs to another user and only they may remove it; look() names the owner.
      status = other.ok() ? trouble("cannot replace", path_) : other.status();
    }
  }
  ::unlink(aside.c_str());
  return status;
}

bool JobFile::is_current(const WrittenNote& written) const {
  if (!written.place.empty() && written.place == place_of_pids()) {
    return written.started != 0 && start_time(written.pid) == written.started;
  }
  return answers_(written.note);
}

Result<std::optional<JobNote>> JobFile::look() const {
  const std::optional<JobNote> not_yet;
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid() && errno == ENOENT) return not_yet;
  struct stat about {};
  const bool seen = file.valid() ? ::fstat(file.get(), &about) == 0
                                 : ::lstat(path_.c_str(), &about) == 0;
  if (!seen) return trouble("cannot inspect", path_);
  if (!file.valid() || !S_ISREG(about.st_mode) || !is_private(about)) {
    return Status(Code::refused,
                  cat("the job file ", path_, " is not a private file of this user (",
                      owner_text(about), "; wanted: a plain file, owner uid ", ::geteuid(),
                      ", mode 0600); remove it, or set UNISONO_JOB_DIR "
                      "to a folder of your own on every rank"));
  }
  std::vector<std::byte> bytes(kNoteBytesMax);
  const ssize_t n = ::read(file.get(), bytes.data(), bytes.size());
  const auto written = parse_note(
      std::span<const std::byte>(bytes).first(static_cast<std::size_t>(std::max<ssize_t>(n, 0))));
  if (!written || !is_current(*written)) return not_yet;
  return std::optional(written->note);
}

}  // namespace unisono::rendezvous

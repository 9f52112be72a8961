// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How ranks find each other under launchers that provide no key: rank 0 writes the key and its
// address to a file that only this user can read, and removes the file once all ranks have come.
//
// The file is in $UNISONO_JOB_DIR, else in $XDG_RUNTIME_DIR, else in /tmp/unisono-<uid>, a folder
// that only this user can enter: in a folder that others can write to, they could create the file
// first. Its name is a hash of the job. It appears whole (written under another name, then linked)
// and is trusted only when this user owns it and nobody else may read it. On the host of the rank 0
// that wrote it, it is valid as long as that process lives; on another host, as long as a process
// that holds its key answers at its address.
// Thread: the joining one.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rendezvous/handshake/handshake.hpp"
#include "unisono/status.hpp"

namespace unisono::rendezvous {

struct JobNote {
  JobKey key{};
  std::string address;
};

// A note as it is written to the file, and the process that wrote it.
struct WrittenNote {
  JobNote note;
  std::string place;         // equal where pids mean the same processes
  std::int64_t pid = 0;
  std::uint64_t started = 0;
};
std::vector<std::byte> encode_note(const WrittenNote& note);
std::optional<WrittenNote> parse_note(std::span<const std::byte> bytes);

// Makes the folder, or checks that it exists and that nobody else can enter it. Returns refused,
// with its owner and mode, when somebody else could.
Status make_private_folder(const std::string& folder);

class JobFile {
 public:
  // Returns whether the rank 0 that wrote a note on another host still answers. May block briefly.
  using Answers = std::function<bool(const JobNote&)>;

  // `job` may be empty: the job is then identified by the parent process that all its local ranks
  // share. `directory` is $UNISONO_JOB_DIR or "".
  JobFile(const std::string& job, const std::string& directory, Answers answers);
  ~JobFile();  // removes the file if this object wrote it
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;

  // Writes the file; replaces one that is left over from a job that is gone.
  Status leave(const JobNote& note);
  void take_away();
  // Returns nullopt when there is no file yet, or one of a job that is gone. An error is final.
  Result<std::optional<JobNote>> look() const;
  const std::string& path() const { return path_; }

 private:
  bool is_current(const WrittenNote& note) const;

  std::string folder_, path_;
  std::vector<std::byte> mine_;             // the note this rank has written
  bool own_folder_ = false;  // made by this class for this user alone
  bool left_ = false;
  Answers answers_;
};

}  // namespace unisono::rendezvous

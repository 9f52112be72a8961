// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How ranks find each other under launchers that give no key: rank 0 leaves the key and its
// address in a file that only this user can read, and takes it away once all have come.
//
// The file is in $UNISONO_JOB_DIR, else $XDG_RUNTIME_DIR, else /tmp/unisono-<uid>, a folder that only
// this user can enter: where others can write, they could be there first. Its name is a hash of the
// job. It appears whole (written aside, then linked) and is believed only when this user owns it and
// nobody else may read it. On the host of its maker it counts as long as the maker lives; on another,
// as long as somebody answers at its address who holds its key. Thread: the joining one.
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

// A note as it lies in the file, and who made it.
struct WrittenNote {
  JobNote note;
  std::string place;         // equal where process numbers mean the same
  std::int64_t pid = 0;
  std::uint64_t started = 0;
};
std::vector<std::byte> encode_note(const WrittenNote& note);
std::optional<WrittenNote> parse_note(std::span<const std::byte> bytes);

// Makes the folder, or finds that it is there and nobody else can enter it. refused, with its owner
// and mode, when somebody else could.
Status make_private_folder(const std::string& folder);

class JobFile {
 public:
  // Whether the rank 0 that left a note on another host still answers. May block for a moment.
  using Answers = std::function<bool(const JobNote&)>;

  // `job` may be empty: the job is then named by the parent process all its local ranks share.
  // `directory` is $UNISONO_JOB_DIR or "".
  JobFile(const std::string& job, const std::string& directory, Answers answers);
  ~JobFile();  // takes the file away if this object left it
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;

  // Replaces what a job that is gone has left.
  Status leave(const JobNote& note);
  void take_away();
  // nullopt: not there yet (or left over from a job that is gone). An error is final.
  Result<std::optional<JobNote>> look() const;
  const std::string& path() const { return path_; }

 private:
  bool is_current(const WrittenNote& note) const;

  std::string folder_, path_;
  std::vector<std::byte> mine_;             // the note this rank has left
  bool own_folder_ = false;  // made by this class for this user alone
  bool left_ = false;
  Answers answers_;
};

}  // namespace unisono::rendezvous

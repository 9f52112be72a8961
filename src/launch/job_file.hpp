// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How ranks find each other under launchers that give no key: rank 0 leaves the key and its
// address in a file that only this user can read, and takes it away once all have come.
//
// The file is in $UNISONO_JOB_DIR, else $XDG_RUNTIME_DIR, else /tmp; its name is a hash of the job.
// It appears whole (written aside, then linked) and is believed only when this user owns it, nobody
// else may read it and, on the same host, its maker still lives. Thread: the joining one.
#pragma once

#include <optional>
#include <string>

#include "launch/handshake.hpp"
#include "unisono/status.hpp"

namespace unisono {

struct JobNote {
  JobKey key{};
  std::string address;
};

class JobFile {
 public:
  // `job` may be empty: the job is then named by the parent process all its local ranks share.
  // `directory` is $UNISONO_JOB_DIR or "".
  JobFile(const std::string& job, const std::string& directory);
  ~JobFile();  // takes the file away if this object left it
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;

  Status leave(const JobNote& note);
  void take_away();
  // nullopt: not there yet (or left over from a job that is gone). An error is final.
  Result<std::optional<JobNote>> look() const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool left_ = false;
};

}  // namespace unisono

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The ranks of one host, as the launcher sees them: here (supervised children) or behind ssh (an
// agent that does the same there). Thread: the launcher's only one. Nothing blocks for long.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/handshake/handshake.hpp"
#include "run/host_layout.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

struct Event {
  enum class Kind : std::uint8_t {
    ready,        // text: where rank 0 will listen, from the host that has it
    started,      // value: pid
    not_started,  // text: why
    out,
    err,          // text: bytes of the rank's output
    exited,       // value: wait status
    part,         // text: as in the frame
    note,         // text: a line from the host's ssh
    host_failed,  // text: why; nothing more comes from this host. value: exit code
  } kind;
  int rank = -1;
  std::int64_t value = 0;
  std::string text;
};

class HostSession {
 public:
  virtual ~HostSession() = default;
  virtual const std::string& host() const = 0;
  // Leads to the event ready or host_failed.
  virtual void open() = 0;
  virtual void start(const std::string& address) = 0;
  virtual void signal(int number) = 0;
  virtual void watch(std::vector<pollfd>& fds) const = 0;
  // When pump() must run although nothing of watch() is ready and no child has ended.
  virtual Time deadline() const { return kNever; }
  virtual void pump(std::vector<Event>& events) = 0;
  // The job is over: tells the host to end. The destructor waits for it, but not for long.
  virtual void hang_up() {}
  // Whether everything has ended and all its events were delivered.
  virtual bool over() const = 0;
};

std::unique_ptr<HostSession> make_local_session(const JobSpec& job, const HostPlan& plan,
                                                const rendezvous::JobKey& key);
std::unique_ptr<HostSession> make_remote_session(const RunSettings& settings, const HostPlan& plan,
                                                 const rendezvous::JobKey& key);

}  // namespace unisono::tools

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/agent.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "base/data/text.hpp"
#include "exit_codes.hpp"
#include "run/frames.hpp"
#include "run/recordings.hpp"
#include "run/session.hpp"

namespace unisono::tools {
namespace {

class Agent {
 public:
  int serve() {
    [[maybe_unused]] auto n = ::write(1, kGreeting.data(), kGreeting.size());
    ::fcntl(0, F_SETFL, ::fcntl(0, F_GETFL) | O_NONBLOCK);
    for (;;) {
      std::vector<pollfd> fds{{0, POLLIN, 0}};
      if (session_) session_->watch(fds);
      ::poll(fds.data(), fds.size(), -1);
      const bool alive = orders_.fill(0);
      while (auto frame = orders_.next()) {
        if (!obey(*frame)) return kWrongUsage;
      }
      // Leaving closes the supervisors' sockets, and they end everything they started.
      if (!alive || !report()) return kJobFailed;
      if (session_ && session_->over()) {
        send_parts(job_, plan_, [](const Frame& frame) { return write_frame(1, frame); });
        return kSuccess;
      }
    }
  }

 private:
  bool obey(const Frame& frame) {
    switch (frame.kind) {
      case Frame::Kind::spec:
        return decode_spec(frame.body, job_, plan_);
      case Frame::Kind::key: {
        if (frame.body.size() != rendezvous::kKeyBytes || plan_.ranks.empty()) return false;
        rendezvous::JobKey key;
        std::memcpy(key.data(), frame.body.data(), key.size());
        if (Status bad = redirect_recordings(job_); !bad.ok()) {
          return write_frame(1, {Frame::Kind::host_failed, -1, bad.message()});
        }
        session_ = make_local_session(job_, plan_, key);
        session_->open();
        return true;
      }
      case Frame::Kind::go:
        if (session_) session_->start(frame.body);
        return session_ != nullptr;
      case Frame::Kind::signal:
        if (session_ && !frame.body.empty()) session_->signal(frame.body[0]);
        return true;
      default:
        return false;
    }
  }

  // Returns false when the launcher no longer reads.
  bool report() {
    if (!session_) return true;
    std::vector<Event> events;
    session_->pump(events);
    for (const Event& event : events) {
      if (!write_frame(1, frame_of(event))) return false;
    }
    return true;
  }

  static Frame frame_of(const Event& event) {
    switch (event.kind) {
      case Event::Kind::ready:
        return {Frame::Kind::ready, -1, event.text};
      case Event::Kind::started:
        return {Frame::Kind::started, event.rank, cat(event.value)};
      case Event::Kind::not_started:
        return {Frame::Kind::not_started, event.rank, event.text};
      case Event::Kind::out:
        return {Frame::Kind::out, event.rank, event.text};
      case Event::Kind::note:
      case Event::Kind::err:
        return {Frame::Kind::err, event.rank, event.text};
      case Event::Kind::exited:
        return {Frame::Kind::exited, event.rank, cat(event.value)};
      case Event::Kind::part:
      case Event::Kind::host_failed:
        break;
    }
    return {Frame::Kind::host_failed, -1, event.text};
  }

  FrameReader orders_;
  JobSpec job_;
  HostPlan plan_;
  std::unique_ptr<HostSession> session_;
};

}  // namespace

int serve_as_agent() {
  ::signal(SIGPIPE, SIG_IGN);
  return Agent().serve();
}

}  // namespace unisono::tools

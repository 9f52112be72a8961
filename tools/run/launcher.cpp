// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/launcher.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/clock.hpp"
#include "base/os/fd.hpp"
#include "base/data/text.hpp"
#include "exit_codes.hpp"
#include "run/output.hpp"
#include "run/recordings.hpp"
#include "run/session.hpp"

namespace unisono::tools {
namespace {

constexpr double kNeverS = std::numeric_limits<double>::infinity();
constexpr double kTermToKillS = 3;    // from SIGTERM to SIGKILL
constexpr double kHostConnectS = 60;  // for all hosts to answer
constexpr double kHostEndS = 10;      // for a killed host to say so

class Launcher {
 public:
  Launcher(const RunSettings& settings, const rendezvous::JobKey& key)
      : settings_(settings),
        output_(settings.job.size, {settings.prefix, settings.json == "-", settings.output_dir}),
        began_(clock_.now()) {
    end_.command = settings.job.program;
    end_.timeout_s = settings.timeout_s;
    end_.ranks.resize(static_cast<std::size_t>(settings.job.size));
    for (const HostPlan& plan : settings.hosts) {
      sessions_.push_back(plan.local ? make_local_session(settings.job, plan, key)
                                     : make_remote_session(settings, plan, key));
      for (const RankPlan& rank : plan.ranks) {
        RankEnd& end = end_.ranks[static_cast<std::size_t>(rank.rank)];
        end.rank = rank.rank;
        end.host = sessions_.back()->host();
      }
    }
  }

  JobEnd run() {
    if (Status bad = output_.open(); !bad.ok()) {
      fail_host(bad.message(), kWrongUsage);
      return finish();
    }
    catch_signals();
    for (auto& session : sessions_) session->open();
    term_at_ = kNeverS;
    connect_by_ = elapsed() + kHostConnectS;
    while (!finished()) {
      sleep_and_collect();
      if (!started_ && ready_ == sessions_.size() && !ending_) start();
      keep_time();
    }
    return finish();
  }

 private:
  double elapsed() const { return nanos_to_seconds(clock_.now() - began_); }

  void catch_signals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    // SIGCHLD only wakes the launcher; the session that the child belongs to checks it.
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&wanted, number);
    ::sigprocmask(SIG_BLOCK, &wanted, &old_mask_);
    ::signal(SIGPIPE, SIG_IGN);
    signals_ = Fd(::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC));
  }

  bool finished() const {
    // Before the start there is nothing to wait for: agents end when their connection does.
    if (!started_) return ending_;
    return std::all_of(sessions_.begin(), sessions_.end(),
                       [](const auto& s) { return s->over(); }) ||
           elapsed() > give_up_at_;
  }

  void start() {
    started_ = true;
    started_at_ = elapsed();
    for (auto& session : sessions_) session->start(address_);
  }

  void sleep_and_collect() {
    std::vector<pollfd> fds{{signals_.get(), POLLIN, 0}};
    for (const auto& session : sessions_) session->watch(fds);
    double wake =
        std::min({term_at_, kill_at_, give_up_at_, started_ ? kNeverS : connect_by_, timeout_at()});
    for (const auto& session : sessions_) {
      const Time due = session->deadline();
      if (due != kNever) wake = std::min(wake, nanos_to_seconds(due - began_));
    }
    const double left = std::clamp(wake - elapsed(), 0.0, 3600.0);
    ::poll(fds.data(), fds.size(), static_cast<int>(left * 1000) + 1);

    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_signo != SIGCHLD) interrupted(static_cast<int>(info.ssi_signo));
    }
    for (auto& session : sessions_) {
      std::vector<Event> events;
      session->pump(events);
      for (const Event& event : events) take(*session, event);
    }
  }

  // Hosts may still send what they recorded when all ranks have ended in time.
  double timeout_at() const {
    const bool over = started_ && std::all_of(end_.ranks.begin(), end_.ranks.end(),
                                              [](const RankEnd& rank) { return rank.ended(); });
    return settings_.timeout_s > 0 && !ending_ && !over ? settings_.timeout_s : kNeverS;
  }

  void keep_time() {
    const double now = elapsed();
    if (!started_ && !ending_ && now >= connect_by_) {
      fail_host(cat("not every host answered within ", kHostConnectS, " s"), kJobFailed);
    }
    if (now >= timeout_at()) {
      end_.how = JobEnd::How::timed_out;
      for (const RankEnd& rank : end_.ranks) {
        if (!rank.ended()) end_.unfinished.push_back(rank.rank);
      }
      begin_ending(kJobFailed, 0);
    }
    if (now >= term_at_) {
      term_at_ = kNeverS;
      signal_all(SIGTERM);
      kill_at_ = std::min(kill_at_, now + kTermToKillS);
    }
    if (now >= kill_at_) {
      kill_at_ = kNeverS;
      signal_all(SIGKILL);
      give_up_at_ = now + kHostEndS;
    }
  }

  void signal_all(int number) {
    for (auto& session : sessions_) session->signal(number);
  }

  // The job is over; the ranks get `grace` to say what they saw before they are told to end.
  void begin_ending(int code, double grace) {
    if (ending_) return;
    ending_ = true;
    end_.exit_code = code;
    term_at_ = elapsed() + grace;
  }

  void interrupted(int number) {
    if (end_.how == JobEnd::How::interrupted) {
      kill_at_ = elapsed();
      return;
    }
    ending_ = true;
    end_.how = JobEnd::How::interrupted;
    end_.signal = number;
    end_.exit_code = kSignalBase + number;
    term_at_ = kNeverS;
    kill_at_ = elapsed() + settings_.grace_s;
    signal_all(number == SIGHUP ? SIGTERM : number);
  }

  void fail_host(const std::string& why, int code) {
    if (end_.how == JobEnd::How::succeeded) end_.how = JobEnd::How::failed;
    if (end_.host_trouble.empty()) end_.host_trouble = why;
    begin_ending(code, settings_.grace_s);
  }

  void rank_failed(int rank, int code) {
    if (end_.how == JobEnd::How::succeeded) {
      end_.how = JobEnd::How::failed;
      end_.first = rank;
    }
    begin_ending(code, settings_.grace_s);
  }

  void take(const HostSession& session, const Event& event) {
    if (event.rank >= settings_.job.size) return;
    RankEnd* rank = event.rank < 0 ? nullptr : &end_.ranks[static_cast<std::size_t>(event.rank)];
    switch (event.kind) {
      case Event::Kind::ready:
        ++ready_;
        if (!event.text.empty()) address_ = event.text;
        break;
      case Event::Kind::note:
        output_.note(session.host(), event.text);
        break;
      case Event::Kind::host_failed:
        fail_host(cat("host ", session.host(), ": ", event.text), static_cast<int>(event.value));
        break;
      case Event::Kind::out:
      case Event::Kind::err:
        output_.add(event.rank, event.kind == Event::Kind::err, event.text);
        break;
      case Event::Kind::part:
        keep_part(settings_.job, event.rank, event.text);
        break;
      case Event::Kind::started:
        if (rank != nullptr) rank->pid = event.value;
        break;
      case Event::Kind::not_started:
        if (rank == nullptr) break;
        rank->trouble = event.text;
        rank_failed(event.rank, kMachineLacks);
        break;
      case Event::Kind::exited:
        if (rank != nullptr && !rank->ended()) take_exit(*rank, static_cast<int>(event.value));
        break;
    }
  }

  void take_exit(RankEnd& rank, int status) {
    rank.duration_s = elapsed() - started_at_;
    if (WIFSIGNALED(status)) {
      rank.signal = WTERMSIG(status);
    } else {
      rank.exit_code = WEXITSTATUS(status);
    }
    if (rank.failed()) rank_failed(rank.rank, kJobFailed);
  }

  JobEnd finish() {
    output_.finish();
    // All at once, so that they end side by side.
    for (auto& session : sessions_) session->hang_up();
    sessions_.clear();
    end_.duration_s = elapsed();
    if (end_.first >= 0) end_.last_lines = output_.last_lines(end_.first);
    return std::move(end_);
  }

  const RunSettings& settings_;
  SteadyClock clock_;
  Output output_;
  Time began_;
  JobEnd end_;
  std::vector<std::unique_ptr<HostSession>> sessions_;
  Fd signals_;
  sigset_t old_mask_{};
  std::string address_;
  std::size_t ready_ = 0;
  bool started_ = false, ending_ = false;
  double started_at_ = 0, connect_by_ = kNeverS, term_at_ = kNeverS, kill_at_ = kNeverS,
         give_up_at_ = kNeverS;
};

}  // namespace

JobEnd run_job(const RunSettings& settings, const rendezvous::JobKey& key) {
  return Launcher(settings, key).run();
}

}  // namespace unisono::tools

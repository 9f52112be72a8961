// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/hosts/visit.hpp"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <memory>
#include <utility>

#include "base/data/text.hpp"
#include "processes/interrupt.hpp"
#include "processes/child.hpp"
#include "doctor/hosts/shell_end.hpp"

namespace unisono::tools {
namespace {

// A doctor takes two seconds, or twenty where Python and name servers do not answer.
constexpr double kReportS = 45;
constexpr double kHelloS = 15, kClockS = 2, kWayS = 2;
constexpr int kConnectS = 5, kClockSamples = 8;

std::int64_t wall_now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::vector<std::string> doctor_there(const ShellSettings& settings, const std::string& host,
                                      std::vector<std::string> words) {
  words.insert(words.begin(), "doctor");
  return remote_command(settings, host, words, kConnectS);
}

Time after_s(double seconds) {
  return SteadyClock().now() + seconds_to_nanos(seconds);
}

// A conversation with the serving doctor of one host.
class Conversation {
 public:
  Conversation(Child child, const Tick& tick) : child_(std::move(child)), tick_(tick) {}

  // The first line for which take() returns true; other lines are dropped.
  bool hear(double limit_s, const std::function<bool(const std::string&)>& take) {
    Child* const all[] = {&child_};
    bool taken = false;
    const auto look = [&] {
      while (!taken) {
        const auto line = child_.take_line();
        if (!line) break;
        taken = take(*line);
      }
      return taken || child_.ended();
    };
    pump_until(all, after_s(limit_s), look, tick_);
    return taken;
  }
  void say(std::string_view text) { child_.send(text); }
  ShellEnd how_it_ended(double waited_s) const {
    return {child_.ended(), child_.exit_code(), child_.err(), waited_s};
  }

 private:
  Child child_;
  const Tick& tick_;
};

std::optional<Skew> ask_for_skew(Conversation& doctor) {
  std::vector<ClockSample> samples;
  for (int i = 0; i < kClockSamples; ++i) {
    ClockSample sample;
    sample.asked_ns = wall_now_ns();
    doctor.say("clock\n");
    const bool heard = doctor.hear(kClockS, [&](const std::string& line) {
      constexpr std::string_view kWord = "clock ";
      sample.answered_ns = wall_now_ns();
      if (!line.starts_with(kWord)) return false;
      const char* end = line.data() + line.size();
      return std::from_chars(line.data() + kWord.size(), end, sample.theirs_ns).ptr == end;
    });
    if (!heard) break;
    samples.push_back(sample);
  }
  return skew_of(samples);
}

// The way to a host whose doctor has answered.
void try_the_way(const DoctorSettings& settings, const Tick& tick, Visit& visit) {
  auto child = Child::run(doctor_there(settings.shell, visit.host, {"--serve"}));
  if (!child) {
    visit.findings.push_back(lacking("reach", child.status().message(), "end other programs"));
    visit.findings.back().host = visit.host;
    return;
  }
  Conversation doctor(std::move(child).value(), tick);
  const rendezvous::JobKey key = rendezvous::make_job_key();
  doctor.say(key_line(key));
  std::optional<std::vector<std::string>> addresses;
  if (!doctor.hear(kHelloS, [&](const std::string& line) {
        addresses = parse_serve_hello(line);
        return addresses.has_value();
      })) {
    visit.findings.push_back(
        judge_shell_end(settings.shell, visit.host, doctor.how_it_ended(kHelloS)));
    return;
  }
  visit.skew = ask_for_skew(doctor);
  visit.addresses = reach_servers(*addresses, key, after_s(kWayS));
  visit.findings.push_back(judge_way(visit.host, visit.addresses));
  const auto open = std::find_if(visit.addresses.begin(), visit.addresses.end(),
                                 [](const Reached& each) { return each.socket.valid(); });
  if (open != visit.addresses.end()) {
    const auto measured = measure_traffic(open->socket);
    if (measured) visit.traffic = measured.value();
    visit.findings.push_back(judge_way_speed(visit.host, measured));
  }
  if (visit.skew) visit.findings.push_back(judge_skew(visit.host, *visit.skew));
  for (Reached& each : visit.addresses) each.socket.reset();
}

// Takes what the doctor of a host has said, or the reason why it said nothing.
void take_report(const DoctorSettings& settings, const Child& child, Visit& visit) {
  auto report = parse_remote_report(child.out());
  if (!report) {
    visit.findings.push_back(judge_shell_end(
        settings.shell, visit.host, {child.ended(), child.exit_code(), child.err(), kReportS}));
    return;
  }
  for (Finding finding : report->findings) {
    if (finding.mark == Mark::ok) continue;
    finding.host = visit.host;
    visit.findings.push_back(std::move(finding));
  }
  visit.report = std::move(*report);
}

void ask_for_reports(const DoctorSettings& settings, const Tick& tick, std::vector<Visit>& visits) {
  std::vector<std::unique_ptr<Child>> shells;
  std::vector<Child*> running;
  for (Visit& visit : visits) {
    auto child = Child::run(doctor_there(settings.shell, visit.host, {"--json", "-"}));
    shells.push_back(child ? std::make_unique<Child>(std::move(child).value()) : nullptr);
    if (shells.back() == nullptr) {
      visit.findings.push_back(lacking("reach", child.status().message(), "end other programs"));
      visit.findings.back().host = visit.host;
      continue;
    }
    shells.back()->close_input();
    running.push_back(shells.back().get());
  }
  pump_until(
      running, after_s(kReportS),
      [&] {
        return std::all_of(running.begin(), running.end(),
                           [](Child* each) { return each->ended(); });
      },
      tick);
  for (std::size_t i = 0; i < visits.size(); ++i) {
    if (shells[i] != nullptr) take_report(settings, *shells[i], visits[i]);
  }
}

}  // namespace

std::vector<Visit> visit_hosts(const DoctorSettings& settings, const Progress& progress) {
  std::vector<Visit> visits(settings.hosts.size());
  if (visits.empty() || interrupted() != 0) return {};
  for (std::size_t i = 0; i < visits.size(); ++i) visits[i].host = settings.hosts[i];
  std::string doing = visits.size() == 1 ? cat("the doctor of ", visits[0].host)
                                         : cat("the doctors of ", visits.size(), " hosts");
  double done = 0;
  const Tick tick = [&] { progress(done, doing); };
  ask_for_reports(settings, tick, visits);
  for (std::size_t i = 0; i < visits.size() && interrupted() == 0; ++i) {
    done = 0.5 + 0.5 * static_cast<double>(i) / static_cast<double>(visits.size());
    doing = cat("the way to ", visits[i].host);
    tick();
    if (visits[i].report) try_the_way(settings, tick, visits[i]);
  }
  return visits;
}

}  // namespace unisono::tools

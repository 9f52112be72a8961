// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/run.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "order/topo/plan.hpp"
#include "sim/timeline/arranger.hpp"
#include "sim/virtual_time.hpp"

namespace unisono::sim {
namespace {

// A step counts as a hang when it lasts this many times its compute, and at least kPatienceNs.
constexpr std::int64_t kPatienceSteps = 200;
constexpr std::uint32_t kRunsInVainMax = 10'000;

// Rare things, as often as they happen to all that a rank stands for; tensors as they are submitted.
SimSettings standing_for(SimSettings s) {
  s.host.stall_probability = std::min(1.0, s.host.stall_probability * s.stands_for);
  s.host.oversleep_probability = std::min(1.0, s.host.oversleep_probability * s.stands_for);
  s.host.displaced_per_ms *= s.stands_for;
  s.workload = as_submitted(s.workload, s.planner);
  return s;
}

int ranks_stood_for(const SimSettings& s) {
  return std::max(s.ranks, static_cast<int>(s.ranks * s.stands_for + 0.5));
}

}  // namespace

Run::Run(const SimSettings& settings, const Progress& progress)
    : settings_(standing_for(settings)),
      progress_(progress),
      spinning_(order::find_pacing(settings.pacing)->spins),
      plans_(plans_ahead(settings.order) || in_one_order(settings.order)),
      compute_ns_(to_ns(settings.workload.compute_us)),
      slack_ns_(to_ns(settings.host.slack_us)),
      warm_up_(steps_of(settings) - settings.iterations),
      planner_(plan::make_planner(settings.planner, {.fusion_bytes = settings.fusion_bytes})),
      channel_(settings_.network, settings.ranks, ranks_stood_for(settings),
               settings.host.ranks_per_host, *planner_),
      wires_(settings_.network, settings_.faults, settings.ranks, settings.host.ranks_per_host,
             spread_seed(settings.seed), events_, kArrival),
      metrics_(compute_ns_, warm_up_, settings.ranks),
      overslept_(settings.faults.oversleeps.size()) {
  set_window(compute_ns_);
  make_requests();
  make_ranks();
}

void Run::set_window(std::int64_t step_ns) {
  window_ns_ = static_cast<std::int64_t>(settings_.host.window * static_cast<double>(step_ns));
}

void Run::make_requests() {
  const auto count = settings_.workload.tensors.size();
  const auto groups = std::min(static_cast<std::size_t>(std::max(settings_.groups, 0)), count);
  for (std::size_t i = 0; i < count; ++i) {
    const WorkloadTensor& tensor = settings_.workload.tensors[i];
    ready_ns_.push_back(to_ns(tensor.ready_us));
    Request& request = requests_.emplace_back();
    request.name = tensor.name;
    request.dtype = tensor.bytes % 4 == 0 ? DType::f32 : DType::u8;
    request.shape = {tensor.bytes / static_cast<std::int64_t>(size_of(request.dtype))};
    request.priority = tensor.priority;
    if (request.dtype == DType::f32 && settings_.plan_codecs != "none") {
      request.plan_codecs = settings_.plan_codecs;
    }
    if (groups == 0) continue;
    const std::size_t group = i * groups / count;
    const auto first = [&](std::size_t g) { return (g * count + groups - 1) / groups; };
    request.group = cat("group", group);
    request.group_size = static_cast<std::uint32_t>(first(group + 1) - first(group));
  }
}

void Run::make_ranks() {
  std::vector<Rank> all(static_cast<std::size_t>(settings_.ranks));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Rank>(i);
  const RankList shared(std::move(all));
  order::OrderSettings tuning = settings_.tuning;
  tuning.cache_pool = &pool_;
  tuning.request_pool = &requests_pool_;
  tuning.topo_pool = std::make_shared<order::TopoPool>();
  if (plans_) tuning.arranger = make_sim_arranger(settings_, ranks_stood_for(settings_));
  tuning.pacing = "event";
  order::OrderSettings paced = tuning;
  paced.pacing = settings_.pacing;
  ranks_.resize(static_cast<std::size_t>(settings_.ranks));
  Rng seeds(settings_.seed);
  for (int i = 0; i < settings_.ranks; ++i) {
    VirtualRank& r = ranks_[static_cast<std::size_t>(i)];
    r.rng = Rng(seeds());
    r.order = order::make_order(settings_.order, Members::of(shared, i), tuning);
    if (settings_.pacing == "event") continue;
    auto lockstep = order::make_lockstep(std::move(r.order), Members::of(shared, i), paced);
    r.lockstep = lockstep.get();
    r.order = std::move(lockstep);
  }
  alive_ = settings_.ranks;
  for (const Straggler& s : settings_.faults.stragglers) {
    ranks_[static_cast<std::size_t>(s.rank)].slowness = static_cast<float>(s.factor);
  }
}

SimResult Run::play() {
  for (const Kill& kill : settings_.faults.kills) {
    events_.push(kBeginNs + to_ns(kill.at_ms * 1e3), kDeath,
                 static_cast<std::uint32_t>(kill.rank), 0);
  }
  for (int i = 0; i < settings_.ranks; ++i) run_at(i, kBeginNs);
  begin_step(kBeginNs);
  const int wanted = warm_up_ + settings_.iterations;
  const std::int64_t patience = std::max(kPatienceSteps * compute_ns_, kPatienceNs);
  std::int64_t now = kBeginNs;
  SimResult result;
  while (metrics_.steps() < wanted && failure_.ok()) {
    if (events_.empty()) {
      fail(Status(Code::internal, "nothing can happen any more: the ranks wait for each other"));
      break;
    }
    const Event event = events_.pop();
    fetch_ahead();
    now = event.at_ns;
    ++result.events;
    digest_ = mix(digest_, mix(static_cast<std::uint64_t>(event.at_ns),
                               std::uint64_t{event.actor} << 8 | event.kind()));
    handle(event);
    if (now - moved_ns_ > patience) {
      fail(Status(Code::timed_out, cat("no step ended for ", (now - moved_ns_) / 1'000'000,
                                     " ms; ", tensors_left_, " tensors were outstanding")));
    }
    if (progress_ && result.events % 65536 == 0) show(now);
  }
  metrics_.summarise(result);
  result.failure = failure_;
  result.digest = digest_;
  result.virtual_ms = static_cast<double>(now - kBeginNs) * 1e-6;
  result.rounds = std::move(rounds_);
  return result;
}

// With thousands of ranks none of what an event touches is in a cache: what the next ones will touch
// is on its way while this one is handled.
void Run::fetch_ahead() const {
  const std::span<const Event> soon = events_.soon();
  for (std::size_t i = 1; i < soon.size(); ++i) {
    const auto* rank = reinterpret_cast<const char*>(&ranks_[soon[i].actor]);
    __builtin_prefetch(rank);
    __builtin_prefetch(rank + 64);
    __builtin_prefetch(rank + 128);
  }
  if (soon.empty()) return;
  const auto* order = reinterpret_cast<const char*>(ranks_[soon.front().actor].order.get());
  for (int line = 0; line < 6; ++line) __builtin_prefetch(order + 64 * line);
}

void Run::show(std::int64_t now) {
  const std::int64_t begun = now - ranks_.front().step_begin_ns;
  const double share = static_cast<double>(begun) / (1.5 * static_cast<double>(compute_ns_));
  progress_((metrics_.steps() + std::min(0.9, share)) / (warm_up_ + settings_.iterations));
}

void Run::handle(const Event& event) {
  const int rank = static_cast<int>(event.actor);
  if (event.kind() == kBucket) return bucket(event.at_ns);
  if (event.kind() == kLost) return lost(rank, event.at_ns);
  VirtualRank& r = ranks_[event.actor];
  if (event.kind() == kArrival) return arrival(event);
  if (!r.alive) return;
  switch (event.kind()) {
    case kSubmit: return submit(rank, event.at_ns);
    case kEngine:
      if (r.engine_at_ns == event.at_ns) engine(rank, event.at_ns);
      return;
    case kTimer:
      if (r.timer_due_ns != event.at_ns) return;
      r.timer_ns = r.timer_due_ns = -1;
      engine(rank, event.at_ns);
      return;
    case kDeath:
      r.alive = false;
      --alive_;
      events_.push(event.at_ns + to_ns(settings_.faults.detect_ms * 1e3), kLost, event.actor, 0);
      return;
    default: return;
  }
}

void Run::begin_step(std::int64_t now) {
  moved_ns_ = now;
  metrics_.begin_step(now);
  computing_ = settings_.ranks;
  tensors_left_ = static_cast<int>(requests_.size());
  for (int i = 0; i < settings_.ranks; ++i) {
    VirtualRank& r = ranks_[static_cast<std::size_t>(i)];
    if (!r.alive) continue;
    // The noise depends on rank and measured step alone, so that everything that is compared under
    // one seed sees the same noise.
    Rng noise(mix(mix(spread_seed(settings_.seed), static_cast<std::uint64_t>(i)),
                  static_cast<std::uint64_t>(metrics_.steps() - warm_up_)));
    r.noise = step_noise(settings_.host, noise);
    r.step_begin_ns = now;
    r.lost_ns = 0;
    r.compute_end_ns = 0;
    r.next_tensor = 0;
    events_.push(r.due(ready_ns_.front(), compute_ns_, slack_ns_), kSubmit, static_cast<std::uint32_t>(i), 0);
  }
}

// Neighbouring tensors change places on some ranks in some steps: frameworks run independent
// operations in any order.
std::uint32_t Run::tensor_at(int rank, std::uint32_t position) const {
  const auto count = static_cast<std::uint32_t>(requests_.size());
  const std::uint32_t first = position & ~1u;
  if (!settings_.shuffle || first + 1 >= count) return position;
  const auto step = static_cast<std::uint64_t>(metrics_.steps());
  const int who = in_one_order(settings_.order) ? 0 : rank;
  const std::uint64_t coin = mix(mix(spread_seed(settings_.seed), step),
                                 std::uint64_t{first} << 32 | static_cast<std::uint32_t>(who));
  return (coin >> 40 & 1) != 0 ? first + (position - first == 0 ? 1 : 0) : position;
}

void Run::submit(int rank, std::int64_t now) {
  VirtualRank& r = ranks_[static_cast<std::size_t>(rank)];
  metrics_.spun(r.charge_spinning(now, window_end(r), settings_.host));
  const auto count = static_cast<std::uint32_t>(requests_.size());
  bool any = false;
  for (; r.next_tensor < count && r.due(ready_ns_[r.next_tensor], compute_ns_, slack_ns_) <= now; any = true) {
    metrics_.submitted(now);
    r.order->submit(requests_[tensor_at(rank, r.next_tensor++)], Time{now});
  }
  if (r.next_tensor < count) {
    events_.push(r.due(ready_ns_[r.next_tensor], compute_ns_, slack_ns_), kSubmit,
                 static_cast<std::uint32_t>(rank), 0);
  } else {
    r.compute_end_ns = now;
    if (--computing_ == 0) metrics_.compute_done(now);
  }
  if (any) wake(rank, now);
}

void Run::arrival(const Event& event) {
  parcels_.clear();
  wires_.arrive(event, parcels_);
  VirtualRank& r = ranks_[event.actor];
  if (!r.alive) return;
  for (Parcel& parcel : parcels_) {
    const double work_us = settings_.network.overhead_us +
                           1e-3 * settings_.host.parse_ns_per_byte *
                               static_cast<double>(parcel.bytes.size());
    r.engine_free_ns = std::max(r.engine_free_ns, event.at_ns) + to_ns(work_us);
    r.inbox.push_back(std::move(parcel));
    wake(static_cast<int>(event.actor), event.at_ns);
  }
}

// Something came for the thread. If it spins or works already, it notices when it gets there.
void Run::wake(int rank, std::int64_t now) {
  VirtualRank& r = ranks_[static_cast<std::size_t>(rank)];
  if (r.engine_at_ns >= 0) return;
  // Its sleep is over, but it has no core yet: until then it notices nothing.
  if (r.timer_ns >= 0 && now >= r.timer_ns) return;
  const bool awake = r.spin_from_ns >= 0 || r.engine_free_ns > now;
  run_at(rank, std::max(r.engine_free_ns, now) + (awake ? 0 : to_ns(settings_.host.wake_us)));
}

void Run::run_at(int rank, std::int64_t at) {
  ranks_[static_cast<std::size_t>(rank)].engine_at_ns = at;
  events_.push(at, kEngine, static_cast<std::uint32_t>(rank), 0);
}

// How late the thread wakes from a sleep that ends at `deadline`.
std::int64_t Run::lateness(int rank, VirtualRank& r, std::int64_t deadline) {
  double share = 0;
  if (spinning_) {
    share = std::min(1.0, static_cast<double>(r.lockstep->last_round().count()) /
                              static_cast<double>(settings_.tuning.cycle.count()));
  }
  const bool in_window = r.compute_end_ns == 0 && deadline < window_end(r);
  std::int64_t late = oversleep_ns(settings_.host, r.rng, share, in_window);
  for (std::size_t i = 0; i < overslept_.size(); ++i) {
    const Oversleep& once = settings_.faults.oversleeps[i];
    if (overslept_[i] || once.rank != rank) continue;
    if (deadline < kBeginNs + to_ns(once.at_ms * 1e3)) continue;
    overslept_[i] = true;
    late = to_ns(once.late_ms * 1e3);
  }
  return late;
}

void Run::engine(int rank, std::int64_t now) {
  VirtualRank& r = ranks_[static_cast<std::size_t>(rank)];
  r.engine_at_ns = -1;                  // an engine event that is still queued finds nothing to do
  if (r.engine_free_ns > now) return run_at(rank, r.engine_free_ns);
  const std::uint64_t rounds = r.lockstep != nullptr ? r.lockstep->rounds() : 0;
  out_.messages.clear();
  out_.responses.clear();
  out_.stalls.clear();
  // Decodes only now: a decoded message takes many times its bytes, and thousands may wait.
  for (const Parcel& parcel : r.inbox) {
    const Status status = r.order->receive(parcel.from, parcel.bytes, Time{now});
    if (!status.ok()) fail(status);
  }
  r.inbox.clear();
  r.order->negotiate(Time{now}, out_);
  r.in_vain = out_.messages.empty() && out_.responses.empty() ? r.in_vain + 1 : 0;
  std::int64_t free = now + to_ns(settings_.host.negotiate_us);
  for (order::OrderMessage& message : out_.messages) {
    metrics_.message(message.bytes.size());
    free = wires_.send(free, rank, message.to, std::move(message.bytes));
  }
  r.engine_free_ns = free;
  note_spinning(r, now);
  note_round(rank, r, rounds);
  if (!out_.responses.empty()) give_out(rank, r, now);
  set_timer(rank, r, now);
}

void Run::note_spinning(VirtualRank& r, std::int64_t now) {
  if (!spinning_) return;
  metrics_.spun(r.charge_spinning(now, window_end(r), settings_.host));
  const bool spins = r.lockstep->blocking();
  if (spins && r.spin_from_ns < 0) r.spin_from_ns = now;
  if (!spins) r.spin_from_ns = -1;
}

void Run::note_round(int rank, VirtualRank& r, std::uint64_t before) {
  if (!settings_.keep_rounds || r.lockstep == nullptr || r.lockstep->rounds() == before) return;
  const double took = static_cast<double>(r.lockstep->last_round().count()) * 1e-6;
  const double begun = static_cast<double>(r.lockstep->last_begin().ns - kBeginNs) * 1e-6;
  rounds_.push_back({rank, begun, took});
}

void Run::set_timer(int rank, VirtualRank& r, std::int64_t now) {
  const Time deadline = r.order->deadline();
  if (deadline <= Time{now}) {
    UNISONO_CHECK(r.in_vain < kRunsInVainMax);  // an order that is due must do something
    if (r.engine_at_ns < 0) run_at(rank, std::max(r.engine_free_ns, now));
  } else if (deadline != kNever && deadline.ns != r.timer_ns) {
    r.timer_ns = deadline.ns;
    r.timer_due_ns = deadline.ns + lateness(rank, r, deadline.ns);
    events_.push(r.timer_due_ns, kTimer, static_cast<std::uint32_t>(rank), 0);
  }
}

void Run::give_out(int rank, VirtualRank& r, std::int64_t now) {
  for (const Response& response : out_.responses) {
    if (response.error.ok() || r.failed) continue;
    r.failed = true;
    if (++told_ < alive_) continue;
    fail(response.error);
  }
  if (r.failed) return;
  if (r.compute_end_ns != 0 && r.given_out == channel_.ended()) {
    metrics_.idle(now - std::max(r.compute_end_ns, channel_.last_end_ns()));
  }
  auto buckets = channel_.give_out(out_.responses, now);
  if (!buckets.ok()) return fail(Status(Code::internal, cat("rank ", rank, ": ",
                                                            buckets.status().message())));
  r.given_out += static_cast<std::uint64_t>(buckets.value());
  metrics_.agreed(now);
  start_bucket(now);
  check_data_plane();
}

void Run::lost(int rank, std::int64_t now) {
  for (int i = 0; i < settings_.ranks; ++i) {
    VirtualRank& r = ranks_[static_cast<std::size_t>(i)];
    if (!r.alive) continue;
    r.order->member_left(rank, Time{now});
    wake(i, now);
  }
  dead_ = rank;
  check_data_plane();
}

// Names that are not agreed on yet fail through the order. A bucket that was already given out, or
// was planned, waits for the dead rank's part; there the transport reports the failure.
void Run::check_data_plane() {
  if (dead_ < 0 || !channel_.waits()) return;
  fail(Status(Code::peer_lost, cat("rank ", dead_, " died with its part of a bucket missing"),
              Culprit{.rank = dead_}));
}

}  // namespace unisono::sim

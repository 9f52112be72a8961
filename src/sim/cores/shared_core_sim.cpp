// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/cores/shared_core_sim.hpp"

#include <algorithm>
#include <numeric>

#include "base/data/text.hpp"
#include "base/waiting.hpp"
#include "order/topo/plan.hpp"
#include "sim/timeline/arranger.hpp"
#include "sim/virtual_time.hpp"

namespace unisono::sim {

SharedCoreSim::SharedCoreSim(const SimSettings& settings, const Progress& progress)
    : settings_(settings), progress_(progress),
      warm_up_(settings.warm_up >= 0 ? settings.warm_up : 2 * settings.tuning.learn_steps + 4),
      planner_(plan::make_planner(settings.planner, {.fusion_bytes = settings.fusion_bytes})),
      wires_(settings.network, settings.faults, settings.ranks, settings.host.ranks_per_host,
             spread_seed(settings.seed), events_, kArrival),
      metrics_(to_ns(settings.workload.compute_us), warm_up_, settings.ranks) {
  make_members();
}

void SharedCoreSim::make_members() {
  for (const WorkloadTensor& tensor : settings_.workload.tensors) {
    Request& request = requests_.emplace_back();
    request.name = tensor.name;
    request.dtype = tensor.bytes % 4 == 0 ? DType::f32 : DType::u8;
    request.shape = {tensor.bytes / static_cast<std::int64_t>(size_of(request.dtype))};
  }
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    index_[requests_[i].name] = static_cast<std::uint32_t>(i);
  }
  const auto count = static_cast<std::size_t>(settings_.ranks);
  std::vector<Rank> all(count);
  std::iota(all.begin(), all.end(), 0);
  const RankList shared(std::move(all));
  order::OrderSettings tuning = settings_.tuning;
  tuning.cache_pool = &pool_;
  tuning.topo_pool = std::make_shared<order::TopoPool>();
  if (plans_ahead(settings_.order)) {
    tuning.arranger = make_sim_arranger(settings_, settings_.ranks);
  }
  tuning.pacing = "event";
  members_.resize(count);
  threads_.resize(2 * count);
  for (int i = 0; i < settings_.ranks; ++i) {
    members_[static_cast<std::size_t>(i)].order =
        order::make_order(settings_.order, Members::of(shared, i), tuning);
  }
  const int hosts = (settings_.ranks - 1) / settings_.host.ranks_per_host + 1;
  for (int i = 0; i < hosts; ++i) {
    cores_.emplace_back(settings_.host.shared_cores, to_ns(settings_.host.slice_us));
  }
}

SimResult SharedCoreSim::play() {
  SimResult result;
  behind_ = settings_.ranks;
  metrics_.begin_step(kBeginNs);
  for (int i = 0; i < settings_.ranks; ++i) {
    begin_step(i, kBeginNs);
    ring(2 * i, kBeginNs);
  }
  const int wanted = warm_up_ + settings_.iterations;
  std::int64_t now = kBeginNs, moved = kBeginNs;
  int steps = 0;
  while (metrics_.steps() < wanted && failure_.ok()) {
    if (events_.empty() || now - moved > kPatienceNs) {
      failure_ = Status(Code::internal, "the ranks wait for each other");
      break;
    }
    const Event event = events_.pop();
    now = event.at_ns;
    ++result.events;
    digest_ = mix(digest_, mix(static_cast<std::uint64_t>(now),
                               std::uint64_t{event.actor} << 8 | event.kind()));
    switch (event.kind()) {
      case kTurn: turn(static_cast<int>(event.actor), now); break;
      case kWake: ring(static_cast<int>(event.actor), now); break;
      default: {
        Member& m = members_[event.actor];
        wires_.arrive(event, m.inbox);
        m.negotiate = true;
        // While a thread drives the engine, the bell is not armed: that thread looks again.
        const std::size_t thread = 2 * event.actor + 1;
        if (!driven(m, now) || threads_[thread].state != State::asleep) {
          ring(static_cast<int>(thread), now);
        }
      }
    }
    if (metrics_.steps() == steps) continue;
    steps = metrics_.steps();
    moved = now;
    if (progress_) progress_(static_cast<double>(steps) / wanted);
  }
  metrics_.summarise(result);
  result.failure = failure_;
  result.digest = digest_;
  result.virtual_ms = static_cast<double>(now - kBeginNs) * 1e-6;
  return result;
}

// Every rank submits its tensors in an order of its own in every step.
void SharedCoreSim::begin_step(int rank, std::int64_t now) {
  Member& m = members_[static_cast<std::size_t>(rank)];
  m.turns.resize(requests_.size());
  std::iota(m.turns.begin(), m.turns.end(), 0u);
  if (settings_.shuffle) {
    Rng rng(mix(mix(spread_seed(settings_.seed), static_cast<std::uint64_t>(rank)),
                static_cast<std::uint64_t>(m.steps)));
    rng.shuffle(m.turns);
  }
  m.done.assign(requests_.size(), false);
  m.submitted = m.waited = 0;
  m.first_submit_ns = now;
  m.quiet_since_ns = -1;
}

// Wakes the thread, because there is something for it to do.
void SharedCoreSim::ring(int thread, std::int64_t now) {
  Thread& t = threads_[static_cast<std::size_t>(thread)];
  if (t.state != State::asleep) {
    t.rung = true;
    return;
  }
  t.state = State::queued;
  if (cores_of(thread).take(thread)) give_core(thread, now + to_ns(settings_.host.wake_us));
}

void SharedCoreSim::give_core(int thread, std::int64_t now) {
  Thread& t = threads_[static_cast<std::size_t>(thread)];
  t.state = State::running;
  t.rung = false;
  t.next = Next::work;
  t.since_ns = now;
  events_.push(now + to_ns(settings_.host.switch_us), kTurn, static_cast<std::uint32_t>(thread), 0);
}

void SharedCoreSim::turn(int thread, std::int64_t now) {
  Thread& t = threads_[static_cast<std::size_t>(thread)];
  Cores& cores = cores_of(thread);
  if (t.next == Next::sleep && !t.rung) {
    t.state = State::asleep;
    if (const int next = cores.leave(); next >= 0) give_core(next, now);
    return;
  }
  const bool goes = t.next == Next::yield ? !cores.anyone_waits()
                                          : cores.may_go_on(t.since_ns, now);
  if (!goes) {
    t.state = State::queued;
    return give_core(cores.give_way(thread), now);
  }
  t.rung = false;
  t.next = Next::work;
  const std::int64_t cost =
      thread % 2 == 0 ? application(thread / 2, now) : engine(thread / 2, now);
  events_.push(now + std::max<std::int64_t>(cost, 100), kTurn,
               static_cast<std::uint32_t>(thread), 0);
}

std::int64_t SharedCoreSim::application(int rank, std::int64_t now) {
  Member& m = members_[static_cast<std::size_t>(rank)];
  const HostModel& host = settings_.host;
  const bool free = m.waits || !driven(m, now);
  if (m.submitted < m.turns.size()) {
    if (m.submitted == 0) {
      m.first_submit_ns = now;
      metrics_.submitted(now);
    }
    m.order->submit(requests_[m.turns[m.submitted++]], Time{now});
    m.negotiate = true;
    std::int64_t cost = to_ns(host.submit_us);
    if (!free) {
      ring(2 * rank + 1, now);          // it is awake and sees what came
    } else {
      m.driven_until_ns = now + cost;
      cost += pass(rank, now + cost, true);
      m.driven_until_ns = now + cost;
      if (has_work(m)) {
        cost += to_ns(host.ring_us);
        events_.push(now + cost, kWake, static_cast<std::uint32_t>(2 * rank + 1), 0);
      }
    }
    return cost;
  }
  while (m.waited < m.turns.size() && m.done[m.turns[m.waited]]) ++m.waited;
  if (m.waited == m.turns.size()) {
    rank_done(rank, now);
    return to_ns(host.step_us);
  }
  m.waits = free;                       // it drives until it sleeps, also while it has no core
  const std::int64_t worked = free ? pass(rank, now, false) : 0;
  if (worked > 0) {
    m.quiet_since_ns = -1;
    return worked;
  }
  if (m.quiet_since_ns < 0) m.quiet_since_ns = now;
  const bool crowded = std::min(host.ranks_per_host, settings_.ranks) > host.shared_cores;
  Thread& t = application_of(rank);
  if (now - m.quiet_since_ns < (crowded ? kYieldFor.count() : kSpinFor.count())) {
    t.next = crowded ? Next::yield : Next::work;
  } else {
    m.quiet_since_ns = -1;
    m.waits = false;
    t.next = Next::sleep;
  }
  return to_ns(host.look_us);
}

std::int64_t SharedCoreSim::engine(int rank, std::int64_t now) {
  Member& m = members_[static_cast<std::size_t>(rank)];
  Thread& t = threads_[static_cast<std::size_t>(2 * rank + 1)];
  // Another thread drives the engine; it rings when work is left at its end.
  if (driven(m, now)) {
    t.next = Next::sleep;
    return to_ns(settings_.host.look_us);
  }
  const std::int64_t worked = pass(rank, now, false);
  if (worked == 0) t.next = Next::sleep;
  const std::int64_t cost = worked + to_ns(settings_.host.look_us);
  m.driven_until_ns = now + cost;
  return cost;
}

bool SharedCoreSim::has_work(const Member& m) const {
  if (m.negotiate) return true;
  if (m.joined < m.given && m.joined == m.ended) return true;
  return m.ended < m.joined && moving_[m.ended].joined == settings_.ranks;
}

std::int64_t SharedCoreSim::pass(int rank, std::int64_t now, bool light) {
  Member& m = members_[static_cast<std::size_t>(rank)];
  std::int64_t cost = 0;
  for (const Parcel& parcel : m.inbox) {
    cost += to_ns(settings_.network.overhead_us +
               1e-3 * settings_.host.parse_ns_per_byte * static_cast<double>(parcel.bytes.size()));
    const Status status = m.order->receive(parcel.from, parcel.bytes, Time{now});
    if (!status.ok() && failure_.ok()) failure_ = status;
  }
  m.inbox.clear();
  const bool burst = light && now - m.spoke_ns < kBurst.count();
  if (m.negotiate && !burst) cost += negotiate(rank, now + cost);
  return cost + move(rank, now + cost);
}

std::int64_t SharedCoreSim::negotiate(int rank, std::int64_t now) {
  Member& m = members_[static_cast<std::size_t>(rank)];
  out_.messages.clear();
  out_.responses.clear();
  out_.stalls.clear();
  m.order->negotiate(Time{now}, out_);
  m.negotiate = m.order->deadline() <= Time{now};  // negotiate() returns one round at a time
  std::int64_t free = now + to_ns(settings_.host.negotiate_us);
  for (order::OrderMessage& message : out_.messages) {
    metrics_.message(message.bytes.size());
    const auto to = static_cast<std::size_t>(message.to);
    if (threads_[2 * to + 1].state == State::asleep && !driven(members_[to], free)) {
      free += to_ns(settings_.host.ring_us);
    }
    free = wires_.send(free, rank, message.to, std::move(message.bytes));
  }
  if (!out_.messages.empty()) m.spoke_ns = now;
  if (out_.responses.empty()) return free - now;
  m.agreed_ns = now;
  metrics_.agreed(now);
  // The planner is pure, so the first rank to get here plans for all.
  const Plan plan = planner_->plan(std::move(out_.responses), m.given);
  for (const Bucket& bucket : plan.buckets) {
    if (m.given == moving_.size()) {
      Moving& next = moving_.emplace_back();
      for (const Response& response : bucket.responses) {
        if (!response.error.ok() && failure_.ok()) failure_ = response.error;
        for (const Request& tensor : response.tensors) {
          next.tensors.push_back(index_.at(tensor.name));
        }
      }
    }
    ++m.given;
  }
  return free - now;
}

// Joins the next bucket, or ends it once all ranks have joined.
std::int64_t SharedCoreSim::move(int rank, std::int64_t now) {
  Member& m = members_[static_cast<std::size_t>(rank)];
  const HostModel& host = settings_.host;
  std::int64_t cost = 0;
  while (true) {
    if (m.joined == m.ended && m.joined < m.given) {
      Moving& bucket = moving_[m.joined++];
      const auto tensors = static_cast<double>(bucket.tensors.size());
      cost += to_ns(host.bucket_us + host.tensor_us / 2 * tensors);
      if (++bucket.joined < settings_.ranks) return cost;
      for (int other = 0; other < settings_.ranks; ++other) {
        if (other == rank) continue;
        Thread& sleeper = threads_[static_cast<std::size_t>(2 * other + 1)];
        sleeper.rung = true;            // a thread that is about to sleep looks again
        application_of(other).rung = true;
        if (sleeper.state != State::asleep) continue;
        if (driven(members_[static_cast<std::size_t>(other)], now)) continue;
        cost += to_ns(host.ring_us);
        events_.push(now + cost, kWake, static_cast<std::uint32_t>(2 * other + 1), 0);
      }
    }
    if (m.ended == m.joined || moving_[m.ended].joined < settings_.ranks) return cost;
    Moving& bucket = moving_[m.ended++];
    cost += to_ns(host.bucket_us + host.tensor_us / 2 * static_cast<double>(bucket.tensors.size()));
    for (const std::uint32_t tensor : bucket.tensors) m.done[tensor] = true;
    if (++bucket.ended == settings_.ranks) bucket.tensors.shrink_to_fit();
    application_of(rank).rung = true;
    if (application_of(rank).state == State::asleep && m.done[m.turns[m.waited]]) {
      cost += to_ns(host.ring_us);
      events_.push(now + cost, kWake, static_cast<std::uint32_t>(2 * rank), 0);
    }
  }
}

void SharedCoreSim::rank_done(int rank, std::int64_t now) {
  Member& m = members_[static_cast<std::size_t>(rank)];
  metrics_.negotiated(m.steps, m.agreed_ns - m.first_submit_ns);
  ++m.steps;
  m.waits = false;
  begin_step(rank, now);
  if (--behind_ > 0) return;
  behind_ = settings_.ranks;
  metrics_.end_step(now);
  metrics_.begin_step(now);
}

}  // namespace unisono::sim

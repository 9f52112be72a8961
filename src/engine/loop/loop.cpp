// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/loop.hpp"

#include <algorithm>
#include <numeric>

#include "base/log.hpp"
#include "base/data/text.hpp"
#include "engine/control/control.hpp"

namespace unisono::engine {
namespace {
constexpr std::size_t kEarlyMax = 4096;

order::OrderSettings order_settings(SetId set, const Options& options) {
  order::OrderSettings settings;
  settings.set = set;
  settings.stall_warning = seconds_to_nanos(options.stall_warning_s);
  settings.stall_limit = seconds_to_nanos(options.stall_limit_s);
  settings.tree_radix = static_cast<int>(options.tree_radix);
  settings.cache_capacity = static_cast<std::size_t>(options.cache_capacity);
  settings.pacing = options.pacing;
  settings.cycle = seconds_to_nanos(options.cycle_ms * 1e-3);
  settings.gs_cycles = static_cast<int>(options.gs_cycles);
  settings.fuse_groups = options.fuse_groups;
  settings.topo_patience = seconds_to_nanos(options.topo_patience_s);
  return settings;
}

}  // namespace

Loop::Loop(LoopParts parts)
    : parts_(std::move(parts)),
      places_(static_cast<std::size_t>(parts_.shared.options->teams)),
      gone_(parts_.peers.size(), false),
      blame_(parts_.peers),
      stragglers_(parts_.peers.size()) {
  parts_.shared.planner = parts_.planner.get();
  parts_.shared.transport = parts_.transport.get();
  reserve_buffers();
  parts_.shared.pendings = &pendings_;
  parts_.shared.remembered = &remembered_;
  if (parts_.beats && parts_.transport->size() > 1) {
    next_beat_ = parts_.shared.clock->now() + seconds_to_nanos(parts_.shared.options->heartbeat_s);
  }
  open_world();
}

Loop::~Loop() {
  // Abandoned runs own memory that transfers point at: the transport goes first.
  parts_.transport.reset();
}

void Loop::open_world() {
  std::vector<Rank> everyone(static_cast<std::size_t>(parts_.transport->size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  // The world has the first places of every board, as many as fit into a packed lease.
  std::uint64_t first = 0;
  const auto teams = static_cast<std::size_t>(parts_.shared.options->teams);
  for (std::size_t i = 0; i < std::min(teams, arena::SlotLease::kMax); ++i)
    first |= (i + 1) << (8 * i);
  std::vector<std::uint64_t> board_slots(everyone.size(), first);
  open(0, Members::of(std::move(everyone), parts_.transport->rank()), std::move(board_slots), {});
}

void Loop::open(SetId id, Members members, std::vector<std::uint64_t> board_slots,
                arena::SlotLease lease) {
  table_[id] = members;
  parts_.publish_sets(table_);
  if (members.me < 0) return;
  auto channels = open_channels(id, members, board_slots);
  const auto costs = std::make_shared<PlanCosts>(*parts_.shared.options, *parts_.shared.clock);
  const move::LocalTeam* team = channels.front()->team.get();
  order::OrderSettings settings = order_settings(id, *parts_.shared.options);
  settings.channels = static_cast<std::uint32_t>(channels.size());
  settings.arranger = make_plan_arranger(
      *parts_.shared.options, costs, team == nullptr ? 0 : team->window_max(), settings.channels);
  settings.bucket_bytes_max = std::min(
      settings.bucket_bytes_max, static_cast<std::size_t>(parts_.shared.options->fusion_bytes));
  settings.graphs = parts_.shared.graphs;
  auto order = order::make_order(strategy_of(id), members, settings);
  leases_[id] = std::move(lease);
  sets_[id] = std::make_unique<SetRunner>(SetParts{
      id, std::move(members), std::move(order), std::move(channels), costs, &parts_.shared, this});
  for (Rank rank = 0; rank < static_cast<Rank>(gone_.size()); ++rank) {
    if (gone_[static_cast<std::size_t>(rank)] && sets_[id]->members().index_of(rank) >= 0) {
      sets_[id]->member_left(rank, parts_.shared.clock->now());
    }
  }
  auto early = early_.extract(id);
  if (early.empty()) return;
  for (auto& [from, message] : early.mapped()) handle(from, message);
}

std::vector<std::unique_ptr<run::Channel>> Loop::open_channels(
    SetId id, const Members& members, const std::vector<std::uint64_t>& board_slots) {
  const auto teams = static_cast<std::size_t>(parts_.shared.options->teams);
  std::vector<std::unique_ptr<run::Channel>> channels;
  for (std::size_t i = 0; i < teams; ++i) {
    auto channel = std::make_unique<run::Channel>();
    // The low half of a set's id names its messages. Late messages for the set 65,536 ids earlier
    // have other numbers than those the new set counts.
    channel->next_move = (static_cast<std::uint64_t>(id >> 16) << 20) * teams + i;
    channel->team = open_team(members, board_slots, i);
    if (channel->team == nullptr && i < arena::SlotLease::kMax) {
      channel->host = open_host_team(members, board_slots, i);
    }
    if (teams > 1) channel->mover = std::make_unique<run::Mover>(parts_.bell);
    channels.push_back(std::move(channel));
  }
  const bool lacks = std::any_of(channels.begin(), channels.end(),
                                 [](const auto& channel) { return channel->team == nullptr; });
  if (lacks && shares_memory(members)) {
    log_line(LogLevel::warn,
             cat("rank ", parts_.transport->rank(), ": process set ", id,
                 " exchanges messages although "
                 "its members share memory: ",
                 teams > arena::SlotLease::kMax ? "more than 8 teams are asked for, or " : "",
                 "a rank has no free place on its board (of ", arena::kBoardSlots,
                 "). Remove process sets and release persistent operations that are not needed any "
                 "more, or lower teams"));
  }
  return channels;
}

bool Loop::pass(std::size_t max_bytes) {
  const Time now = parts_.shared.clock->now();
  parts_.inbox->take(batch_);
  bool worked = !batch_.empty();
  for (Handover& submission : batch_) accept(submission, now);
  if (!leaving() && parts_.leave->load(std::memory_order_acquire)) begin_leaving(now);
  worked |= parts_.transport->progress(*this);
  if (!floods_.empty()) pass_on();
  if (now >= next_beat_) {
    // Each of the two beats per heartbeat_s notices what a peer did since the last one. They follow
    // the planned times, not the clock, so that small delays do not add up while a peer is silent.
    // In a large job one beat must do: there it is heartbeats that an idle rank wakes for.
    const double beats = parts_.overlay ? 1 : 2;
    const Nanos every = seconds_to_nanos(parts_.shared.options->heartbeat_s / beats);
    const Time planned = now - next_beat_ < every ? next_beat_ : now;
    parts_.transport->beat(planned, *this);
    next_beat_ = planned + every;
    // Every other beat, so that a rank tells its waits once per heartbeat_s.
    tell_now_ = !tell_now_;
    if (tell_now_ && failed_.ok()) tell_waits();
  }
  if (now >= blame_.due() && failed_.ok()) fail_job(blame_.take_suspect());
  if (parts_.door && (door_ready_ || now >= parts_.door->deadline())) {
    door_ready_ = false;
    parts_.door->serve(now);
    worked = true;
  }
  if (failed_.ok()) {
    // A set may open or close another while it advances, so the map is walked by key.
    for (auto it = sets_.begin(); it != sets_.end();) {
      const SetId id = it->first;
      worked |= it->second->advance(now, max_bytes);
      if (!failed_.ok()) break;
      it = sets_.upper_bound(id);
    }
    for (auto& [id, persistent] : persistents_) {
      if (!failed_.ok()) break;
      PersistentRunner& runner = *persistent.runner;
      if (runner.bytes() <= max_bytes) worked |= runner.advance();
      if (!runner.trouble().ok()) fail_job(runner.trouble());
    }
  }
  if (now >= plans_end_by_ && failed_.ok()) cancel_plans_without_leaver();
  if (!closing_.empty()) reap();
  if (leaving()) keep_leaving(now);
  if (!floods_.empty()) pass_on();
  if (worked) refresh_counters();
  return worked;
}

bool Loop::ready() const {
  if (!parts_.inbox->empty() || parts_.transport->ready()) return true;
  if (!leaving() && parts_.leave->load(std::memory_order_acquire)) return true;
  for (const auto& [id, set] : sets_) {
    if (!leave_.said_goodbye() && set->ready()) return true;
  }
  for (const auto& [id, persistent] : persistents_) {
    if (persistent.runner->ready()) return true;
  }
  return deadline() <= parts_.shared.clock->now();
}

Time Loop::deadline() const {
  Time due = std::min({next_beat_, leave_.limit(), blame_.due()});
  if (failed_.ok()) due = std::min(due, plans_end_by_);
  if (parts_.door) due = std::min(due, parts_.door->deadline());
  // After the goodbye the sets have stopped, and an order that is due would keep the engine awake.
  if (failed_.ok() && !leave_.said_goodbye()) {
    for (const auto& [id, set] : sets_) due = std::min(due, set->deadline());
  }
  return due;
}

void Loop::accept(Handover& submission, Time now) {
  if (submission.observed) {
    const auto set = sets_.find(submission.observed->set);
    if (set != sets_.end()) set->second->observed(submission.observed->sequence);
    return;
  }
  if (submission.persistent != 0) {
    return start_persistent(submission.persistent, std::move(submission.operations.front()));
  }
  for (Pending& pending : submission.operations) {
    const auto set = sets_.find(pending.request.set);
    Status refusal;
    const auto ended = ended_sets_.find(pending.request.set);
    if (!failed_.ok()) {
      refusal = run::name_tensor(first_cause(pending.request.set, failed_), pending.request);
    } else if (leaving()) {
      refusal = shut_down_status();
    } else if (ended != ended_sets_.end()) {
      refusal = run::name_tensor(ended->second.why, pending.request);
    } else if (set == sets_.end()) {
      refusal = Status(Code::invalid_argument, cat("'", pending.request.name, "': process set ",
                                                   pending.request.set, " was removed"));
    }
    if (!refusal.ok()) {
      observe::Counters::add(parts_.shared.counters->operations_failed);
      submit::resolve(pending, std::move(refusal), [this](const Request& r) { release_name(r); });
      continue;
    }
    offer_board_slots(pending.request);
    Request request = pending.request;
    pending.submitted = now;
    pendings_.add(std::move(pending));
    set->second->submit(std::move(request), now);
  }
}

void Loop::on_message(Rank from, std::span<const std::byte> message) {
  if (failed_.ok()) handle(from, message);
}

void Loop::handle(Rank from, std::span<const std::byte> message) {
  auto control = decode_control(message);
  if (!control) return fail_job(lost(from, control.status()));
  if (control->kind == ControlKind::routed) return handle_routed(from, *control);
  if (control->kind == ControlKind::bundle) {
    for (const auto& each : control->bundle) {
      if (failed_.ok()) handle(from, each);
    }
    return;
  }
  if (control->kind == ControlKind::abort) return fail_job(control->status);
  if (control->kind == ControlKind::departs) return depart(from, control->departure);
  if (control->kind == ControlKind::routes_around) return void(passed_by_.insert(from));
  if (control->kind == ControlKind::left) return note_leavers(control->leavers);
  if (control->kind == ControlKind::part) {
    auto whole = long_messages_.add(from, *control);
    if (!whole) return fail_job(lost(from, whole.status()));
    if (whole->empty()) return;
    // Only whole messages are routed, so that nothing is wrapped without end.
    if (is_wrapped(*whole)) {
      return fail_job(lost(from, Status(Code::corrupted, "a wrapped message within a long one")));
    }
    return handle(from, *whole);
  }

  const auto set = sets_.find(control->set);
  if (set == sets_.end()) {
    if (control->kind == ControlKind::leave_request && ended_sets_.contains(control->set)) {
      // Nothing will be agreed on there that could need the leaver.
      post(from, encode_leave(ControlKind::leave_granted, control->set));
      return;
    }
    if (control->set < next_set_) return;   // closed already
    auto& waiting = early_[control->set];
    if (waiting.size() >= kEarlyMax) {
      return fail_job(lost(from, Status(Code::corrupted, "too many messages for an unknown set")));
    }
    waiting.emplace_back(from, std::vector<std::byte>(message.begin(), message.end()));
    return;
  }
  const Time now = parts_.shared.clock->now();
  switch (control->kind) {
    case ControlKind::order:
      if (auto status = set->second->receive(from, control->body, now); !status) {
        fail_job(lost(from, status));
      }
      break;
    case ControlKind::leave_request:
      note_leaver(from);
      set->second->member_wants_to_leave(from, now);
      // Whatever the order still has to say goes out before the leave is granted.
      set->second->advance(now, SIZE_MAX);
      if (failed_.ok()) {
        post(from, encode_leave(ControlKind::leave_granted, control->set,
                                set->second->negotiated()));
      }
      break;
    case ControlKind::leave_granted:
      leave_.grant(control->set, control->responses);
      break;
    case ControlKind::waits:
      stragglers_.heard(from, control->wait);
      break;
    case ControlKind::verdict:
      if (control->slow.rank >= parts_.transport->size()) {
        return fail_job(
            lost(from, Status(Code::corrupted, "a verdict on a rank that does not exist")));
      }
      publish(control->slow);
      break;
    case ControlKind::abort:
    case ControlKind::departs:
    case ControlKind::left:
    case ControlKind::part:
    case ControlKind::routed:
    case ControlKind::bundle:
    case ControlKind::routes_around:
      break;
  }
}

Status Loop::lost(Rank rank, const Status& why) const {
  const PeerInfo& peer = parts_.peers[static_cast<std::size_t>(rank)];
  return Status(why.code() == Code::corrupted ? Code::corrupted : Code::peer_lost,
                cat(peer.to_string(), ": ", why.message()),
                Culprit{peer.rank, peer.host, peer.pid, {}});
}

void Loop::post_order(SetId set, Rank to, std::span<const std::byte> message) {
  if (gone_[static_cast<std::size_t>(to)]) return;
  observe::Counters::add(parts_.shared.counters->control_messages);
  observe::Counters::add(parts_.shared.counters->control_bytes, message.size());
  post(to, encode_order(set, message));
}

void Loop::keep(std::vector<std::unique_ptr<run::BucketRun>> runs) {
  try {
    abandoned_.reserve(abandoned_.size() + runs.size());
  } catch (...) {
    // Transfers point at their memory: better lost than used twice.
    for (auto& run : runs) static_cast<void>(run.release());
    throw;
  }
  for (auto& run : runs) abandoned_.push_back(std::move(run));
}

void Loop::fail_job(const Status& status) {
  if (!failed_.ok()) return;
  if (!floods_.empty()) pass_on();
  failed_ = status;
  blame_.acquit();
  log_line(LogLevel::error, cat("rank ", parts_.transport->rank(), ": ", status.to_string()));
  // Where the news of it is being passed on, the others hear it from there.
  if (!abort_told_) tell_everybody(encode_abort(status), status.culprit().rank);
  for (auto& [id, set] : sets_) {
    keep(set->stop(status));
  }
  for (auto& [id, persistent] : persistents_) {
    if (auto run = persistent.runner->stop(status)) abandoned_.push_back(std::move(run));
  }
  fail_all_pending(status);
}

void Loop::break_down(const Status& status) noexcept {
  // If the job fails again, or lacks the memory to fail, the rest fails as it is destroyed.
  finished_ = !failed_.ok();
  try {
    fail_job(status);
  } catch (...) {
    finished_ = true;
  }
  for (Handover& submission : batch_) {
    for (Pending& pending : submission.operations) {
      if (pending.ticket == nullptr) continue;
      submit::resolve(pending, failed_, [this](const Request& r) { release_name(r); });
    }
  }
  batch_.clear();
}

void Loop::fail_all_pending(const Status& status) {
  for (Pending& pending : pendings_.take_all()) {
    observe::Counters::add(parts_.shared.counters->operations_failed);
    submit::resolve(pending,
                    run::name_tensor(first_cause(pending.request.set, status), pending.request),
                    [this](const Request& r) { release_name(r); });
  }
}

void Loop::refresh_counters() {
  const transport::TransportStats stats = parts_.transport->stats();
  observe::Counters::set(parts_.shared.counters->data_bytes, stats.data_bytes);
  observe::Counters::set(parts_.shared.counters->connections, stats.connections);
  observe::Counters::set(parts_.shared.counters->reconnections, stats.reconnections);
  if (parts_.door) {
    observe::Counters::set(parts_.shared.counters->strangers, parts_.door->strangers());
  }
}

}  // namespace unisono::engine

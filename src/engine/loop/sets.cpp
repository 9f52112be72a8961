// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How the loop opens and closes process sets and persistent operations, and what they share.
//
// A team of ranks on one host needs a slot on each member's board. Members have different slots
// free, so each sets some of its own aside when it asks, says which in its request, and the
// response tells all members about all of them: everyone finds the same slots, or the same lack of
// one. Whoever closes says so on its board and touches nothing shared any more; windows and slots
// are used again when all members have said so.
#include <algorithm>

#include "base/log.hpp"
#include "base/data/text.hpp"
#include "engine/loop/loop.hpp"

namespace unisono::engine {

bool Loop::shares_memory(const Members& members) const {
  const arena::Neighbourhood* hood = parts_.neighbourhood.get();
  return hood != nullptr && members.count() > 1 && hood->covers(members);
}

// Runs before the request leaves: this rank gives its own board slots, and the driver counts them.
void Loop::offer_board_slots(Request& request) {
  if (!traits_of(request.kind).opens_team) return;
  const bool persistent = request.kind == Collective::prepare;
  const Members members = persistent ? sets_.at(request.set)->members()
                                     : Members::of(request.members, parts_.transport->rank());
  const auto teams = static_cast<std::size_t>(parts_.shared.options->teams);
  const std::size_t count = persistent ? 1 : teams;
  const bool in_memory = shares_memory(members) || host_groups(members);
  if (members.me < 0 || !in_memory || count > arena::SlotLease::kMax) return;
  if (places_.free() < count) reap();
  arena::SlotLease lease(places_, count, parts_.neighbourhood->own());
  request.board_slots = lease.packed();
  offers_[request.set][request.name] = std::move(lease);
}

arena::SlotLease Loop::take_offer(const Request& request) {
  const auto set = offers_.find(request.set);
  if (set == offers_.end()) return {};
  const auto it = set->second.find(std::string_view(request.name));
  if (it == set->second.end()) return {};
  arena::SlotLease lease = std::move(it->second);
  set->second.erase(it);
  if (set->second.empty()) offers_.erase(set);
  return lease;
}

// Every operation ends here; one that opened nothing gives its places back.
void Loop::release_name(const Request& request) {
  parts_.names->release(request);
  if (traits_of(request.kind).opens_team) static_cast<void>(take_offer(request));
}

std::optional<arena::HostGroups> Loop::host_groups(const Members& members) const {
  const arena::Neighbourhood* hood = parts_.neighbourhood.get();
  return hood == nullptr ? std::nullopt : hood->groups(members);
}

std::unique_ptr<move::HostTeam> Loop::open_host_team(const Members& members,
                                                     const std::vector<std::uint64_t>& board_slots,
                                                     std::size_t index) {
  auto groups = host_groups(members);
  if (!groups) return nullptr;
  // A place that one host lacks is missed by all, so that all take the same way.
  for (const std::uint64_t packed : board_slots) {
    if (arena::slot_in(packed, index) == arena::kBoardSlots) return nullptr;
  }
  std::vector<std::uint64_t> here;
  for (const Rank rank : groups->here.ranks) {
    here.push_back(board_slots[static_cast<std::size_t>(members.index_of(rank))]);
  }
  arena::Neighbourhood& hood = *parts_.neighbourhood;
  auto team = make_team(groups->here, here, index, hood.host_windows());
  if (team == nullptr) return nullptr;
  return std::make_unique<move::HostTeam>(move::HostTeam{std::move(*groups), std::move(team)});
}

std::unique_ptr<move::LocalTeam> Loop::open_team(const Members& members,
                                                 const std::vector<std::uint64_t>& board_slots,
                                                 std::size_t index) {
  if (!shares_memory(members)) return nullptr;
  return make_team(members, board_slots, index, parts_.neighbourhood->heap());
}

// The members share memory, or are this rank alone: a member of a host team has one in any case.
std::unique_ptr<move::LocalTeam> Loop::make_team(const Members& members,
                                                 const std::vector<std::uint64_t>& board_slots,
                                                 std::size_t index, arena::Heap& windows) {
  if (index >= arena::SlotLease::kMax) return nullptr;
  std::vector<std::size_t> slots;
  for (const std::uint64_t packed : board_slots) slots.push_back(arena::slot_in(packed, index));
  if (std::find(slots.begin(), slots.end(), arena::kBoardSlots) != slots.end()) return nullptr;
  arena::Neighbourhood& hood = *parts_.neighbourhood;
  return std::make_unique<move::LocalTeam>(hood.neighbours(members), members.me, std::move(slots),
                                           &hood.own(), &windows,
                                           static_cast<int>(parts_.shared.options->team_threads));
}

// A program order is a promise about calls that whoever switched the world away from it has not made
// for the sets to come either.
std::string Loop::strategy_of(SetId id) const {
  const std::string& asked = parts_.shared.options->order;
  if (id == 0 || asked != "program") return asked;
  return std::string(sets_.at(0)->strategy());
}

// The low half of an id names the set's messages: no two living sets have the same.
SetId Loop::open_set(const Response& response) {
  const auto in_use = [&](SetId id) {
    return std::any_of(table_.begin(), table_.end(), [&](const auto& set) {
      return (set.first & 0xFFFF) == (id & 0xFFFF);
    });
  };
  while (in_use(next_set_)) ++next_set_;
  const SetId id = next_set_++;
  const Request& request = response.tensors.front();
  const auto strange = [this](Rank rank) { return rank < 0 || rank >= parts_.transport->size(); };
  if (std::any_of(request.members.begin(), request.members.end(), strange)) {
    fail_job(
        Status(Code::corrupted, cat("the ranks agreed on a process set with a rank that does not "
                                    "exist, in '",
                                    request.name, "'; run the same version everywhere")));
    return id;
  }
  Members members = Members::of(request.members, parts_.transport->rank());
  std::vector<std::uint64_t> board_slots;
  for (const Rank rank : members.ranks) {   // in the world a rank is its own index
    board_slots.push_back(static_cast<std::uint64_t>(
        response.extents.front()[static_cast<std::size_t>(rank)]));
  }
  open(id, std::move(members), std::move(board_slots), take_offer(request));
  return id;
}

void Loop::close_set(SetId set) {
  const Status removed(Code::shut_down, cat("process set ", set, " was removed"));
  for (auto it = persistents_.begin(); it != persistents_.end();) {
    auto next = std::next(it);
    if (it->second.runner->set() == set)
      close(std::move(persistents_.extract(it).mapped()), removed);
    it = next;
  }
  if (auto node = sets_.extract(set); !node.empty()) {
    Closing closing;
    closing.set = std::move(node.mapped());
    closing.lease = std::move(leases_[set]);
    leases_.erase(set);
    closing.runs = closing.set->stop(removed);
    closing.channels = closing.set->give_channels();
    for (const auto& channel : closing.channels) {
      if (channel->team != nullptr) {
        closing.teams.push_back({channel->team.get(), closing.set->members()});
      }
      if (channel->host != nullptr) {
        closing.teams.push_back({channel->host->team.get(), channel->host->groups.here});
      }
    }
    begin_closing(std::move(closing));
  }
  for (Pending& pending : pendings_.take_all(set)) {
    submit::resolve(pending, removed, [this](const Request& r) { release_name(r); });
  }
  next_index_.erase(set);
  parts_.shared.codecs->forget_set(set);
  table_.erase(set);
  parts_.publish_sets(table_);
}

std::int64_t Loop::open_persistent(const Members& members, const Response& response) {
  // Takes the next number that no operation of the set has. Members open and close them at the same
  // places of the set's order, so all find the same one. Numbers name messages, and those of an
  // operation released in the middle may still be on their way, so none is used again soon.
  std::vector<bool> used(run::kPersistentsMax, false);
  for (const auto& [id, persistent] : persistents_) {
    if (persistent.runner->set() == response.set) used[persistent.runner->index()] = true;
  }
  if (std::find(used.begin(), used.end(), false) == used.end()) return -1;
  std::uint32_t& next = next_index_[response.set];
  while (used[next % run::kPersistentsMax]) ++next;
  const std::uint32_t index = next++ % run::kPersistentsMax;
  std::vector<std::uint64_t> board_slots;
  for (const std::int64_t packed : response.extents.front()) {
    board_slots.push_back(static_cast<std::uint64_t>(packed));
  }
  auto team = open_team(members, board_slots, 0);
  auto host = team == nullptr ? open_host_team(members, board_slots, 0) : nullptr;
  const Request& request = response.tensors.front();
  if (team == nullptr && shares_memory(members)) {
    log_line(
        LogLevel::warn,
        cat("rank ", parts_.transport->rank(), ": persistent operation '", request.name,
            "' exchanges messages although its members share memory: a rank has no free place on "
            "its board (of ",
            arena::kBoardSlots,
            "). Release persistent operations and remove process "
            "sets that are not needed any more"));
  }
  const std::uint32_t id = next_persistent_++;
  OpenPersistent& persistent = persistents_[id];
  persistent.lease = take_offer(request);
  persistent.runner = std::make_unique<PersistentRunner>(PersistentParts{
      index, members, response, std::move(team), std::move(host), &parts_.shared});
  // A member may have left between the agreement and now; it has never run this operation.
  for (const Rank rank : members.ranks) {
    if (!blame_.leavers.has_told(rank) && !gone_[static_cast<std::size_t>(rank)]) continue;
    static_cast<void>(persistent.runner->end_after(0, blame_.left_in_the_middle(rank)));
  }
  return static_cast<std::int64_t>(id) << 32 | index;
}

void Loop::close_persistent(SetId set, std::uint32_t index) {
  const auto it = std::find_if(persistents_.begin(), persistents_.end(), [&](const auto& entry) {
    return entry.second.runner->set() == set && entry.second.runner->index() == index;
  });
  if (it == persistents_.end()) return;
  close(std::move(persistents_.extract(it).mapped()),
        Status(Code::shut_down, "the persistent operation was released"));
}

void Loop::close(OpenPersistent persistent, const Status& why) {
  Closing closing;
  closing.lease = std::move(persistent.lease);
  if (auto run = persistent.runner->stop(why)) closing.runs.push_back(std::move(run));
  closing.persistent = std::move(persistent.runner);
  if (move::LocalTeam* team = closing.persistent->team()) {
    closing.teams.push_back({team, closing.persistent->members()});
  }
  if (move::HostTeam* host = closing.persistent->host()) {
    closing.teams.push_back({host->team.get(), host->groups.here});
  }
  begin_closing(std::move(closing));
}

void Loop::begin_closing(Closing closing) {
  for (const Closing::Team& each : closing.teams) each.team->close();
  closing_.push_back(std::move(closing));
}

bool Loop::all_closed(const Closing& closing) const {
  return std::all_of(closing.teams.begin(), closing.teams.end(), [&](const Closing::Team& each) {
    for (int member = 0; member < each.team->n(); ++member) {
      const auto rank = static_cast<std::size_t>(each.members.rank_of(member));
      if (!each.team->has_closed(member) && !gone_[rank]) return false;
    }
    return true;
  });
}

// Runs over messages stay until the transport goes, since it may still write to their memory.
void Loop::reap() {
  for (Closing& closing : closing_) {
    if (closing.teams.empty()) {
      closing.lease = arena::SlotLease();
      continue;
    }
    if (!all_closed(closing)) continue;
    std::erase_if(closing.runs, [](const auto& run) { return run->local(); });
    for (const Closing::Team& each : closing.teams) each.team->give_windows_back();
    closing.teams.clear();
    // A run over messages may have a machine that looks at its host's team.
    if (closing.runs.empty()) closing.channels.clear();
    closing.lease = arena::SlotLease();
  }
  std::erase_if(closing_, [](const Closing& closing) {
    return closing.teams.empty() && closing.runs.empty();
  });
}

void Loop::start_persistent(std::uint32_t id, Pending pending) {
  const auto it = persistents_.find(id);
  Status refusal;
  if (!failed_.ok()) {
    refusal = run::name_tensor(failed_, pending.request);
  } else if (leaving()) {
    refusal = shut_down_status();
  } else if (it == persistents_.end()) {
    refusal = Status(Code::invalid_argument,
                     cat("'", pending.request.name, "' was released, or its process set removed; "
                         "prepare it again"));
  } else if (const PersistentRunner& runner = *it->second.runner; !runner.refusal().ok()) {
    refusal = run::name_tensor(runner.refusal(), runner.request());
  } else if (runner.busy()) {
    refusal = Status(Code::duplicate_name, "a persistent operation was started again before its "
                                           "last run was done; wait on its ticket first");
  } else {
    if (Status status = it->second.runner->start(pending); !status.ok()) fail_job(status);
    return;
  }
  submit::resolve(pending, std::move(refusal), [](const Request&) {});
}

bool Loop::moving() const {
  return std::any_of(sets_.begin(), sets_.end(),
                     [](const auto& set) { return !set.second->drained(); }) ||
         std::any_of(persistents_.begin(), persistents_.end(),
                     [](const auto& persistent) { return persistent.second.runner->busy(); });
}

bool Loop::blocking() const {
  if (!failed_.ok() || leave_.said_goodbye()) return false;
  return std::any_of(sets_.begin(), sets_.end(),
                     [](const auto& set) { return set.second->blocking(); });
}

// Without memory for them the job runs all the same, and finds out with the first bucket.
void Loop::reserve_buffers() {
  parts_.shared.buffers = &buffers_;
  const Options& options = *parts_.shared.options;
  if (!buffers_.reserve(static_cast<std::size_t>(options.teams),
                        static_cast<std::size_t>(options.buffer_bytes))) {
    log_line(LogLevel::warn, cat("rank ", parts_.transport->rank(), ": no memory for ",
                                 options.teams, " buffers of buffer_bytes=", options.buffer_bytes,
                                 "; lower buffer_bytes, or free memory on this host"));
  }
  observe::Counters::set(parts_.shared.counters->buffer_bytes, buffers_.reserved_bytes());
}

}  // namespace unisono::engine

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The one loop: takes submissions, talks to the peers, lets every process set advance.
// It decides nothing about threads; core.hpp says who calls pass() and when to sleep.
// Thread: whoever holds the driver token.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "arena/neighbourhood.hpp"
#include "arena/board_slots.hpp"
#include "base/clock.hpp"
#include "base/inbox.hpp"
#include "engine/control/control.hpp"
#include "engine/control/in_order.hpp"
#include "engine/control/long_messages.hpp"
#include "engine/loop/persistent.hpp"
#include "engine/loop/set_runner.hpp"
#include "engine/peers/blame.hpp"
#include "engine/peers/own_leave.hpp"
#include "engine/peers/straggler_report.hpp"
#include "rendezvous/bootstrap/join.hpp"
#include "model/peer.hpp"
#include "submit/names.hpp"
#include "transport/mesh/overlay.hpp"
#include "transport/transport.hpp"

namespace unisono::engine {

// A thread hands over operations that belong together, or the news that the program has seen a
// response done.
struct Handover {
  std::vector<Pending> operations;
  std::uint32_t persistent = 0;             // not 0: starts this one with the only operation
  std::optional<Watch> observed = {};
};

// The status of an operation that the end of the engine overtook.
inline Status shut_down_status() {
  return Status(Code::shut_down, "the engine was shut down before this operation completed");
}

using SetTable = std::map<SetId, Members>;

struct LoopParts {
  SharedParts shared;                       // the loop fills in its own part
  Inbox<Handover>* inbox = nullptr;
  const std::atomic<bool>* leave = nullptr;  // true once this rank wants to leave; the bell is rung
  submit::NameRegistry* names = nullptr;
  Ringer bell;                              // wakes the engine
  std::vector<PeerInfo> peers;
  std::unique_ptr<transport::Transport> transport;
  std::shared_ptr<arena::Neighbourhood> neighbourhood;  // null: nobody shares memory with this rank
  std::shared_ptr<rendezvous::JobDoor> door;  // may be null
  // Where not everybody is connected with everybody.
  std::optional<transport::Overlay> overlay;
  std::unique_ptr<plan::Planner> planner;
  bool beats = true;                        // false: peers are threads and cannot fall silent
  std::function<void(const SetTable&)> publish_sets;
  std::function<void(const observe::SlowRank&, std::string sentence)> publish_slow;
};

class Loop final : private transport::TransportListener, private SetHost {
 public:
  explicit Loop(LoopParts parts);
  ~Loop() override;

  // Does what can be done now; returns whether anything was done. A thread that has better things
  // to do moves no bucket larger than the given max. After an exception break_down() must follow.
  bool pass(std::size_t max_bytes);
  // A pass threw: the job fails, and every ticket with it. When that needs more memory than there
  // is, the loop has finished, and the tickets fail as it is destroyed.
  void break_down(const Status& status) noexcept;
  // What the job failed with, if it has.
  const Status& failure() const { return failed_; }
  // Whether an operation is on its way, so that neighbours' counters matter.
  bool moving() const;
  // Whether pass() would find something at once: the last look before sleeping.
  bool ready() const;
  // Whether an order wants the engine's thread to spin until it hears from the other members.
  bool blocking() const;
  // When pass() must run next although nothing arrives.
  Time deadline() const;
  void door_is_ready() { door_ready_ = true; }
  // Everything has been said, or waited for long enough: the loop may be destroyed.
  bool finished() const { return finished_; }

 private:
  void accept(Handover& submission, Time now);
  void start_persistent(std::uint32_t id, Pending pending);
  void tell_waits();
  void publish(const observe::SlowRank& slow);
  void begin_leaving(Time now);
  void ask_to_leave();
  void keep_leaving(Time now);
  bool may_say_goodbye(Time now) const;
  Departure departure() const;
  void depart(Rank from, const Departure& departure);
  void end_set(SetId set, const Status& status);
  void note_leaver(Rank rank);
  void note_leavers(const std::vector<Rank>& ranks);
  void tell_who_left();
  Status first_cause(SetId set, const Status& status) const;
  void cancel_plans_without_leaver();
  void fail_all_pending(const Status& status);
  void open_world();
  void reserve_buffers();
  void open(SetId id, Members members, std::vector<std::uint64_t> board_slots,
            arena::SlotLease lease);
  std::string strategy_of(SetId id) const;
  std::vector<std::unique_ptr<run::Channel>> open_channels(
      SetId id, const Members& members, const std::vector<std::uint64_t>& board_slots);
  std::optional<arena::HostGroups> host_groups(const Members& members) const;
  std::unique_ptr<move::HostTeam> open_host_team(const Members& members,
                                                 const std::vector<std::uint64_t>& board_slots,
                                                 std::size_t index);
  std::unique_ptr<move::LocalTeam> open_team(const Members& members,
                                             const std::vector<std::uint64_t>& board_slots,
                                             std::size_t index);
  std::unique_ptr<move::LocalTeam> make_team(const Members& members,
                                             const std::vector<std::uint64_t>& board_slots,
                                             std::size_t index, arena::Heap& windows);
  void offer_board_slots(Request& request);
  arena::SlotLease take_offer(const Request& request);
  bool shares_memory(const Members& members) const;
  void reap();
  void keep(std::vector<std::unique_ptr<run::BucketRun>> runs);
  void post(Rank to, const std::vector<std::byte>& message);
  void route(const Route& way, std::span<const std::byte> message);
  // Everybody who is still there.
  void tell_everybody(const std::vector<std::byte>& message, Rank except = -1);
  void pass_on();
  void handle_routed(Rank from, const Control& control);
  bool passed_by_all() const;
  void handle(Rank from, std::span<const std::byte> message);
  Status lost(Rank rank, const Status& why) const;
  void refresh_counters();
  bool leaving() const { return leave_.begun(); }

  void on_message(Rank from, std::span<const std::byte> message) override;
  void on_lost(Rank peer, const Status& why) override;
  void on_left(Rank peer) override;

  void post_order(SetId set, Rank to, std::span<const std::byte> message) override;
  SetId open_set(const Response& response) override;
  void close_set(SetId set) override;
  std::int64_t open_persistent(const Members& members, const Response& response) override;
  void close_persistent(SetId set, std::uint32_t index) override;
  void release_name(const Request& request) override;
  void fail_job(const Status& status) override;
  Status name_peer(const Status& status, const Members& members) override;

  // A set or persistent operation that has ended here. Others may still read what it shared, so its
  // memory and its places are kept until every member has closed it.
  struct Closing {
    arena::SlotLease lease;
    std::unique_ptr<SetRunner> set;         // goes after its runs, which look at its members
    std::unique_ptr<PersistentRunner> persistent;
    std::vector<std::unique_ptr<run::Channel>> channels;
    std::vector<std::unique_ptr<run::BucketRun>> runs;
    struct Team {
      move::LocalTeam* team;
      Members members;
    };
    std::vector<Team> teams;
  };
  bool all_closed(const Closing& closing) const;
  void begin_closing(Closing closing);
  struct OpenPersistent {
    std::unique_ptr<PersistentRunner> runner;
    arena::SlotLease lease;
  };
  void close(OpenPersistent persistent, const Status& why);

  LoopParts parts_;
  arena::BoardSlots places_;
  run::BufferPool buffers_;
  run::RememberedChoices remembered_;
  Pendings pendings_;
  std::map<SetId, std::unique_ptr<SetRunner>> sets_;  // those this rank is in
  // Sets in which nothing can run any more, since a member left in the middle. What was on its way
  // still points into them.
  struct EndedSet {
    std::unique_ptr<SetRunner> runner;
    Status why;
  };
  std::map<SetId, EndedSet> ended_sets_;
  SetTable table_;                          // all of them
  std::map<SetId, arena::SlotLease> leases_;      // of sets this rank is in
  std::map<std::uint32_t, OpenPersistent> persistents_;
  // Places set aside for what is not agreed yet, by process set and name.
  std::map<SetId, std::map<std::string, arena::SlotLease, std::less<>>> offers_;
  std::vector<Closing> closing_;
  SetId next_set_ = 1;
  std::uint32_t next_persistent_ = 1;
  std::map<SetId, std::uint32_t> next_index_;  // of persistents, by set
  // Messages for sets that this rank has yet to hear of.
  std::map<SetId, std::vector<std::pair<Rank, std::vector<std::byte>>>> early_;
  LongMessages long_messages_;              // of which parts have come
  std::vector<std::unique_ptr<run::BucketRun>> abandoned_;
  std::vector<Handover> batch_;
  std::vector<bool> gone_;                  // peers that sent their goodbye, or were lost
  Blame blame_;
  OwnLeave leave_;
  bool told_who_left_ = false;
  // What was told everybody and is to be passed on; and all that ever was.
  struct Flood {
    Route route;
    std::vector<std::byte> message;
    Rank from;
  };
  InOrder in_order_;
  std::vector<Flood> floods_;
  std::set<std::pair<Rank, std::uint32_t>> flooded_;
  std::uint32_t next_flood_ = 0;
  bool abort_told_ = false;                 // everybody is being told why the job fails
  // Ranks that are about to leave, which pass nothing on soon; and, while this one leaves, who knows
  // that of it.
  std::set<Rank> departing_, passed_by_;
  bool announced_ = false;
  Time next_beat_ = kNever;
  bool tell_now_ = false;
  Status failed_;
  StragglerReport stragglers_;
  Time plans_end_by_ = kNever;
  bool finished_ = false, door_ready_ = false;
};

}  // namespace unisono::engine

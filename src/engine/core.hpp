// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// An engine as its callers see it, from any thread: submit, wait, read counters, shut down.
//
// Threads: "unisono-engine" sleeps until something happens and then drives the loop. A thread that
// waits on a ticket takes the driver token when it is free and drives the loop itself as long as
// that makes progress, plus a short spin when cores are free; then it hands back and sleeps on the
// ticket. Only the engine thread ever sleeps on the poller. docs/THREADS.md has the whole story.
// No exception leaves a drive: it fails the job, and with it every ticket (core_drive.cpp).
#pragma once

#include <memory>
#include <mutex>
#include <thread>

#include "base/alarm_clock.hpp"
#include "base/os/child_closes.hpp"
#include "base/os/doorbell.hpp"
#include "base/os/poller.hpp"
#include "engine/driver.hpp"
#include "engine/loop/loop.hpp"
#include "engine/spinning.hpp"
#include "engine/world.hpp"
#include "observe/timeline.hpp"
#include "submit/front_door.hpp"
#include "unisono/unisono.hpp"

namespace unisono::engine {

class EngineCore final : public TicketWaiter, public std::enable_shared_from_this<EngineCore> {
 public:
  static Result<std::shared_ptr<EngineCore>> join(Options options,
                                                  const rendezvous::Lookup& environment);
  static Result<std::shared_ptr<EngineCore>> join(Options options, std::shared_ptr<WorldCore> world,
                                                  Rank rank);
  ~EngineCore() override;

  // Some kinds and names are the engine's own; only its calls ask for them.
  enum class Asker { caller, engine };
  std::vector<Ticket> submit(std::string_view group, std::vector<Operation> operations,
                             const Settings& settings, Asker asker = Asker::caller);
  Ticket submit_sparse(Collective kind, std::string_view name, const SparseOperand& operand,
                       const SparseSettings& settings);
  // Returns forked or shut_down when this process may not use the engine (any more).
  Status usable() const;
  Members members(SetId set) const;         // no ranks when there is no such set
  // Returns the name under which the order can be asked to follow it; equal graphs have one name.
  Result<std::string> keep_graph(const Graph& graph, SetId set);
  const Identity& identity() const { return identity_; }
  const Options& options() const { return options_; }
  const Placement& placement() const { return placement_; }
  Result<int> bind_compute() const;
  Status bind_input() const;
  Stats stats() const;
  std::vector<Timing> timings() const;
  Explanation explain() const;
  Status start_timeline(const std::string& path, bool mark_cycles);
  void stop_timeline();
  void shutdown();
  // What a persistent operation was prepared with; kept by id for start_persistent().
  struct KeptPersistent {
    Operation operation;
    SetId set = 0;
    std::uint32_t index = 0;                // what the members call it
    bool keep_inputs = false;
    bool packs = false;                     // by a codec that is no cast
  };
  // settings: those that it was prepared with.
  std::uint32_t keep_persistent(std::uint32_t id, KeptPersistent kept, const Settings& settings);
  Ticket start_persistent(std::uint32_t id);
  Status release_persistent(std::uint32_t id);
  Result<ArenaBlock> allocate(std::size_t bytes);
  // One of this rank's own when nobody shares memory with it.
  std::shared_ptr<arena::Neighbourhood> neighbourhood();
  encode::CodecMemory& codec_memory() const { return codec_memory_; }
  // Not ok while an operation that was submitted may change what codecs keep.
  Status codecs_at_rest(const CodecPart* part = nullptr) const;
  bool packs(const Operation& operation, const Settings& settings) const;
  void count_as_packing(Pending& pending);  // a persistent operation, which has no name in flight
  // Barriers have no name of their own: the n-th of a set meets the n-th of the other members.
  std::uint64_t next_barrier(SetId set);

  void wait(TicketState& ticket, Time deadline) override;
  Status may_wait() const override;
  void observed(const TicketState& ticket) noexcept override;

 private:
  explicit EngineCore(Options options);
  static Result<std::shared_ptr<EngineCore>> begin(std::shared_ptr<EngineCore> core,
                                                   LoopParts parts, Identity identity);
  Status start(LoopParts parts, Identity identity);
  std::vector<Ticket> try_submit(std::string_view group, std::vector<Operation>& operations,
                                 const Settings& settings, Asker asker);
  Ticket try_submit_sparse(Collective kind, std::string_view name, const SparseOperand& operand,
                           const SparseSettings& settings);
  // Begins what the options ask to be written down.
  Status start_files();
  Status open_timeline(std::unique_ptr<observe::Timeline>& timeline, const std::string& path,
                       observe::Timeline::Form form);
  void stop_trace();
  void run();
  bool turn();
  void end_loop();
  bool pass(std::size_t max_bytes) noexcept;
  void hand_over(Handover submission) noexcept;
  void refuse(Handover& submission, const Status& status) noexcept;
  bool try_take_soon();
  void drive_for(TicketState& ticket, Time deadline);
  void hand_back(TokenHold& hold, bool listens);
  void sleep(Nanos limit, bool by_patrol);
  void arm(bool listens);
  bool drives_here() const;

  const Options options_;
  SteadyClock clock_;
  std::unique_ptr<AlarmClock> alarm_;       // instead of it, where time alone must wake the engine
  const std::int64_t pid_;
  const ForkWatch forks_;
  Identity identity_;
  submit::CodecChoice codecs_;
  mutable encode::CodecMemory codec_memory_;
  std::atomic<int> persistents_packing_{0};  // persistent operations on their way that pack
  Placement placement_;
  std::shared_ptr<WorldCore> world_;        // when ranks are threads
  Poller poller_;
  Doorbell bell_;
  submit::NameRegistry names_;
  observe::Counters counters_;
  observe::Timings timings_;
  run::Explanations explanations_;
  observe::OrderReports order_reports_;
  const std::shared_ptr<order::GivenGraphs> graphs_ = std::make_shared<order::GivenGraphs>();
  cost::Network network_;                   // written before the engine begins
  std::mutex timeline_mutex_;
  std::unique_ptr<observe::Timeline> timeline_, trace_;      // read timings_
  std::unique_ptr<Inbox<Handover>> inbox_;
  DriverToken token_;
  std::unique_ptr<Loop> loop_;              // owned by whoever holds the token
  Time sleeps_until_ = kNever;              // the same: when the engine thread wakes by itself
  Time waited_at_{};                        // the same: when a waiting caller handed back last
  std::atomic<int> asleep_{0};              // threads that sleep on their tickets
  std::atomic<bool> patrols_{false};        // the engine thread looks at muted streams by itself
  Nanos patrol_{0};                         // engine thread: how often
  Spinning spinning_;                       // the same
  bool only_looks_ = false;                 // engine thread: nothing but the patrol has woken it
  std::atomic<bool> shut_down_{false};      // no more submissions; the loop leaves
  Status out_of_memory_;                    // made early, since later there is no memory for it
  Status ended_;                            // why the inbox is closed; written before it closes
  std::atomic<bool> callbacks_{false};      // some operation has had an on_done
  Nanos spin_{0}, yield_{0};                // how long a waiting thread spins, then yields
  bool spins_politely_ = false;             // the engine's thread yields while it spins
  mutable std::mutex sets_mutex_;
  SetTable sets_;
  std::map<SetId, std::uint64_t> barriers_;
  observe::SlowRank slow_;
  std::string verdict_ = "no rank stands out";
  std::map<std::uint32_t, KeptPersistent> persistents_;
  std::shared_ptr<arena::Neighbourhood> neighbourhood_;
  std::mutex shutdown_mutex_;
  std::unique_ptr<std::thread> thread_;
  std::atomic<std::int64_t> cpu_ns_{0};     // of the engine thread
};

}  // namespace unisono::engine

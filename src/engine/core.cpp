// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/core.hpp"

#include <unistd.h>

#include "base/os/cpu.hpp"
#include "base/log.hpp"
#include "base/data/text.hpp"
#include "engine/wiring.hpp"
#include "base/waiting.hpp"
#include "affinity/bind.hpp"
#include "affinity/cpu_sets.hpp"

namespace unisono::engine {
namespace {

std::shared_ptr<TicketState> failed_ticket(const std::string& name, Status status) {
  auto ticket = std::make_shared<TicketState>();
  ticket->name = name;
  ticket->status = std::move(status);
  ticket->finish();
  return ticket;
}

std::vector<Ticket> failed_tickets(const std::vector<Operation>& operations, const Status& status) {
  std::vector<Ticket> tickets;
  for (const Operation& operation : operations) {
    tickets.emplace_back(failed_ticket(operation.name, status));
  }
  return tickets;
}

}  // namespace

EngineCore::EngineCore(Options options) : options_(std::move(options)), pid_(::getpid()) {
  set_log(log_level_from(options_.log));
}

Result<std::shared_ptr<EngineCore>> EngineCore::join(Options options,
                                                     const rendezvous::Lookup& environment) {
  if (auto status = options.validate(); !status) return status;
  std::shared_ptr<EngineCore> core(new EngineCore(std::move(options)));
  auto launched = rendezvous::launch_identity_from_environment(environment);
  if (!launched) return launched.status();
  auto job = rendezvous::join_job(core->options_, *launched, core->clock_, core->poller_,
                                  core->bell_);
  if (!job) return job.status();
  LoopParts parts;
  parts.peers = std::move(job->peers);
  parts.transport = std::move(job->transport);
  parts.neighbourhood = std::move(job->neighbourhood);
  parts.door = std::move(job->door);
  parts.overlay = job->overlay;
  core->network_ = std::move(job->network);
  return begin(std::move(core), std::move(parts), job->identity);
}

Result<std::shared_ptr<EngineCore>> EngineCore::join(Options options,
                                                     std::shared_ptr<WorldCore> world, Rank rank) {
  if (auto status = options.validate(); !status) return status;
  std::shared_ptr<EngineCore> core(new EngineCore(std::move(options)));
  const int size = world->inproc().size();
  if (rank < 0 || rank >= size) {
    return Status(Code::invalid_argument, cat("rank ", rank, " is not in a world of ", size));
  }
  if (auto status = world->agree(core->options_, rank); !status) return status;
  auto hood = arena::Neighbourhood::create(
      rank, size, static_cast<std::size_t>(core->options_.arena_bytes), core->bell_.ringer());
  if (!hood) return hood.status();
  world->show(rank, **hood, core->bell_);
  auto transport =
      world->inproc().join(rank, core->bell_, seconds_to_nanos(core->options_.join_timeout_s));
  if (!transport) return transport.status();
  world->meet(rank, **hood);
  core->world_ = std::move(world);

  LoopParts parts;
  parts.neighbourhood = std::move(hood).value();
  parts.transport = std::move(*transport);
  parts.beats = false;
  // Messages, as asked for. Between threads there is nothing to measure that would last, so trials
  // begin with typical figures.
  if (core->options_.transport == "tcp") {
    parts.neighbourhood.reset();
    core->network_.usable = size > 1;
    core->network_.within = cost::LinkClass::loopback;
  } else if (core->world_->divided()) {
    core->network_.usable = true;
    core->network_.host_of = core->world_->host_of();
  }
  core->network_.costs = cost::typical_costs();
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  for (Rank r = 0; r < size; ++r) parts.peers.push_back({r, host, core->pid_});
  Identity identity{rank, size, rank, size, 0, 1, host, "threads"};
  return begin(std::move(core), std::move(parts), std::move(identity));
}

// The engine's thread keeps the engine alive, so an engine that cannot begin is ended here.
Result<std::shared_ptr<EngineCore>> EngineCore::begin(std::shared_ptr<EngineCore> core,
                                                      LoopParts parts, Identity identity) {
  Status status;
  try {
    status = core->start(std::move(parts), std::move(identity));
  } catch (...) {
    core->shutdown();
    throw;
  }
  if (status.ok() && core->options_.bind_compute) status = core->bind_compute().status();
  if (status.ok()) return core;
  core->shutdown();
  return status;
}

Status EngineCore::start(LoopParts parts, Identity identity) {
  identity_ = std::move(identity);
  const bool crowded = identity_.local_size > usable_cores();
  const bool roomy = usable_cores() >= 2 * identity_.local_size;
  codecs_ = wire_codecs(options_);
  spin_ = options_.spin_us >= 0 ? seconds_to_nanos(options_.spin_us * 1e-6)
          : crowded             ? Nanos(0)
          : roomy               ? kSpinWithRoomFor
                                : kSpinFor;
  yield_ = crowded && options_.spin_us < 0 ? kYieldFor : Nanos(0);
  // Of two engines' threads on one core, the one that spins keeps out the one it waits for.
  spins_politely_ = !roomy;
  inbox_ = std::make_unique<Inbox<Handover>>(bell_.ringer());
  poller_.watch(bell_.fd(), rendezvous::kBellKey, true, false);

  out_of_memory_ = Status(Code::out_of_memory,
                          cat("rank ", identity_.rank, " ran out of memory and cannot go on; free "
                              "memory on ", identity_.host, ", or lower fusion_bytes"),
                          Culprit{identity_.rank, identity_.host, pid_, {}});
  ended_ = shut_down_status();
  static_cast<void>(dropped_status());
  parts.shared.options = &options_;
  parts.shared.clock = &clock_;
  if (options_.emulate != "off") {
    alarm_ = std::make_unique<AlarmClock>();
    poller_.watch_timer(alarm_->fd(), rendezvous::kBellKey);
    parts.shared.clock = alarm_.get();
  }
  parts.leave = &shut_down_;
  parts.inbox = inbox_.get();
  parts.names = &names_;
  parts.shared.counters = &counters_;
  parts.shared.timings = &timings_;
  parts.shared.explanations = &explanations_;
  parts.shared.order_reports = &order_reports_;
  parts.shared.graphs = graphs_;
  parts.shared.codecs = &codec_memory_;
  parts.shared.network = &network_;
  parts.publish_slow = [this](const observe::SlowRank& slow, std::string sentence) {
    std::lock_guard lock(sets_mutex_);
    slow_ = slow;
    verdict_ = std::move(sentence);
  };
  parts.bell = bell_.ringer();
  auto planner = wire_planner(options_);
  if (!planner) return planner.status();
  parts.planner = std::move(*planner);
  parts.publish_sets = [this](const SetTable& sets) {
    std::lock_guard lock(sets_mutex_);
    sets_ = sets;
  };
  neighbourhood_ = parts.neighbourhood;
  auto placement =
      affinity::place_rank(options_.cpu_sets, identity_.local_rank, identity_.local_size);
  if (!placement) return placement.status();
  placement_ = std::move(*placement);
  if (options_.cpu_sets != "off") {
    log_line(placement_.engine.empty() ? LogLevel::warn : LogLevel::info, placement_.reason);
  }
  // The threads made here inherit the mask; the caller gets its own back.
  const affinity::ScopedBinding binding(placement_.engine);
  if (!binding.status().ok()) return binding.status();
  if (!placement_.engine.empty() && !parts.transport->bind_threads(placement_.engine)) {
    return Status(Code::unavailable, cat("rank ", identity_.rank, " cannot bind its I/O threads to "
                                         "the CPUs of the engine; see cpu_sets"));
  }
  loop_ = std::make_unique<Loop>(std::move(parts));
  // The thread keeps the engine alive, since one of its own callbacks may let go of the engine.
  thread_ = std::make_unique<std::thread>([self = shared_from_this()] { self->run(); });
  return start_files();
}

Status EngineCore::usable() const {
  if (forks_.in_child()) {
    return Status(Code::forked, cat("this engine belongs to process ", pid_, ", not to its child ",
                                    ::getpid(), "; join after fork()"));
  }
  if (shut_down_.load(std::memory_order_acquire)) {
    return Status(Code::shut_down, "the engine has been shut down; join again to go on");
  }
  return {};
}

std::vector<Ticket> EngineCore::submit(std::string_view group, std::vector<Operation> operations,
                                       const Settings& settings, Asker asker) {
  Status status;
  try {
    return try_submit(group, operations, settings, asker);
  } catch (const std::bad_alloc&) {         // nothing has been submitted
    status = out_of_memory_.ok() ? dropped_status() : out_of_memory_;
  }
  return failed_tickets(operations, status);
}

std::vector<Ticket> EngineCore::try_submit(std::string_view group,
                                           std::vector<Operation>& operations,
                                           const Settings& settings, Asker asker) {
  Status status = usable();
  constexpr std::size_t kGroupNameMax = 4096;
  if (status.ok() && group.size() > kGroupNameMax) {
    status = Status(Code::invalid_argument, "the name of the group is over 4096 bytes");
  }
  Handover submission;
  std::vector<Pending>& pendings = submission.operations;
  const Members set = status.ok() ? members(settings.process_set) : Members{};
  std::vector<Ticket> tickets;
  pendings.reserve(operations.size());
  for (Operation& operation : operations) {
    if (status.ok() && asker == Asker::caller) status = submit::check_open_to_callers(operation);
    if (!status.ok()) break;
    auto request = submit::make_request(operation, settings, set.ranks.empty() ? nullptr : &set,
                                codecs_);
    if (!request) {
      status = request.status();
      break;
    }
    request->group = group;
    request->group_size = group.empty() ? 0 : static_cast<std::uint32_t>(operations.size());
    auto ticket = std::make_shared<TicketState>();
    ticket->name = request->name;
    ticket->waiter = weak_from_this();
    tickets.emplace_back(ticket);
    Pending& pending = pendings.emplace_back();
    pending.request = std::move(*request);
    pending.input = operation.input;
    pending.keep_inputs = settings.keep_inputs;
    pending.output = operation.output;
    if (pending.request.uneven) pending.splits = settings.splits;
    pending.ticket = std::move(ticket);
  }
  // Kept apart until the operations are submitted: one that is not submitted calls nobody back.
  std::vector<std::function<void(const Status&)>> callbacks;
  if (settings.on_done) callbacks.assign(pendings.size(), settings.on_done);
  // This comes last: nothing throws from here on, so that no name is reserved in vain.
  if (status.ok()) status = names_.reserve(pendings);
  if (!status.ok()) return failed_tickets(operations, status);
  if (settings.on_done) callbacks_.store(true, std::memory_order_relaxed);
  for (std::size_t i = 0; i < pendings.size(); ++i) {
    pendings[i].keep_alive = std::move(operations[i].keep_alive);
    if (settings.on_done) pendings[i].on_done.swap(callbacks[i]);
  }
  hand_over(std::move(submission));
  return tickets;
}

Members EngineCore::members(SetId set) const {
  std::lock_guard lock(sets_mutex_);
  const auto it = sets_.find(set);
  return it == sets_.end() ? Members{} : it->second;
}

std::uint32_t EngineCore::keep_persistent(std::uint32_t id, KeptPersistent kept,
                                          const Settings& settings) {
  kept.packs = packs(kept.operation, settings);
  std::lock_guard lock(sets_mutex_);
  persistents_[id] = std::move(kept);
  return id;
}

Status EngineCore::release_persistent(std::uint32_t id) {
  Operation operation{.kind = kRelease};
  Settings settings;
  // Destroyed outside the lock: what the caller keeps alive may call the engine.
  decltype(persistents_)::node_type forgotten;
  {
    std::lock_guard lock(sets_mutex_);
    const auto it = persistents_.find(id);
    if (it == persistents_.end()) return {};
    if (!sets_.contains(it->second.set)) {  // closed with its set
      forgotten = persistents_.extract(it);
      return {};
    }
    operation.name = cat(submit::kReservedPrefix, "release/", it->second.index);
    operation.members = {static_cast<Rank>(it->second.index)};
    settings.process_set = it->second.set;
  }
  std::vector<Operation> operations;
  operations.push_back(std::move(operation));
  const Status status = submit("", std::move(operations), settings, Asker::engine).front().wait();
  std::lock_guard lock(sets_mutex_);
  if (status.ok()) forgotten = persistents_.extract(id);
  return status;
}

Ticket EngineCore::start_persistent(std::uint32_t id) {
  Handover submission;
  submission.persistent = id;
  Pending& pending = submission.operations.emplace_back();
  bool counts = false;                      // by a codec that is no cast
  {
    std::lock_guard lock(sets_mutex_);
    const auto it = persistents_.find(id);
    if (it == persistents_.end()) {
      return Ticket(failed_ticket(
          {}, Status(Code::invalid_argument,
                     "this persistent operation was released; prepare it again")));
    }
    const Operation& operation = it->second.operation;
    pending.input = operation.input;
    pending.output = operation.output;
    pending.keep_alive = operation.keep_alive;
    pending.keep_inputs = it->second.keep_inputs;
    pending.request.name = operation.name;
    counts = it->second.packs;
  }
  if (Status status = usable(); !status) return Ticket(failed_ticket(pending.request.name, status));
  pending.ticket = std::make_shared<TicketState>();
  pending.ticket->name = pending.request.name;
  pending.ticket->waiter = weak_from_this();
  Ticket ticket(pending.ticket);
  if (counts) count_as_packing(pending);
  hand_over(std::move(submission));
  return ticket;
}

std::shared_ptr<arena::Neighbourhood> EngineCore::neighbourhood() {
  std::lock_guard lock(sets_mutex_);
  if (neighbourhood_ == nullptr) {
    auto own = arena::Neighbourhood::create(0, 1, static_cast<std::size_t>(options_.arena_bytes),
                                     bell_.ringer());
    if (own) neighbourhood_ = std::move(own).value();
  }
  return neighbourhood_;
}

Result<ArenaBlock> EngineCore::allocate(std::size_t bytes) {
  const auto hood = neighbourhood();
  if (hood == nullptr) return Status(Code::unavailable, "this machine gives no shared memory");
  constexpr std::size_t kPage = 4096;
  const std::size_t whole = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  const auto offset = hood->heap().take(whole, whole >= (2 << 20) ? 2 << 20 : kPage);
  if (!offset) {
    return Status(Code::out_of_memory, cat("the arena has no room for ", bytes, " bytes of ",
                                           hood->capacity(), "; raise arena_bytes"));
  }
  if (Status status = hood->own().commit(*offset, whole); !status) {
    hood->heap().give_back(*offset);
    return status;
  }
  std::shared_ptr<void> memory(hood->own().at(*offset), [hood, at = *offset, whole](void*) {
    hood->own().discard(at, whole);         // so that the next block reads as zero
    hood->heap().give_back(at);
  });
  return ArenaBlock(std::move(memory), bytes);
}

std::uint64_t EngineCore::next_barrier(SetId set) {
  std::lock_guard lock(sets_mutex_);
  return barriers_[set]++;
}

void EngineCore::shutdown() {
  if (forks_.in_child()) return;
  shut_down_.store(true, std::memory_order_release);
  bell_.ringer().ring();
  // In a callback the loop is below us on the stack: it leaves once the callback has returned.
  if (drives_here()) return;
  std::lock_guard lock(shutdown_mutex_);
  if (thread_ == nullptr) return;
  if (thread_->get_id() == std::this_thread::get_id()) {
    thread_->detach();                      // its own thread is the last to let go of the engine
  } else {
    thread_->join();
  }
  thread_.reset();
  stop_timeline();
  stop_trace();
}

EngineCore::~EngineCore() {
  shutdown();
  if (!forks_.in_child()) return;
  // In a forked child the thread does not exist and the sockets are the parent's: we forget them
  // and do not close in good order. Nor does the child answer what was submitted in the parent.
  [[maybe_unused]] auto* thread = thread_.release();
  [[maybe_unused]] auto* loop = loop_.release();
  [[maybe_unused]] auto* inbox = inbox_.release();
  [[maybe_unused]] auto* timeline = timeline_.release();
  [[maybe_unused]] auto* trace = trace_.release();
}

}  // namespace unisono::engine

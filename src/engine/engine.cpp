// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <exception>
#include <new>

#include "base/data/text.hpp"
#include "engine/codecs/codec_state.hpp"
#include "engine/core.hpp"
#include "engine/explain_text.hpp"
#include "engine/sparse/sparse_results.hpp"
#include "engine/wiring.hpp"
#include "order/switch/switchable.hpp"
#include "rendezvous/connect/addresses.hpp"
#include "submit/split_groups.hpp"

namespace unisono {

bool Ticket::done() const {
  if (state_ == nullptr) return true;
  if (!state_->done()) return false;
  state_->observe();
  return true;
}

Status Ticket::wait() const { return wait_for(Nanos(-1)); }

Status Ticket::wait_for(std::chrono::nanoseconds limit) const {
  if (state_ == nullptr) return Status(Code::invalid_argument, "this Ticket claims nothing");
  if (!state_->done()) {
    const auto waiter = state_->waiter.lock();
    if (waiter == nullptr) return Status(Code::shut_down, "the engine of this ticket is gone");
    if (auto status = waiter->may_wait(); !status) return status;
    // Longer than any job; the limit also keeps the sum from overflowing.
    constexpr Nanos kLongest = std::chrono::hours(24 * 365 * 100);
    const bool no_limit = limit.count() < 0 || limit > kLongest;
    const Time deadline = no_limit ? kNever : SteadyClock().now() + limit;
    waiter->wait(*state_, deadline);
  }
  if (done()) return state_->status;
  return Status(Code::timed_out,
                cat("'", state_->name, "' was not done within ", nanos_to_seconds(limit),
                    " s; it is still in flight and may be waited for again"),
                Culprit{-1, {}, 0, state_->name});
}

Status Ticket::refusal() const {
  return state_ != nullptr && state_->done() ? state_->status : Status{};
}

const std::string& Ticket::name() const {
  static const std::string kNone;
  return state_ ? state_->name : kNone;
}

Output Ticket::output() const {
  Output output;
  if (state_ == nullptr || !done()) return output;
  output.dtype = state_->dtype;
  output.shape = state_->shape;
  output.bytes = {state_->result.get(), state_->result_bytes};
  output.splits = state_->splits;
  output.value = state_->value;
  return output;
}

SparseResult Ticket::sparse() const {
  return state_ == nullptr || !done() ? SparseResult{} : engine::sparse_result(*state_);
}

SparseResult SparseResult::as_pairs() const {
  return dense ? engine::sparse_pairs(*this) : *this;
}

ThreadWorld::ThreadWorld(int size)
    : core_(std::make_shared<engine::WorldCore>(std::max(1, size))) {}
int ThreadWorld::size() const { return core_->inproc().size(); }

Engine::Engine(std::shared_ptr<engine::EngineCore> core) : core_(std::move(core)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&& other) noexcept {
  if (this != &other) {
    if (core_) core_->shutdown();
    core_ = std::move(other.core_);
  }
  return *this;
}
Engine::~Engine() {
  if (core_) core_->shutdown();
}

// What the standard library throws while joining (no thread, no memory) is a reason like any other.
template <typename Join>
Result<Engine> Engine::joined(Join join) {
  try {
    auto core = join();
    if (!core) return core.status();
    return Engine(std::move(*core));
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory, "no memory to join with; free some on this host");
  } catch (const std::exception& error) {
    return Status(Code::unavailable, cat("cannot join: ", error.what()));
  }
}

Result<Engine> Engine::join() {
  auto options = Options::from_environment();
  if (!options) return options.status();
  return join(std::move(*options));
}

Result<Engine> Engine::join(Options options) {
  return join(std::move(options), engine::process_environment());
}

Result<Engine> Engine::join(Options options, const Environment& environment) {
  return joined([&] { return engine::EngineCore::join(std::move(options), environment); });
}

Result<Engine> Engine::join(Options options, const ThreadWorld& world, Rank rank) {
  return joined([&] { return engine::EngineCore::join(std::move(options), world.core(), rank); });
}

const Identity& Engine::identity() const { return core_->identity(); }
const Options& Engine::options() const { return core_->options(); }
const Placement& Engine::placement() const { return core_->placement(); }

Result<int> Engine::bind_compute() const { return core_->bind_compute(); }

Status Engine::bind_input() const { return core_->bind_input(); }

Ticket Engine::submit(Operation operation, Settings settings) {
  std::vector<Operation> operations;
  operations.push_back(std::move(operation));
  return core_->submit("", std::move(operations), settings).front();
}

Ticket Engine::administer(Operation operation, const Settings& settings) {
  std::vector<Operation> operations;
  operations.push_back(std::move(operation));
  return core_->submit("", std::move(operations), settings, engine::EngineCore::Asker::engine)
      .front();
}

std::vector<Ticket> Engine::submit_group(std::string_view group, std::vector<Operation> operations,
                                         Settings settings) {
  return core_->submit(group, std::move(operations), settings);
}

Ticket Engine::sparse_allreduce(std::string_view name, const SparseOperand& operand,
                                const SparseSettings& settings) {
  return core_->submit_sparse(Collective::sparse_allreduce, name, operand, settings);
}

Ticket Engine::sparse_allgather(std::string_view name, const SparseOperand& operand,
                                const SparseSettings& settings) {
  return core_->submit_sparse(Collective::sparse_allgather, name, operand, settings);
}

Ticket Engine::barrier(ProcessSetId set) {
  return administer({.kind = Collective::barrier,
                     .name = cat(submit::kReservedPrefix, "barrier/", core_->next_barrier(set))},
                    {.process_set = set});
}

Ticket Engine::switch_order(std::string_view strategy, ProcessSetId set) {
  // What stands behind a mark is the name of a graph, which follow_graph() alone gives.
  std::string plain(strategy);
  std::replace(plain.begin(), plain.end(), '#', '?');
  return administer({.kind = Collective::switch_order, .name = cat(order::kSwitchPrefix, plain)},
                    {.process_set = set});
}

Status Engine::follow_graph(const Graph& graph, ProcessSetId set) {
  if (auto status = core_->may_wait(); !status) return status;
  auto name = core_->keep_graph(graph, set);
  // A rank whose graph is wrong says so to all, with a number that no graph has.
  std::uint64_t own = 0;
  if (name.ok()) std::from_chars(name->data(), name->data() + name->size(), own);
  own = name.ok() ? std::max<std::uint64_t>(own, 1) : 0;
  std::uint64_t least[] = {own, ~own};
  const Ticket ticket = administer(
      {.name = cat(submit::kReservedPrefix, "graph/", core_->next_barrier(set)),
       .dtype = DType::u64, .shape = {2}, .input = least, .output = least},
      {.op = ReduceOp::min, .process_set = set, .codec = "none"});
  if (auto status = ticket.wait(); !status) return name.ok() ? status : name.status();
  if (!name.ok()) return name.status();
  if (least[0] != own || least[1] != ~own) {
    return Status(Code::mismatch,
                  least[0] == 0 ? "the graph of another rank is wrong, so none is followed"
                                : "the ranks gave different graphs, so none is followed; give the "
                                  "same nodes, inputs, shapes and fetches on all ranks");
  }
  return administer({.kind = Collective::switch_order,
                     .name = cat(order::kSwitchPrefix, "topo#", *name)},
                    {.process_set = set})
      .wait();
}

Result<Persistent> Engine::prepare(Operation operation, Settings settings) {
  if (operation.kind != Collective::allreduce || operation.output == nullptr) {
    return Status(Code::invalid_argument,
                  cat("prepare '", operation.name, "': an allreduce with an output is expected"));
  }
  if (auto status = submit::check_open_to_callers(operation); !status) return status;
  Operation agreement = operation;
  agreement.kind = Collective::prepare;
  const Ticket ticket = administer(std::move(agreement), settings);
  if (auto status = ticket.wait(); !status) return status;
  const std::int64_t value = ticket.output().value;
  if (value < 0) {
    return Status(Code::out_of_memory,
                  cat("prepare '", operation.name, "': process set ", settings.process_set,
                      " has as many persistent operations "
                      "as there can be; release some"));
  }
  const auto id = static_cast<std::uint32_t>(value >> 32);
  const auto index = static_cast<std::uint32_t>(value & 0xFFFFFFFF);
  return Persistent(core_, core_->keep_persistent(id, {std::move(operation), settings.process_set,
                                                       index, settings.keep_inputs},
                                                  settings));
}

Ticket Persistent::start() const { return core_->start_persistent(id_); }
Status Persistent::release() const { return core_->release_persistent(id_); }

Result<ArenaBlock> Arena::allocate(std::size_t bytes) const { return core_->allocate(bytes); }
std::size_t Arena::used() const {
  const auto hood = core_->neighbourhood();
  return hood == nullptr ? 0 : hood->heap().used();
}
std::size_t Arena::capacity() const {
  const auto hood = core_->neighbourhood();
  return hood == nullptr ? 0 : hood->capacity();
}

Ticket Engine::join_ranks(ProcessSetId set) {
  return administer({.kind = Collective::join, .name = cat(submit::kReservedPrefix, "join")},
                    {.process_set = set});
}

Result<ProcessSetId> Engine::add_process_set(std::vector<Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  const bool repeated = std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
  if (ranks.empty() || repeated || ranks.front() < 0 || ranks.back() >= size()) {
    return Status(Code::invalid_argument,
                  cat("a process set needs different ranks from 0 to ", size() - 1, ", not [",
                      join_text(ranks), "]"));
  }
  Operation operation{
      .kind = Collective::add_process_set,
      .name = cat(submit::kReservedPrefix, "add_process_set/[", join_text(ranks), "]")};
  operation.members = std::move(ranks);
  const Ticket ticket = administer(std::move(operation));
  if (auto status = ticket.wait(); !status) return status;
  return static_cast<ProcessSetId>(ticket.output().value);
}

Status Engine::remove_process_set(ProcessSetId set) {
  if (set == kWorld || process_set(set).empty()) {
    return Status(Code::invalid_argument, cat("there is no process set ", set, " to remove"));
  }
  Operation operation{.kind = Collective::remove_process_set,
                      .name = cat(submit::kReservedPrefix, "remove_process_set/", set)};
  operation.members = {static_cast<Rank>(set)};
  return administer(std::move(operation)).wait();
}

std::vector<Rank> Engine::process_set(ProcessSetId set) const { return core_->members(set).ranks; }
Result<std::vector<std::byte>> Engine::codec_state() const {
  return core_->codec_memory().save();
}
Status Engine::load_codec_state(std::span<const std::byte> state) {
  if (auto status = core_->codecs_at_rest(); !status) return status;
  return core_->codec_memory().load(state);
}
Result<std::vector<std::byte>> Engine::codec_state(const CodecPart& part) const {
  return core_->codec_memory().save(part);
}
Status Engine::load_codec_state(std::span<const std::byte> state, const CodecPart& part) {
  if (auto status = core_->codecs_at_rest(&part); !status) return status;
  return core_->codec_memory().load(state, part);
}
Result<std::vector<float>> Engine::take_residual(std::string_view tensor) {
  if (auto status = core_->codecs_at_rest(); !status) return status;
  return core_->codec_memory().flush(tensor);
}
Result<std::vector<std::vector<std::byte>>> redistribute_codec_states(
    std::span<const std::vector<std::byte>> states, std::size_t size) {
  return engine::redistribute(states, size);
}
Stats Engine::stats() const { return core_->stats(); }
std::vector<Timing> Engine::timings() const { return core_->timings(); }
std::string Explanation::text() const { return engine::explain_text(*this); }
Explanation Engine::explain() const { return core_->explain(); }
Status Engine::start_timeline(const std::string& path, bool mark_cycles) {
  return core_->start_timeline(path, mark_cycles);
}
void Engine::stop_timeline() { core_->stop_timeline(); }
void Engine::shutdown() {
  if (core_) core_->shutdown();
}

std::vector<std::size_t> split_groups(std::span<const std::uint64_t> sizes, std::size_t groups,
                                      Balance balance) {
  groups = std::max<std::size_t>(groups, 1);
  return balance == Balance::bytes ? submit::split_by_bytes(sizes, groups)
                                   : submit::split_by_count(sizes.size(), groups);
}

Result<std::vector<std::string>> published_addresses(std::string_view wanted) {
  return rendezvous::addresses_to_publish(rendezvous::interface_addresses(), wanted);
}

std::string_view version() { return UNISONO_VERSION; }

}  // namespace unisono

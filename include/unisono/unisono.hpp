// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// unisono for C++: an Engine joins a job; every named collective returns a Ticket.
//
//   auto engine = unisono::Engine::join().value();
//   std::vector<float> gradient = ...;
//   auto ticket = engine.allreduce<float>("layer1.weight", gradient);
//   ... compute the next gradient ...
//   if (auto status = ticket.wait(); !status) { /* status.message() says who, what, why */ }
//
// Thread safety: every method of Engine and Ticket may be called from any thread.
// Lifetime: buffers given to a collective must stay valid and untouched until its Ticket is done.
// After a failure the memory is the caller's again, and what an output holds is undefined, unless
// keep_inputs was asked for: then it is as it was before.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unisono/codec.hpp"
#include "unisono/codec_report.hpp"
#include "unisono/explanation.hpp"
#include "unisono/operation.hpp"
#include "unisono/options.hpp"
#include "unisono/order_report.hpp"
#include "unisono/sparse.hpp"
#include "unisono/stats_table.h"
#include "unisono/status.hpp"
#include "unisono/types.hpp"

namespace unisono {

struct TicketState;
namespace engine {
class EngineCore;
class WorldCore;
}  // namespace engine

// What a finished operation returns in addition to what was written to the caller's output.
struct Output {
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;        // engine-owned result when no output was given
  std::vector<std::int64_t> splits;        // alltoall: rows received from each member
  std::int64_t value = -1;                 // join: the last rank; add_process_set: the id
};

// A claim on one result. Copies share the claim. Dropping it abandons the result, not the work.
class UNISONO_API Ticket {
 public:
  Ticket() = default;
  explicit Ticket(std::shared_ptr<TicketState> state) : state_(std::move(state)) {}

  bool valid() const { return state_ != nullptr; }
  // A program has seen that an operation is done when done() returned true, when it waited or read
  // the output, or when its callback ran. What it submits from then on may depend on the result,
  // and plans take that into account.
  bool done() const;
  // Why the operation has already failed; ok otherwise, so ok does not tell whether it is done.
  Status refusal() const;
  // Blocks until done. The waiting thread may drive the engine itself instead of sleeping.
  Status wait() const;
  // Returns timed_out when the deadline passes first; the operation stays in flight.
  Status wait_for(std::chrono::nanoseconds limit) const;
  const std::string& name() const;
  // Valid once wait() returned ok, as long as a Ticket of this claim lives.
  Output output() const;
  // The same of a sparse collective; the result lives as long as a copy of what is returned.
  SparseResult sparse() const;

 private:
  std::shared_ptr<TicketState> state_;
};

// The job of ranks that are threads of one process. Engines share its ownership.
class UNISONO_API ThreadWorld {
 public:
  explicit ThreadWorld(int size);
  int size() const;
  std::shared_ptr<engine::WorldCore> core() const { return core_; }

 private:
  std::shared_ptr<engine::WorldCore> core_;
};

// A piece of memory that all ranks of the host map. Collectives on it need no copies. It is freed
// when the last copy of the handle is destroyed; it may outlive the engine.
class UNISONO_API ArenaBlock {
 public:
  ArenaBlock() = default;
  ArenaBlock(std::shared_ptr<void> memory, std::size_t bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}
  void* data() const { return memory_.get(); }
  std::size_t size() const { return bytes_; }
  template <typename T>
  std::span<T> as() const {
    return {static_cast<T*>(data()), bytes_ / sizeof(T)};
  }
  std::shared_ptr<void> share() const { return memory_; }

 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

// Tensors allocated here are reduced in place, at memory speed, by the ranks of one host. The
// disadvantage: a tensor in the arena that is being reduced when a rank dies is left undefined,
// even with keep_inputs.
class UNISONO_API Arena {
 public:
  explicit Arena(std::shared_ptr<engine::EngineCore> core) : core_(std::move(core)) {}
  // The block is zero and aligned to 4 KiB. out_of_memory: the arena or the machine has no room.
  Result<ArenaBlock> allocate(std::size_t bytes) const;
  std::size_t used() const;
  std::size_t capacity() const;

 private:
  std::shared_ptr<engine::EngineCore> core_;
};

// An allreduce agreed on once and run again and again: no name to look up, nothing to negotiate.
// Persistent operations are independent of each other and of everything named: ranks may start them
// in any order. Valid as long as its engine and its process set, and until it is released.
class UNISONO_API Persistent {
 public:
  Persistent() = default;
  Persistent(std::shared_ptr<engine::EngineCore> core, std::uint32_t id)
      : core_(std::move(core)), id_(id) {}
  // The previous Ticket must be done; otherwise this returns a Ticket that has already failed.
  Ticket start() const;
  // Collective: every member releases it. Its part of the board and of the arena can be used again.
  // A run that is not done fails with shut_down.
  Status release() const;

 private:
  std::shared_ptr<engine::EngineCore> core_;
  std::uint32_t id_ = 0;
};

struct Identity {
  Rank rank = 0;
  int size = 1;
  Rank local_rank = 0;
  int local_size = 1;
  Rank cross_rank = 0;
  int cross_size = 1;
  std::string host;
  std::string source;                       // which launcher's environment was used
};

// Which CPUs are for which threads, by the option cpu_sets. The engine has bound its own threads;
// the other two sets are a plan that the program follows by binding its threads. All sets are empty
// when there is no plan.
struct Placement {
  std::vector<int> engine;
  std::vector<int> input;  // when only this is empty, input shares with compute
  std::vector<int> compute;
  std::string reason;                       // in a sentence: what was planned from what, or why not
};

// What an engine has counted since it joined; stats_table.h says what each number means.
struct Stats {
#define UNISONO_COUNT(name, about) std::uint64_t name = 0;
#define UNISONO_TIME(name, about) double name##_s = 0;
#define UNISONO_SECONDS(name, about) double name = 0;
  UNISONO_STATS(UNISONO_COUNT, UNISONO_TIME, UNISONO_COUNT, UNISONO_SECONDS)
#undef UNISONO_COUNT
#undef UNISONO_TIME
#undef UNISONO_SECONDS
  // The rank that the others waited for during the last seconds; -1 when no rank stands out.
  Rank slow_rank = -1;
  std::string verdict;                      // the same in a sentence
  OrderReport order;
  std::vector<CodecReport> codecs;          // those that pick, quantise or factor, by their text
};

// Where the time of one tensor went on this rank, station by station.
struct Timing {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t bucket = 0;
  double submitted_us = 0;                  // on this rank's monotonic clock
  double negotiation_us = 0;                // until all ranks had agreed
  double wait_tensors_us = 0;               // until the buckets before it were done
  double pack_us = 0;
  double wait_data_us = 0;                  // until the last rank was there (shared memory only)
  double move_us = 0;
  double unpack_us = 0;
};

class UNISONO_API Engine {
 public:
  // Joins the job described by the environment (unisono run, torchrun, mpirun, srun), or a job of
  // one rank when there is none.
  static Result<Engine> join();
  static Result<Engine> join(Options options);
  // The same, with the variables that say who this process is and where rank 0 listens
  // (UNISONO_RANK, UNISONO_SIZE, UNISONO_ADDRESS, UNISONO_KEY_FD, ...) given by a function instead
  // of the process's environment: a process may then join several jobs, from several threads.
  using Environment = std::function<std::optional<std::string>(const std::string&)>;
  static Result<Engine> join(Options options, const Environment& environment);
  // Joins as one thread of this process.
  static Result<Engine> join(Options options, const ThreadWorld& world, Rank rank);

  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();                                // shuts down in good order

  const Identity& identity() const;
  Rank rank() const { return identity().rank; }
  int size() const { return identity().size; }
  const Options& options() const;
  const Placement& placement() const;
  // Binds the program's threads to the compute CPUs of placement(): all of this process but the
  // engine's and those on the input CPUs, and with them the threads and processes they start. Where
  // ranks are threads of one process, the calling thread alone. Returns how many threads have those
  // CPUs now; 0, and nothing changed, when placement() has no sets.
  Result<int> bind_compute() const;
  // Binds the calling thread, and what it starts, to the CPUs of the input pipeline, or to the
  // compute's where the pipeline has none of its own.
  Status bind_input() const;

  // Tensors and barriers are submitted through these two; for an invalid argument they return a
  // Ticket that is already done. Names that begin with "unisono." are reserved for the engine.
  Ticket submit(Operation operation, Settings settings = {});
  // All-or-nothing: the operations become ready, run and are checked across ranks as one unit.
  std::vector<Ticket> submit_group(std::string_view group, std::vector<Operation> operations,
                                   Settings settings = {});

  template <typename T>
  Ticket allreduce(std::string_view name, std::span<T> in_place, Settings settings = {}) {
    return submit(operation<T>(Collective::allreduce, name, in_place, in_place.data()),
                  std::move(settings));
  }
  template <typename T>
  Ticket broadcast(std::string_view name, std::span<T> in_place, Rank root,
                   Settings settings = {}) {
    settings.root = root;
    return submit(operation<T>(Collective::broadcast, name, in_place, in_place.data()),
                  std::move(settings));
  }
  // Results of these three are engine-owned: ticket.output().
  template <typename T>
  Ticket allgather(std::string_view name, std::span<const T> input, Settings settings = {}) {
    return submit(operation<T>(Collective::allgather, name, input, nullptr), std::move(settings));
  }
  template <typename T>
  Ticket reducescatter(std::string_view name, std::span<const T> input, Settings settings = {}) {
    return submit(operation<T>(Collective::reducescatter, name, input, nullptr),
                  std::move(settings));
  }
  template <typename T>
  Ticket alltoall(std::string_view name, std::span<const T> input, Settings settings = {}) {
    return submit(operation<T>(Collective::alltoall, name, input, nullptr), std::move(settings));
  }
  // Results of these: ticket.sparse(). Indices and values are copied before the call returns.
  Ticket sparse_allreduce(std::string_view name, const SparseOperand& operand,
                          const SparseSettings& settings = {});
  template <typename T, typename Index>
  Ticket sparse_allreduce(std::string_view name, std::span<const Index> indices,
                          std::span<const T> values, std::int64_t length,
                          const SparseSettings& settings = {}) {
    return sparse_allreduce(name, SparseOperand::of(indices, values, length), settings);
  }
  // Everybody's elements together; those with the same index are combined in the order of ranks.
  Ticket sparse_allgather(std::string_view name, const SparseOperand& operand,
                          const SparseSettings& settings = {});
  Ticket barrier(ProcessSetId set = kWorld);
  // Collective: every member prepares the same allreduce under the same name.
  Result<Persistent> prepare(Operation operation, Settings settings = {});
  template <typename T>
  Result<Persistent> prepare_allreduce(std::string_view name, std::span<T> in_place,
                                       Settings settings = {}) {
    return prepare(operation<T>(Collective::allreduce, name, in_place, in_place.data()),
                   std::move(settings));
  }
  Arena arena() const { return Arena(core_); }
  // This rank has no more data: it contributes the neutral element until every rank has joined.
  Ticket join_ranks(ProcessSetId set = kWorld);

  // Collective over the world: every rank calls it with the same ranks.
  Result<ProcessSetId> add_process_set(std::vector<Rank> ranks);
  Status remove_process_set(ProcessSetId set);
  std::vector<Rank> process_set(ProcessSetId set) const;

  Stats stats() const;
  // The last 2,048 tensors, oldest first.
  std::vector<Timing> timings() const;
  // Which algorithms allreduces over messages run, and why.
  Explanation explain() const;
  // Writes where the time of every tensor goes to a file for chrome://tracing or Perfetto, from now
  // until stop_timeline() or shutdown(). Rank 0 writes the file itself, rank 3 beside it (run.json,
  // run.3.json). Local; a timeline that runs already is closed first.
  Status start_timeline(const std::string& path, bool mark_cycles = false);
  void stop_timeline();
  // Collective: all ranks use another ordering strategy from here on; nothing in flight is lost.
  Ticket switch_order(std::string_view strategy, ProcessSetId set = kWorld);
  // Collective: from here on the order of collectives follows from the graph of a step, without a
  // message from the first step on, and nothing is learned. All ranks give the same graph, or all
  // get an error. A step that differs from it is negotiated, and the order is learned again.
  Status follow_graph(const Graph& graph, ProcessSetId set = kWorld);
  // What codecs have not sent yet and need besides, of this rank, for a checkpoint; loading it gives
  // the same bits from there on. Refused while an allreduce with a codec is on its way, loading as
  // soon as one has been submitted.
  Result<std::vector<std::byte>> codec_state() const;
  Status load_codec_state(std::span<const std::byte> state);
  // The same of some tensors: loading leaves what is kept of others as it is, and forgets what the
  // state does not have of these; refused while one of these is on its way.
  Result<std::vector<std::byte>> codec_state(const CodecPart& part) const;
  Status load_codec_state(std::span<const std::byte> state, const CodecPart& part);
  // What a tensor's codec has not sent yet, and forgets now: allreduce it to lose nothing. Empty
  // where nothing was kept.
  Result<std::vector<float>> take_residual(std::string_view tensor);
  // Leaves the job; pending tickets fail with shut_down. Safe to call twice.
  void shutdown();
  std::shared_ptr<engine::EngineCore> core() const { return core_; }

 private:
  explicit Engine(std::shared_ptr<engine::EngineCore> core);
  template <typename Join>
  static Result<Engine> joined(Join join);
  Ticket administer(Operation operation, const Settings& settings = {});
  template <typename T, typename U>
  static Operation operation(Collective kind, std::string_view name, std::span<U> data,
                             void* output) {
    return {.kind = kind, .name = std::string(name), .dtype = dtype_of<T>,
            .shape = {static_cast<std::int64_t>(data.size())}, .input = data.data(),
            .output = output, .members = {}, .keep_alive = {}};
  }

  std::shared_ptr<engine::EngineCore> core_;
};

// What is about equal in all runs of a list: the number of tensors, or the bytes.
enum class Balance { count, bytes };

// Cuts a list of tensors, given by their sizes in bytes, into contiguous runs for submit_group;
// returns the number of tensors in each. bytes: the largest run is as small as possible. There are
// `groups` runs, or one per tensor when groups is larger; none is empty. groups is 1 or more.
UNISONO_API std::vector<std::size_t> split_groups(std::span<const std::uint64_t> sizes,
                                                  std::size_t groups,
                                                  Balance balance = Balance::count);

// The states that the ranks of a job of another size begin with: the sum over all ranks of what was
// not sent stays the same. states: of all ranks of the job that saved them, in rank order.
UNISONO_API Result<std::vector<std::vector<std::byte>>> redistribute_codec_states(
    std::span<const std::vector<std::byte>> states, std::size_t size);

// The addresses of this machine that ranks on other hosts are told, best first, for those who bring
// the ranks of a job together themselves. `wanted` is what UNISONO_BIND_HOST may be: nothing for every
// address that others may reach, or an interface, a network, an address or the name of a host.
UNISONO_API Result<std::vector<std::string>> published_addresses(std::string_view wanted = {});

UNISONO_API std::string_view version();

}  // namespace unisono

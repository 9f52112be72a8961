// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// How the members of one process set agree what is ready and in which order.
//
// Sans-IO: inputs are local requests, messages from other members and the time; outputs are
// messages to send and Responses to run. No threads, sockets, clocks or globals, so the same
// object runs live, in a unit test and under virtual time.
// Thread: whoever owns it; one call at a time. Same inputs on all members make the same Responses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "model/members.hpp"
#include "model/iteration/iteration_graph.hpp"
#include "model/options/registry.hpp"
#include "model/request.hpp"
#include "model/response.hpp"

namespace unisono::order {

struct OrderMessage {
  Rank to;                              // global rank, never this one
  std::vector<std::byte> bytes;
};

// Who holds up a tensor, for people: found by the member that can see it.
struct Stall {
  std::string name;
  Nanos waited{0};
  std::vector<Rank> submitted;
  std::vector<Rank> missing;
  std::string sentence;                 // ready to log
};

struct OrderOutput {
  std::vector<OrderMessage> messages;
  std::vector<Response> responses;      // one negotiation round's worth, in agreed order
  std::vector<Stall> stalls;            // newly due reports
};

// Requests of this rank that a strategy with a response cache has seen answered.
struct OrderCounts {
  std::uint64_t cache_hits = 0;         // as one bit
  std::uint64_t cache_misses = 0;       // as a request

  OrderCounts& operator+=(const OrderCounts& more) {
    cache_hits += more.cache_hits;
    cache_misses += more.cache_misses;
    return *this;
  }
};

// How far an order that plans has come, for people.
struct KnownBucket {
  std::string first;                    // its first tensor
  std::uint64_t tensors = 0, bytes = 0;
  BucketMethod method;
  std::string reason;                   // on the member that chose it; else empty
};
struct KnownPlan {
  std::string first;                    // a tensor of its first bucket
  std::uint64_t tensors = 0, buckets = 0;
  std::uint64_t iterations = 0;         // that followed it
  std::shared_ptr<const std::vector<KnownBucket>> methods;  // by bucket
};
struct OrderState {
  bool planned = false;                 // the order of steps is fixed, and nobody is asked
  std::uint64_t plans = 0;              // how often the known plans began to be followed
  std::uint64_t plans_ended = 0;
  std::uint64_t buckets = 0;            // of the plans that are followed
  std::string reason;                   // why it is as it is; empty where nothing is ever planned
  std::vector<KnownPlan> known;
};

class CachePool;
class RequestPool;
class TopoPool;
class GivenGraphs;
struct TopoGraph;

struct OrderSettings {
  SetId set = 0;
  Nanos stall_warning{0};               // 0 = never; doubles after each report
  Nanos stall_limit{0};                 // 0 = never; after it the tensor fails on every member
  std::uint64_t first_sequence = 0;     // of the first response: not 0 after a switch of strategy
  int tree_radix = 16;                  // tree, cache: children of an inner node
  std::size_t cache_capacity = 1024;    // cache: responses remembered
  CachePool* cache_pool = nullptr;      // cache: shared by members of one process; outlives them
  RequestPool* request_pool = nullptr;  // the same for what is submitted
  std::shared_ptr<TopoPool> topo_pool;  // topo: the same for plans; may be null
  std::string pacing = "event";         // event, cycle, gs, nbcs
  Nanos cycle{1'000'000};               // cycle, gs, nbcs: from one round's begin to the next
  int gs_cycles = 1;                    // gs: rounds between two agreements on the sleep
  int learn_steps = 3;                  // topo: iterations watched before planning
  Nanos topo_patience{1'000'000'000};   // topo: an unfilled slot is given up after this long
  // topo: what shares a bucket; null: neighbours up to a fixed size.
  std::shared_ptr<const IterationArranger> arranger;
  std::size_t bucket_bytes_max = std::size_t{8} << 20;  // topo: of that fixed size
  bool fuse_groups = false;             // topo: whether a group may share a bucket with others
  std::uint32_t channels = 1;           // topo: that buckets may travel through at the same time
  // topo: graphs that the caller gave, for the strategy "topo#NAME"; may be null.
  std::shared_ptr<const GivenGraphs> graphs;
  std::shared_ptr<const TopoGraph> given;  // topo: the one it follows; null: it learns
};

class Order {
 public:
  virtual ~Order() = default;
  virtual std::string_view name() const = 0;
  // A request of this rank. The name is not in flight already (submit/ has checked).
  virtual void submit(Request request, Time now) = 0;
  // A message another member's Order produced. Malformed input leads to a Status, never a crash.
  virtual Status receive(Rank from, std::span<const std::byte> message, Time now) = 0;
  // Runs what pacing allows now: appends messages and at most one round of responses to `out`.
  virtual void negotiate(Time now, OrderOutput& out) = 0;
  // A member left in good order: names that need it fail with peer_left, now and later.
  virtual void member_left(Rank rank, Time now) = 0;
  // This member itself is about to leave: it ends the plan it follows, if any, so that nobody waits
  // for it in a planned bucket. It takes part in what it gives out from here on.
  virtual void leave(Time now) { static_cast<void>(now); }
  // A response this object gave out has ended here; vote is the strongest that any member took (run
  // when it was not planned). Responses end in their order. From an aborted one on, and after a
  // run_then_stop, planned responses count as never given out, on every member. Those that are
  // `closing` are never told.
  virtual void ended(std::uint64_t sequence, PlanVote vote, Time now) {
    static_cast<void>(sequence), static_cast<void>(vote), static_cast<void>(now);
  }
  // The program of this rank has seen that a response it takes part in is done: it waited for it,
  // asked, or was called back. Called in the order in which this and its submissions happened;
  // repeats do no harm. Responses that began while watches() was false need not be told.
  virtual void observed(std::uint64_t sequence) { static_cast<void>(sequence); }
  // Whether this learns from what the program looks at.
  virtual bool watches() const { return false; }
  // Gives up what was submitted here and is not answered, in order of submission, for another
  // strategy to take over. Only the destructor may follow.
  virtual std::vector<Request> release() = 0;
  // When negotiate() next has something to do although nothing arrives; kNever when nothing.
  virtual Time deadline() const = 0;
  // Whether the thread that drives this spins until other members have come, and keeps its core
  // meanwhile, instead of sleeping.
  virtual bool blocking() const { return false; }
  // Requests submitted here and not yet answered.
  virtual std::size_t waiting() const = 0;
  // Counts since it was made; nothing where there is no cache.
  virtual OrderCounts counts() const { return {}; }
  virtual OrderState state() const { return {}; }
};

using MakeOrder = std::unique_ptr<Order> (*)(Members, OrderSettings);
using OrderRow = RegistryRow<MakeOrder>;
std::span<const OrderRow> order_table();

std::unique_ptr<Order> make_coordinator(Members members, OrderSettings settings);
std::unique_ptr<Order> make_tree(Members members, OrderSettings settings);
std::unique_ptr<Order> make_cache(Members members, OrderSettings settings);
// Makes an order by option name; null when unknown. engine/ calls nothing else.
std::unique_ptr<Order> make_order(std::string_view name, Members members, OrderSettings settings);

}  // namespace unisono::order

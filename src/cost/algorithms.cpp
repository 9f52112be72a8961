// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "cost/algorithms.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.hpp"
#include "model/options/choices.hpp"
#include "model/options/registry.hpp"

namespace unisono::cost {
namespace {

// A further message in the same step costs so much of a latency: both ends handle it while others
// are on their way.
constexpr double kFurtherMessage = 0.25;
// What travels as one in a pipeline, as in move/.
constexpr double kSegment = 256 << 10;
constexpr double kChunk = 1 << 20;

// The question as the closed forms read it.
struct Case {
  Case(const Layout& layout, std::size_t data, const Costs& figures)
      : n(layout.n), hosts(layout.hosts), each(layout.each), least(layout.least),
        core(static_cast<int>(std::bit_floor(static_cast<unsigned>(layout.n)))),
        s(static_cast<double>(data)), within(figures.of(layout.within)),
        slowest(figures.of(layout.hosts > 1 ? layout.between : layout.within)),
        reduce(figures.reduce_per_byte) {}

  int rounds() const { return std::countr_zero(static_cast<unsigned>(core)); }
  bool folds() const { return core != n; }
  // How long n-1 messages take that leave one after the other, and how much of all that members
  // send to each other leaves their host.
  double spread(double bytes_each, int times = 1) const {
    const double leaving = hosts == 1 ? (n - 1) * bytes_each : each * (n - each) * bytes_each;
    return slowest.in_turn(times, leaving) + times * kFurtherMessage * (n - 2) * slowest.latency();
  }
  // Rounds of pairs that are 1, 2, 4, ... apart, of which each sends bytes(round) so many times: the
  // members of a host are neighbours, so the first rounds stay inside, and in the others all of them
  // share what leads outside.
  template <typename Bytes>
  double pairs(Bytes bytes, int times = 1) const {
    double sum = 0, leaving = 0, one_by_one = 0;
    int outside = 0;
    for (int round = 0; round < rounds(); ++round) {
      if (hosts > 1 && (2 << round) > each) {
        outside += times;
        leaving += times * each * bytes(round);
        one_by_one += times * slowest.seconds(each * bytes(round));
      } else {
        sum += times * within.seconds(bytes(round));
      }
    }
    if (outside == 0) return sum;
    return sum + std::max(one_by_one, slowest.in_turn(outside, leaving / outside));
  }
  double half(int round) const { return s / (2 << round); }
  double fold() const { return folds() ? slowest.in_turn(2, s) + reduce * s : 0; }

  int n, hosts, each, least, core;
  double s;
  LinkCost within, slowest;
  double reduce;
};

double ring(const Case& c) {
  const double slice = c.s / c.n;
  return c.slowest.in_turn(2 * (c.n - 1), slice) + (c.n - 1) * c.reduce * slice;
}

// Two or four rings side by side, each with its part of the data, share the wire; their messages are
// handled one after the other.
double rings(const Case& c) {
  const double parts = c.n > 4 ? 4 : 2;
  const double further = kFurtherMessage * (parts - 1) * c.slowest.latency();
  return ring(c) + 2 * (c.n - 1) * further;
}

double recursive_doubling(const Case& c) {
  return c.fold() + c.pairs([&](int) { return c.s; }) + c.rounds() * c.reduce * c.s;
}

double direct(const Case& c) {
  const double slice = c.s / c.n;
  return c.spread(slice, 2) + c.reduce * (c.n - 1) * slice;
}

double halving_doubling(const Case& c) {
  return c.fold() + c.pairs([&](int round) { return c.half(round); }, 2) +
         c.reduce * (c.s - c.s / c.core);
}

// The first segment goes up and down the tree; then every inner member sends, for each further one,
// as many as its port has to carry.
double over_trees(const Case& c, double bytes, double busiest) {
  const double segment = std::min(bytes, kSegment);
  const double further = segment > 0 ? bytes / segment - 1 : 0;
  const int depth = static_cast<int>(std::bit_width(static_cast<unsigned>(c.n))) - 1;
  const double adding = 2 * c.reduce * segment;
  return depth * (2 * c.slowest.seconds(segment) + adding) +
         std::max(further, 0.0) * (busiest * c.slowest.per_byte() * segment + adding);
}

double tree(const Case& c) { return over_trees(c, c.s, std::min(c.n - 1, 3)); }

// Two trees at once, each with half of the data; whoever is inside one is a leaf of the other.
double double_tree(const Case& c) {
  return over_trees(c, c.s / 2, std::min(c.n, 4)) + kFurtherMessage * c.slowest.latency();
}

// Copying within a host costs about what reducing does. Chunks pass through memory while others are
// on the wire, so that only the first and the last wait for it, unless few members of a large host
// reduce for all of it.
double hierarchical(const Case& c) {
  const double crowd = static_cast<double>(c.each) / c.least;
  const double memory = 3 * c.reduce * crowd * std::min(c.s, 2 * kChunk) + 4 * c.within.latency();
  const double leaving = c.s * (c.hosts - 1) / c.hosts;
  const double wire = c.slowest.in_turn(2, leaving) +
                      2 * kFurtherMessage * (c.hosts - 2) * c.slowest.latency();
  return memory + (crowd > 1 ? std::max(wire, c.reduce * crowd * c.s) : wire);
}

int rounds_up(int members) { return std::bit_width(static_cast<unsigned>(members) - 1); }

double gather_direct(const Case& c) { return c.spread(c.s / c.n); }
double gather_ring(const Case& c) { return c.slowest.in_turn(c.n - 1, c.s / c.n); }
// Parts come around a ring of hosts and are copied from window to window meanwhile.
double gather_hierarchical(const Case& c) {
  return 2 * c.reduce * std::min(c.s, 2 * kChunk) + 2 * c.within.latency() +
         c.slowest.in_turn(c.hosts - 1, c.s / c.hosts);
}

double scatter_direct(const Case& c) {
  const double part = c.s / c.n;
  return c.spread(part) + c.reduce * (c.n - 1) * part;
}
double scatter_halving(const Case& c) {
  const double fold =
      c.folds() ? c.slowest.seconds(c.s) + c.slowest.seconds(c.s / c.n) + c.reduce * c.s : 0;
  return fold + c.pairs([&](int round) { return c.half(round); }) +
         c.reduce * (c.s - c.s / c.core);
}
double scatter_ring(const Case& c) {
  const double part = c.s / c.n;
  return c.slowest.in_turn(c.n - 1, part) + (c.n - 1) * c.reduce * part;
}
// A host sends what it has reduced once, every member to one of each other host or a few.
double scatter_hierarchical(const Case& c) {
  const double memory = 2 * c.reduce * std::min(c.s, 2 * kChunk) + 2 * c.within.latency();
  const double leaving = c.s * (c.hosts - 1) / c.hosts;
  const double crowd = static_cast<double>(c.each) / c.least;
  return memory + c.slowest.seconds(leaving) +
         kFurtherMessage * ((c.hosts - 1) * crowd - 1) * c.slowest.latency();
}

// A tree whose longest branches leave first, so that of each host one member sends to others while
// members of a host are neighbours. After the first segment the root's port is what takes time.
double down_a_tree(const Case& c, int inner) {
  const double segment = std::min(c.s, kSegment);
  const double further = segment > 0 ? c.s / segment - 1 : 0;
  const int outer = rounds_up(c.hosts > 1 ? c.hosts : c.n);
  return outer * c.slowest.seconds(segment) + inner * c.within.seconds(segment) +
         std::max(further, 0.0) * segment *
             std::max(outer * c.slowest.per_byte(), (outer + inner) * c.within.per_byte());
}
double spread_by_tree(const Case& c) {
  return down_a_tree(c, c.hosts > 1 ? rounds_up(c.each) : 0);
}
double spread_by_hosts(const Case& c) {
  return down_a_tree(c, 0) + 2 * c.reduce * std::min(c.s, 2 * kChunk) + 2 * c.within.latency();
}

double exchange_pairwise(const Case& c) { return c.spread(c.s / c.n); }
// The same bytes leave a host in fewer messages, after they were copied three times more.
double exchange_hierarchical(const Case& c) {
  const double leaving = c.each * (c.n - c.each) * (c.s / c.n);
  const double crowd = static_cast<double>(c.each) / c.least;
  return 3 * c.reduce * c.s + 4 * c.within.latency() + c.slowest.seconds(leaving) +
         kFurtherMessage * ((c.hosts - 1) * crowd - 1) * c.slowest.latency();
}

// How many times the whole data is sent, over all members.
std::uint64_t around(const Layout& layout) { return 2 * (static_cast<std::uint64_t>(layout.n) - 1); }
std::uint64_t folded_pairs(const Layout& layout) {
  const auto n = static_cast<std::uint64_t>(layout.n);
  return 2 * (n - std::bit_floor(n));
}
std::uint64_t doubled(const Layout& layout) {
  const std::uint64_t core = std::bit_floor(static_cast<std::uint64_t>(layout.n));
  return core * static_cast<std::uint64_t>(std::countr_zero(core)) + folded_pairs(layout);
}
std::uint64_t halved(const Layout& layout) {
  return 2 * (std::bit_floor(static_cast<std::uint64_t>(layout.n)) - 1) + folded_pairs(layout);
}
std::uint64_t between_hosts(const Layout& layout) {
  return 2 * (static_cast<std::uint64_t>(layout.hosts) - 1);
}
std::uint64_t gathered(const Layout& layout) { return static_cast<std::uint64_t>(layout.n) - 1; }
std::uint64_t gathered_by_hosts(const Layout& layout) {
  return static_cast<std::uint64_t>(layout.hosts) - 1;
}

struct Form {
  double (*seconds)(const Case&);
  std::uint64_t (*times_sent)(const Layout&);
};
constexpr std::array kAllreduceForms = {
    registry_row<Form>(kAllreduceChoices, "ring", {ring, around}),
    registry_row<Form>(kAllreduceChoices, "recursive_doubling", {recursive_doubling, doubled}),
    registry_row<Form>(kAllreduceChoices, "direct", {direct, around}),
    registry_row<Form>(kAllreduceChoices, "halving_doubling", {halving_doubling, halved}),
    registry_row<Form>(kAllreduceChoices, "tree", {tree, around}),
    registry_row<Form>(kAllreduceChoices, "double_tree", {double_tree, around}),
    registry_row<Form>(kAllreduceChoices, "rings", {rings, around}),
    registry_row<Form>(kAllreduceChoices, "hierarchical", {hierarchical, between_hosts}),
};
static_assert(all_have_rows(kAllreduceChoices, kAllreduceForms));

constexpr std::array kAllgatherForms = {
    RegistryRow<Form>{"direct", "", {gather_direct, gathered}},
    RegistryRow<Form>{"ring", "", {gather_ring, gathered}},
    RegistryRow<Form>{"hierarchical", "", {gather_hierarchical, gathered_by_hosts}},
};

constexpr std::array kBroadcastForms = {
    RegistryRow<Form>{"tree", "", {spread_by_tree, gathered}},
    RegistryRow<Form>{"hierarchical", "", {spread_by_hosts, gathered_by_hosts}},
};

constexpr std::array kReducescatterForms = {
    RegistryRow<Form>{"direct", "", {scatter_direct, gathered}},
    RegistryRow<Form>{"halving", "", {scatter_halving, gathered}},
    RegistryRow<Form>{"ring", "", {scatter_ring, gathered}},
    RegistryRow<Form>{"hierarchical", "", {scatter_hierarchical, gathered_by_hosts}},
};

// Of an alltoall it is pairs of members that send to each other.
std::uint64_t all_pairs(const Layout& layout) {
  return static_cast<std::uint64_t>(layout.n) * (static_cast<std::uint64_t>(layout.n) - 1);
}
std::uint64_t pairs_apart(const Layout& layout) {
  return static_cast<std::uint64_t>(layout.apart);
}
constexpr std::array kAlltoallForms = {
    RegistryRow<Form>{"pairwise", "", {exchange_pairwise, all_pairs}},
    RegistryRow<Form>{"hierarchical", "", {exchange_hierarchical, pairs_apart}},
};

template <typename Rows>
const Form& form_of(const Rows& rows, std::string_view algorithm) {
  const auto* row = find_row(rows, algorithm);
  UNISONO_CHECK(row != nullptr);
  return row->make;
}

template <typename Rows>
double predicted(const Rows& rows, std::string_view algorithm, const Layout& layout,
                 std::size_t bytes, const Costs& costs) {
  return layout.n < 2 ? 0 : form_of(rows, algorithm).seconds(Case(layout, bytes, costs));
}

}  // namespace

double predict_allreduce(std::string_view algorithm, const Layout& layout, std::size_t bytes,
                         const Costs& costs) {
  return predicted(kAllreduceForms, algorithm, layout, bytes, costs);
}

double predict_allgather(std::string_view algorithm, const Layout& layout, std::size_t bytes,
                         const Costs& costs) {
  return predicted(kAllgatherForms, algorithm, layout, bytes, costs);
}

double predict_broadcast(std::string_view algorithm, const Layout& layout, std::size_t bytes,
                         const Costs& costs) {
  return predicted(kBroadcastForms, algorithm, layout, bytes, costs);
}

double predict_reducescatter(std::string_view algorithm, const Layout& layout, std::size_t bytes,
                             const Costs& costs) {
  return predicted(kReducescatterForms, algorithm, layout, bytes, costs);
}

double predict_alltoall(std::string_view algorithm, const Layout& layout, std::size_t bytes,
                        const Costs& costs) {
  return predicted(kAlltoallForms, algorithm, layout, bytes, costs);
}

int barrier_steps(int members) { return rounds_up(members); }

double predict(Collective kind, std::string_view algorithm, const Layout& layout,
               std::size_t bytes, const Costs& costs) {
  switch (kind) {
    case Collective::allreduce: return predict_allreduce(algorithm, layout, bytes, costs);
    case Collective::allgather: return predict_allgather(algorithm, layout, bytes, costs);
    case Collective::broadcast: return predict_broadcast(algorithm, layout, bytes, costs);
    case Collective::reducescatter: return predict_reducescatter(algorithm, layout, bytes, costs);
    case Collective::alltoall: return predict_alltoall(algorithm, layout, bytes, costs);
    default: break;
  }
  UNISONO_CHECK(!"a collective without predictions");
  return 0;
}

std::uint64_t sent_by_allreduce(std::string_view algorithm, const Layout& layout,
                                std::size_t bytes) {
  return form_of(kAllreduceForms, algorithm).times_sent(layout) * bytes;
}

std::uint64_t sent_by_allgather(std::string_view algorithm, const Layout& layout,
                                std::size_t bytes) {
  return form_of(kAllgatherForms, algorithm).times_sent(layout) * bytes;
}

std::uint64_t sent_by_broadcast(std::string_view algorithm, const Layout& layout,
                                std::size_t bytes) {
  return form_of(kBroadcastForms, algorithm).times_sent(layout) * bytes;
}

std::uint64_t sent_by_reducescatter(std::string_view algorithm, const Layout& layout,
                                    std::size_t bytes) {
  const std::uint64_t sent = form_of(kReducescatterForms, algorithm).times_sent(layout) * bytes;
  if (algorithm != "halving") return sent;
  // Whoever sits out gets its part back from the one that took its data.
  const auto n = static_cast<std::uint64_t>(layout.n);
  return sent + (n - std::bit_floor(n)) * (bytes / n);
}

std::uint64_t sent_by_alltoall(std::string_view algorithm, const Layout& layout,
                               std::size_t bytes) {
  const std::uint64_t part = bytes / static_cast<std::uint64_t>(layout.n);
  return form_of(kAlltoallForms, algorithm).times_sent(layout) * part;
}

}  // namespace unisono::cost

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The times: members are alike, so one of them stands for all. A packet is two messages that leave
// together. What pairs take is measured by itself: a CPU that adds vectors fast does not merge fast.
#include <algorithm>
#include <array>
#include <bit>

#include "base/check.hpp"
#include "cost/algorithms.hpp"
#include "cost/sparse_algorithms.hpp"
#include "model/sparse/stream_bytes.hpp"

namespace unisono::cost {
namespace {

// As in algorithms.cpp: a further message in the same step.
constexpr double kFurtherPacket = 0.25;
// What a pair takes, where one that is merged with another stream takes 1 (docs/COMPRESSION.md).
constexpr double kMerged = 1, kScattered = 0.7, kCompacted = 0.5, kHashed = 0.2;

struct Guess {
  double seconds = 0;
  double bytes = 0;                         // sent by a member
};

class SparseForm {
 public:
  SparseForm(const SparseCase& what, const Costs& costs)
      : c(what), figures(costs), n(what.layout.n),
        wire(costs.of(what.layout.hosts > 1 ? what.layout.between : what.layout.within)),
        gamma(costs.reduce_per_byte), pair_s(costs.merge_per_pair) {}

  Guess dense() const;
  Guess recursive_double() const;
  Guess split(bool dense_gather) const;
  Guess ring() const;
  Guess gather() const;
  Guess oktopk() const;
  Guess identical() const;
  Guess hierarchical() const;

 private:
  std::uint64_t working() const { return c.partials ? 4 : c.value_bytes; }
  std::uint64_t expected(int members, std::uint64_t length) const {
    return static_cast<std::uint64_t>(c.count(0, members, 0, length) + 0.5);
  }
  double packet(std::uint64_t nnz, std::uint64_t length, std::uint64_t width) const {
    const bool dense = kept_dense(length, nnz, c.value_bytes, c.dense_multiplier);
    const StreamFormat format = dense ? StreamFormat::dense : shortest_format(length, nnz, width);
    return static_cast<double>(kStreamHeaderBytes +
                               stream_payload_bytes(format, length, nnz, width));
  }
  // Of a message that is not the first: a link that lets a burst pass before it keeps its rate has
  // done so.
  static double again(const LinkCost& link, double bytes) {
    return std::max(link.seconds(bytes), link.latency() + link.per_byte() * bytes);
  }
  // What is sent to each of the others, one after the other; of a host, all through one wire.
  double spread(double bytes_each, double messages, bool first = true) const {
    const Layout& layout = c.layout;
    const double leaving = layout.hosts == 1
                               ? (n - 1) * bytes_each
                               : static_cast<double>(layout.each) * (n - layout.each) * bytes_each;
    return (first ? wire.seconds(leaving) : again(wire, leaving)) +
           kFurtherPacket * std::max(messages * (n - 1) - 1, 0.0) * wire.latency();
  }
  double one(double bytes, bool first = true) const {
    return (first ? wire.seconds(bytes) : again(wire, bytes)) + kFurtherPacket * wire.latency();
  }
  // Of so many elements in a range, or of the whole range where they are kept dense.
  double reducing(double nnz, std::uint64_t length, double what) const {
    const double dense = gamma * static_cast<double>(length * working());
    return is_dense(static_cast<std::uint64_t>(nnz), length) ? dense : what * pair_s * nnz;
  }
  // What the elements of some members take, as one packet.
  double taken_in(int members, std::uint64_t length, double what) const {
    return reducing(static_cast<double>(expected(members, length)), length, what);
  }
  bool is_dense(std::uint64_t nnz, std::uint64_t length) const {
    return kept_dense(length, nnz, c.value_bytes, c.dense_multiplier);
  }
  std::uint64_t slice() const { return std::max<std::uint64_t>(c.length / parts(), 1); }
  std::uint64_t parts() const { return static_cast<std::uint64_t>(n); }

  const SparseCase& c;
  const Costs& figures;
  const int n;
  const LinkCost wire;
  const double gamma, pair_s;
};

// By the algorithm that will run where that is known.
Guess dense_allreduce(const SparseCase& c, std::size_t bytes, const Costs& costs) {
  const Layout& layout = c.layout;
  const std::string_view rule = c.dense_rule ? c.dense_rule(bytes) : std::string_view();
  Guess best;
  for (const std::string_view name :
       {"direct", "recursive_doubling", "halving_doubling", "ring", "hierarchical"}) {
    if (!rule.empty() && name != rule) continue;
    if (name == "hierarchical" && (layout.hosts < 2 || layout.each < 2)) continue;
    const double seconds = predict_allreduce(name, layout, bytes, costs);
    if (best.bytes > 0 && seconds >= best.seconds) continue;
    best = {seconds, std::max(1.0, static_cast<double>(sent_by_allreduce(name, layout, bytes)) /
                                       layout.n)};
  }
  if (best.bytes > 0 || rule.empty()) return best;
  SparseCase any = c;                       // the rule knows one that has no form here
  any.dense_rule = {};
  return dense_allreduce(any, bytes, costs);
}

Guess SparseForm::dense() const {
  const std::size_t bytes = c.length * c.value_bytes;
  Guess out = dense_allreduce(c, bytes, figures);
  out.seconds += gamma * static_cast<double>(bytes);  // it is filled up first
  return out;
}

Guess SparseForm::recursive_double() const {
  Guess out;
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  if (core != n) {
    const double there = packet(expected(1, c.length), c.length, c.value_bytes);
    const double back = packet(expected(n, c.length), c.length, c.value_bytes);
    out.seconds += one(there) + one(back) +
                   2 * taken_in(1, c.length, kMerged);
    out.bytes += (there + back) * (n - core) / n;
  }
  int members = core == n ? 1 : 2;
  for (int round = 1; round < core; round *= 2, members *= 2) {
    const std::uint64_t nnz = expected(std::min(members, n), c.length);
    const double bytes = packet(nnz, c.length, members == 1 ? c.value_bytes : working());
    const bool within = c.layout.hosts == 1 || 2 * round <= c.layout.each;
    const double crowd = within ? 1 : c.layout.each;
    const LinkCost& link = within ? figures.of(c.layout.within) : wire;
    const double sent = crowd * bytes;
    out.seconds += (round == 1 ? link.seconds(sent) : again(link, sent)) +
                   kFurtherPacket * link.latency() +
                   2 * reducing(static_cast<double>(nnz), c.length, kMerged);
    out.bytes += bytes;
  }
  return out;
}

Guess SparseForm::split(bool dense_gather) const {
  Guess out;
  const double part = packet(expected(1, slice()), slice(), c.value_bytes);
  const std::uint64_t reduced = expected(n, slice());
  const double per_value = c.gathered_bytes_per_value > 0 ? c.gathered_bytes_per_value
                                                          : static_cast<double>(c.value_bytes);
  const double whole = dense_gather ? per_value * static_cast<double>(slice())
                                    : packet(reduced, slice(), c.value_bytes);
  if (c.balanced) out.seconds += spread(264, 1);
  out.seconds += spread(part, 2) + n * taken_in(1, slice(), kScattered) +
                 spread(whole, dense_gather ? 1 : 2, false) +
                 (dense_gather ? gamma * n * static_cast<double>(slice() * c.value_bytes)
                               : n * taken_in(n, slice(), kCompacted));
  out.bytes = (n - 1) * (part + whole + (c.balanced ? 264 : 0));
  return out;
}

Guess SparseForm::ring() const {
  Guess out;
  for (int step = 1; step < n; ++step) {
    const std::uint64_t nnz = expected(step, slice());
    const double bytes = packet(nnz, slice(), step == 1 ? c.value_bytes : working());
    out.seconds += one(bytes, step == 1) + 2 * reducing(static_cast<double>(nnz), slice(), kMerged);
    out.bytes += bytes;
  }
  const double whole = packet(expected(n, slice()), slice(), c.value_bytes);
  out.seconds += (n - 1) * one(whole, false) + n * taken_in(n, slice(), kCompacted);
  out.bytes += (n - 1) * whole;
  return out;
}

Guess SparseForm::gather() const {
  const double bytes = packet(expected(1, c.length), c.length, c.value_bytes);
  return {spread(bytes, 2) + n * taken_in(1, c.length, kScattered), (n - 1) * bytes};
}

Guess SparseForm::oktopk() const {
  Guess out;
  const double part = packet(expected(1, slice()), slice(), c.value_bytes);
  const auto kept = static_cast<std::uint64_t>(c.k / n + 0.5);
  const double whole = packet(std::min(kept, slice()), slice(), c.value_bytes);
  out.seconds = spread(part, 2) + n * taken_in(1, slice(), kScattered) +
                spread(whole, 2, false) + kCompacted * pair_s * c.k +
                (c.estimates ? 3 * spread(2048 * 4, 1) : 0) + (c.balanced ? spread(264, 1) : 0);
  out.bytes = (n - 1) * (part + whole + (c.estimates ? 3 * 8192 : 0) + (c.balanced ? 264 : 0));
  return out;
}

// As it is where supports agree.
Guess SparseForm::identical() const {
  const auto k = static_cast<std::size_t>(expected(1, c.length));
  const std::size_t bytes = k * c.value_bytes;
  Guess out = dense_allreduce(c, bytes, figures);
  // Nobody begins before it has the hashes of all, which read every index.
  out.seconds += wire.latency() + spread(16, 1) + kHashed * pair_s * static_cast<double>(k) +
                 gamma * static_cast<double>(bytes);
  out.bytes += (n - 1) * 16;
  return out;
}

Guess SparseForm::hierarchical() const {
  const int each = c.layout.each;
  const LinkCost& within = figures.of(c.layout.within);
  const std::uint64_t here = expected(each, c.length);
  const double part = packet(expected(1, c.length), c.length, c.value_bytes);
  const double whole = packet(expected(n, c.length), c.length, c.value_bytes);
  SparseCase between = c;
  between.layout = Layout{.n = c.layout.hosts, .hosts = c.layout.hosts,
                          .within = c.layout.within, .between = c.layout.between};
  between.count = [&](int, int count, std::uint64_t begin, std::uint64_t end) {
    return c.count(0, count * each, begin, end);
  };
  Guess out = SparseForm(between, figures).split(false);
  out.bytes = out.bytes / each + (part + whole) * (each - 1) / each;
  out.seconds += within.seconds((each - 1) * part) + within.seconds((each - 1) * whole) +
                 2 * kFurtherPacket * (each - 1) * within.latency() +
                 each * taken_in(1, c.length, kScattered) +
                 reducing(static_cast<double>(here), c.length, kCompacted);
  return out;
}

struct SparseFormRow {
  std::string_view name;
  Guess (*guess)(const SparseForm&);
};
constexpr std::array kSparseForms = {
    SparseFormRow{"dense", [](const SparseForm& form) { return form.dense(); }},
    SparseFormRow{"ssar_recursive_double",
                  [](const SparseForm& form) { return form.recursive_double(); }},
    SparseFormRow{"ssar_split_allgather", [](const SparseForm& form) { return form.split(false); }},
    SparseFormRow{"dsar_split_allgather", [](const SparseForm& form) { return form.split(true); }},
    SparseFormRow{"sparse_ring", [](const SparseForm& form) { return form.ring(); }},
    SparseFormRow{"identical", [](const SparseForm& form) { return form.identical(); }},
    SparseFormRow{"hierarchical", [](const SparseForm& form) { return form.hierarchical(); }},
    SparseFormRow{"oktopk", [](const SparseForm& form) { return form.oktopk(); }},
    SparseFormRow{"sparse_allgather", [](const SparseForm& form) { return form.gather(); }},
};

Guess guessed(std::string_view algorithm, const SparseCase& what, const Costs& costs) {
  if (what.layout.n < 2) return {};
  const auto row = std::find_if(kSparseForms.begin(), kSparseForms.end(),
                                [&](const SparseFormRow& form) { return form.name == algorithm; });
  UNISONO_CHECK(row != kSparseForms.end());
  return row->guess(SparseForm(what, costs));
}

bool may_be_chosen(std::string_view name, const SparseCase& what, const SparseAllowed& allowed) {
  if (name == "sparse_allgather") return false;  // another collective
  if (name == "oktopk") return allowed.topk && what.k > 0;
  if (name == "identical") return allowed.supports_may_agree && !allowed.user_operator;
  if (name == "hierarchical") return what.layout.hosts > 1 && what.layout.each > 1;
  return true;
}

}  // namespace

double predict_sparse(std::string_view algorithm, const SparseCase& what, const Costs& costs) {
  return guessed(algorithm, what, costs).seconds;
}

std::vector<SparseCandidate> choose_sparse(const SparseCase& what, const SparseAllowed& allowed,
                                           const Costs& costs) {
  SparseCase asked = what;
  if (!allowed.codec) asked.gathered_bytes_per_value = 0;
  std::vector<SparseCandidate> out;
  for (const SparseFormRow& row : kSparseForms) {
    if (!may_be_chosen(row.name, asked, allowed)) continue;
    const Guess guess = guessed(row.name, asked, costs);
    out.push_back({row.name, guess.seconds, guess.bytes});
  }
  std::stable_sort(out.begin(), out.end(), [](const SparseCandidate& a, const SparseCandidate& b) {
    return a.predicted_s < b.predicted_s;
  });
  return out;
}

}  // namespace unisono::cost

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The bytes: what the machines of move/sparse do, message by message, with counts in place of
// elements.
#include "cost/sparse_algorithms.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.hpp"
#include "cost/algorithms.hpp"
#include "model/sparse/stream_bytes.hpp"

namespace unisono::cost {
namespace {

// As in move/sparse.
constexpr double kSurveyBytes = 8 + 32 * 8;
constexpr double kHistogramBytes = 2048 * 4;
constexpr double kHashBytes = 16;

struct Held {
  std::uint64_t nnz = 0;
  bool dense = false;
};

struct Sent {
  double bytes = 0;                         // of one message
  bool dense = false;                       // as the receiver sees it
};

Sent packet(const Held& held, std::uint64_t length, std::uint64_t width) {
  const StreamFormat format =
      held.dense ? StreamFormat::dense : shortest_format(length, held.nnz, width);
  const std::uint64_t payload = stream_payload_bytes(format, length, held.nnz, width);
  return {static_cast<double>(kStreamHeaderBytes + payload), format == StreamFormat::dense};
}

// What members bring to an algorithm.
struct Input {
  std::uint64_t width = 4;                  // bytes of a value
  std::function<bool(int)> dense = [](int) { return false; };
};

struct Walked {
  double bytes = 0;
  Held result;
};

class Walk {
 public:
  Walk(const SparseCase& what, Input input) : c(what), in(std::move(input)), n(what.layout.n) {}

  Walked recursive_double() const;
  Walked split(bool dense_gather) const;
  Walked ring() const;
  double gather() const;
  double oktopk() const;

 private:
  std::uint64_t working_width() const { return c.partials ? 4 : c.value_bytes; }
  std::uint64_t count(int first, int members, std::uint64_t begin, std::uint64_t end) const {
    return static_cast<std::uint64_t>(c.count(first, members, begin, end) + 0.5);
  }
  Held own(int member, std::uint64_t begin, std::uint64_t end) const {
    return {count(member, 1, begin, end), in.dense(member)};
  }
  bool dense_from(std::uint64_t length, std::uint64_t nnz) const {
    return kept_dense(length, nnz, c.value_bytes, c.dense_multiplier);
  }
  Held finished(Held held) const {
    held.dense = held.dense || dense_from(c.length, held.nnz) ||
                 shortest_format(c.length, held.nnz, c.value_bytes) == StreamFormat::dense;
    return held;
  }
  std::vector<std::uint64_t> cuts() const {
    if (!c.cuts.empty()) return c.cuts;
    std::vector<std::uint64_t> even;
    const auto parts = static_cast<std::uint64_t>(n);
    for (std::uint64_t p = 0; p <= parts; ++p) {
      even.push_back(c.length / parts * p + c.length % parts * p / parts);
    }
    return even;
  }
  double pairs() const { return static_cast<double>(n) * (n - 1); }
  double survey() const { return c.balanced && n > 1 ? pairs() * kSurveyBytes : 0; }
  // To one owner; what it has reduced then.
  double scatter(int owner, std::uint64_t begin, std::uint64_t end, Held& reduced) const {
    double bytes = 0;
    reduced = {count(0, n, begin, end), in.dense(owner)};
    for (int j = 0; j < n; ++j) {
      if (j == owner) continue;
      const Sent sent = packet(own(j, begin, end), end - begin, in.width);
      bytes += sent.bytes;
      reduced.dense = reduced.dense || sent.dense;
    }
    reduced.dense = reduced.dense || dense_from(end - begin, reduced.nnz);
    return bytes;
  }

  const SparseCase& c;
  const Input in;
  const int n;
};

Walked Walk::split(bool dense_gather) const {
  Walked out;
  out.bytes = survey();
  const auto at = cuts();
  for (int p = 0; p < n; ++p) {
    const std::uint64_t begin = at[static_cast<std::size_t>(p)];
    const std::uint64_t end = at[static_cast<std::size_t>(p) + 1];
    if (begin == end) continue;
    Held reduced;
    out.bytes += scatter(p, begin, end, reduced);
    const Sent sent = packet(reduced, end - begin, c.value_bytes);
    const double per_value = c.gathered_bytes_per_value > 0 ? c.gathered_bytes_per_value
                                                            : static_cast<double>(c.value_bytes);
    out.bytes += (n - 1) * (dense_gather ? per_value * static_cast<double>(end - begin)
                                         : sent.bytes);
    out.result.nnz += reduced.nnz;
    out.result.dense = out.result.dense || (n > 1 ? sent.dense : reduced.dense) || dense_gather;
  }
  out.result = finished(out.result);
  return out;
}

double Walk::oktopk() const {
  double bytes = survey() + (c.estimates ? 3 * pairs() * kHistogramBytes : 0);
  const auto at = cuts();
  for (int p = 0; p < n; ++p) {
    const std::uint64_t begin = at[static_cast<std::size_t>(p)];
    const std::uint64_t end = at[static_cast<std::size_t>(p) + 1];
    if (begin == end) continue;
    Held reduced;
    bytes += scatter(p, begin, end, reduced);
    const double kept = c.kept.empty() ? c.k / n : c.kept[static_cast<std::size_t>(p)];
    const Held selected{std::min(static_cast<std::uint64_t>(kept + 0.5), end - begin), false};
    bytes += (n - 1) * packet(selected, end - begin, c.value_bytes).bytes;
  }
  return bytes;
}

// Segment j goes around from member j on.
Walked Walk::ring() const {
  Walked out;
  const auto at = cuts();
  for (int j = 0; j < n; ++j) {
    const std::uint64_t begin = at[static_cast<std::size_t>(j)];
    const std::uint64_t end = at[static_cast<std::size_t>(j) + 1];
    const std::uint64_t length = end - begin;
    if (length == 0) continue;
    Held held = own(j, begin, end);
    for (int step = 0; step < n - 1; ++step) {
      const Sent sent = packet(held, length, step == 0 ? in.width : working_width());
      out.bytes += sent.bytes;
      held.nnz = count(j, step + 2, begin, end);
      held.dense = sent.dense || in.dense((j + step + 1) % n) || dense_from(length, held.nnz);
    }
    const Sent whole = packet(held, length, c.value_bytes);
    out.bytes += (n - 1) * whole.bytes;
    out.result.nnz += held.nnz;
    out.result.dense = out.result.dense || (n > 1 ? whole.dense : held.dense);
  }
  out.result = finished(out.result);
  return out;
}

Walked Walk::recursive_double() const {
  struct Block {
    int first, members;
    Held held;
    bool reduced;
  };
  Walked out;
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  const int extra = n - core;
  std::vector<Block> blocks;
  const auto width = [&](const Block& block) { return block.reduced ? working_width() : in.width; };
  for (int v = 0; v < core; ++v) {
    const int first = v < extra ? 2 * v : v + extra;
    Block block{first, 1, own(first, 0, c.length), false};
    if (v < extra) {
      const Sent sent = packet(own(first + 1, 0, c.length), c.length, in.width);
      out.bytes += sent.bytes;
      block = {first, 2, {count(first, 2, 0, c.length), block.held.dense || sent.dense}, true};
      block.held.dense = block.held.dense || dense_from(c.length, block.held.nnz);
    }
    blocks.push_back(block);
  }
  for (int members = 1; blocks.size() > 1; members *= 2) {
    std::vector<Block> next;
    for (std::size_t i = 0; i < blocks.size(); i += 2) {
      Block& a = blocks[i];
      Block& b = blocks[i + 1];
      for (Block* side : {&a, &b}) {
        const Sent sent = packet(side->held, c.length, width(*side));
        out.bytes += members * sent.bytes;
        side->held.dense = sent.dense;
      }
      Block both{a.first, a.members + b.members, {}, true};
      both.held.nnz = count(both.first, both.members, 0, c.length);
      both.held.dense =
          a.held.dense || b.held.dense || dense_from(c.length, both.held.nnz);
      next.push_back(both);
    }
    blocks = std::move(next);
  }
  out.result = finished(blocks.front().held);
  out.bytes += extra * packet(out.result, c.length, c.value_bytes).bytes;
  return out;
}

double Walk::gather() const {
  double bytes = 0;
  for (int j = 0; j < n; ++j) {
    bytes += (n - 1) * packet(own(j, 0, c.length), c.length, in.width).bytes;
  }
  return bytes;
}

// The members of each host to its first, those among themselves, and back.
double hierarchical_bytes(const SparseCase& c) {
  const int each = c.layout.each, hosts = c.layout.hosts;
  if (hosts < 2 || each < 2) return Walk(c, {.width = c.value_bytes}).split(false).bytes;
  double bytes = 0;
  std::vector<bool> dense(static_cast<std::size_t>(hosts));
  for (int h = 0; h < hosts; ++h) {
    bool any = false;
    for (int j = 1; j < each; ++j) {
      const Held held{static_cast<std::uint64_t>(c.count(h * each + j, 1, 0, c.length) + 0.5)};
      const Sent sent = packet(held, c.length, c.value_bytes);
      bytes += sent.bytes;
      any = any || sent.dense;
    }
    const double all = c.count(h * each, each, 0, c.length);
    dense[static_cast<std::size_t>(h)] =
        any || kept_dense(c.length, static_cast<std::uint64_t>(all + 0.5), c.value_bytes,
                          c.dense_multiplier);
  }
  SparseCase between = c;
  between.layout = Layout{.n = hosts, .hosts = hosts};
  between.count = [&](int first, int count, std::uint64_t begin, std::uint64_t end) {
    return c.count(first * each, count * each, begin, end);
  };
  const Walked inner =
      Walk(between, {.width = c.partials ? 4 : c.value_bytes,
                     .dense = [&](int h) { return dense[static_cast<std::size_t>(h)]; }})
          .split(false);
  return bytes + inner.bytes +
         hosts * (each - 1) * packet(inner.result, c.length, c.value_bytes).bytes;
}

double identical_bytes(const SparseCase& c) {
  const int n = c.layout.n;
  const double asking = static_cast<double>(n) * (n - 1) * kHashBytes;
  const double all = c.count(0, n, 0, c.length);
  bool agree = true;
  for (int j = 0; j < n; ++j) agree = agree && c.count(j, 1, 0, c.length) == all;
  if (!agree) return asking + Walk(c, {.width = c.value_bytes}).split(false).bytes;
  const auto bytes = static_cast<std::size_t>(all) * c.value_bytes;
  return asking + static_cast<double>(sent_by_allreduce(c.dense_algorithm, c.layout, bytes));
}

}  // namespace

double sent_by_sparse(std::string_view algorithm, const SparseCase& c) {
  const Walk walk(c, {.width = c.value_bytes});
  if (algorithm == "dense") {
    return static_cast<double>(
        sent_by_allreduce(c.dense_algorithm, c.layout, c.length * c.value_bytes));
  }
  if (algorithm == "ssar_recursive_double") return walk.recursive_double().bytes;
  if (algorithm == "ssar_split_allgather") return walk.split(false).bytes;
  if (algorithm == "dsar_split_allgather") return walk.split(true).bytes;
  if (algorithm == "sparse_ring") return walk.ring().bytes;
  if (algorithm == "sparse_allgather") return walk.gather();
  if (algorithm == "oktopk") return walk.oktopk();
  if (algorithm == "hierarchical") return hierarchical_bytes(c);
  UNISONO_CHECK(algorithm == "identical");
  return identical_bytes(c);
}

UnionCount uniform_supports(std::uint64_t length, double k, int members) {
  const double n = static_cast<double>(length);
  const double share = n > 0 ? std::min(k / n, 1.0) : 0;
  // A power by squaring: only multiplications, so that all ranks get the same bits.
  const auto absent = [share](int count) {
    double power = 1, base = 1 - share;
    for (int e = count; e > 0; e /= 2) {
      if (e % 2 == 1) power = power * base;
      base = base * base;
    }
    return power;
  };
  return [absent, members](int, int count, std::uint64_t begin, std::uint64_t end) {
    return static_cast<double>(end - begin) * (1 - absent(std::min(count, members)));
  };
}

UnionCount identical_supports(std::uint64_t length, double k) {
  const double share = length > 0 ? std::min(k / static_cast<double>(length), 1.0) : 0;
  return [share](int, int, std::uint64_t begin, std::uint64_t end) {
    return static_cast<double>(end - begin) * share;
  };
}

UnionCount disjoint_supports(std::uint64_t length, double k) {
  const double share = length > 0 ? std::min(k / static_cast<double>(length), 1.0) : 0;
  return [share](int, int count, std::uint64_t begin, std::uint64_t end) {
    return static_cast<double>(end - begin) * std::min(count * share, 1.0);
  };
}

}  // namespace unisono::cost

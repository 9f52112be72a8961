// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allgather, hierarchical, for members on several hosts with equally many on each: the members with
// the same place on their hosts gather each other's parts around a ring, so that every part reaches
// every host once, and the members of a host copy the parts that others of it received from their
// windows.
// Steps: h-1 between h hosts, and one in memory for each chunk. Bytes received per host: the parts
// of the other hosts once, where flat every rank of it would receive them.
//
// What a member shows is a column: the parts of the members with its place, its own first and then
// in the order in which they come around the ring.
#include <algorithm>
#include <optional>
#include <vector>

#include "move/algorithms.hpp"
#include "move/message/hosts/hosts_machine.hpp"
#include "move/message/patterns.hpp"
#include "move/message/ring/ring_part.hpp"

namespace unisono::move {

namespace {

// The parts of the members with one place, each at its place in the result.
class ColumnGather final : public Machine {
 public:
  ColumnGather(MoveContext context, RingWork work, std::span<const int> order)
      : Machine("allgather/ring between hosts", context),
        ring_(context_, std::move(work), order, 0) {}
  std::size_t bytes_here() const { return ring_.elements_here(); }

 private:
  bool advance() override {
    ring_.advance(pass_);
    return ring_.finished();
  }
  void add_pending(OpenTransfer& pending) const override { ring_.add_pending(pending); }
  std::string phase() const override {
    return cat(ring_.receives_done(), " of ", ring_.receives(), " segments received");
  }

  RingPart ring_;
};

class HierarchicalAllgather final : public HostsMachine {
 public:
  HierarchicalAllgather(MoveContext context, const Extents& counts, std::span<std::byte> out)
      : HostsMachine("allgather/hierarchical", context), out_(out),
        columns_(static_cast<std::size_t>(team().n())) {
    std::vector<std::size_t> begins{0};
    for (const std::size_t count : counts) begins.push_back(begins.back() + count);
    const auto& hosts = groups().hosts;
    const auto is_here = [&](const std::vector<Rank>& host) {
      return host.front() == groups().here.rank_of(0);
    };
    const auto here = static_cast<int>(std::find_if(hosts.begin(), hosts.end(), is_here) -
                                       hosts.begin());
    const auto count_of_hosts = static_cast<int>(hosts.size());
    const auto slice_at = [&](int host, std::size_t place) {
      const Rank rank = hosts[static_cast<std::size_t>(host)][place];
      const auto member = static_cast<std::size_t>(context.members->index_of(rank));
      return patterns::Slice{begins[member], begins[member + 1]};
    };
    for (std::size_t place = 0; place < columns_.size(); ++place) {
      std::size_t bytes = 0;
      for (int step = 0; step < count_of_hosts; ++step) {
        columns_[place].push_back(slice_at(patterns::wrap(here - step, count_of_hosts), place));
        bytes += columns_[place].back().count();
      }
      chunks_ = std::max(chunks_, patterns::segments_in(bytes, kChunkBytes));
    }
    const auto mine = static_cast<std::size_t>(team().me());
    for (const auto& part : columns_[mine]) column_bytes_ += part.count();
    RingWork work{.reduces = false, .out = out.data()};
    std::vector<int> order;
    for (int host = 0; host < count_of_hosts; ++host) {
      work.slices.push_back(slice_at(host, mine));
      order.push_back(groups().across.index_of(hosts[static_cast<std::size_t>(host)][mine]));
    }
    gather_.emplace(across_context_, std::move(work), order);
    use_wire(&*gather_);
  }

 private:
  // The parts of the result that a chunk of a column is made of.
  std::vector<std::span<std::byte>> pieces(std::size_t place, std::size_t chunk) const {
    std::vector<std::span<std::byte>> found;
    const std::size_t begin = chunk * kChunkBytes, end = begin + kChunkBytes;
    std::size_t at = 0;
    for (const patterns::Slice& part : columns_[place]) {
      const std::size_t from = std::max(begin, at), to = std::min(end, at + part.count());
      if (from < to) found.push_back(out_.subspan(part.begin + (from - at), to - from));
      at += part.count();
    }
    return found;
  }

  bool is_here(std::size_t chunk) const override {
    return gather_->bytes_here() >= std::min(column_bytes_, (chunk + 1) * kChunkBytes);
  }

  std::unique_ptr<LocalCollective> share(const LocalTurn& turn, std::size_t chunk) override {
    const auto own = pieces(static_cast<std::size_t>(team().me()), chunk);
    std::vector<LocalCopy> wanted;
    // Everyone begins with the next member, so that not all read the same one's window at once.
    for (int distance = 1; distance < team().n(); ++distance) {
      const int place = patterns::wrap(team().me() + distance, team().n());
      std::size_t from = 0;
      for (const auto& piece : pieces(static_cast<std::size_t>(place), chunk)) {
        wanted.push_back({place, from, piece});
        from += piece.size();
      }
    }
    return make_local_copies(turn, {own.begin(), own.end()}, std::move(wanted));
  }

  const std::span<std::byte> out_;
  std::vector<std::vector<patterns::Slice>> columns_;  // by place on this host; parts of the result
  std::size_t column_bytes_ = 0;            // of this member's
  std::optional<ColumnGather> gather_;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_allgather_hierarchical(MoveContext context,
                                                               std::span<const std::byte>,
                                                               const Extents& counts,
                                                               std::span<std::byte> out) {
  return std::make_unique<HierarchicalAllgather>(context, counts, out);
}

}  // namespace unisono::move

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// allgather, hierarchical, for members on several hosts: the members with the same place on their
// hosts gather parts around a ring, so that every part reaches every host once, and the members of a
// host copy the parts that others of it received from their windows.
// Steps: h-1 between h hosts, and one in memory for each chunk. Bytes received per host: the parts
// of the other hosts once, where flat every rank of it would receive them.
//
// There are as many rings as the host with the fewest members has places. A host with more deals its
// members to them, and whoever is on the ring carries the parts of the others, too. Such a host
// first copies its own parts from window to window, so that the carriers have them, and then what
// came around; where every member carries its own part only, both are one.
// What a member shows is a column: its own part unless that was shown before, and then what comes
// around its ring, in that order.
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
  std::size_t bytes_received() const { return ring_.elements_received(); }
  void own_is_here(std::size_t bytes) { ring_.own_is_here(bytes); }

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
        carries_(groups().hosts[groups().home].size() > groups().least),
        columns_(static_cast<std::size_t>(team().n())) {
    std::vector<std::size_t> begins{0};
    for (const std::size_t count : counts) begins.push_back(begins.back() + count);
    const auto part_of = [&](Rank rank) {
      const auto member = static_cast<std::size_t>(context.members->index_of(rank));
      return patterns::Slice{begins[member], begins[member + 1]};
    };
    const auto& here = groups().hosts[groups().home];
    for (const Rank rank : here) parts_.push_back(part_of(rank));
    if (!is_alone()) cut_columns(part_of);
    const auto mine = static_cast<std::size_t>(team().me());
    if (mine >= groups().least) return;
    RingWork work{.reduces = false, .out = out.data()};
    std::vector<int> order;
    for (const auto& host : groups().hosts) {
      work.slices.push_back(carried(host, mine, part_of));
      order.push_back(groups().across.index_of(host[mine]));
    }
    gather_.emplace(across_context_, std::move(work), order);
    if (carries_) note_carried(0);
    use_wire(&*gather_);
  }

 private:
  // The parts that the member with a place passes on for its host.
  template <typename PartOf>
  std::vector<patterns::Slice> carried(const std::vector<Rank>& host, std::size_t place,
                                       PartOf part_of) const {
    std::vector<patterns::Slice> parts;
    for (; place < host.size(); place += groups().least) parts.push_back(part_of(host[place]));
    return parts;
  }

  template <typename PartOf>
  void cut_columns(PartOf part_of) {
    const auto count_of_hosts = static_cast<int>(groups().hosts.size());
    std::size_t longest_part = 0, longest = 0;
    for (std::size_t place = 0; place < columns_.size(); ++place) {
      auto& column = columns_[place];
      longest_part = std::max(longest_part, parts_[place].count());
      if (!carries_) column.push_back(parts_[place]);
      for (int step = 1; step < count_of_hosts && place < groups().least; ++step) {
        const int host = patterns::wrap(static_cast<int>(groups().home) - step, count_of_hosts);
        const auto came = carried(groups().hosts[static_cast<std::size_t>(host)], place, part_of);
        column.insert(column.end(), came.begin(), came.end());
      }
      std::size_t bytes = 0;
      for (const auto& part : column) bytes += part.count();
      longest = std::max(longest, bytes);
    }
    if (carries_) own_chunks_ = patterns::segments_in(longest_part, kChunkBytes);
    chunks_ = own_chunks_ + patterns::segments_in(longest, kChunkBytes);
  }

  // Of the parts that this member carries, those of others are here as far as they have been shared.
  void note_carried(std::size_t chunks_shared) {
    const auto mine = static_cast<std::size_t>(team().me());
    std::size_t here = parts_[mine].count();
    for (std::size_t place = mine + groups().least; place < parts_.size();
         place += groups().least) {
      const std::size_t part = parts_[place].count();
      here += std::min(part, chunks_shared * kChunkBytes);
      if (part > chunks_shared * kChunkBytes) break;
    }
    gather_->own_is_here(here);
  }
  void note_shared(std::size_t chunk) override {
    if (gather_ && chunk < own_chunks_) note_carried(chunk + 1);
  }

  // The parts of the result that a chunk of what a place shows is made of.
  std::vector<std::span<std::byte>> pieces(std::size_t place, std::size_t chunk) const {
    std::vector<std::span<std::byte>> found;
    const bool own = chunk < own_chunks_;
    const std::size_t begin = (own ? chunk : chunk - own_chunks_) * kChunkBytes;
    const std::size_t end = begin + kChunkBytes;
    std::size_t at = 0;
    for (const patterns::Slice& part : own ? std::span(&parts_[place], 1)
                                           : std::span<const patterns::Slice>(columns_[place])) {
      const std::size_t from = std::max(begin, at), to = std::min(end, at + part.count());
      if (from < to) found.push_back(out_.subspan(part.begin + (from - at), to - from));
      at += part.count();
    }
    return found;
  }

  bool is_here(std::size_t chunk) const override {
    if (!gather_ || chunk < own_chunks_) return true;
    const auto& column = columns_[static_cast<std::size_t>(team().me())];
    std::size_t bytes = 0;
    for (const patterns::Slice& part : column) bytes += part.count();
    const std::size_t own = carries_ ? 0 : column.front().count();
    return own + gather_->bytes_received() >=
           std::min(bytes, (chunk - own_chunks_ + 1) * kChunkBytes);
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
  const bool carries_;                      // some members of this host are on no ring
  std::vector<patterns::Slice> parts_;      // by place on this host, in the result
  std::vector<std::vector<patterns::Slice>> columns_;  // by place on this host; parts of the result
  std::size_t own_chunks_ = 0;              // in which the parts of this host alone are shared
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

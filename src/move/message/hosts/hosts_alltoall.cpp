// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// alltoall, hierarchical, for members on several hosts: what the members of a host send to one member
// of another is collected through shared memory by the one that stands for the receiver, which is the
// one with the receiver's place, and sent as one bundle. What stays on a host is copied from window
// to window.
// Steps: in memory one for the counts and one for each round, and 1 between hosts. Messages sent per
// member: one for each other host where hosts have equally many, instead of one for each other
// member. Bytes sent: what leaves the host, once. Wins with many members and little data for each;
// large parts would only be copied twice more than they need.
//
// The data passes in rounds, of which each has a piece of every part. How many there are follows
// from what each member sends in all, which everybody knows, so that a receiver knows the pieces of
// a bundle. The sizes of the parts are known to their two ends only: the members of a host show each
// other what they send before the first round.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "move/algorithms.hpp"
#include "move/message/hosts/bundles.hpp"
#include "move/message/hosts/hosts_machine.hpp"
#include "move/message/patterns.hpp"

namespace unisono::move {

namespace {

constexpr std::size_t kRoundsInFlight = 4;  // that wait to be sent

class HierarchicalAlltoall final : public HostsMachine {
 public:
  HierarchicalAlltoall(MoveContext context, const AlltoallWork& work)
      : HostsMachine("alltoall/hierarchical", context), in_(work.in), out_(work.out),
        send_counts_(work.send_counts), receive_counts_(work.receive_counts),
        matrix_(static_cast<std::size_t>(team().n())),
        place_of_(work.send_counts.size(), 0), host_of_(work.send_counts.size(), 0) {
    const std::size_t most = *std::ranges::max_element(work.sent_by_each);
    rounds_ = patterns::segments_in(most, kChunkBytes);
    for (std::size_t host = 0; host < groups().hosts.size(); ++host) {
      const auto& ranks = groups().hosts[host];
      for (std::size_t place = 0; place < ranks.size(); ++place) {
        place_of_[member_at(host, place)] = place;
        host_of_[member_at(host, place)] = host;
      }
    }
    for (const Extents* counts : {&send_counts_, &receive_counts_}) {
      auto& begins = counts == &send_counts_ ? send_begins_ : receive_begins_;
      begins.push_back(0);
      for (const std::size_t count : *counts) begins.push_back(begins.back() + count);
    }
    const std::size_t self = me();
    if (send_counts_[self] != 0) {
      std::memcpy(out_.data() + receive_begins_[self], in_.data() + send_begins_[self],
                  send_counts_[self]);
    }
    if (rounds_ == 0) return;
    chunks_ = rounds_ + 1;                  // the first one moves the counts
    bundles_.emplace(context_, [this](std::size_t source, std::size_t round, std::size_t from,
                                      std::span<const std::byte> bytes) {
      unpack(source, round, from, bytes);
    });
    expect_bundles();
    use_wire(&*bundles_);
  }

 private:
  std::size_t me() const { return static_cast<std::size_t>(context_.me()); }
  std::size_t place() const { return static_cast<std::size_t>(team().me()); }
  std::size_t home() const { return groups().home; }
  std::size_t member_at(std::size_t host, std::size_t place) const {
    return static_cast<std::size_t>(context_.members->index_of(groups().hosts[host][place]));
  }
  patterns::Slice piece(std::size_t bytes, std::size_t round) const {
    return patterns::slice_of(bytes, static_cast<int>(rounds_), static_cast<int>(round));
  }
  // Whether the member with this place collects what goes to a member of another host.
  bool collects(std::size_t place, std::size_t to) const {
    return host_of_[to] != home() && place_of_[to] % matrix_.size() == place;
  }
  // Whether what the member with this place sends there goes through its window.
  bool shows(std::size_t place, std::size_t to) const {
    return host_of_[to] != home() ? !collects(place, to) : place_of_[to] != place;
  }

  void expect_bundles() {
    for (std::size_t host = 0; host < groups().hosts.size(); ++host) {
      if (host == home()) continue;
      std::vector<std::size_t> bytes(rounds_, 0);
      for (std::size_t from = 0; from < groups().hosts[host].size(); ++from) {
        const std::size_t count = receive_counts_[member_at(host, from)];
        for (std::size_t round = 0; round < rounds_; ++round) {
          bytes[round] += piece(count, round).count();
        }
      }
      sources_.push_back(host);
      bundles_->receive(context_.members->index_of(groups().at(host, place())), bytes);
    }
  }

  // A bundle has the pieces of the members of its host one after the other.
  void unpack(std::size_t source, std::size_t round, std::size_t from,
              std::span<const std::byte> bytes) {
    const std::size_t host = sources_[source], end = from + bytes.size();
    std::size_t at = 0;
    for (std::size_t place = 0; place < groups().hosts[host].size() && at < end; ++place) {
      const std::size_t member = member_at(host, place);
      const patterns::Slice part = piece(receive_counts_[member], round);
      const std::size_t begin = std::max(at, from), stop = std::min(at + part.count(), end);
      if (begin < stop) {
        std::memcpy(out_.data() + receive_begins_[member] + part.begin + (begin - at),
                    bytes.data() + (begin - from), stop - begin);
      }
      at += part.count();
    }
  }

  // Once all counts of this host are known. The first round has the most of every part.
  void lay_out_bundles() {
    std::vector<std::size_t> collected;
    for (std::size_t to = 0; to < send_counts_.size(); ++to) {
      if (collects(place(), to)) collected.push_back(to);
    }
    const auto bundle_bytes = [&](std::size_t to, std::size_t round) {
      std::size_t bytes = 0;
      for (const auto& counts : matrix_) bytes += piece(counts[to], round).count();
      return bytes;
    };
    for (const std::size_t to : collected) slot_bytes_ += bundle_bytes(to, 0);
    slots_.reset(new std::byte[std::min(kRoundsInFlight, rounds_) * slot_bytes_]);
    std::vector<std::size_t> offsets(rounds_, 0);
    for (const std::size_t to : collected) {
      std::vector<std::span<const std::byte>> bundle;
      for (std::size_t round = 0; round < rounds_; ++round) {
        bundle.emplace_back(slot(round) + offsets[round], bundle_bytes(to, round));
        offsets[round] += bundle.back().size();
      }
      bundles_->send(static_cast<int>(to), bundle);
    }
    bundles_->end_of_list();
  }
  std::byte* slot(std::size_t round) const {
    return slots_.get() + round % kRoundsInFlight * slot_bytes_;
  }

  // A slot is free again when the round that used it has been sent.
  bool is_here(std::size_t chunk) const override {
    return chunk <= kRoundsInFlight || bundles_->is_sent(chunk - 1 - kRoundsInFlight);
  }

  std::unique_ptr<LocalCollective> share(const LocalTurn& turn, std::size_t chunk) override {
    return chunk == 0 ? share_counts(turn) : share_round(turn, chunk - 1);
  }

  std::unique_ptr<LocalCollective> share_counts(const LocalTurn& turn) {
    for (auto& counts : matrix_) counts.assign(send_counts_.size(), 0);
    matrix_[place()] = send_counts_;
    if (is_alone()) return nullptr;
    std::vector<LocalCopy> wanted;
    for (std::size_t other = 0; other < matrix_.size(); ++other) {
      if (other == place()) continue;
      wanted.push_back({static_cast<int>(other), 0,
                        std::as_writable_bytes(std::span(matrix_[other]))});
    }
    return make_local_copies(turn, {std::as_bytes(std::span(send_counts_))}, std::move(wanted));
  }

  std::unique_ptr<LocalCollective> share_round(const LocalTurn& turn, std::size_t round) {
    std::vector<std::span<const std::byte>> shown;
    for (std::size_t to = 0; to < send_counts_.size(); ++to) {
      const patterns::Slice part = piece(send_counts_[to], round);
      if (part.count() == 0 || !shows(place(), to)) continue;
      shown.push_back(in_.subspan(send_begins_[to] + part.begin, part.count()));
    }
    std::vector<LocalCopy> wanted;
    for (std::size_t from = 0; from < matrix_.size(); ++from) {
      if (from == place()) take_own(round);
      else want_from(from, round, wanted);
    }
    if (is_alone()) return nullptr;
    // Everyone begins with the next member, so that not all read the same one's window at once.
    const auto next = std::ranges::find_if(wanted, [&](const LocalCopy& copy) {
      return copy.member > team().me();
    });
    std::rotate(wanted.begin(), next, wanted.end());
    return make_local_copies(turn, std::move(shown), std::move(wanted));
  }

  // Calls body(to, place in the slot) for the bundles of this member.
  template <typename Body>
  void for_bundles(std::size_t from, std::size_t round, Body body) const {
    std::byte* at = slot(round);
    for (std::size_t to = 0; to < send_counts_.size(); ++to) {
      if (!collects(place(), to)) continue;
      for (std::size_t each = 0; each < matrix_.size(); ++each) {
        const std::size_t bytes = piece(matrix_[each][to], round).count();
        if (each == from && bytes > 0) body(to, std::span(at, bytes));
        at += bytes;
      }
    }
  }

  void take_own(std::size_t round) const {
    for_bundles(place(), round, [&](std::size_t to, std::span<std::byte> at) {
      const patterns::Slice part = piece(send_counts_[to], round);
      std::memcpy(at.data(), in_.data() + send_begins_[to] + part.begin, at.size());
    });
  }

  void want_from(std::size_t from, std::size_t round, std::vector<LocalCopy>& wanted) const {
    std::vector<std::size_t> offsets;       // by receiver, in what that member shows
    std::size_t offset = 0;
    for (std::size_t to = 0; to < send_counts_.size(); ++to) {
      offsets.push_back(offset);
      if (shows(from, to)) offset += piece(matrix_[from][to], round).count();
    }
    const int member = static_cast<int>(from);
    const patterns::Slice part = piece(matrix_[from][me()], round);
    if (part.count() > 0) {
      const std::size_t begin = receive_begins_[member_at(home(), from)] + part.begin;
      wanted.push_back({member, offsets[me()], out_.subspan(begin, part.count())});
    }
    for_bundles(from, round, [&](std::size_t to, std::span<std::byte> at) {
      wanted.push_back({member, offsets[to], at});
    });
  }

  void note_shared(std::size_t chunk) override {
    if (chunk > 0) return bundles_->note_filled(chunk);
    for (std::size_t from = 0; from < matrix_.size(); ++from) {
      const std::size_t member = member_at(home(), from);
      if (matrix_[from][me()] == receive_counts_[member]) continue;
      return refuse(Status(
          Code::mismatch, cat("rank ", context_.members->rank_of(static_cast<int>(member)),
                              " sends ", matrix_[from][me()], " bytes to rank ",
                              context_.members->rank_of(context_.me()), ", which expects ",
                              receive_counts_[member], "; run the same version everywhere")));
    }
    lay_out_bundles();
  }

  const std::span<const std::byte> in_;
  const std::span<std::byte> out_;
  const Extents send_counts_, receive_counts_;  // by member
  std::vector<Extents> matrix_;             // what the members of this host send, by place
  std::vector<std::size_t> place_of_, host_of_;  // of each member
  std::vector<std::size_t> send_begins_, receive_begins_;
  std::size_t rounds_ = 0;
  std::vector<std::size_t> sources_;        // the host of each bundle that comes
  std::unique_ptr<std::byte[]> slots_;
  std::size_t slot_bytes_ = 0;
  std::optional<Bundles> bundles_;
};

}  // namespace

std::unique_ptr<CollectiveMachine> make_alltoall_hierarchical(MoveContext context,
                                                              const AlltoallWork& work) {
  return std::make_unique<HierarchicalAlltoall>(context, work);
}

}  // namespace unisono::move

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The coordinator strategy: members send what they submitted to the first member; it counts, and
// sends every member the same list of what to run.
//
// A worker's negotiate() sends one message with everything submitted since the last; the
// coordinator's makes one round of all that is ready, which each worker emits as one round too.
// Messages per round: at most 1 from each worker and 1 to each; bytes and work at the coordinator
// grow with members x tensors. It wins while that is small: few members, or few tensors.
#include <deque>
#include <optional>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "order/messages/local_queue.hpp"
#include "order/messages/messages.hpp"
#include "order/order.hpp"
#include "order/agree/tally.hpp"

namespace unisono::order {
namespace {

class Coordinator final : public Order {
 public:
  Coordinator(Members members, const OrderSettings& settings)
      : members_(std::move(members)), settings_(settings),
        local_(members_.me, settings.request_pool),
        counted_(leads() ? members_.ranks.size() : 0),
        left_(leads() ? members_.ranks.size() : 1), next_sequence_(settings.first_sequence) {
    if (leads()) tally_.emplace(members_, settings_);
  }

  std::string_view name() const override { return "coordinator"; }
  void submit(Request request, Time now) override { local_.submit(std::move(request), now); }
  std::size_t waiting() const override { return local_.waiting() + unemitted_; }

  Status receive(Rank from, std::span<const std::byte> message, Time now) override {
    const int member = members_.index_of(from);
    if (member < 0) return malformed(from, "the sender is not a member of the process set");
    if (member == kLeader || !leads()) return receive_round(from, member, message);
    if (left_[static_cast<std::size_t>(member)]) return {};
    auto requests = decode_requests(from, message);
    if (!requests.ok()) return requests.status();
    ++counted_[static_cast<std::size_t>(member)];
    return tally_->add(member, requests.value(), now);
  }

  void negotiate(Time now, OrderOutput& out) override {
    if (leads()) {
      lead(now, out);
    } else {
      follow(out);
    }
  }

  void member_left(Rank rank, Time) override {
    const int member = members_.index_of(rank);
    if (member < 0 || (!leads() && member != kLeader)) return;
    left_[static_cast<std::size_t>(member)] = true;
    if (leads()) tally_->leave(rank);
  }

  std::vector<Request> release() override { return local_.release(); }

  Time deadline() const override {
    const bool orphaned = left_[kLeader] && local_.waiting() > 0;
    if (local_.has_unsent() || !rounds_.empty() || orphaned) return Time{0};
    return leads() ? tally_->deadline() : kNever;
  }

 private:
  static constexpr int kLeader = 0;
  bool leads() const { return members_.me == kLeader; }

  Status receive_round(Rank from, int member, std::span<const std::byte> message) {
    if (member != kLeader || leads()) {
      return malformed(from, "only the first member of a process set sends responses");
    }
    if (left_[kLeader]) return {};
    auto round = decode_round(from, message, members_, settings_.set, next_sequence_);
    if (!round.ok()) return round.status();
    if (round->counted > local_.messages()) {
      return malformed(from, "it counts messages that were never sent");
    }
    const std::size_t before = local_.waiting();
    for (Answer& answer : round->answers) {
      if (!settle(answer, round->counted)) {
        return malformed(from, "it answers what was never asked");
      }
    }
    unemitted_ += before - local_.waiting();
    next_sequence_ += round->answers.size();
    rounds_.push_back(std::move(round->answers));
    return {};
  }

  bool settle(Answer& answer, std::uint64_t counted) {
    const auto seen = [&](const LocalQueue::Entry& entry) {
      return entry.message != 0 && entry.message <= counted;
    };
    if (answer.alike) return local_.complete(answer.response, seen);
    local_.answered(answer.response, [&](const auto& entry, std::size_t) { return seen(entry); });
    return true;
  }

  void lead(Time now, OrderOutput& out) {
    if (local_.has_unsent()) {
      std::vector<Request> requests;
      for (const LocalQueue::Entry* entry : local_.unsent()) requests.push_back(entry->request());
      local_.mark_sent();
      const Status status = tally_->add(kLeader, std::move(requests), now);
      UNISONO_CHECK(status.ok());
    }
    std::vector<std::string> inquiries;
    std::vector<Answer> round = tally_->next_round(now, out.stalls, {}, inquiries);
    if (round.empty()) return;
    if (members_.count() > 1) send(encode_answers(round), out);
    for (Answer& answer : round) {
      answer.alike = false;             // the leader has all of it
      settle(answer, local_.messages());
    }
    emit(std::move(round), out);
  }

  void send(const std::vector<std::byte>& answers, OrderOutput& out) {
    for (int i = kLeader + 1; i < members_.count(); ++i) {
      const auto index = static_cast<std::size_t>(i);
      if (left_[index]) continue;
      out.messages.push_back({members_.rank_of(i), encode_round(counted_[index], answers)});
    }
  }

  void follow(OrderOutput& out) {
    if (!rounds_.empty()) {
      emit(std::move(rounds_.front()), out);
      rounds_.pop_front();
      if (rounds_.empty()) unemitted_ = 0;
    } else if (left_[kLeader]) {
      fail_own(out);
    }
    if (left_[kLeader] || !local_.has_unsent()) return;
    out.messages.push_back({members_.rank_of(kLeader), encode_requests(local_.unsent())});
    local_.mark_sent();
  }

  void emit(std::vector<Answer> round, OrderOutput& out) {
    for (Answer& answer : round) {
      local_.drop_resubmitted(answer.response);
      out.responses.push_back(std::move(answer.response));
    }
  }

  // Nobody is left to decide for all, so each member ends what it has.
  void fail_own(OrderOutput& out) {
    for (Request& request : local_.abandon()) {
      out.responses.push_back(peer_left_response(members_.rank_of(kLeader), std::move(request),
                                                 settings_.set, next_sequence_++));
    }
  }

  const Members members_;
  const OrderSettings settings_;
  LocalQueue local_;
  std::optional<Tally> tally_;          // on the first member
  std::vector<std::uint64_t> counted_;  // request messages counted, by member
  std::vector<bool> left_;              // by member; others than the leader know of it alone
  std::deque<std::vector<Answer>> rounds_;  // received, not yet emitted
  std::size_t unemitted_ = 0;           // requests of this rank answered in them
  std::uint64_t next_sequence_;         // of the next round to receive
};

}  // namespace

std::unique_ptr<Order> make_coordinator(Members members, OrderSettings settings) {
  UNISONO_CHECK(members.me >= 0);
  return std::make_unique<Coordinator>(std::move(members), settings);
}

}  // namespace unisono::order

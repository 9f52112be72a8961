// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/switch/switchable.hpp"

#include <set>
#include <string>
#include <utility>

#include "base/data/text.hpp"
#include "order/switch/switchable_mail.hpp"

namespace unisono::order {
namespace {

class Switchable final : public Order {
 public:
  Switchable(std::unique_ptr<Order> first, Members members, OrderSettings settings,
             StrategyFactory make)
      : members_(std::move(members)), settings_(std::move(settings)), make_(std::move(make)),
        current_(std::move(first)) {}

  std::string_view name() const override { return current_->name(); }
  void submit(Request request, Time now) override {
    if (is_switch(request)) asked_.insert(request.name);
    current_->submit(std::move(request), now);
  }
  std::vector<Request> release() override { return current_->release(); }
  Time deadline() const override { return current_->deadline(); }
  bool blocking() const override { return current_->blocking(); }
  std::size_t waiting() const override { return current_->waiting(); }
  OrderCounts counts() const override { return OrderCounts(replaced_) += current_->counts(); }
  OrderState state() const override {
    OrderState state = current_->state();
    state.plans += plans_before_;
    state.plans_ended += plans_before_;
    return state;
  }

  Status receive(Rank from, std::span<const std::byte> message, Time now) override {
    if (Status status = std::exchange(early_fault_, {}); !status) return status;
    auto opened = mail_.open(from, message, !asked_.empty());
    if (!opened.ok()) return opened.status();
    if (!opened.value()) return {};
    return current_->receive(from, *opened.value(), now);
  }

  void negotiate(Time now, OrderOutput& out) override {
    const std::size_t messages = out.messages.size(), responses = out.responses.size();
    current_->negotiate(now, out);
    for (std::size_t i = messages; i < out.messages.size(); ++i) {
      out.messages[i].bytes = mail_.seal(out.messages[i].bytes);
    }
    std::string chosen;
    for (std::size_t i = responses; i < out.responses.size(); ++i) {
      if (out.responses[i].closing) continue;
      next_sequence_ = out.responses[i].sequence + 1;
      choose(out.responses[i], chosen);
    }
    if (!chosen.empty()) replace(chosen, now);
  }

  void member_left(Rank rank, Time now) override {
    left_.push_back(rank);
    current_->member_left(rank, now);
  }

  void leave(Time now) override {
    leaving_ = true;
    current_->leave(now);
  }

  void ended(std::uint64_t sequence, PlanVote vote, Time now) override {
    // What an earlier strategy gave out concerns nobody any more.
    if (sequence >= settings_.first_sequence) current_->ended(sequence, vote, now);
  }
  void observed(std::uint64_t sequence) override {
    if (sequence >= settings_.first_sequence) current_->observed(sequence);
  }
  bool watches() const override { return current_->watches(); }

 private:
  static bool is_switch(const Request& request) {
    return request.kind == Collective::switch_order && request.name.starts_with(kSwitchPrefix);
  }

  // Looks at one response of a round; the last switch of a round counts.
  void choose(Response& response, std::string& chosen) {
    if (!asked_.empty()) {
      for (const Request& request : response.tensors) asked_.erase(request.name);
    }
    if (!response.error.ok() || !is_switch(response.tensors.front())) return;
    const Request& request = response.tensors.front();
    std::string strategy = request.name.substr(kSwitchPrefix.size());
    if (remake(strategy) != nullptr) {
      chosen = std::move(strategy);
      return;
    }
    response.error = Status(Code::invalid_argument,
                            cat("there is no ordering strategy \"", strategy,
                                "\"; the one that runs stays. Name one that unisono lists."),
                            {.rank = -1, .host = {}, .pid = 0, .tensor = request.name});
  }

  std::unique_ptr<Order> remake(std::string_view strategy) const {
    OrderSettings settings = settings_;
    settings.first_sequence = next_sequence_;
    return make_(strategy, members_, std::move(settings));
  }

  void replace(std::string_view strategy, Time now) {
    std::vector<Request> unanswered = current_->release();
    replaced_ += current_->counts();
    plans_before_ += current_->state().plans;
    current_ = remake(strategy);
    settings_.first_sequence = next_sequence_;
    for (const Rank rank : left_) current_->member_left(rank, now);
    if (leaving_) current_->leave(now);
    for (Request& request : unanswered) current_->submit(std::move(request), now);
    for (const auto& [from, message] : mail_.advance()) {
      if (Status status = current_->receive(from, message, now); !status) early_fault_ = status;
    }
  }

  const Members members_;
  OrderSettings settings_;              // first_sequence: of the strategy that runs
  const StrategyFactory make_;
  std::unique_ptr<Order> current_;
  EpochMail mail_;
  std::set<std::string> asked_;         // switches this member wants, not answered
  std::vector<Rank> left_;
  bool leaving_ = false;
  Status early_fault_;                  // of a message that came before its epoch, told at the next
  std::uint64_t next_sequence_ = 0;
  OrderCounts replaced_;                // of the strategies before this one
  std::uint64_t plans_before_ = 0;      // theirs, which have all ended
};

}  // namespace

std::unique_ptr<Order> make_switchable(std::string_view name, Members members,
                                       OrderSettings settings, StrategyFactory make) {
  std::unique_ptr<Order> first = make(name, members, settings);
  if (first == nullptr) return nullptr;
  return std::make_unique<Switchable>(std::move(first), std::move(members), std::move(settings),
                                      std::move(make));
}

}  // namespace unisono::order

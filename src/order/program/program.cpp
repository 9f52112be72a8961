// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/program/program.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "order/messages/messages.hpp"
#include "order/program/parley.hpp"
#include "order/program/program_message.hpp"

namespace unisono::order {
namespace {

// Half of the time after which somebody is told, so that by then it is known who is missing.
Nanos patience_of(const OrderSettings& settings) {
  Nanos least = settings.stall_warning;
  if (settings.stall_limit > Nanos(0) && (least <= Nanos(0) || settings.stall_limit < least)) {
    least = settings.stall_limit;
  }
  return least / 2;
}

class Program final : public Order {
 public:
  Program(Members members, OrderSettings settings)
      : members_(std::move(members)), settings_(std::move(settings)),
        patience_(patience_of(settings_)), next_(settings_.first_sequence) {
    if (members_.count() == 1) meet(Time{0});
  }

  std::string_view name() const override { return "program"; }

  void submit(Request request, Time now) override {
    if (request.group.empty()) {
      calls_.push_back({{std::move(request)}, now});
    } else {
      std::vector<Request>& group = partial_[request.group];
      group.push_back(std::move(request));
      if (group.size() < group.front().group_size) return;
      calls_.push_back({std::move(group), now});
      partial_.erase(calls_.back().first().group);
    }
    if (meeting_) speak(now);
  }

  Status receive(Rank from, std::span<const std::byte> bytes, Time now) override {
    if (Status status = std::exchange(fault_, {}); !status) return status;
    const int member = members_.index_of(from);
    if (member < 0) return malformed(from, "the sender is not a member of the process set");
    auto message = decode_program_message(from, bytes, members_, settings_.set);
    if (!message.ok()) return message.status();
    if (message->word == ProgramWord::nudge) return nudged(member, message->position);
    const bool answers = message->word == ProgramWord::answer;
    if (answers ? member != kLeader || leads() : !leads()) {
      return malformed(from, "the first member of a process set answers, and the others ask");
    }
    if (message->position < next_) return {};
    if (!meeting_ || message->position > next_) {
      // Once a member has left, the first one answers whatever the others have come to.
      if (early_.size() >= kEarlyMax) return malformed(from, "it says too much too early");
      early_.emplace_back(member, std::move(message.value()));
      return {};
    }
    return hear(member, std::move(message.value()), now);
  }

  void negotiate(Time now, OrderOutput& out) override {
    if (meeting_) {
      answer(now, out);
    } else {
      give_out(out);
      remind(now);
    }
    std::move(outbox_.begin(), outbox_.end(), std::back_inserter(out.messages));
    outbox_.clear();
  }

  void member_left(Rank rank, Time) override {
    if (!left_) left_ = rank;
    leader_left_ |= members_.index_of(rank) == kLeader;
    if (parley_) parley_->leave(rank);
  }

  void leave(Time now) override {
    leaving_ = true;
    if (meeting_) {
      speak(now);
    } else {
      nudge(position());
    }
  }

  void ended(std::uint64_t sequence, PlanVote vote, Time now) override {
    if (meeting_ || sequence != next_) return;  // what was agreed on needs nobody's attention
    if (vote == PlanVote::run) {
      UNISONO_CHECK(given_ > 0);
      drop_first();
      ++next_;
      --given_;
      first_at_ = now;
      return;
    }
    given_ = 0;
    stopped_ = false;
    meet(now);
  }

  std::vector<Request> release() override {
    std::vector<Request> requests;
    for (Call& call : calls_) {
      std::move(call.requests.begin(), call.requests.end(), std::back_inserter(requests));
    }
    for (auto& [name, group] : partial_) {
      std::move(group.begin(), group.end(), std::back_inserter(requests));
    }
    calls_.clear();
    partial_.clear();
    return requests;
  }

  Time deadline() const override {
    if (!outbox_.empty()) return Time{0};
    if (!meeting_) {
      if (!stopped_ && (given_ < calls_.size() || must_stop())) return Time{0};
      return reminds_at();
    }
    if (answer_) return settles() ? Time{0} : kNever;
    if (leader_left_) return calls_.empty() ? kNever : Time{0};
    return parley_ ? parley_->deadline() : kNever;
  }

  std::size_t waiting() const override {
    std::size_t count = 0;
    for (std::size_t i = given_; i < calls_.size(); ++i) count += calls_[i].requests.size();
    for (const auto& [name, group] : partial_) count += group.size();
    return count;
  }

  OrderState state() const override {
    OrderState state;
    state.planned = !meeting_ && members_.count() > 1;
    state.reason = members_.count() == 1 ? "a process set of one member has nobody to ask"
                   : meeting_ ? "the ranks ask each other about a call that cannot simply run"
                              : "every call is given out in the order of the program";
    return state;
  }

 private:
  static constexpr int kLeader = 0;
  static constexpr std::size_t kEarlyMax = std::size_t{1} << 20;
  bool leads() const { return members_.me == kLeader; }
  // The next one to be given out.
  std::uint64_t position() const { return next_ + given_; }

  // Whether this member goes no further although nothing is called here.
  bool must_stop() const { return leaving_ || left_ || (nudged_ && *nudged_ >= position()); }

  void give_out(OrderOutput& out) {
    while (!stopped_ && given_ < calls_.size()) {
      const Call& call = calls_[given_];
      if (leaving_ || left_ || !runs_unasked(call, members_)) return stop(out);
      out.responses.push_back(unasked(&call, settings_.set, position()));
      ++given_;
    }
    if (!stopped_ && must_stop()) stop(out);
  }

  // Takes part in the next position with nothing, so that all meet there.
  void stop(OrderOutput& out) {
    stopped_ = true;
    out.responses.push_back(unasked(nullptr, settings_.set, position()));
  }

  Time reminds_at() const {
    const bool reminded = reminded_ && *reminded_ >= next_;
    if (given_ == 0 || reminded || patience_ <= Nanos(0)) return kNever;
    return std::max(calls_.front().since, first_at_) + patience_;
  }

  // Somebody may not come: whoever has nothing to call at this position stops there.
  void remind(Time now) {
    if (now < reminds_at()) return;
    reminded_ = next_;
    nudge(next_);
  }

  void nudge(std::uint64_t position) {
    const ProgramMessage message{.word = ProgramWord::nudge, .position = position};
    if (leads()) {
      tell_all(message);
    } else if (!leader_left_) {
      send(kLeader, message);
    }
  }

  Status nudged(int member, std::uint64_t position) {
    if (!leads() && member != kLeader) {
      return malformed(members_.rank_of(member), "the first member of a process set nudges others");
    }
    if (nudged_ && *nudged_ >= position) return {};
    nudged_ = position;
    if (leads()) tell_all({.word = ProgramWord::nudge, .position = position}, member);
    return {};
  }

  // From here on the members say what they call at this position.
  void meet(Time now) {
    meeting_ = true;
    called_ = said_ = false;
    if (leads()) {
      parley_.emplace(members_, settings_, next_);
      if (left_) parley_->leave(*left_);
    }
    speak(now);
    for (auto& [member, message] : std::exchange(early_, {})) {
      if (message.position > next_) {
        early_.emplace_back(member, std::move(message));
      } else if (message.position == next_) {
        if (Status status = hear(member, std::move(message), now); !status) fault_ = status;
      }
    }
  }

  void speak(Time now) {
    if (called_ || answer_) return;
    ProgramMessage message{.word = ProgramWord::idle, .position = next_};
    if (leaving_) {
      message.word = ProgramWord::leaving;
      called_ = true;
    } else if (!calls_.empty()) {
      message.word = ProgramWord::call;
      message.age = now - calls_.front().since;
      message.requests = calls_.front().requests;
      called_ = true;
    } else if (!said_ && !left_ && members_.count() > 1) {
      message.last = last_;
      message.age = now - last_at_;
      said_ = true;
    } else {
      return;
    }
    if (!leads()) {
      if (!leader_left_) send(kLeader, message);
    } else if (Status status = hear(kLeader, std::move(message), now); !status) {
      fault_ = status;
    }
  }

  Status hear(int member, ProgramMessage message, Time now) {
    switch (message.word) {
      case ProgramWord::call:
        return parley_->called(member, {std::move(message.requests), now + -message.age});
      case ProgramWord::idle:
        parley_->idle(member, message.last, now + -message.age);
        return {};
      case ProgramWord::leaving: parley_->leave(members_.rank_of(member)); return {};
      case ProgramWord::answer: answer_ = std::move(message); return {};
      case ProgramWord::nudge: break;
    }
    return {};
  }

  void answer(Time now, OrderOutput& out) {
    if (parley_ && !answer_) {
      if (auto response = parley_->outcome(now, out.stalls)) {
        answer_ = ProgramMessage{.word = ProgramWord::answer,
                                 .position = next_,
                                 .response = std::move(*response),
                                 .stays = parley_->anyone_left()};
        tell_all(*answer_);
      }
    }
    if (answer_ && settles()) return settle(now, out);
    if (!answer_ && leader_left_) fail_own(out);
  }

  // A member that has not come to a position that failed without it fails its call there when it
  // comes; unless others wait for it at the next one, since it may never come.
  bool settles() const {
    return answer_->response.error.ok() || answer_->stays || !calls_.empty() || leaving_ ||
           (nudged_ && *nudged_ > next_);
  }

  void settle(Time now, OrderOutput& out) {
    auto answered = std::exchange(answer_, {});
    Response response = std::move(answered->response);
    const bool absent = std::find(response.absent.begin(), response.absent.end(),
                                  static_cast<std::uint32_t>(members_.me)) != response.absent.end();
    const bool of_joins = response.tensors.front().kind == Collective::join;
    const bool own = !absent && !calls_.empty() &&
                     (calls_.front().first().kind == Collective::join) == of_joins;
    if (own) take_own(response, of_joins);
    if (!own && !response.error.ok()) response.tensors.clear();
    response.call = 1;
    ++next_;
    parley_.reset();
    meeting_ = false;
    if (answered->stays || members_.count() == 1) meet(now);
    out.responses.push_back(std::move(response));
  }

  // The answer speaks of the position; here it is about this member's call.
  void take_own(Response& response, bool of_joins) {
    Call call = calls_.front();
    drop_first();
    if (of_joins) return;
    const Request& first = call.first();
    if (!response.error.ok()) {
      Culprit culprit = response.error.culprit();
      culprit.tensor = first.name;
      const std::string meeting = meeting_name(response.sequence);
      std::string text = replaced(response.error.message(), cat(meeting, "/group"), first.group);
      response.error = Status(response.error.code(), replaced(std::move(text), meeting, first.name),
                              std::move(culprit));
      response.tensors = std::move(call.requests);
      return;
    }
    for (std::size_t i = 0; i < response.tensors.size(); ++i) {
      response.tensors[i].name = call.requests[i].name;
      response.tensors[i].group = call.requests[i].group;
    }
  }

  // Nobody is left to decide for all, so each member ends what it has.
  void fail_own(OrderOutput& out) {
    for (const Call& call : calls_) {
      for (const Request& request : call.requests) {
        out.responses.push_back(peer_left_response(members_.rank_of(kLeader), request,
                                                   settings_.set, next_++));
      }
    }
    calls_.clear();
  }

  void drop_first() {
    last_ = calls_.front().first().name;
    last_at_ = calls_.front().since;
    calls_.pop_front();
  }

  void send(int member, const ProgramMessage& message) {
    outbox_.push_back({members_.rank_of(member), encode_program_message(message)});
  }
  void tell_all(const ProgramMessage& message, int except = -1) {
    const std::vector<std::byte> bytes = encode_program_message(message);
    for (int i = 0; i < members_.count(); ++i) {
      if (i != members_.me && i != except) outbox_.push_back({members_.rank_of(i), bytes});
    }
  }

  const Members members_;
  const OrderSettings settings_;
  const Nanos patience_;
  std::deque<Call> calls_;              // not ended here, in the order of the program
  std::map<std::string, std::vector<Request>> partial_;  // groups that are not whole yet
  std::uint64_t next_;                  // the position of the first of them
  Time first_at_{};                     // when it came to be the first
  std::size_t given_ = 0;               // how many of them are given out
  bool stopped_ = false;                // and after them nothing is, until all meet
  bool meeting_ = false;                // at position next_
  bool called_ = false;                 // said what it calls there, or that it leaves
  bool said_ = false;                   // that it calls nothing yet
  std::optional<Parley> parley_;        // on the first member, while meeting
  std::optional<ProgramMessage> answer_;  // to this position, not given out yet
  std::vector<std::pair<int, ProgramMessage>> early_;  // for a position not come to yet
  std::optional<std::uint64_t> nudged_, reminded_;  // the last position of each
  std::string last_;                    // the last call that ended here
  Time last_at_{};
  std::optional<Rank> left_;            // the first that did
  bool leader_left_ = false, leaving_ = false;
  std::vector<OrderMessage> outbox_;
  Status fault_;                        // found outside receive(), told at the next
};

}  // namespace

std::unique_ptr<Order> make_program(Members members, OrderSettings settings) {
  UNISONO_CHECK(members.me >= 0);
  return std::make_unique<Program>(std::move(members), std::move(settings));
}

}  // namespace unisono::order

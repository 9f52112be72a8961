// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Long because one object goes through all states, and each change of state needs the others.
#include "order/topo/topo.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <string>

#include "base/check.hpp"
#include "base/data/text.hpp"
#include "order/messages/messages.hpp"
#include "order/switch/switchable_mail.hpp"
#include "order/topo/learn/iteration_learner.hpp"
#include "order/topo/learn/iteration_balance.hpp"
#include "order/topo/learn/iteration_beat.hpp"
#include "order/topo/plans/plan_history.hpp"
#include "order/topo/plans/plan_library.hpp"
#include "order/topo/plans/plan_progress.hpp"
#include "order/topo/talk.hpp"

namespace unisono::order {
namespace {

// The members' consent to a plan is a request of this name, invisible outside.
constexpr std::string_view kConsentPrefix = "unisono.topo/";
// A plan that lasted this many times the iterations it took to learn was worth it.
constexpr std::uint64_t kWorthIt = 4;
constexpr std::uint64_t kIterationsMax = 1 << 20;
// To arrange more takes too long in the middle of a step.
constexpr std::size_t kUnitsWatchedMax = 1024;

bool is_consent(std::string_view name) { return name.starts_with(kConsentPrefix); }

// A failure lists no tensor where the request came too late to be meant; its error still names it.
std::string_view name_of(const Response& response) {
  return response.tensors.empty() ? std::string_view(response.error.culprit().tensor)
                                  : std::string_view(response.tensors.front().name);
}

class Topo final : public Order {
 public:
  Topo(Members members, OrderSettings settings, TopoPolicy policy, OrderFactory make_inner)
      : members_(std::move(members)), settings_(std::move(settings)), policy_(std::move(policy)),
        make_inner_(std::move(make_inner)), inner_(make_inner_(members_, inner_settings())),
        talk_(members_, settings_.tree_radix, settings_.set, policy_.channels),
        learn_(std::max(1, settings_.learn_steps), talk_.leads(),
               policy_.pool != nullptr ? &policy_.pool->units() : nullptr),
        wanted_(std::max(1, policy_.learn_first > 0 ? policy_.learn_first : settings_.learn_steps)),
        library_(policy_.plans_max), patience_(settings_.topo_patience), next_sequence_(settings_.first_sequence) {
    if (policy_.given != nullptr) {
      state_ = State::proposing;
      if (!talk_.leads()) return;
      offer(arrange(*policy_.given, policy_.bucket_bytes_max, policy_.channels,
                    policy_.fuse_groups),
            Time{0});
    }
  }

  std::string_view name() const override { return policy_.name; }

  void submit(Request request, Time now) override {
    if (planned_) {
      planned_->submit(std::move(request), now);
    } else {
      negotiated(std::move(request), now);
    }
  }

  Status receive(Rank from, std::span<const std::byte> message, Time now) override {
    if (Status status = std::exchange(fault_, {}); !status) return status;
    if (members_.index_of(from) < 0) {
      return malformed(from, "the sender is not a member of the process set");
    }
    ByteReader in(message);
    switch (in.get<TopoMessageType>()) {
      case TopoMessageType::inner: return receive_inner(from, message.subspan(1), now);
      case TopoMessageType::lesson: return receive_lesson(from, in, now);
      case TopoMessageType::plan: return receive_plan(from, in, now);
      case TopoMessageType::nudge: return receive_nudge(from, in);
    }
    return malformed(from, "it is of no known type");
  }

  void negotiate(Time now, OrderOutput& out) override {
    // What this member owes a plan that is over comes before all that is negotiated.
    std::move(closing_.begin(), closing_.end(), std::back_inserter(out.responses));
    closing_.clear();
    if (planned_) {
      // The inner order rests until this member has come to the end of the plan as well.
      planned_->negotiate(now, out.responses);
      if (const auto position = planned_->stopped_at()) talk_.send_nudge({phase_, *position});
    } else {
      negotiate_inner(now, out);
    }
    talk_.take_messages(out.messages);
  }

  void member_left(Rank rank, Time now) override {
    left_.push_back(rank);
    inner_->member_left(rank, now);
    if (planned_) planned_->member_left();
  }

  void leave(Time now) override {
    leaving_ = true;
    inner_->leave(now);
    if (planned_) planned_->member_left();
  }

  void ended(std::uint64_t sequence, PlanVote vote, Time now) override {
    if (planned_ && sequence >= planned_->first_sequence()) {
      if (!planned_->ended(sequence, vote, now)) return;
      planned_->close(sequence, closing_);
      fall_back(vote, now);
      return;
    }
    while (!given_.empty() && given_.front().sequence <= sequence) tell_inner_ended(now);
    while (!given_.empty() && given_.front().hidden) tell_inner_ended(now);
  }

  void observed(std::uint64_t sequence) override {
    if (watches()) learn_.observed(sequence);
  }
  // Lessons are drawn when a proposal begins, and forgotten when it comes to nothing.
  bool watches() const override { return state_ == State::learning; }

  std::vector<Request> release() override {
    if (planned_) return planned_->release();
    std::vector<Request> requests = inner_->release();
    std::erase_if(requests, [](const Request& request) { return is_consent(request.name); });
    return requests;
  }

  Time deadline() const override {
    if (talk_.has_messages() || !closing_.empty()) return Time{0};
    return planned_ ? planned_->deadline() : inner_->deadline();
  }

  std::size_t waiting() const override {
    return planned_ ? planned_->waiting() : inner_->waiting() - (consent_waits_ ? 1 : 0);
  }

  OrderCounts counts() const override { return OrderCounts(replaced_) += inner_->counts(); }

  OrderState state() const override {
    if (planned_) return history_.following(*planned_, library_);
    return history_.without(state_ == State::learning ? learn_.why_not(wanted_)
                                                      : "a plan is being agreed on",
                            library_);
  }

 private:
  enum class State { learning, proposing, adopted, planned };
  struct Given {                        // a response of the inner order that has not ended
    std::uint64_t sequence, inner_sequence, epoch;
    bool hidden;                        // never seen outside: ends with the one before it
  };

  OrderSettings inner_settings() const {
    OrderSettings settings = settings_;
    settings.first_sequence = 0;
    return settings;
  }

  void negotiated(Request request, Time now) {
    learn_.submitted(request, now);
    beat_.submitted(request, now);
    if (request.kind == Collective::join) joining_ = request.name;
    inner_->submit(std::move(request), now);
  }

  void negotiate_inner(Time now, OrderOutput& out) {
    OrderOutput round;
    inner_->negotiate(now, round);
    static constexpr std::byte kLead[] = {static_cast<std::byte>(TopoMessageType::inner)};
    for (OrderMessage& message : round.messages) {
      out.messages.push_back({message.to, mail_.seal(message.bytes, kLead)});
    }
    for (Stall& stall : round.stalls) {
      if (!is_consent(stall.name)) out.stalls.push_back(std::move(stall));
    }
    if (round.responses.empty()) return;
    for (Response& response : round.responses) {
      const std::uint64_t inner_sequence = response.sequence;
      const bool hidden = is_consent(name_of(response));
      response.sequence = next_sequence_;
      given_.push_back({next_sequence_, inner_sequence, mail_.epoch(), hidden});
      if (hidden) {
        if (given_.size() == 1) tell_inner_ended(now);
        consented(response);
        continue;
      }
      ++next_sequence_;
      observe(response, now);
      out.responses.push_back(std::move(response));
    }
    round_ended(now);
  }

  // One more response of the common sequence.
  void observe(const Response& response, Time now) {
    if (state_ != State::learning) level_.answered(response);
    const PlanProgress::Heard heard = progress_.answered(response);
    for (const auto& plan : heard.broken) {
      library_.drop(*plan);
      progress_.drop(*plan);
    }
    // What was between the iterations of a plan that is no more is part of others now. A program
    // that uses a name for two operations would have every plan broken by the next iteration.
    if (!heard.broken.empty()) {
      learn_.restart();
      doublings_ = std::min(doublings_ + 1, policy_.doublings_max);
      wanted_ = std::max(1, settings_.learn_steps) << doublings_;
    }
    const int equal = state_ != State::learning ? learn_.unwatched(response)
                      : heard.known             ? learn_.answered_by_plan(response)
                                                : learn_.answered(response);
    if (joining_ && std::any_of(response.tensors.begin(), response.tensors.end(),
                                [&](const Request& t) { return t.name == *joining_; })) {
      joining_.reset();
      consent(now);
    }
    if (state_ != State::learning || equal < wanted_ || !left_.empty()) return;
    state_ = State::proposing;
    ++attempt_;
    level_.restart();
    level_.answered(response);
    talk_.learned(learn_.lesson(attempt_));
    if (talk_.leads()) {
      units_ = learn_.units();
      positions_ = learn_.positions();
      rows_ = learn_.rows();
    }
    if (Status status = pass_on(now); !status) fault_ = status;
  }

  Status pass_on(Time now) {
    std::optional<Lesson> of_all;
    if (Status status = talk_.pass_on(of_all); !status) return status;
    // Once the attempt is over nobody needs its plan; without the offer nobody consents either.
    if (of_all && state_ == State::proposing) {
      arranged_ = arrange(units_, positions_, *of_all,
                          {policy_.arranger, policy_.bucket_bytes_max, policy_.channels,
                           policy_.fuse_groups});
      offer(rows_.empty() ? arranged_.plan : arranged_.plan->with_rows(rows_), now);
    }
    return {};
  }

  void offer(std::shared_ptr<const TopoPlan> plan, Time now) {
    if (plan == nullptr) return;
    talk_.send_plan({attempt_, plan});
    accept(std::move(plan), now);
  }

  void accept(std::shared_ptr<const TopoPlan> plan, Time now) {
    plan_ = policy_.pool != nullptr ? policy_.pool->share(std::move(plan)) : std::move(plan);
    level_.watch(plan_);
    consent_due_ = true;
    consent(now);
  }

  // A member that has joined counts as having submitted everything, so its consent waits.
  void consent(Time now) {
    if (!consent_due_ || joining_) return;
    consent_due_ = false;
    consent_waits_ = true;
    Request request;
    request.name = cat(kConsentPrefix, attempt_, "/", plan_->hash());
    request.kind = Collective::switch_order;
    request.set = settings_.set;
    inner_->submit(std::move(request), now);
  }

  void consented(const Response& response) {
    if (!response.tensors.empty()) consent_waits_ = false;
    const bool current = name_of(response).starts_with(cat(kConsentPrefix, attempt_, "/"));
    if (state_ != State::proposing || !current) return;
    consent_due_ = false;
    if (response.error.ok()) {
      state_ = State::adopted;
    } else {
      learn_again();
    }
  }

  void round_ended(Time now) {
    if (state_ == State::adopted && !level_.fits()) return learn_again();
    if (!progress_.level()) return;
    const bool adopts = state_ == State::adopted && level_.level();
    const bool returns = state_ == State::learning && !library_.empty() &&
                         progress_.matched() >= std::uint64_t{1} << return_doublings_;
    if (adopts || returns) begin_plans(now);
  }

  // After a plan that came to nothing: the next has to prove itself for longer.
  void learn_again() {
    doublings_ = std::min(doublings_ + 1, policy_.doublings_max);
    learn_.restart();
    learn();
  }

  void learn() {
    state_ = State::learning;
    plan_.reset();
    level_.restart();
    learn_.interrupt();
    beat_.restart();
    wanted_ = std::max(1, settings_.learn_steps) << doublings_;
  }

  void adopt() {
    std::shared_ptr<PlanDrift> drift;
    if (arranged_.iteration.arranger != nullptr &&
        arranged_.iteration.graph.units.size() <= kUnitsWatchedMax) {
      const auto learned = static_cast<std::uint64_t>(wanted_);
      // All members together came to the same plan again: what this one sees is no reason.
      if (plan_->hash() == drifted_from_ && iterations_min_ > 0) iterations_min_ = kIterationsMax;
      DriftRules rules = policy_.drift;
      rules.iterations_min = iterations_min_ == 0 ? 0 : std::max(iterations_min_, kWorthIt * learned);
      drift = std::make_shared<PlanDrift>(std::move(arranged_.iteration),
                                          std::move(arranged_.unit_of), rules);
    }
    learn_.forget(*plan_);
    library_.add(plan_, std::move(drift), std::move(arranged_.reasons));
    arranged_ = {};
    return_doublings_ = 0;
  }

  void begin_plans(Time now) {
    if (state_ == State::adopted) adopt();
    state_ = State::planned;
    ++phase_;
    std::vector<Request> unanswered = release();
    replaced_ += inner_->counts();
    // Members come here at different times: what the old inner order still says is void, and what
    // the new one of other members already says is kept.
    inner_ = make_inner_(members_, inner_settings());
    for (const Rank rank : left_) inner_->member_left(rank, now);
    for (const auto& [from, message] : mail_.advance()) {
      if (Status status = inner_->receive(from, message, now); !status) fault_ = status;
    }
    joining_.reset();
    consent_due_ = consent_waits_ = false;
    level_.restart();
    planned_.emplace(library_.plans(), members_.me, next_sequence_,
                     TopoTimes{policy_.grace, std::max(patience_, 2 * beat_.shortest())}, now);
    if (talk_.leads()) planned_->watch(library_.drifts());
    history_.begun();
    for (Request& request : unanswered) planned_->submit(std::move(request), now);
    if (early_nudge_ && early_nudge_->phase == phase_) planned_->nudged(early_nudge_->position);
    if (!left_.empty() || leaving_) planned_->member_left();
  }

  // Everything this decides by is alike on all members.
  void fall_back(PlanVote vote, Time now) {
    const PlanSlots& slots = planned_->slots();
    next_sequence_ = planned_->next_sequence();
    history_.ended(*planned_);
    library_.ran(slots);
    progress_.restart(library_.plans());
    const auto last = slots.last_ended();
    const bool within = last && last->bucket + 1 < slots.plan(last->plan).size();
    if (within) progress_.has_run(slots.plan(last->plan), last->bucket + 1);
    if (vote == PlanVote::run_then_replan) {
      if (planned_->drifted()) {
        iterations_min_ = std::min(2 * iterations_min_, kIterationsMax);
        drifted_from_ = slots.plan(last->plan).hash();
      }
      progress_.drop(slots.plan(last->plan));
      library_.drop(slots.plan(last->plan));
    }
    const auto learned = static_cast<std::uint64_t>(wanted_);
    const bool worth_it = slots.iterations() >= kWorthIt * learned;
    if (worth_it) {
      doublings_ = return_doublings_ = 0;
    } else {
      return_doublings_ = std::min(return_doublings_ + 1, policy_.doublings_max);
      // An iteration that was not known is no fault of those that were.
      if (within) doublings_ = std::min(doublings_ + 1, policy_.doublings_max);
    }
    if (planned_->was_impatient()) patience_ *= 2;
    std::vector<Request> unanswered = planned_->drain();
    planned_.reset();
    learn();
    for (Request& request : unanswered) negotiated(std::move(request), now);
  }

  Status receive_inner(Rank from, std::span<const std::byte> sealed, Time now) {
    // Plans that are known are followed again without anybody's consent.
    const bool may_follow = state_ == State::proposing || state_ == State::adopted ||
                            (state_ == State::learning && !library_.empty());
    auto opened = mail_.open(from, sealed, may_follow);
    if (!opened.ok()) return opened.status();
    return opened.value() ? inner_->receive(from, *opened.value(), now) : Status();
  }

  Status receive_lesson(Rank from, ByteReader& in, Time now) {
    if (Status status = talk_.receive_lesson(from, in); !status) return status;
    return pass_on(now);
  }

  Status receive_plan(Rank from, ByteReader& in, Time now) {
    auto offered = talk_.receive_plan(from, in);
    if (!offered.ok()) return offered.status();
    if (offered->attempt > attempt_) return malformed(from, "it sends a plan nobody asked for");
    talk_.send_plan(offered.value());
    // The offer is late when the attempt failed without this member, which had joined.
    const bool awaited = state_ == State::proposing && plan_ == nullptr;
    if (offered->attempt == attempt_ && awaited) accept(std::move(offered->plan), now);
    return {};
  }

  Status receive_nudge(Rank from, ByteReader& in) {
    auto nudge = talk_.receive_nudge(from, in);
    if (!nudge.ok()) return nudge.status();
    if (nudge->phase > phase_ + 1) return malformed(from, "it nudges for a plan nobody follows");
    const bool early = nudge->phase == phase_ + 1;
    if (!early && (nudge->phase < phase_ || !planned_)) return {};
    talk_.send_nudge(nudge.value(), from);
    if (early) {
      early_nudge_ = nudge.value();
    } else {
      planned_->nudged(nudge->position);
    }
    return {};
  }

  void tell_inner_ended(Time now) {
    const Given& given = given_.front();
    if (given.epoch == mail_.epoch()) inner_->ended(given.inner_sequence, PlanVote::run, now);
    given_.pop_front();
  }

  const Members members_;
  const OrderSettings settings_;
  const TopoPolicy policy_;
  const OrderFactory make_inner_;
  std::unique_ptr<Order> inner_;
  EpochMail mail_;                      // of the inner order
  TopoTalk talk_;
  IterationLearner learn_;
  IterationBalance level_;
  State state_ = State::learning;
  std::uint64_t attempt_ = 0;           // at a plan
  int wanted_;                          // equal iterations before the next attempt
  int doublings_ = 0;
  int return_doublings_ = 0;            // of the known iterations before plans are followed again
  std::vector<TopoUnit> units_;         // on the first member: what to plan
  std::vector<std::vector<std::uint32_t>> positions_;
  IterationLearner::Rows rows_;
  Arranged arranged_;                   // the same, once offered
  std::uint64_t drifted_from_ = 0;      // the plan that this member ended for another
  std::uint64_t iterations_min_ = policy_.drift.iterations_min;
  std::shared_ptr<const TopoPlan> plan_;  // while proposing and adopted
  PlanLibrary library_;
  PlanProgress progress_;               // while not planned
  std::uint64_t phase_ = 0;             // of following plans: the last one that began
  bool consent_due_ = false, consent_waits_ = false;
  std::optional<std::string> joining_;  // this member's join, in the inner order
  std::optional<TopoNudge> early_nudge_;
  std::optional<PlannedRun> planned_;   // exactly while planned
  std::vector<Response> closing_;       // of the plan before, to be given out
  Nanos patience_;
  IterationBeat beat_;                  // where steps are long, so is what a member waits for
  std::deque<Given> given_;
  std::uint64_t next_sequence_;
  OrderCounts replaced_;                // of the inner orders before this one
  PlanHistory history_;
  std::vector<Rank> left_;
  bool leaving_ = false;                // this member is about to leave
  Status fault_;                        // found outside receive(), told at the next
};

}  // namespace

std::unique_ptr<Order> make_topo(Members members, OrderSettings settings, TopoPolicy policy,
                                 OrderFactory make_inner) {
  UNISONO_CHECK(members.me >= 0 && settings.tree_radix > 0);
  return std::make_unique<Topo>(std::move(members), std::move(settings), std::move(policy),
                                std::move(make_inner));
}

std::unique_ptr<Order> make_topo(Members members, OrderSettings settings) {
  TopoPolicy policy;
  policy.pool = settings.topo_pool;
  policy.arranger = settings.arranger;
  policy.bucket_bytes_max = settings.bucket_bytes_max;
  policy.channels = settings.channels;
  policy.fuse_groups = settings.fuse_groups;
  policy.given = settings.given;
  return make_topo(std::move(members), std::move(settings), std::move(policy), make_cache);
}

std::unique_ptr<Order> make_auto(Members members, OrderSettings settings) {
  TopoPolicy policy;
  policy.name = "auto";
  policy.bucket_bytes_max = settings.bucket_bytes_max;
  policy.channels = settings.channels;
  policy.fuse_groups = settings.fuse_groups;
  policy.arranger = settings.arranger;
  policy.pool = settings.topo_pool;
  policy.learn_first = 3 * settings.learn_steps;
  policy.doublings_max = 10;
  return make_topo(std::move(members), std::move(settings), std::move(policy), make_cache);
}

}  // namespace unisono::order

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Long because programs, orders and the data plane of a member act on one another.
// For tests: members of one set with programs to run and a data plane, in one thread under virtual
// time. Every choice (who submits, negotiates, receives, moves) is drawn from the seed.
//
// The data plane runs the responses of a member through one or more channels, in each one after the
// other; planned ones through the channel of their method. An operation ends on a member when every
// member has come to it; with a planned one all get the strongest vote. Orders are told of ends in
// sequence. In each channel, what is planned after a bucket whose vote was not run is thrown away,
// and nothing that follows a plan begins before all channels are through with it, as in an engine.
// Where members choose a plan, they do so in the first channel, after all that came before has ended
// and before anything that follows begins; what they chose then goes through the channel of its
// method. trouble() names the first promise that was broken.
//
// Programs look at what has ended only where they wait for it: before an operation that comes after
// another, before a name is used again, and at the end of a step. The orders are told so.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "order/order.hpp"
#include "order/testing/virtual_moves.hpp"

namespace unisono::order {

struct TopoOp {
  Request request;
  std::vector<std::string> after;       // must have completed in this step before it is submitted
};
using TopoStep = std::vector<TopoOp>;

class TopoNet {
 public:
  using Make = std::function<std::unique_ptr<Order>(Members)>;

  TopoNet(int members, std::uint64_t seed, const Make& make, std::size_t teams = 1)
      : rng_(seed), moves_(teams, VirtualMoves(static_cast<std::size_t>(members))) {
    std::vector<Rank> ranks;
    for (int i = 0; i < members; ++i) ranks.push_back(rank(i));
    all_.resize(static_cast<std::size_t>(members));
    for (int i = 0; i < members; ++i) {
      at(i).order = make(Members::of(ranks, rank(i)));
      at(i).channels.resize(teams);
    }
  }

  static Rank rank(int index) { return 10 + 2 * index; }
  int size() const { return static_cast<int>(all_.size()); }
  Order& order(int index) { return *at(index).order; }
  Time now() const { return now_; }
  std::size_t messages() const { return messages_; }
  const std::string& trouble() const { return trouble_; }
  // "sequence names" of what ran, with p when planned; "sequence !code" of what failed.
  const std::vector<std::string>& log(int index) const { return get(index).log; }
  std::size_t planned(int index) const { return get(index).planned; }
  // How often all members chose the same plan, counted on each.
  std::size_t choices() const { return choices_; }
  const std::map<std::string, std::vector<Status>>& results(int index) const {
    return get(index).results;
  }

  void add_step(int index, TopoStep step) { at(index).steps.push_back(std::move(step)); }
  void add_step_all(const TopoStep& step) {
    for (int i = 0; i < size(); ++i) add_step(i, step);
  }
  // Programs do not wait for a step to end before they begin the next.
  void pipeline() { pipelined_ = true; }
  // Members submit in the order of the step, with so much compute in between that whatever can
  // happen has happened; nobody looks.
  void hide_communication() { hidden_ = true; }
  // Messages on this link arrive only when nothing else can happen.
  void slow_link(int from, int to) { slow_ = {from, to}; }
  // The member leaves once its program is done.
  void leave_at_end(int index) { at(index).leaves = true; }

  // Runs until all programs are done and everything is answered; false when something broke.
  bool run(std::size_t actions_max = 200'000) {
    for (std::size_t i = 0; i < actions_max && trouble_.empty(); ++i) {
      now_ = now_ + Nanos(1'000);
      if (act()) continue;
      if (done()) break;
      if (!pass_time()) fail("nothing can happen any more");
    }
    if (trouble_.empty() && !done()) fail("it takes too many actions");
    if (trouble_.empty()) compare_logs();
    return trouble_.empty();
  }

 private:
  struct Unended {
    std::uint64_t sequence;
    bool ended;
    PlanVote vote;
    std::string line;                   // for the log, once it ran or failed
  };
  struct Queued {
    Response response;
    std::uint64_t epoch;                // plans that ended before it
    std::uint64_t stage;                // and iterations that a plan was chosen for
    std::optional<PlanVote> settled;    // what members voted when they chose the same

    bool undecided() const { return response.choice != 0 && !settled; }
  };
  struct Channel {
    std::deque<Queued> queue;
    std::uint64_t closed = UINT64_MAX;  // the epoch whose plan has ended here
  };
  struct Member {
    std::unique_ptr<Order> order;
    std::vector<Channel> channels;
    std::deque<Unended> unended;        // given out, in sequence
    std::uint64_t epoch = 0, stage = 0;
    std::uint64_t closed_epoch = UINT64_MAX, closed_stage = 0;  // where a plan ended last
    bool plan_over = false;             // and the order knows
    bool dirty = false;                 // something new for negotiate()
    bool heard = false;                 // messages negotiate() has not looked at
    std::set<std::string> outstanding;
    std::map<std::string, std::uint64_t> unseen;  // done, by name, and in which response
    std::deque<TopoStep> steps;
    std::set<std::string> submitted;    // in this step
    std::vector<std::string> log;
    std::map<std::string, std::vector<Status>> results;
    std::size_t planned = 0;            // planned responses that ran
    bool leaves = false, gone = false;
  };

  Member& at(int index) { return all_[static_cast<std::size_t>(index)]; }
  const Member& get(int index) const { return all_[static_cast<std::size_t>(index)]; }
  void fail(const std::string& what) {
    if (trouble_.empty()) trouble_ = what;
  }

  bool act() {
    const auto count = all_.size();
    const std::size_t start = rng_.below(4 * count);
    for (std::size_t k = 0; k < 4 * count; ++k) {
      const std::size_t choice = (start + k) % (4 * count);
      const int index = static_cast<int>(choice / 4);
      if (at(index).gone) continue;
      const bool acted = choice % 4 == 0   ? !hidden_ && submit(index)
                         : choice % 4 == 1 ? negotiate(index)
                         : choice % 4 == 2 ? move(index)
                                           : deliver(index, false);
      if (acted) return true;
    }
    for (int i = 0; i < size(); ++i) {
      if (!at(i).gone && deliver(i, true)) return true;
      if (!at(i).gone && leave(i)) return true;
    }
    for (int i = 0; hidden_ && i < size(); ++i) {
      if (!at(i).gone && submit(i)) return true;
    }
    return false;
  }

  bool submit(int index) {
    Member& member = at(index);
    // As in an engine, a message is looked at before anything else is submitted.
    if (member.steps.empty() || member.heard) return false;
    TopoStep& step = member.steps.front();
    if (member.submitted.size() == step.size()) {
      if (!pipelined_ && !member.outstanding.empty()) return false;
      if (!pipelined_) {
        for (const TopoOp& op : step) see(member, op.request.name);
      }
      member.steps.pop_front();
      member.submitted.clear();
      return true;
    }
    const std::size_t start = hidden_ ? 0 : rng_.below(step.size());
    for (std::size_t k = 0; k < step.size(); ++k) {
      const TopoOp& op = step[(start + k) % step.size()];
      const std::string& name = op.request.name;
      const bool ready = std::all_of(op.after.begin(), op.after.end(), [&](const auto& needed) {
        return member.submitted.contains(needed) && !member.outstanding.contains(needed);
      });
      if (!ready || member.submitted.contains(name) || member.outstanding.contains(name)) continue;
      for (const std::string& needed : op.after) see(member, needed);
      see(member, name);
      member.submitted.insert(name);
      member.outstanding.insert(name);
      member.dirty = true;
      member.order->submit(op.request, now_);
      return true;
    }
    return false;
  }

  static void see(Member& member, const std::string& name) {
    const auto node = member.unseen.extract(name);
    if (!node.empty()) member.order->observed(node.mapped());
  }

  bool negotiate(int index) {
    Member& member = at(index);
    if (!member.dirty && member.order->deadline() > now_) return false;
    member.dirty = false;
    OrderOutput out;
    member.order->negotiate(now_, out);
    member.heard = member.order->deadline() <= now_;
    for (Response& response : out.responses) {
      if (!response.closing) {
        if (std::exchange(member.plan_over, false)) {
          ++member.epoch;
          ++member.stage;
        }
        member.unended.push_back({response.sequence, false, PlanVote::run, {}});
      }
      // A failure concerns what is in flight and not answered when it is given out, not what is
      // submitted since, nor what a member that has joined still moves.
      if (!response.error.ok()) {
        std::erase_if(response.tensors, [&](const Request& tensor) {
          return !member.outstanding.contains(tensor.name) || moves(member, tensor.name);
        });
      }
      enqueue(member, std::move(response));
    }
    for (OrderMessage& message : out.messages) {
      ++messages_;
      links_[{index, (message.to - 10) / 2}].push_back(std::move(message.bytes));
    }
    return true;
  }

  void enqueue(Member& member, Response response) {
    member.stage += response.choice != 0 ? 1 : 0;
    const std::size_t at = response.choice != 0 ? 0
                           : response.planned   ? response.method.channel
                                                : response.sequence % moves_.size();
    Channel& channel = member.channels[at];
    const bool over = channel.closed == member.epoch || (member.closed_epoch == member.epoch &&
                                                         member.stage > member.closed_stage);
    if (response.planned && over) return;
    channel.queue.push_back({std::move(response), member.epoch, member.stage, {}});
  }

  // Whether the member has the tensor in an operation that is of no plan that is over.
  static bool moves(const Member& member, const std::string& name) {
    for (const Channel& channel : member.channels) {
      for (const auto& [response, epoch, stage, settled] : channel.queue) {
        if (!response.error.ok() || epoch != member.epoch) continue;
        for (const Request& tensor : response.tensors) {
          if (tensor.name == name) return true;
        }
      }
    }
    return false;
  }

  bool deliver(int index, bool slow_too) {
    const std::size_t start = rng_.below(all_.size());
    for (std::size_t k = 0; k < all_.size(); ++k) {
      const int from = static_cast<int>((start + k) % all_.size());
      if (!slow_too && slow_ == std::pair(from, index)) continue;
      const auto it = links_.find({from, index});
      if (it == links_.end() || it->second.empty()) continue;
      const std::vector<std::byte> bytes = std::move(it->second.front());
      it->second.pop_front();
      receive(from, index, bytes);
      return true;
    }
    return false;
  }

  void receive(int from, int to, const std::vector<std::byte>& bytes) {
    at(to).dirty = at(to).heard = true;
    const Status status = at(to).order->receive(rank(from), bytes, now_);
    if (!status.ok()) fail(status.to_string());
  }

  static std::string names_of(const Response& response) {
    std::vector<std::string> names;
    for (const Request& tensor : response.tensors) names.push_back(tensor.name);
    const BucketMethod& method = response.method;
    const bool chosen = !method.algorithm.empty() || !method.codec.empty();
    return cat(response.sequence, response.planned ? "p " : " ", join_text(names, " "),
               chosen ? cat("/", method.algorithm, "/", method.codec) : std::string());
  }

  // Enters or ends the response in front of a channel.
  bool move(int index) {
    const std::size_t teams = moves_.size();
    const std::size_t start = teams > 1 ? rng_.below(teams) : 0;
    for (std::size_t k = 0; k < teams; ++k) {
      if (move(index, (start + k) % teams)) return true;
    }
    return false;
  }

  bool move(int index, std::size_t channel) {
    Member& member = at(index);
    if (member.channels[channel].queue.empty()) return false;
    Queued& queued = member.channels[channel].queue.front();
    const Response& front = queued.response;
    for (const Channel& other : member.channels) {
      if (&other == &member.channels[channel] || other.queue.empty()) continue;
      const Queued& held = other.queue.front();
      if (held.stage < queued.stage) return false;
      if (held.stage == queued.stage && held.undecided()) return false;
    }
    VirtualMoves& moves = moves_[channel];
    if (!front.error.ok()) {
      end(index, channel, PlanVote::run);
      return true;
    }
    const auto me = static_cast<std::size_t>(index);
    if (!moves.entered(me)) {
      const PlanVote vote = queued.settled ? PlanVote::run : front.vote;
      const std::uint64_t choice = queued.settled ? 0 : front.choice;
      if (!moves.enter(me, names_of(front), vote, choice)) {
        fail(cat("member ", index, " runs [", names_of(front), "], others [", moves.what(me), "]"));
      }
      if (front.planned && front.vote != PlanVote::abort) check_submitted(index, front);
      return true;
    }
    const std::optional<PlanVote> strongest = moves.outcome(me);
    // Where everybody was asked, nobody waits for a member that left: the order has failed that.
    if (!strongest || (!front.planned && *strongest == PlanVote::abort)) return false;
    moves.end(me);
    if (queued.settled) {
      if (*strongest != PlanVote::run) fail("somebody left what it had voted for");
      end(index, channel, *queued.settled);
    } else if (queued.undecided() && *strongest != PlanVote::abort) {
      chosen(index, *strongest);
    } else {
      end(index, channel, *strongest);
    }
    return true;
  }

  // The members have chosen the same, and go on in the channel of the plan.
  void chosen(int index, PlanVote vote) {
    Member& member = at(index);
    Queued queued = std::move(member.channels.front().queue.front());
    member.channels.front().queue.pop_front();
    queued.settled = vote;
    ++choices_;
    if (vote != PlanVote::run) close_all(member, queued);
    const std::size_t channel = queued.response.method.channel;
    if (moves_[channel].entered(static_cast<std::size_t>(index))) {
      fail("something overtook the choice of its plan");
    }
    member.channels[channel].queue.push_front(std::move(queued));
  }

  void check_submitted(int index, const Response& response) {
    for (const Request& tensor : response.tensors) {
      if (!at(index).outstanding.contains(tensor.name)) {
        fail(cat("member ", index, " has not submitted ", tensor.name, " but votes run"));
      }
    }
  }

  void end(int index, std::size_t channel, PlanVote vote) {
    Member& member = at(index);
    const Queued queued = std::move(member.channels[channel].queue.front());
    const Response& response = queued.response;
    member.channels[channel].queue.pop_front();
    if (vote != PlanVote::run && queued.undecided()) close_all(member, queued);
    if (vote != PlanVote::run) close(member, member.channels[channel], queued);
    member.dirty = true;
    if (response.closing || queued.epoch != member.epoch) {
      if (vote != PlanVote::abort) fail("something ran after the end of its plan");
      return;
    }
    const auto entry = std::find_if(
        member.unended.begin(), member.unended.end(),
        [&](const Unended& unended) { return unended.sequence == response.sequence; });
    if (entry == member.unended.end()) {
      if (vote != PlanVote::abort) fail("something ran after the end of its plan");
      return;
    }
    entry->ended = true;
    entry->vote = vote;
    if (!response.error.ok()) {
      entry->line = cat(response.sequence, " !", code_name(response.error.code()));
    } else if (vote != PlanVote::abort) {
      entry->line = names_of(response);
    }
    if (vote != PlanVote::abort) complete(index, response);
    tell_ended(member);
  }

  // Drops what was planned behind the end of a plan.
  static void close(Member& member, Channel& at, const Queued& last) {
    at.closed = member.closed_epoch = last.epoch;
    member.closed_stage = last.stage;
    for (Channel& channel : member.channels) {
      std::erase_if(channel.queue, [&](const Queued& later) {
        return later.response.planned && later.epoch == last.epoch &&
               (&channel == &at || later.stage > last.stage);
      });
    }
  }
  static void close_all(Member& member, const Queued& last) {
    for (Channel& channel : member.channels) close(member, channel, last);
  }

  void tell_ended(Member& member) {
    while (!member.unended.empty() && member.unended.front().ended) {
      const Unended front = std::move(member.unended.front());
      member.unended.pop_front();
      if (!front.line.empty()) member.log.push_back(front.line);
      member.order->ended(front.sequence, front.vote, now_);
      if (front.vote == PlanVote::run) continue;
      for (const Unended& later : member.unended) {
        if (!later.line.empty()) fail("something ran after the end of its plan");
      }
      member.unended.clear();
      member.plan_over = true;
    }
  }

  void complete(int index, const Response& response) {
    Member& member = at(index);
    if (response.planned) ++member.planned;
    const bool absent = std::count(response.absent.begin(), response.absent.end(),
                                   static_cast<std::uint32_t>(index)) > 0;
    for (const Request& tensor : response.tensors) {
      const bool mine = member.outstanding.contains(tensor.name) && !absent;
      // Joins list everybody's requests, and a failure need not concern this member.
      if (!mine && (absent || tensor.kind == Collective::join || !response.error.ok())) continue;
      if (!mine) fail(cat("member ", index, " got ", tensor.name, " without asking"));
      member.outstanding.erase(tensor.name);
      member.unseen[tensor.name] = response.sequence;
      member.results[tensor.name].push_back(response.error);
    }
  }

  bool leave(int index) {
    Member& member = at(index);
    const bool idle =
        member.steps.empty() && member.outstanding.empty() && member.unended.empty();
    if (!member.leaves || !idle) return false;
    member.gone = true;
    for (VirtualMoves& moves : moves_) moves.leave(static_cast<std::size_t>(index));
    for (int i = 0; i < size(); ++i) {
      if (at(i).gone) continue;
      // The goodbye is the last thing it sends.
      auto& last = links_[{index, i}];
      for (; !last.empty(); last.pop_front()) receive(index, i, last.front());
      at(i).order->member_left(rank(index), now_);
      at(i).dirty = true;
    }
    return true;
  }

  bool done() const {
    return std::all_of(all_.begin(), all_.end(), [](const Member& member) {
      return member.gone || (member.steps.empty() && member.outstanding.empty());
    });
  }

  bool pass_time() {
    Time next = kNever;
    for (const Member& member : all_) {
      if (!member.gone) next = std::min(next, member.order->deadline());
    }
    if (next == kNever || next <= now_) return false;
    now_ = next;
    return true;
  }

  void compare_logs() {
    const auto longest = std::max_element(
        all_.begin(), all_.end(),
        [](const Member& a, const Member& b) { return a.log.size() < b.log.size(); });
    for (const Member& member : all_) {
      const bool prefix = std::equal(member.log.begin(), member.log.end(), longest->log.begin());
      const bool whole = member.log.size() == longest->log.size();
      if (!prefix || (!whole && !member.gone && member.unended.empty() && !any_gone())) {
        fail(cat("logs differ: [", join_text(member.log), "] and [", join_text(longest->log), "]"));
      }
    }
  }
  bool any_gone() const {
    return std::any_of(all_.begin(), all_.end(), [](const Member& m) { return m.gone; });
  }

  Rng rng_;
  Time now_{1};
  std::vector<Member> all_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> links_;
  std::vector<VirtualMoves> moves_;     // by channel
  std::pair<int, int> slow_{-1, -1};
  bool pipelined_ = false, hidden_ = false;
  std::size_t messages_ = 0, choices_ = 0;
  std::string trouble_;
};

}  // namespace unisono::order

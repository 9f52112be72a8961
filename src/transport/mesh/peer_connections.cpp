// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The connections of a PeerLink: made on first use, made again when they broke, given up.
#include <algorithm>
#include <utility>

#include "base/data/text.hpp"
#include "base/log.hpp"
#include "transport/mesh/peer_link.hpp"

namespace unisono::transport {
namespace {
constexpr std::size_t kHangUpsOfALane = 3;
}  // namespace

bool PeerLink::met() const {
  return std::ranges::any_of(calls_, [](const Calls& each) { return each.turn.number != 0; });
}

bool PeerLink::seeks() const {
  return std::ranges::any_of(calls_, [](const Calls& each) { return each.sought != 0; });
}

bool PeerLink::is_open(LaneId lane) const {
  return lane.is_control() ? control_.open() : data_[lane.stripe()].open();
}

bool PeerLink::has_stream(LaneId lane) const {
  return lane.is_control() ? control_.has_stream() : data_[lane.stripe()].has_stream();
}

bool PeerLink::is_resumed(LaneId lane) const {
  return lane.is_control() ? control_.resumed() : data_[lane.stripe()].resumed();
}

void PeerLink::detach(LaneId lane) {
  lane.is_control() ? control_.detach() : data_[lane.stripe()].detach();
}

void PeerLink::close(LaneId lane) {
  lane.is_control() ? control_.close() : data_[lane.stripe()].close();
}

void PeerLink::connect() {
  if (connector_ == nullptr) return;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].turn.number == 0) seek({static_cast<std::uint8_t>(i)});
  }
}

void PeerLink::give_up() {
  stop_seeking();
  control_.close();
  data_.close();
  data_.fail(true);
}

void PeerLink::seek(LaneId lane) {
  Calls& calls = calls_[lane.number];
  if (calls.sought != 0) return;
  calls.sought = calls.turn.number + 1;
  connector_->seek(peer_.rank, lane, calls.sought);
}

void PeerLink::stop_seeking(LaneId lane) {
  if (std::exchange(calls_[lane.number].sought, 0) != 0) connector_->stop(peer_.rank, lane);
}

void PeerLink::stop_seeking() {
  for (std::size_t i = 0; i < calls_.size(); ++i) stop_seeking({static_cast<std::uint8_t>(i)});
}

void PeerLink::broke(LaneId lane, const Status& why) {
  const bool resumed = is_resumed(lane);
  if (resumed) {
    broken_by_ = why.message();
    log_line(LogLevel::info, cat("the ", lane.is_control() ? "control" : "data",
                                 " connection with ", peer_.to_string(), " broke (",
                                 why.message(), "); it is made again"));
  }
  // A peer that takes the call and hangs up, again and again, is done with this lane of a rank that is
  // about to go anyway, and with the rank if that was the control lane. Once or twice it may only have
  // preferred another connection.
  std::size_t& hang_ups = calls_[lane.number].hang_ups;
  hang_ups = resumed || !leaving_ ? 0 : hang_ups + 1;
  if (hang_ups >= kHangUpsOfALane) {
    if (lane.is_control()) return give_up();
    close(lane);
    return data_[lane.stripe()].set_ended();
  }
  detach(lane);
  seek(lane);
}

// When both ends call at once, both keep the connection that counts more; the higher rank therefore
// goes on calling while it uses the one of the lower rank.
void PeerLink::attach(Connection connection) {
  const LaneId lane = connection.lane;
  // Whoever makes connections lets none in with another number; this is the last guard.
  if (lane.number >= calls_.size()) return;
  Calls& calls = calls_[lane.number];
  if (connection.by_me) calls.sought = 0;
  if (!is_open(lane) || fault_ || lost_) return;
  if (!(calls.turn < connection.turn)) {
    if (!has_stream(lane) && calls.sought == 0) seek(lane);
    return;
  }
  const bool again = calls.turn.number > 0;
  // Without what a broken connection had on its way, a lane that does not heal cannot go on.
  if (again && !heals_) return;
  calls.turn = connection.turn;
  const Turn mine{calls.sought, self_.rank > peer_.rank};
  if (!(connection.turn < mine)) stop_seeking(lane);
  if (again) ++reconnections_;
  if (lane.is_control()) {
    control_.attach(std::move(connection.stream), connection.secret);
  } else {
    data_[lane.stripe()].attach(std::move(connection.stream), connection.secret);
  }
  if (std::exchange(unmet_, false)) {
    say_goodbye();
  }
}

void PeerLink::unreachable(const Status& why) {
  if (lost_ || fault_ || !control_.open()) return;
  const bool ever = known_;
  blame(Status(Code::peer_lost,
               cat(ever ? "the connection broke" : "it was to be connected with for the first time",
                   broken_by_.empty() || !ever ? "" : cat(" (", broken_by_, ")"), ", and ",
                   why.message())));
}

bool PeerLink::settled() const {
  return lost_ || !seeks() || (control_.idle() && data_.idle());
}

std::uint64_t PeerLink::connections() const {
  std::uint64_t count = control_.has_stream() ? 1 : 0;
  for (std::size_t i = 0; i < data_.size(); ++i) count += data_[i].has_stream() ? 1 : 0;
  return count;
}

}  // namespace unisono::transport

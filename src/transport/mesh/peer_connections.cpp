// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The connections of a PeerLink: made on first use, made again when they broke, given up.
#include <utility>

#include "base/data/text.hpp"
#include "base/log.hpp"
#include "transport/mesh/peer_link.hpp"

namespace unisono::transport {
namespace {
constexpr int kHangUpsMax = 6;
}  // namespace

void PeerLink::connect() {
  if (connector_ == nullptr) return;
  for (const LaneKind lane : {LaneKind::control, LaneKind::data}) {
    const auto which = static_cast<std::size_t>(lane);
    if (turns_[which].number == 0) seek(lane);
  }
}

void PeerLink::give_up() {
  stop_seeking(LaneKind::control);
  stop_seeking(LaneKind::data);
  control_.close();
  data_.close();
  box_.end();
}

void PeerLink::seek(LaneKind lane) {
  const auto which = static_cast<std::size_t>(lane);
  if (sought_[which] != 0) return;
  sought_[which] = turns_[which].number + 1;
  connector_->seek(peer_.rank, lane, sought_[which]);
}

void PeerLink::stop_seeking(LaneKind lane) {
  if (std::exchange(sought_[static_cast<std::size_t>(lane)], 0) != 0) {
    connector_->stop(peer_.rank, lane);
  }
}

void PeerLink::broke(Link& link, const Status& why) {
  const LaneKind lane = &link == &data_ ? LaneKind::data : LaneKind::control;
  if (link.resumed()) {
    broken_by_ = why.message();
    log_line(LogLevel::info, cat("the ", lane == LaneKind::data ? "data" : "control",
                                 " connection with ", peer_.to_string(), " broke (",
                                 why.message(), "); it is made again"));
  }
  // A peer that takes the call and hangs up, again and again, has given up this rank, which is about
  // to go anyway. Once or twice it may only have preferred another connection.
  if (leaving_ && !link.resumed() && ++hang_ups_ >= kHangUpsMax) return give_up();
  link.detach();
  seek(lane);
}

// When both ends call at once, both keep the connection that counts more; the higher rank therefore
// goes on calling while it uses the one of the lower rank.
void PeerLink::attach(Connection connection) {
  const auto which = static_cast<std::size_t>(connection.lane);
  Link& link = lane(connection.lane);
  if (connection.by_me) sought_[which] = 0;
  if (!link.open() || fault_ || lost_) return;
  if (!(turns_[which] < connection.turn)) {
    if (!link.has_stream() && sought_[which] == 0) seek(connection.lane);
    return;
  }
  const bool again = turns_[which].number > 0;
  // Without what a broken connection had on its way, a lane that does not heal cannot go on.
  if (again && !heals_) return;
  turns_[which] = connection.turn;
  const Turn mine{sought_[which], self_.rank > peer_.rank};
  if (!(connection.turn < mine)) stop_seeking(connection.lane);
  if (again) ++reconnections_;
  link.attach(std::move(connection.stream), connection.secret);
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
  return static_cast<std::uint64_t>(control_.has_stream()) + data_.has_stream();
}

}  // namespace unisono::transport

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/peer_link.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "base/data/text.hpp"

namespace unisono::transport {
namespace {
constexpr std::size_t kComplaintTextMax = kComplaintBytesMax - 16;

bool heals(const PeerLanes& lanes, const MeshSettings& settings) {
  if (settings.connector == nullptr) return false;
  // Two ranks that call each other at once replace one connection by the other.
  if (lanes.control.stream == nullptr) return true;
  switch (settings.heal) {
    case MeshSettings::Heal::never: return false;
    case MeshSettings::Heal::where_it_can_break: return lanes.control.stream->can_break();
    case MeshSettings::Heal::always: return lanes.heal_possible;
  }
  return false;
}

// Threads sleep on sockets; whoever is connected on first use is so by TCP.
bool by_sockets(const PeerLanes& lanes) { return lanes.data.empty() || lanes.heal_possible; }
}  // namespace

PeerLink::PeerLink(PeerInfo peer, PeerLanes lanes, const MeshSettings& settings, IoThreads& io)
    : peer_(std::move(peer)),
      self_(settings.peers[static_cast<std::size_t>(settings.rank)]),
      can_fall_silent_(lanes.can_fall_silent),
      by_sockets_(by_sockets(lanes)),
      heals_(heals(lanes, settings)),
      beats_(settings.beats_with.empty() ||
             settings.beats_with[static_cast<std::size_t>(peer_.rank)]),
      connector_(settings.connector.get()),
      calls_(1 + (lanes.data.empty() ? settings.stripes : lanes.data.size())),
      suspect_after_(settings.suspect_after),
      dead_after_(settings.dead_after),
      control_(std::move(lanes.control.stream), LaneKind::control, settings.epoch,
               lanes.control.secret, heals_),
      data_(settings.stripes, settings.epoch, heals_,
            io.empty() || !by_sockets_ ? nullptr : &io, std::move(lanes.data)) {
  known_ = control_.has_stream();
  if (!known_) return;
  for (Calls& each : calls_) each.turn = Turn{1, peer_.rank > self_.rank};
}

bool PeerLink::post(std::span<const std::byte> message) {
  if (leaving_ || !control_.open()) return false;
  connect();
  control_.send(FrameKind::message, 0, message, nullptr);
  return true;
}

bool PeerLink::send(Label label, std::span<const std::byte> bytes, Transfer& done) {
  done.state = Transfer::State::failed;
  if (leaving_ || fault_ || !data_.open()) return false;
  done.state = Transfer::State::active;
  connect();
  data_.send(label, bytes, done);
  return true;
}

void PeerLink::receive(Label label, std::span<std::byte> bytes, Transfer& done) {
  if (Status differs = data_.receive(label, bytes, done); !differs.ok()) blame(differs);
}

void PeerLink::abandon(Transfer& transfer) {
  if (transfer.state != Transfer::State::active) return;
  if (data_.abandon(transfer)) return;
  // The link cannot go on without the bytes, and the caller must have them back, whatever else
  // there is no memory for.
  data_.close();
  data_.fail(false);
  blame(Status(Code::out_of_memory, "no memory for the copy of what was on its way"));
}

bool PeerLink::progress(TransportListener& listener) {
  news_ = false;
  listener_ = &listener;
  bool moved = false;
  if (control_.open()) {
    moved |= control_.flush();
    if (!fault_) moved |= handle(LaneId::control(), control_.pump(*this));
  }
  for (std::size_t i = 0; i < data_.size() && !fault_; ++i) {
    moved |= handle(LaneId::of_stripe(i), data_[i].progress());
  }
  listener_ = nullptr;
  data_.end_receives();
  known_ |= control_.resumed();
  if (heals_ && !fault_ && (control_.owes_much() || data_.owes_much())) acknowledge(Owing::much);
  if (leaving_ || peer_left_) finish_leaving();
  if (fault_) {
    lose(listener);
    moved = true;
  }
  return moved;
}

bool PeerLink::handle(LaneId lane, const Link::Pumped& pumped) {
  if (pumped.why.ok()) return pumped.moved;
  // What the peer said on the data lanes counts before the end of the control lane does.
  if (pumped.ended && heals_ && lane.is_control() && peer_left_ && !data_.ended()) {
    data_.read_to_the_end();
  }
  if (pumped.ended && may_end(lane, pumped.closed)) {
    // Whoever closes a lane in good order after this rank's goodbye, and does not leave itself, has
    // read all that came before it.
    if (!lane.is_control() && pumped.closed) {
      Stripe& stripe = data_[lane.stripe()];
      if (stripe.finished() && stripe.resumed() && !stripe.ended()) stripe.confirm_all();
    }
    close(lane);
    if (!lane.is_control()) data_[lane.stripe()].set_ended();
    return true;
  }
  // The peer's last control messages may name another rank as the reason, and were sent before the
  // data lane ended.
  if (!lane.is_control() && control_.open()) {
    const Link::Pumped last = control_.pump(*this);
    if (!last.why.ok() && !last.ended) blame(last.why);
  }
  if (pumped.ended && heals_ && !fault_) {
    broke(lane, pumped.why);
  } else {
    blame(pumped.why);
  }
  return true;
}

// A peer that has said goodbye may end the lane. On a data lane, so may a peer that has read this
// rank's goodbye; if it died instead, the control lane shows it. Where a connection can be made
// again, one goodbye does not excuse the loss of what came before the others, nor does this rank's
// own the loss of what the peer had not read.
bool PeerLink::may_end(LaneId lane, bool closed) const {
  if (lane.is_control()) return peer_left_ && (!heals_ || data_.ended());
  const Stripe& stripe = data_[lane.stripe()];
  if (stripe.ended() || goodbye_acked_) return true;
  return heals_ ? stripe.finished() && stripe.resumed() && closed : stripe.finished() || peer_left_;
}

Result<std::byte*> PeerLink::place(const FrameHeader& header) {
  const auto length = static_cast<std::size_t>(header.length);
  if (length > message_capacity_) {
    const std::size_t capacity = std::max<std::size_t>(length, 4096);
    message_.reset(new std::byte[capacity]);
    message_capacity_ = capacity;           // only now: there may be no memory for it
  }
  return message_.get();
}

// Of frames on the control lane; those on the data lanes go to their stripe.
void PeerLink::deliver(LaneKind, const FrameHeader& header) {
  switch (header.kind) {
    case FrameKind::message:
      listener_->on_message(peer_.rank, {message_.get(), static_cast<std::size_t>(header.length)});
      break;
    case FrameKind::beat:
      if (Status status = hear_count(header.identity, header.tag); !status.ok()) blame(status);
      break;
    case FrameKind::goodbye:
      if (!std::exchange(peer_left_, true)) listener_->on_left(peer_.rank);
      break;
    case FrameKind::goodbye_ack:
      // It has read every goodbye, and so what came before.
      if (!std::exchange(goodbye_acked_, true) && leaving_) data_.confirm_all();
      break;
    case FrameKind::complaint:
      hear_complaint({message_.get(), static_cast<std::size_t>(header.length)});
      break;
    case FrameKind::data:
    case FrameKind::resume:
      break;
  }
}

Status PeerLink::hear_count(std::uint64_t lane, std::uint64_t frames) {
  if (lane == 0) return control_.acknowledged(frames);
  if (lane <= data_.size()) return data_.acknowledged(static_cast<std::size_t>(lane - 1), frames);
  return Status(Code::corrupted, cat("it says how much of lane ", lane, " has arrived, where lane ",
                                     data_.size(), " is the last"));
}

void PeerLink::leave() {
  if (leaving_) return;
  // The last word on what has arrived; nothing but the goodbye follows.
  if (heals_ && known_ && !fault_ && (control_.owes() || data_.owes())) acknowledge(Owing::any);
  leaving_ = true;
  // A peer that this rank never spoke with hears the goodbye if it still connects.
  unmet_ = !met() && !seeks();
  if (unmet_) return;
  say_goodbye();
}

void PeerLink::say_goodbye() {
  if (control_.open()) control_.send(FrameKind::goodbye, 0, {}, nullptr);
  data_.say_goodbye();
}

void PeerLink::finish_leaving() {
  if (peer_left_ && data_.ended() && !goodbye_ack_sent_ && control_.open()) {
    goodbye_ack_sent_ = true;
    control_.send(FrameKind::goodbye_ack, 0, {}, nullptr);
  }
  if (!leaving_) return;
  // A peer that leaves, too, may still have much to write, and would take the end for the end of both.
  data_.finish_writing(goodbye_acked_ && !peer_left_);
  // The control lane stays open for the goodbye_ack that the peer's own goodbye will ask for, and until
  // the peer has all that this rank has sent.
  if (!control_finished_ && goodbye_ack_sent_ && goodbye_acked_ && control_.open() &&
      control_.idle()) {
    control_finished_ = true;
    control_.finish_writing();
  }
}

bool PeerLink::left() const {
  if (lost_ || unmet_ || !control_.open()) return true;
  // A peer that has itself said goodbye needs nothing more, whether or not it answers.
  return leaving_ && control_.idle() && data_.idle() && (goodbye_acked_ || goodbye_ack_sent_);
}

void PeerLink::beat(Time now, bool fresh, TransportListener& listener) {
  if (!can_fall_silent_ || !control_.open() || fault_) return;
  if (!known_ && !seeks()) return;
  fresh |= !std::exchange(watched_, true);
  say_alive();
  const bool whole = control_.resumed() && data_.resumed();
  if (whole) stop_seeking();                // the peer reaches this rank, if not the reverse
  if (!beats_ && whole) {                   // others would miss it
    heard_at_ = beaten_at_ = now;
    return;
  }
  const std::uint64_t heard = control_.bytes_in() + data_.bytes_in() +
                              (control_.has_stream() ? control_.stream()->heard() : 0);
  const Time before = std::exchange(beaten_at_, now);
  if (fresh || heard != heard_) {
    heard_ = heard;
    // The peer was heard at some time since the previous beat. Counting from that beat, it is
    // declared lost at most one beat before dead_after has passed, which leaves time to tell all
    // other ranks.
    heard_at_ = fresh ? now : before;
    suspected_ = false;
    return;
  }
  if (peer_left_ || dead_after_.count() <= 0) return;
  const Nanos silent = now - heard_at_;
  if (silent >= dead_after_) {
    blame(Status(Code::peer_lost,
                 cat("nothing was heard from it for ", nanos_to_seconds(silent),
                     " s; it is stopped, or the network between is cut",
                     whole || broken_by_.empty() ? "" : cat(" (", broken_by_, ")"))));
    lose(listener);
  } else if (suspect_after_.count() > 0 && silent >= suspect_after_ &&
             !std::exchange(suspected_, true)) {
    log_line(LogLevel::warn, cat(peer_.to_string(), " has been silent for ",
                                 nanos_to_seconds(silent), " s; it is called lost after ",
                                 nanos_to_seconds(dead_after_), " s"));
  }
}

void PeerLink::say_alive() {
  if (!control_.has_stream()) return;
  const bool quiet = control_.stream()->beat_quietly();
  const std::uint64_t sent = control_.bytes_out() + data_.bytes_out();
  const bool owes = heals_ && (control_.owes() || data_.owes());
  // Nothing but a goodbye_ack may follow a goodbye.
  if (!quiet && (beats_ || owes) && (owes || sent == sent_) && control_.idle()) acknowledge(Owing::any);
  sent_ = control_.bytes_out() + data_.bytes_out();
}

// A beat says how much of a lane has arrived, so that the peer need not keep it.
void PeerLink::acknowledge(Owing which) {
  if (leaving_ || goodbye_ack_sent_ || !control_.open()) return;
  if (!heals_) return control_.send(FrameKind::beat, 0, {}, nullptr);
  bool told = false;
  for (std::size_t i = 0; i < data_.size(); ++i) {
    if (!(which == Owing::much ? data_[i].owes_much() : data_[i].owes())) continue;
    const LaneId lane = LaneId::of_stripe(i);
    control_.send(FrameKind::beat, {data_[i].tell_received(), lane.number}, {}, nullptr);
    told = true;
  }
  if (told && !(which == Owing::much ? control_.owes_much() : control_.owes())) return;
  control_.told_received();
  control_.send(FrameKind::beat, {control_.received(), LaneId::control().number}, {}, nullptr);
}

void PeerLink::blame(const Status& why) {
  if (lost_ || fault_) return;
  const bool is_lost = why.code() == Code::peer_lost;
  fault_.emplace(why.code(),
                 cat(peer_.to_string(), is_lost ? " was lost: " : " was cut off: ", why.message()),
                 Culprit{peer_.rank, peer_.host, peer_.pid, {}});
}

void PeerLink::complain(const Status& why) {
  ByteWriter out;
  out.put(why.code());
  out.put_text(std::string_view(why.message()).substr(0, kComplaintTextMax));
  control_.send(FrameKind::complaint, 0, out.bytes(), nullptr);
}

void PeerLink::hear_complaint(std::span<const std::byte> words) {
  ByteReader in(words);
  const auto code = in.get<Code>();
  const std::string message = in.get_text();
  const bool known =
      code == Code::mismatch || code == Code::corrupted || code == Code::out_of_memory;
  if (!in.finished() || !known) {
    return blame(Status(Code::corrupted, "it sent a complaint that makes no sense"));
  }
  if (lost_ || fault_) return;
  heard_complaint_ = true;
  fault_.emplace(code, cat(message, " (found by ", peer_.to_string(), ")"),
                 Culprit{self_.rank, self_.host, self_.pid, {}});
}

void PeerLink::lose(TransportListener& listener) {
  const Status why = *std::exchange(fault_, std::nullopt);
  const bool is_lost = why.code() == Code::peer_lost;
  if (!is_lost && !heard_complaint_ && !leaving_ && control_.open()) complain(why);
  control_.close();
  data_.close();
  // A peer that has said goodbye is not reported as lost; only transfers fail that need it.
  data_.fail(peer_left_);
  if (!std::exchange(lost_, true) && !peer_left_) listener.on_lost(peer_.rank, why);
}

}  // namespace unisono::transport

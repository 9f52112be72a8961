// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/mesh/postbox.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "base/data/text.hpp"

namespace unisono::transport {
namespace {

// Tags and identities are names, not quantities, so they are shown in hex.
std::string hex_text(std::uint64_t number) {
  char buffer[24];
  std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(number));
  return buffer;
}

// Returns ok when the data that came is the data that was expected.
Status compare(Label came, std::size_t came_bytes, Label wanted, std::size_t wanted_bytes) {
  if (came.identity != wanted.identity) {
    return Status(Code::mismatch,
                  cat("under tag ", hex_text(came.tag), " it sent data of bucket ",
                      hex_text(came.identity), " where this rank runs bucket ",
                      hex_text(wanted.identity),
                      "; the ranks disagree which operation comes here, so nothing was summed"));
  }
  if (came_bytes != wanted_bytes) {
    return Status(Code::corrupted,
                  cat("under tag ", hex_text(came.tag), " it sent ", came_bytes,
                      " bytes of bucket ", hex_text(came.identity), " where this rank expects ",
                      wanted_bytes));
  }
  return {};
}

}  // namespace

Postbox::Match Postbox::receive(Label label, std::span<std::byte> bytes, Transfer& done) {
  done.state = Transfer::State::active;
  const auto tag_of = [](const auto& item) { return item.label.tag; };
  const auto differs = [&](const Kept& here) {
    Status status = compare(here.label, here.length, label, bytes.size());
    if (!status.ok()) done.state = Transfer::State::failed;
    return status;
  };
  auto locked = lock();
  const auto kept = std::ranges::find(kept_, label.tag, tag_of);
  if (kept != kept_.end()) {
    if (Status status = differs(*kept); !status.ok()) return {Match::mismatch, 0, std::move(status)};
    const Kept here = std::move(*kept);
    kept_.erase(kept);
    if (locked) locked.unlock();
    if (!bytes.empty()) std::memcpy(bytes.data(), here.bytes.get(), bytes.size());
    done.state = Transfer::State::done;
    return {Match::done};
  }
  for (std::size_t stripe = 0; stripe < arriving_.size(); ++stripe) {
    Arriving& one = arriving_[stripe];
    if (!one.is || one.done != nullptr || one.drops || one.what.label.tag != label.tag) continue;
    if (Status status = differs(one.what); !status.ok()) {
      return {Match::mismatch, 0, std::move(status)};
    }
    one.done = &done;
    if (!shared_) return {Match::arriving, stripe, {}};
    one.copy_to = bytes.data();
    return {};
  }
  if (ended_) {
    done.state = Transfer::State::failed;
  } else {
    posted_.push_back({label, bytes, &done});
  }
  return {};
}

bool Postbox::withdraw(Transfer& transfer) {
  const auto locked = lock();
  const auto posted = std::ranges::find(posted_, &transfer, &Posted::done);
  if (posted == posted_.end()) return false;
  posted->done = nullptr;
  transfer.state = Transfer::State::failed;
  return true;
}

bool Postbox::drop(std::size_t stripe, Transfer& transfer, std::byte*& rest) noexcept {
  rest = nullptr;
  const auto locked = lock();
  Arriving& one = arriving_[stripe];
  if (!one.is || one.done != &transfer) return true;
  if (one.copy_to == nullptr) {             // it goes to the caller's memory
    one.what.bytes.reset(new (std::nothrow) std::byte[one.what.length]);
    if (one.what.bytes == nullptr) return false;
    rest = one.what.bytes.get();
  }
  one.done = nullptr;
  one.copy_to = nullptr;
  one.drops = true;
  transfer.state = Transfer::State::failed;
  return true;
}

Result<std::byte*> Postbox::begin(Label label, std::size_t length, std::size_t stripe) {
  const auto locked = lock();
  const auto posted = std::ranges::find(posted_, label.tag,
                                        [](const Posted& item) { return item.label.tag; });
  Arriving& one = arriving_[stripe];
  one = Arriving{false, false, {label, nullptr, length}, nullptr, nullptr};
  std::byte* to = nullptr;
  if (posted != posted_.end()) {
    Status status = compare(label, length, posted->label, posted->bytes.size());
    if (!status.ok()) return status;
    one.done = posted->done;
    one.drops = posted->done == nullptr;
    if (!one.drops) to = posted->bytes.data();
    posted_.erase(posted);                  // equal tags keep their order
  }
  if (one.done == nullptr) {
    auto kept = keep(one.what);
    if (!kept.ok()) return kept;
    to = *kept;
  }
  one.is = true;
  return to;
}

// Untouched pages cost nothing, so memory grows with the bytes that really arrive.
Result<std::byte*> Postbox::keep(Kept& what) {
  what.bytes.reset(new (std::nothrow) std::byte[what.length]);
  if (what.bytes != nullptr) return what.bytes.get();
  return Status(Code::out_of_memory,
                cat("no memory for ", what.length, " bytes it sent that nobody waits for"));
}

// Nobody takes the receive back while its bytes are copied: that needs the stripe's lock, which is
// held here.
bool Postbox::finish(std::size_t stripe) {
  auto locked = lock();
  Arriving& one = arriving_[stripe];
  one.is = false;
  if (one.drops || one.done != nullptr) {
    const Kept whole = std::move(one.what);
    Transfer* const done = std::exchange(one.done, nullptr);
    std::byte* const to = std::exchange(one.copy_to, nullptr);
    one.drops = false;
    if (locked) locked.unlock();
    if (to != nullptr && whole.length > 0) std::memcpy(to, whole.bytes.get(), whole.length);
    if (done != nullptr) done->state = Transfer::State::done;
    return done != nullptr;
  }
  kept_.push_back(std::move(one.what));
  return false;
}

void Postbox::end() {
  const auto locked = lock();
  ended_ = true;
  for (Arriving& one : arriving_) {
    if (one.is && one.done != nullptr) one.done->state = Transfer::State::failed;
    one = Arriving();
  }
  for (const Posted& posted : posted_) {
    if (posted.done != nullptr) posted.done->state = Transfer::State::failed;
  }
  posted_.clear();
}

void Postbox::fail() {
  end();
  const auto locked = lock();
  kept_.clear();
}

}  // namespace unisono::transport

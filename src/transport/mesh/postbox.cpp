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
  const auto fits = [&](const Kept& here) {
    disagreement_ = compare(here.label, here.length, label, bytes.size());
    if (!disagreement_.ok()) done.state = Transfer::State::failed;
    return disagreement_.ok();
  };
  const auto kept = std::ranges::find(kept_, label.tag, tag_of);
  if (kept != kept_.end()) {
    if (!fits(*kept)) return Match::mismatch;
    if (!bytes.empty()) std::memcpy(bytes.data(), kept->bytes.get(), bytes.size());
    kept_.erase(kept);
    done.state = Transfer::State::done;
    return Match::done;
  }
  if (is_arriving_ && arriving_for_ == nullptr && !drops_arriving_ &&
      arriving_.label.tag == label.tag) {
    if (!fits(arriving_)) return Match::mismatch;
    arriving_for_ = &done;
    return Match::arriving;
  }
  if (ended_) {
    done.state = Transfer::State::failed;
  } else {
    posted_.push_back({label, bytes, &done});
  }
  return Match::waiting;
}

bool Postbox::abandon(Transfer& transfer, std::byte*& rest) noexcept {
  rest = nullptr;
  const auto posted = std::ranges::find(posted_, &transfer, &Posted::done);
  if (posted != posted_.end()) {
    posted->done = nullptr;
    transfer.state = Transfer::State::failed;
    return true;
  }
  if (!is_arriving_ || arriving_for_ != &transfer) return true;
  arriving_.bytes.reset(new (std::nothrow) std::byte[arriving_.length]);
  if (arriving_.bytes == nullptr) return false;
  transfer.state = Transfer::State::failed;
  arriving_for_ = nullptr;
  drops_arriving_ = true;
  rest = arriving_.bytes.get();
  return true;
}

Result<std::byte*> Postbox::begin(Label label, std::size_t length) {
  const auto posted = std::ranges::find(posted_, label.tag,
                                        [](const Posted& item) { return item.label.tag; });
  arriving_ = {label, nullptr, length};
  arriving_for_ = nullptr;
  drops_arriving_ = false;
  std::byte* to = nullptr;
  if (posted != posted_.end()) {
    Status status = compare(label, length, posted->label, posted->bytes.size());
    if (!status.ok()) return status;
    arriving_for_ = posted->done;
    drops_arriving_ = posted->done == nullptr;
    if (!drops_arriving_) to = posted->bytes.data();
    *posted = posted_.back();
    posted_.pop_back();
  }
  if (arriving_for_ == nullptr) {
    auto kept = keep_arriving();
    if (!kept.ok()) return kept;
    to = *kept;
  }
  is_arriving_ = true;
  return to;
}

// Untouched pages cost nothing, so memory grows with the bytes that really arrive.
Result<std::byte*> Postbox::keep_arriving() {
  arriving_.bytes.reset(new (std::nothrow) std::byte[arriving_.length]);
  if (arriving_.bytes != nullptr) return arriving_.bytes.get();
  return Status(Code::out_of_memory,
                cat("no memory for ", arriving_.length, " bytes it sent that nobody waits for"));
}

void Postbox::finish() {
  is_arriving_ = false;
  if (arriving_for_ != nullptr) {
    std::exchange(arriving_for_, nullptr)->state = Transfer::State::done;
    arriving_.bytes.reset();
  } else if (std::exchange(drops_arriving_, false)) {
    arriving_.bytes.reset();
  } else {
    kept_.push_back(std::move(arriving_));
  }
}

void Postbox::end() {
  ended_ = true;
  if (std::exchange(is_arriving_, false) && arriving_for_ != nullptr) {
    std::exchange(arriving_for_, nullptr)->state = Transfer::State::failed;
  }
  arriving_.bytes.reset();
  for (const Posted& posted : posted_) {
    if (posted.done != nullptr) posted.done->state = Transfer::State::failed;
  }
  posted_.clear();
}

void Postbox::fail() {
  end();
  kept_.clear();
}

}  // namespace unisono::transport

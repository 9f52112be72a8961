// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/postbox.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/text.hpp"

namespace unisono {

Postbox::Match Postbox::receive(Tag tag, std::span<std::byte> bytes, Transfer& done) {
  done.state = Transfer::State::active;
  const auto kept = std::ranges::find(kept_, tag, &Kept::tag);
  if (kept != kept_.end()) {
    if (kept->length != bytes.size()) {
      done.state = Transfer::State::failed;
      return Match::mismatch;
    }
    if (!bytes.empty()) std::memcpy(bytes.data(), kept->bytes.get(), bytes.size());
    kept_.erase(kept);
    done.state = Transfer::State::done;
    return Match::done;
  }
  if (is_arriving_ && arriving_for_ == nullptr && arriving_.tag == tag) {
    if (arriving_.length != bytes.size()) {
      done.state = Transfer::State::failed;
      return Match::mismatch;
    }
    arriving_for_ = &done;
    return Match::arriving;
  }
  if (ended_) {
    done.state = Transfer::State::failed;
  } else {
    posted_.push_back({tag, bytes, &done});
  }
  return Match::waiting;
}

Result<std::byte*> Postbox::begin(Tag tag, std::size_t length) {
  const auto posted = std::ranges::find(posted_, tag, &Posted::tag);
  arriving_ = {tag, nullptr, length};
  if (posted != posted_.end()) {
    if (posted->bytes.size() != length) {
      return Status(Code::corrupted, cat("it sent ", length, " bytes for tag ", tag,
                                         " where this rank expects ", posted->bytes.size()));
    }
    is_arriving_ = true;
    arriving_for_ = posted->done;
    std::byte* to = posted->bytes.data();
    *posted = posted_.back();
    posted_.pop_back();
    return to;
  }
  // Untouched pages cost nothing, so memory grows with the bytes that really arrive.
  arriving_.bytes.reset(new (std::nothrow) std::byte[length]);
  if (arriving_.bytes == nullptr) {
    return Status(Code::out_of_memory, cat("no memory for ", length, " bytes it sent early"));
  }
  is_arriving_ = true;
  arriving_for_ = nullptr;
  return arriving_.bytes.get();
}

void Postbox::finish() {
  is_arriving_ = false;
  if (arriving_for_ != nullptr) {
    std::exchange(arriving_for_, nullptr)->state = Transfer::State::done;
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
  for (const Posted& posted : posted_) posted.done->state = Transfer::State::failed;
  posted_.clear();
}

void Postbox::fail() {
  end();
  kept_.clear();
}

}  // namespace unisono

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/local/machine.hpp"

#include "move/wrong_bucket.hpp"

namespace unisono::move {

bool LocalMachine::meet() {
  std::uint64_t strongest = 0, everywhere = kResident, somewhere = 0;
  for (int member = 0; member < n(); ++member) {
    const std::uint64_t terms = terms_of(member);
    if (!same_bucket(terms)) return refuse(member);
    strongest = std::max(strongest, terms & kVote);
    everywhere &= terms;
    somewhere |= terms;
  }
  vote_ = static_cast<PlanVote>(strongest);
  all_resident_ = everywhere != 0;
  some_resident_ = (somewhere & kResident) != 0;
  met_ = true;
  return true;
}

bool LocalMachine::meet(int member) {
  met_ = same_bucket(terms_of(member)) || refuse(member);
  return met_;
}

bool LocalMachine::may_meet() const {
  for (int member = 0; member < n(); ++member) {
    const std::uint64_t terms = terms_of(member);
    if (!same_bucket(terms) || (terms & kVote) == static_cast<std::uint64_t>(PlanVote::abort)) {
      return false;
    }
  }
  return true;
}

bool LocalMachine::somebody_withdrew() const {
  std::atomic_thread_fence(std::memory_order_acquire);
  for (int member = 0; member < n(); ++member) {
    if ((terms_of(member) & kWithdrawn) != 0) return true;
  }
  return false;
}

void LocalMachine::withdraw() const {
  my_line().terms.fetch_or(kWithdrawn, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool LocalMachine::refuse(int member) {
  trouble_ = turn_.bucket != nullptr
                 ? wrong_bucket(*turn_.bucket, *turn_.members, member)
                 : Status(Code::mismatch, cat("member ", member, " came with another bucket"));
  return false;
}

std::string LocalMachine::late_members() const {
  std::vector<int> late;
  for (int member = 0; member < n(); ++member) {
    if (member != me() && line_of(member).in.load(std::memory_order_relaxed) < at(1)) {
      late.push_back(member);
    }
  }
  return late.empty() ? std::string("nobody") : cat("members ", join_text(late));
}

}  // namespace unisono::move

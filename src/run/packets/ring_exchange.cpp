// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// All elements in fewer bits around a ring: each member unpacks the partial sum that comes, adds its
// own part, and packs it anew with scales that fit it. Where there is no feedback every hop adds an
// error of its own; with it each member keeps the error that it made.
// Steps: 2(n-1). Bytes sent by a member: 2(n-1)/n of what the bucket is packed.
#include <algorithm>
#include <cstring>

#include "kernels/kernels.hpp"
#include "run/packets/cut.hpp"

namespace unisono::run {
namespace {

class RingExchange final : public CutExchange {
 public:
  explicit RingExchange(ExchangeWork work) : CutExchange(std::move(work)) {}

  std::unique_ptr<move::CollectiveMachine> next() override {
    const std::size_t n = work_.n(), hop = hop_++;
    if (hop == 0) {
      contributions_.take(work_);
      packed_bytes_ = cut_.all_bytes();
      packed_.resize(packed_bytes_);
    }
    // After hop h this member has the partial sum of h + 1 members of the segment me - h.
    if (hop < n) add_own((work_.me() + n - hop) % n, hop);
    if (hop + 1 < n) return pass_on((work_.me() + n - hop) % n, (work_.me() + 2 * n - hop - 1) % n);
    // The segment after mine has gone around, and ends here.
    if (hop + 1 == n) {
      return move::make_allgather(work_.next_context(), outgoing_, rotated_bytes(), packed_);
    }
    decode();
    return nullptr;
  }
  std::string describe() const override {
    return "a ring that packs every partial sum anew, as algorithm=ring asks";
  }

 private:
  // Member m ends up with the segment m + 1.
  std::size_t segment_of(std::size_t member) const { return (member + 1) % work_.n(); }
  move::Extents rotated_bytes() const {
    move::Extents bytes;
    for (std::size_t m = 0; m < work_.n(); ++m) bytes.push_back(cut_.bytes_of(segment_of(m)));
    return bytes;
  }

  void add_own(std::size_t segment, std::size_t hop) {
    outgoing_.assign(cut_.bytes_of(segment), std::byte{0});
    std::size_t at = 0;
    std::vector<float> sum, sent;
    for (const TensorPart& part : cut_.parts_of(segment)) {
      const PackedTensor& tensor = work_.tensors[part.tensor];
      const encode::ValuePart whole{part.count, 0, part.count};
      const float* own = contributions_.of(part.tensor);
      sum.assign(part.count, 0.0F);
      if (hop > 0) encode::read_values(form_, whole, incoming_.data() + at, sum.data());
      if (own != nullptr) {
        kernels::reduce(DType::f32, ReduceOp::sum, sum.data(), own + part.first, part.count);
      }
      std::byte* out = outgoing_.data() + at;
      encode::write_values(form_, key_of(tensor, 0), part.first, whole, sum.data(), out);
      if (work_.codec.feedback && own != nullptr) {
        sent.resize(part.count);
        encode::read_values(form_, whole, out, sent.data());
        keep_difference(tensor.memory->residual.data() + part.first, sum.data(), sent.data(),
                        part.count);
      }
      at += form_.bytes(part.count);
    }
  }

  std::unique_ptr<move::CollectiveMachine> pass_on(std::size_t sent, std::size_t received) {
    const std::size_t n = work_.n();
    move::Extents sends(n, 0), receives(n, 0);
    sends[(work_.me() + 1) % n] = cut_.bytes_of(sent);
    receives[(work_.me() + n - 1) % n] = cut_.bytes_of(received);
    incoming_.resize(cut_.bytes_of(received));
    return move::make_alltoall(work_.next_context(),
                               {.in = outgoing_, .send_counts = std::move(sends), .out = incoming_,
                                .receive_counts = std::move(receives)});
  }

  void decode() {
    const std::byte* in = packed_.data();
    for (std::size_t member = 0; member < work_.n(); ++member) {
      const bool own = member == work_.me();
      take_sums(segment_of(member), own ? outgoing_.data() : in);
      in += cut_.bytes_of(segment_of(member));
    }
  }

  Contributions contributions_;
  std::size_t hop_ = 0;
  std::vector<std::byte> incoming_, outgoing_;
};

}  // namespace

std::unique_ptr<Exchange> make_ring_exchange(ExchangeWork work) {
  return std::make_unique<RingExchange>(std::move(work));
}

}  // namespace unisono::run

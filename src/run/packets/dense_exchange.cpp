// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// All elements in fewer bits: packed parts go to their owners, who add them up in member order,
// pack the sums, and send those to everybody. The owner takes what its own packed sums say, too, so
// that all members have the same bits. With feedback it keeps what packing the sums took from them,
// so that nothing is lost of either packing.
// Steps: 2. Bytes sent by a member: 2(n-1)/n of what the bucket is packed.
#include <algorithm>
#include <cstring>

#include "kernels/kernels.hpp"
#include "run/packets/cut.hpp"

namespace unisono::run {
namespace {

class DenseExchange final : public CutExchange {
 public:
  explicit DenseExchange(ExchangeWork work) : CutExchange(std::move(work)) {}

  std::unique_ptr<move::CollectiveMachine> next() override {
    switch (stage_++) {
      case 0: return scatter();
      case 1: return gather();
      default: decode(); return nullptr;
    }
  }
  std::string describe() const override {
    return "packed parts to their owners and packed sums from them";
  }

 private:
  std::unique_ptr<move::CollectiveMachine> scatter() {
    Contributions contributions;
    contributions.take(work_);
    packed_bytes_ = cut_.all_bytes();
    packed_.resize(packed_bytes_);
    std::byte* out = packed_.data();
    std::vector<float> sent;
    for (std::size_t owner = 0; owner < work_.n(); ++owner) {
      for (const TensorPart& part : cut_.parts_of(owner)) {
        pack(part, contributions.of(part.tensor), out, sent);
        out += form_.bytes(part.count);
      }
    }
    const std::size_t mine = cut_.bytes_of(work_.me());
    received_.resize(mine * work_.n());
    return move::make_alltoall(
        work_.next_context(),
        {.in = packed_, .send_counts = cut_.bytes(), .out = received_,
         .receive_counts = move::Extents(work_.n(), mine),
         .sent_by_each = move::Extents(work_.n(), packed_bytes_)});
  }

  void pack(const TensorPart& part, const float* values, std::byte* out, std::vector<float>& sent) {
    if (values == nullptr) {                // zeros in every form
      std::fill_n(out, form_.bytes(part.count), std::byte{0});
      return;
    }
    const PackedTensor& tensor = work_.tensors[part.tensor];
    const encode::ValuePart whole{part.count, 0, part.count};
    encode::write_values(form_, key_of(tensor, 0), part.first, whole, values + part.first, out);
    if (!work_.codec.feedback) return;
    sent.resize(part.count);
    encode::read_values(form_, whole, out, sent.data());
    float* residual = tensor.memory->residual.data() + part.first;
    keep_difference(residual, residual, sent.data(), part.count);
  }

  std::unique_ptr<move::CollectiveMachine> gather() {
    const std::size_t mine = cut_.bytes_of(work_.me());
    own_.resize(mine);
    std::size_t at = 0;
    std::vector<float> sent;
    for (const TensorPart& part : cut_.parts_of(work_.me())) {
      const PackedTensor& tensor = work_.tensors[part.tensor];
      const encode::ValuePart whole{part.count, 0, part.count};
      float* sum = tensor.sum + part.first;
      std::fill_n(sum, part.count, 0.0F);
      for (std::size_t member = 0; member < work_.n(); ++member) {
        encode::add_values(form_, whole, received_.data() + member * mine + at, sum);
      }
      encode::write_values(form_, key_of(tensor, 1), part.first, whole, sum, own_.data() + at);
      if (work_.codec.feedback && tensor.source.elements != nullptr) {
        sent.resize(part.count);
        encode::read_values(form_, whole, own_.data() + at, sent.data());
        float* residual = tensor.memory->residual.data() + part.first;
        keep_difference(sent.data(), sum, sent.data(), part.count);
        kernels::reduce(DType::f32, ReduceOp::sum, residual, sent.data(), part.count);
      }
      at += form_.bytes(part.count);
    }
    std::memcpy(packed_.data() + start_of(work_.me()), own_.data(), own_.size());
    return move::make_allgather(work_.next_context(), own_, cut_.bytes(), packed_);
  }

  std::size_t start_of(std::size_t owner) const {
    std::size_t start = 0;
    for (std::size_t o = 0; o < owner; ++o) start += cut_.bytes_of(o);
    return start;
  }

  void decode() {
    const std::byte* in = packed_.data();
    for (std::size_t owner = 0; owner < work_.n(); ++owner) {
      take_sums(owner, in);
      in += cut_.bytes_of(owner);
    }
  }

  int stage_ = 0;
  std::vector<std::byte> received_, own_;
};

}  // namespace

std::unique_ptr<Exchange> make_dense_exchange(ExchangeWork work) {
  return std::make_unique<DenseExchange>(std::move(work));
}

}  // namespace unisono::run

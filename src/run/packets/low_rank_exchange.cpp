// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Two thin factors of each matrix: two dense allreduces, of the left factors and of the right ones.
// What has no low rank goes along with the left factors as it is.
#include <algorithm>
#include <cstring>

#include "base/data/hash.hpp"
#include "base/data/text.hpp"
#include "encode/lowrank/lowrank.hpp"
#include "run/packets/cut.hpp"

namespace unisono::run {
namespace {

class LowRankExchange final : public Exchange {
 public:
  using Exchange::Exchange;

  std::unique_ptr<move::CollectiveMachine> next() override {
    switch (stage_++) {
      case 0: return lefts();
      case 1: return rights();
      default: rebuild(); return nullptr;
    }
  }
  std::string describe() const override {
    return "dense allreduces of the left factors and of the right ones";
  }

 private:
  std::size_t rank() const { return work_.codec.rank; }
  static encode::Matrix matrix_of(const PackedTensor& tensor) {
    return encode::matrix_of(tensor.source.shape);
  }
  bool is_thin(const PackedTensor& tensor) const {
    return encode::has_low_rank(matrix_of(tensor), rank());
  }
  std::unique_ptr<move::CollectiveMachine> allreduce(std::vector<float>& data) {
    return move::make_allreduce(work_.algorithm, work_.next_context(), DType::f32, ReduceOp::sum,
                                std::as_writable_bytes(std::span(data)));
  }

  std::unique_ptr<move::CollectiveMachine> lefts() {
    contributions_.take(work_);
    std::size_t all = 0;
    for (const PackedTensor& tensor : work_.tensors) {
      all += is_thin(tensor) ? matrix_of(tensor).left(rank()) : tensor.source.count;
    }
    left_.assign(all, 0.0F);
    std::size_t at = 0;
    for (std::size_t t = 0; t < work_.tensors.size(); ++t) {
      const PackedTensor& tensor = work_.tensors[t];
      const encode::Matrix matrix = matrix_of(tensor);
      const float* own = contributions_.of(t);
      if (!is_thin(tensor)) {
        if (own != nullptr) std::copy_n(own, tensor.source.count, left_.data() + at);
        // All of it goes out.
        if (work_.codec.feedback && own != nullptr) {
          std::fill_n(tensor.memory->residual.data(), tensor.source.count, 0.0F);
        }
        at += tensor.source.count;
        continue;
      }
      std::vector<float>& right = tensor.memory->factor;
      if (right.size() != matrix.right(rank())) {
        right.resize(matrix.right(rank()));
        encode::first_factor(hash_text(tensor.source.tensor), right.size(), right.data());
      } else {
        encode::renew_factor(hash_text(tensor.source.tensor), matrix.columns, rank(), right.data());
      }
      if (own != nullptr) {
        encode::left_factor(matrix, rank(), own, right.data(), left_.data() + at);
      }
      at += matrix.left(rank());
    }
    packed_bytes_ = left_.size() * sizeof(float);
    return allreduce(left_);
  }

  std::unique_ptr<move::CollectiveMachine> rights() {
    std::size_t all = 0;
    for (const PackedTensor& tensor : work_.tensors) {
      if (is_thin(tensor)) all += matrix_of(tensor).right(rank());
    }
    right_.assign(all, 0.0F);
    packed_bytes_ += right_.size() * sizeof(float);
    for_each([&](std::size_t t, float* left, float* right) {
      const PackedTensor& tensor = work_.tensors[t];
      const encode::Matrix matrix = matrix_of(tensor);
      encode::orthonormalise(matrix.rows, rank(), left);
      const float* own = contributions_.of(t);
      if (own == nullptr) return;
      encode::right_factor(matrix, rank(), own, left, right);
      if (work_.codec.feedback) {
        encode::add_product(matrix, rank(), left, right, -1.0F, tensor.memory->residual.data());
      }
    });
    return right_.empty() ? nullptr : allreduce(right_);
  }

  void rebuild() {
    for_each([&](std::size_t t, float* left, float* right) {
      const PackedTensor& tensor = work_.tensors[t];
      const encode::Matrix matrix = matrix_of(tensor);
      std::fill_n(tensor.sum, tensor.source.count, 0.0F);
      encode::add_product(matrix, rank(), left, right, 1.0F, tensor.sum);
      std::copy_n(right, matrix.right(rank()), tensor.memory->factor.data());
    });
  }

  // body(tensor, its left factor, its right one) of what has a low rank; the rest is whole now.
  template <typename Body>
  void for_each(Body body) {
    std::size_t left = 0, right = 0;
    for (std::size_t t = 0; t < work_.tensors.size(); ++t) {
      const PackedTensor& tensor = work_.tensors[t];
      if (!is_thin(tensor)) {
        std::copy_n(left_.data() + left, tensor.source.count, tensor.sum);
        left += tensor.source.count;
        continue;
      }
      body(t, left_.data() + left, right_.data() + right);
      left += matrix_of(tensor).left(rank());
      right += matrix_of(tensor).right(rank());
    }
  }

  int stage_ = 0;
  Contributions contributions_;
  std::vector<float> left_, right_;
};

}  // namespace

std::unique_ptr<Exchange> make_low_rank_exchange(ExchangeWork work) {
  return std::make_unique<LowRankExchange>(std::move(work));
}

}  // namespace unisono::run

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/packets/cut.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "encode/packet/packet_codec.hpp"
#include "kernels/kernels.hpp"

namespace unisono::run {

Cut::Cut(const std::vector<PackedTensor>& tensors, std::size_t owners, encode::ValueForm form)
    : parts_(owners), bytes_(owners, 0) {
  std::size_t blocks = 0;
  for (const PackedTensor& tensor : tensors) blocks += kernels::scale_count(tensor.source.count);
  std::size_t block = 0;                    // the first of the tensor, among all
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::size_t count = tensors[t].source.count, own = kernels::scale_count(count);
    for (std::size_t owner = 0; owner < owners; ++owner) {
      const std::size_t begin = std::max(blocks * owner / owners, block);
      const std::size_t end = std::min(blocks * (owner + 1) / owners, block + own);
      if (begin >= end) continue;
      const std::size_t first = (begin - block) * kernels::kQuantiseBucket;
      const std::size_t last = std::min(count, (end - block) * kernels::kQuantiseBucket);
      parts_[owner].push_back({t, first, last - first});
      bytes_[owner] += form.bytes(last - first);
    }
    block += own;
  }
}

std::size_t Cut::all_bytes() const {
  return std::accumulate(bytes_.begin(), bytes_.end(), std::size_t{0});
}

void CutExchange::take_sums(std::size_t owner, const std::byte* packed) {
  for (const TensorPart& part : cut_.parts_of(owner)) {
    encode::read_values(form_, {part.count, 0, part.count}, packed,
                        work_.tensors[part.tensor].sum + part.first);
    packed += form_.bytes(part.count);
  }
}

void Contributions::take(ExchangeWork& work) {
  scratch_.resize(work.tensors.size());
  values_.assign(work.tensors.size(), nullptr);
  for (std::size_t t = 0; t < work.tensors.size(); ++t) {
    PackedTensor& tensor = work.tensors[t];
    const encode::Source& source = tensor.source;
    if (source.elements == nullptr) continue;
    values_[t] = encode::as_float32(source, encode::clipped_scale(source, work.codec.clip),
                                    scratch_[t]);
    if (!work.codec.feedback) continue;
    encode::make_residual(*tensor.memory, source.count);
    kernels::reduce(DType::f32, ReduceOp::sum, tensor.memory->residual.data(), values_[t],
                    source.count);
    values_[t] = tensor.memory->residual.data();
  }
}

kernels::QuantiseKey key_of(const PackedTensor& tensor, std::uint32_t round) {
  kernels::QuantiseKey key = encode::quantise_key(tensor.source, *tensor.memory);
  key.seed += round * 0x9E3779B9u;
  return key;
}

void keep_difference(float* residual, const float* exact, const float* sent, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float left = exact[i] - sent[i];
    residual[i] = std::isfinite(left) ? left : 0.0F;
  }
}

}  // namespace unisono::run

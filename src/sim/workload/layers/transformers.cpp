// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// BERT without a head but with its pooler, and GPT-2, whose output layer is its table of words.
#include "base/data/text.hpp"
#include "sim/workload/layers/models.hpp"

namespace unisono::sim {
namespace {

// The products of queries with keys and of weights with values: no tensors, but work.
double attention_work(int width, int tokens) {
  return 2.0 * tokens * tokens * width;
}

void bert(Layers& net, int depth, int width, int tokens) {
  net.table("embeddings.word", std::int64_t{30522} * width);
  net.table("embeddings.position", std::int64_t{512} * width);
  net.table("embeddings.type", std::int64_t{2} * width);
  net.layer_norm("embeddings.norm", width, tokens);
  for (int i = 0; i < depth; ++i) {
    const std::string at = cat("layer.", i, ".");
    for (const char* part : {"query", "key", "value"}) {
      net.linear(cat(at, "attention.", part), width, width, tokens);
    }
    net.work(attention_work(width, tokens));
    net.linear(at + "attention.output", width, width, tokens);
    net.layer_norm(at + "attention.norm", width, tokens);
    net.linear(at + "intermediate", width, 4 * width, tokens);
    net.linear(at + "output", 4 * width, width, tokens);
    net.layer_norm(at + "norm", width, tokens);
  }
  net.linear("pooler", width, width);
}

}  // namespace

void build_bert(Layers& net) { bert(net, 12, 768, 128); }
void build_bert_large(Layers& net) { bert(net, 24, 1024, 512); }

void build_gpt2(Layers& net) {
  constexpr int kWords = 50257, kTokens = 1024, kWidth = 768;
  net.table("wte", std::int64_t{kWords} * kWidth);
  net.table("wpe", std::int64_t{kTokens} * kWidth);
  for (int i = 0; i < 12; ++i) {
    const std::string at = cat("h.", i, ".");
    net.layer_norm(at + "ln_1", kWidth, kTokens);
    net.linear(at + "attn.c_attn", kWidth, 3 * kWidth, kTokens);
    net.work(attention_work(kWidth, kTokens));
    net.linear(at + "attn.c_proj", kWidth, kWidth, kTokens);
    net.layer_norm(at + "ln_2", kWidth, kTokens);
    net.linear(at + "mlp.c_fc", kWidth, 4 * kWidth, kTokens);
    net.linear(at + "mlp.c_proj", 4 * kWidth, kWidth, kTokens);
  }
  net.layer_norm("ln_f", kWidth, kTokens);
  // The output layer shares the table wte, whose gradient is complete only with the first layer.
  net.work(static_cast<double>(kWords) * kWidth * kTokens);
}

}  // namespace unisono::sim

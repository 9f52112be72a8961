// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/worker.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <optional>

#include "base/data/text.hpp"
#include "bench/buffer.hpp"
#include "bench/pattern.hpp"
#include "bench/wire.hpp"
#include "exit_codes.hpp"
#include "unisono/unisono.hpp"

namespace unisono::tools {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

class Worker {
 public:
  Worker(Engine& engine, std::string mode) : engine_(engine), mode_(std::move(mode)) {}

  json serve(const json& message) {
    if (message.at("op") == "explain") return {{"ok", true}, {"text", engine_.explain().text()}};
    const Status bad = message.at("op") == "setup" ? set_up(message) : run_block(message);
    if (!bad.ok()) return {{"error", bad.to_string()}};
    json answer{{"ok", true}, {"checked", checked_}};
    if (engine_.rank() == 0 && message.at("op") == "block") {
      answer["times_us"] = times_us_;
      answer["wall_us"] = wall_us_;
    }
    return answer;
  }

 private:
  Status set_up(const json& message) {
    input_ = {};
    source_ = {};
    own_ = {};
    block_ = {};
    last_ = {};
    work_.collective = static_cast<Collective>(message.at("collective").get<int>());
    work_.dtype = static_cast<DType>(message.at("dtype").get<int>());
    work_.elements = message.at("elements").get<std::int64_t>();
    in_place_ = work_.collective == Collective::allreduce;
    pattern_.emplace(work_, engine_.size(), engine_.rank());
    const auto bytes = static_cast<std::size_t>(work_.bytes());
    if (mode_ == "arena") {
      auto block = engine_.arena().allocate(bytes);
      if (!block) return block.status();
      block_ = std::move(*block);
      input_ = block_.as<std::byte>();
    } else {
      own_ = Buffer(bytes);
      input_ = own_.span();
    }
    if (in_place_) source_ = Buffer(bytes);
    pattern_->fill(input_, 0, 0);
    name_ = cat("bench.", ++setups_);
    if (mode_ != "persistent") return {};
    auto prepared = engine_.prepare(operation(), settings());
    if (!prepared) return prepared.status();
    persistent_ = *prepared;
    return {};
  }

  Operation operation() {
    const bool writes = in_place_ || work_.collective == Collective::broadcast;
    return {.kind = work_.collective,
            .name = name_,
            .dtype = work_.dtype,
            .shape = {work_.elements},
            .input = input_.data(),
            .output = writes ? input_.data() : nullptr,
            .members = {},
            .keep_alive = {}};
  }

  static Settings settings() {
    Settings chosen;
    chosen.op = ReduceOp::sum;
    return chosen;
  }

  Status run_once() {
    last_ = mode_ == "persistent" ? persistent_.start() : engine_.submit(operation(), settings());
    return last_.wait();
  }

  bool right(int seed, int iteration) {
    const bool here = in_place_ || work_.collective == Collective::broadcast;
    return pattern_->right(here ? std::span<const std::byte>(input_) : last_.output().bytes, seed,
                           iteration);
  }

  Status run_block(const json& message) {
    const int iterations = message.at("iterations").get<int>();
    const int seed = message.at("seed").get<int>();
    const std::span<std::byte> source = in_place_ ? source_.span() : input_;
    pattern_->fill(source, seed, 0);
    times_us_.clear();
    checked_ = true;
    // From this size on, the time it takes to prepare an iteration differs between ranks by more
    // than a barrier costs.
    const bool barrier_each = work_.bytes() >= 64 << 10;
    if (Status bad = engine_.barrier().wait(); !bad.ok()) return bad;
    const auto begin = Clock::now();
    for (int i = 0; i < iterations; ++i) {
      if (in_place_) std::memcpy(input_.data(), source.data(), source.size());
      if (work_.collective != Collective::broadcast || engine_.rank() == 0) {
        pattern_->touch(input_, seed, i);
      }
      if (barrier_each) {
        if (Status bad = engine_.barrier().wait(); !bad.ok()) return bad;
      }
      const auto start = Clock::now();
      if (Status bad = run_once(); !bad.ok()) return bad;
      times_us_.push_back(us_since(start));
      if (i == 0 || i + 1 == iterations) checked_ = right(seed, i) && checked_;
    }
    wall_us_ = us_since(begin);
    return {};
  }

  Engine& engine_;
  std::string mode_, name_;
  int setups_ = 0;
  Work work_;
  bool in_place_ = true, checked_ = true;
  std::optional<Pattern> pattern_;
  ArenaBlock block_;
  Buffer own_, source_;
  std::span<std::byte> input_;
  Persistent persistent_;
  Ticket last_;
  std::vector<double> times_us_;
  double wall_us_ = 0;
};

}  // namespace

int serve_as_bench_worker(const std::string& mode) {
  const char* name = std::getenv(kSocketVariable);
  const char* group = std::getenv(kGroupVariable);
  if (name == nullptr || group == nullptr) {
    std::cerr << "unisono: bench workers are started by unisono bench\n";
    return kWrongUsage;
  }
  auto engine = Engine::join();
  auto socket = connect_abstract(name);
  if (!engine || !socket) {
    std::cerr << (engine ? socket.status() : engine.status()).to_string() << "\n";
    return kJobFailed;
  }
  LineChannel channel(std::move(*socket));
  const json hello{{"group", std::atoi(group)},
                   {"rank", engine->rank()},
                   {"size", engine->size()},
                   {"version", version()}};
  if (Status bad = channel.send(hello); !bad.ok()) return kJobFailed;
  Worker worker(*engine, mode);
  while (true) {
    auto message = channel.receive();
    if (!message || message->value("op", json()) == "quit") return kSuccess;
    json answer;
    try {
      answer = worker.serve(*message);
    } catch (const std::bad_alloc&) {
      answer = {{"error", "not enough memory for the buffers"}};
    } catch (const json::exception& error) {
      answer = {{"error", cat("an order that makes no sense: ", error.what())}};
    }
    if (!channel.send(answer).ok()) return kJobFailed;
  }
}

}  // namespace unisono::tools

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One rank that meets with misfortune, or watches another do so, and tells in JSON lines what it saw.
//
//   fault_rank MODE [key=value ...]
//   loop      allreduces until an error, or rank 0 stops all by stop_s or SIGTERM; checks every sum
//             elements, tensors, dtype=float32|float64|int64, stop_s, end=leave|abrupt, linger_s
//             fault=kill|stop|exit|quit on fault_rank after fault_ms; slow_s on slow_rank in slow_round
//             holder=fork|clone|spawn: holder_rank first starts a process that outlives it
//   kind      one collective of what=tiny|user|arena|fused|persistent|broadcast|allgather|
//             reducescatter|alltoall|barrier after the other until an error; checks every result
//   mismatch  what=shape|dtype|op|root|kind: the last rank differs
//   use       misuse found locally: before init, twice, duplicate, forked, after shutdown
//
// Every line carries "event" and "rank"; times are CLOCK_MONOTONIC, comparable within one host.
#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "algorithms.hpp"
#include "json_line.hpp"
#include "unisono/unisono.hpp"

namespace {

using unisono::Code;
using unisono::Engine;
using unisono::Rank;
using unisono::Status;
using unisono::Ticket;

volatile std::sig_atomic_t asked_to_stop = 0;

class Arguments {
 public:
  Arguments(int argc, char** argv) {
    for (int i = 2; i < argc; ++i) {
      const std::string word = argv[i];
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const auto it = values_.find(key);
    return it == values_.end() ? otherwise : it->second;
  }
  double number(const std::string& key, double otherwise) const {
    const auto it = values_.find(key);
    return it == values_.end() ? otherwise : std::stod(it->second);
  }

 private:
  std::map<std::string, std::string> values_;
};

void pause_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

JsonLine tell_status(const char* event, Rank rank, const Status& status) {
  JsonLine line(event, rank);
  line.text("code", unisono::code_name(status.code()))
      .text("message", status.message())
      .number("culprit_rank", status.culprit().rank)
      .text("culprit_host", status.culprit().host)
      .number("culprit_pid", status.culprit().pid)
      .text("tensor", status.culprit().tensor);
  return line;
}

// The misfortune itself, at a moment that has nothing to do with what the other threads do.
void start_fault(const std::string& fault, double after_ms, Rank rank) {
  std::thread([=] {
    pause_s(after_ms * 1e-3);
    JsonLine("fault", rank).number("at_ns", monotonic_ns()).print();
    if (fault == "kill") ::kill(::getpid(), SIGKILL);
    if (fault == "stop") ::kill(::getpid(), SIGSTOP);
    if (fault == "exit") ::_exit(3);
  }).detach();
}

// A process that keeps what it was given, as a worker that loads data does, and outlives its parent.
// fork runs the handlers of libraries, clone none of them, spawn another program.
void start_holder(const std::string& how, Rank rank) {
  const pid_t pid = how == "fork" ? ::fork() : how == "clone" ? ::_Fork() : ::vfork();
  if (pid == 0 && how == "spawn") {
    ::execlp("sh", "sh", "-c", "exec sleep 1000 >&- 2>&-", nullptr);
    ::_exit(1);
  }
  if (pid == 0) {
    // The test reads its parent's output to the end.
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    ::alarm(1000);
    for (;;) ::pause();
  }
  JsonLine("holder", rank).number("pid", pid).print();
}

struct Tensor {
  std::string name;
  std::vector<std::byte> now, before;
  Ticket ticket;
};

// Small integers, so that every sum is exact in every element type.
template <typename T>
class Sums {
 public:
  static void fill(Tensor& tensor, Rank rank, std::int64_t round, bool stop) {
    T* data = reinterpret_cast<T*>(tensor.now.data());
    const std::size_t count = tensor.now.size() / sizeof(T);
    for (std::size_t i = 0; i < count; ++i) data[i] = static_cast<T>(rank + part(i, round));
    data[0] = static_cast<T>(stop ? 1 : 0);
    tensor.before = tensor.now;
  }
  static bool right(const Tensor& tensor, int size, std::int64_t round) {
    const T* data = reinterpret_cast<const T*>(tensor.now.data());
    const std::size_t count = tensor.now.size() / sizeof(T);
    for (std::size_t i = 1; i < count; ++i) {
      if (data[i] != expected(i, size, round)) return false;
    }
    return true;
  }
  static T expected(std::size_t i, int size, std::int64_t round) {
    return static_cast<T>(static_cast<std::int64_t>(size) * (size - 1) / 2 + size * part(i, round));
  }
  static bool stops(const Tensor& tensor) {
    return *reinterpret_cast<const T*>(tensor.now.data()) != T(0);
  }

 private:
  static std::int64_t part(std::size_t i, std::int64_t round) {
    return static_cast<std::int64_t>(i % 7) + round % 1000;
  }
};

// A result that was called good and is not: the worst that can happen, so it is told in full.
template <typename T>
void tell_wrong(const std::vector<Tensor>& tensors, int size, Rank rank, std::int64_t round) {
  for (const Tensor& tensor : tensors) {
    if (!tensor.ticket.wait().ok() || Sums<T>::right(tensor, size, round)) continue;
    const T* now = reinterpret_cast<const T*>(tensor.now.data());
    const T* before = reinterpret_cast<const T*>(tensor.before.data());
    const std::size_t count = tensor.now.size() / sizeof(T);
    std::int64_t wrong = 0;
    std::size_t first = 0;
    for (std::size_t i = count; i-- > 1;) {
      if (now[i] == Sums<T>::expected(i, size, round)) continue;
      ++wrong;
      first = i;
    }
    JsonLine("wrong", rank)
        .text("tensor", tensor.name)
        .number("round", round)
        .number("elements", wrong)
        .number("first", static_cast<std::int64_t>(first))
        .number("got", static_cast<std::int64_t>(now[first]))
        .number("expected", static_cast<std::int64_t>(Sums<T>::expected(first, size, round)))
        .number("given", static_cast<std::int64_t>(before[first]))
        .print();
  }
}

// What this rank saw when its round failed: one line.
void tell_failure(std::vector<Tensor>& tensors, Rank rank, std::int64_t round,
                  std::int64_t at_ns, int wrong, double watch_ms) {
  const Tensor* first = nullptr;
  bool untouched = true, same = true;
  int failed = 0;
  for (const Tensor& tensor : tensors) {
    const Status status = tensor.ticket.wait();
    if (status.ok()) continue;
    if (first == nullptr) first = &tensor;
    ++failed;
    untouched &= tensor.now == tensor.before;
    const Status blamed = first->ticket.wait();
    same &= status.code() == blamed.code() &&
            status.culprit().rank == blamed.culprit().rank;
  }
  // What failed is ours again: nobody else writes there while we watch.
  bool ours = true;
  if (watch_ms > 0) {
    constexpr std::byte kMark{0xEE};
    for (Tensor& tensor : tensors) std::fill(tensor.now.begin(), tensor.now.end(), kMark);
    pause_s(watch_ms / 1e3);
    for (const Tensor& tensor : tensors) {
      ours &= std::count(tensor.now.begin(), tensor.now.end(), kMark) ==
              static_cast<std::ptrdiff_t>(tensor.now.size());
    }
  }
  tell_status("error", rank, first->ticket.wait())
      .number("at_ns", at_ns)
      .number("round", round)
      .number("failed", failed)
      .flag("ours", ours)
      .number("wrong", wrong)
      .flag("untouched", untouched)
      .flag("same", same)
      .print();
}

template <typename T>
void loop(Engine& engine, const Arguments& arguments) {
  const Rank rank = engine.rank();
  const auto elements = static_cast<std::size_t>(arguments.number("elements", 1024));
  const auto slow_round = static_cast<std::int64_t>(arguments.number("slow_round", 3));
  const double stop_s = arguments.number("stop_s", 0), slow_s = arguments.number("slow_s", 0);
  const std::int64_t begin = monotonic_ns();
  std::vector<Tensor> tensors(static_cast<std::size_t>(arguments.number("tensors", 1)));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].name = "gradient." + std::to_string(i);
    tensors[i].now.resize(std::max<std::size_t>(elements, 1) * sizeof(T));
  }
  const std::string fault = arguments.text("fault", "");
  const bool faulty = !fault.empty() && rank == static_cast<int>(arguments.number("fault_rank", 0));
  const double fault_ms = arguments.number("fault_ms", 0);

  for (std::int64_t round = 0;; ++round) {
    // A sum of the first round says that all others are past the barrier before it.
    if (faulty && fault != "quit" && round == 1) start_fault(fault, fault_ms, rank);
    const double ran_s = static_cast<double>(monotonic_ns() - begin) * 1e-9;
    const bool stop = rank == 0 && (asked_to_stop != 0 || (stop_s > 0 && ran_s >= stop_s));
    for (Tensor& tensor : tensors) Sums<T>::fill(tensor, rank, round, stop);
    if (slow_s > 0 && round == slow_round && rank == static_cast<int>(arguments.number("slow_rank", 0))) {
      pause_s(slow_s);
    }
    for (Tensor& tensor : tensors) {
      const std::int64_t count = static_cast<std::int64_t>(tensor.now.size() / sizeof(T));
      tensor.ticket = engine.submit({.kind = unisono::Collective::allreduce, .name = tensor.name,
                                     .dtype = unisono::dtype_of<T>, .shape = {count},
                                     .input = tensor.now.data(), .output = tensor.now.data(),
                                     .members = {}, .keep_alive = {}},
                                    {.op = unisono::ReduceOp::sum,
                                     .keep_inputs = arguments.number("keep", 0) != 0});
    }
    if (faulty && fault == "quit" && ran_s * 1e3 >= fault_ms) {
      JsonLine("fault", rank).number("at_ns", monotonic_ns()).print();
      return engine.shutdown();
    }
    bool ok = true;
    int wrong = 0;
    std::int64_t at_ns = 0;
    for (Tensor& tensor : tensors) {
      const bool good = tensor.ticket.wait().ok();
      if (!good && ok) at_ns = monotonic_ns();
      ok &= good;
      wrong += good && !Sums<T>::right(tensor, engine.size(), round) ? 1 : 0;
    }
    if (wrong > 0) tell_wrong<T>(tensors, engine.size(), rank, round);
    if (ok && wrong > 0) ::_exit(5);
    if (!ok) {
      tell_failure(tensors, rank, round, at_ns, wrong, arguments.number("watch_ms", 0));
      if (arguments.text("end", "leave") == "abrupt") ::_exit(0);
      pause_s(arguments.number("linger_s", 0));
      return;
    }
    if (Sums<T>::stops(tensors.front())) {
      JsonLine("done", rank)
          .number("rounds", round + 1)
          .number("strangers", static_cast<std::int64_t>(engine.stats().strangers))
          .print();
      return;
    }
  }
}

void mismatch(Engine& engine, const Arguments& arguments) {
  const std::string what = arguments.text("what", "shape");
  const bool differs = engine.rank() == engine.size() - 1;
  std::vector<std::int64_t> data(8, engine.rank());
  const auto before = data;
  unisono::Operation operation{.kind = unisono::Collective::allreduce, .name = "x",
                               .dtype = unisono::DType::f32, .shape = {8}, .input = data.data(),
                               .output = data.data(), .members = {}, .keep_alive = {}};
  unisono::Settings settings{.op = unisono::ReduceOp::sum};
  if (what == "root") operation.kind = unisono::Collective::broadcast;
  if (differs && what == "shape") operation.shape = {7};
  if (differs && what == "dtype") operation.dtype = unisono::DType::i32;
  if (differs && what == "op") settings.op = unisono::ReduceOp::max;
  if (differs && what == "root") settings.root = 1;
  if (differs && what == "kind") operation.kind = unisono::Collective::broadcast;
  const std::int64_t begin = monotonic_ns();
  const Status status = engine.submit(operation, settings).wait();
  tell_status("error", engine.rank(), status)
      .number("took_ns", monotonic_ns() - begin)
      .flag("untouched", data == before)
      .print();
  // A mismatch is nobody's death: the job goes on.
  std::vector<double> one(1, 1);
  const Status after =
      engine.allreduce<double>("after", one, {.op = unisono::ReduceOp::sum}).wait();
  tell_status("after", engine.rank(), after).flag("right", one[0] == engine.size()).print();
}

void tell_ready(const Engine& engine) {
  JsonLine("ready", engine.rank()).number("pid", ::getpid()).print();
}

void loop_kind(Engine& engine, const Arguments& arguments) {
  const Failed failed = loop_until_failure(engine, arguments.text("what", ""),
                                           [&] { tell_ready(engine); });
  tell_status("error", engine.rank(), failed.status)
      .number("at_ns", failed.at_ns)
      .number("round", failed.round)
      .number("wrong", failed.wrong)
      .flag("untouched", failed.spared)
      .flag("same", failed.same)
      .print();
}

int run(const std::string& mode, const Arguments& arguments) {
  ::signal(SIGTERM, [](int) { asked_to_stop = 1; });
  const Rank asked = std::getenv("UNISONO_RANK") ? std::atoi(std::getenv("UNISONO_RANK")) : 0;
  // Ranks that come one after the other keep the join open for what a test has in mind.
  if (const char* each_ms = std::getenv("FAULT_RANK_STAGGER_MS")) {
    pause_s(std::atof(each_ms) * asked * 1e-3);
  }
  const std::int64_t begin = monotonic_ns();
  auto joined = Engine::join();
  if (!joined) {
    tell_status("refused", asked, joined.status()).number("took_ns", monotonic_ns() - begin).print();
    return 4;
  }
  Engine engine = std::move(*joined);
  if (Status status = engine.barrier().wait(); !status) {
    tell_status("error", engine.rank(), status).number("at_ns", monotonic_ns()).print();
    return 0;
  }
  if (const std::string how = arguments.text("holder", "");
      !how.empty() && engine.rank() == static_cast<int>(arguments.number("holder_rank", 0))) {
    start_holder(how, engine.rank());
  }
  // Whoever kills this rank waits for it; some kinds have something to prepare before.
  if (mode != "kind") tell_ready(engine);
  const std::string dtype = arguments.text("dtype", "float32");
  if (mode == "mismatch") {
    mismatch(engine, arguments);
  } else if (mode == "kind") {
    loop_kind(engine, arguments);
  } else if (dtype == "float64") {
    loop<double>(engine, arguments);
  } else if (dtype == "int64") {
    loop<std::int64_t>(engine, arguments);
  } else {
    loop<float>(engine, arguments);
  }
  return 0;
}

}  // namespace

int use_errors();

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "use") return use_errors();
  if (mode == "loop" || mode == "kind" || mode == "mismatch") return run(mode, Arguments(argc, argv));
  std::fprintf(stderr, "usage: fault_rank loop|kind|mismatch|use [key=value ...]\n");
  return 2;
}

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/group.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/data/text.hpp"
#include "processes/interrupt.hpp"

namespace unisono::tools {
namespace {

// Longer than any block should take, short enough to end a peer that hangs.
constexpr double kAnswerLimit_s = 300;

// Runs in the child and never returns. The child has a process group of its own, so that Ctrl-C
// reaches only the orchestrator, which then ends everything.
[[noreturn]] void become(const Launch::Process& process, int log) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, 0);
  ::dup2(log, 1);
  ::dup2(log, 2);
  for (const auto& [name, value] : process.environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : process.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  ::dprintf(2, "cannot start %s: %s\n", words[0], std::strerror(errno));
  ::_exit(127);
}

}  // namespace

Group::Group(Launch launch, int id, int ranks)
    : launch_(std::move(launch)), id_(id), ranks_(ranks),
      channels_(static_cast<std::size_t>(ranks)) {}

Group::~Group() {
  for (LineChannel& channel : channels_) {
    if (channel.fd() >= 0) static_cast<void>(channel.send({{"op", "quit"}}));
  }
  channels_.clear();
  using namespace std::chrono;
  // Nobody waits for a block to end once the user has asked to stop.
  const auto start = steady_clock::now() - (interrupted() ? seconds(4) : seconds(0));
  for (int strength = 0; !pids_.empty();) {
    std::erase_if(pids_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
    if (pids_.empty()) break;
    const double waited = duration<double>(steady_clock::now() - start).count();
    const int wanted = waited > 6 ? 2 : waited > 3 ? 1 : 0;
    if (wanted > strength) {
      strength = wanted;
      for (const pid_t pid : pids_) ::kill(-pid, wanted == 2 ? SIGKILL : SIGTERM);
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
}

Status Group::start(const std::string& socket_name) {
  log_ = Fd(::memfd_create("unisono-bench-log", MFD_CLOEXEC));
  if (!log_.valid()) return Status(Code::unavailable, "cannot make a file for the workers' output");
  for (Launch::Process& process : launch_.processes) {
    process.environment[kSocketVariable] = socket_name;
    process.environment[kGroupVariable] = std::to_string(id_);
    const pid_t pid = ::fork();
    if (pid < 0) return Status(Code::unavailable, cat("cannot fork: ", std::strerror(errno)));
    if (pid == 0) become(process, log_.get());
    pids_.push_back(pid);
  }
  return {};
}

void Group::attach(int rank, LineChannel channel, const std::string& version) {
  if (rank < 0 || rank >= ranks_) return;
  channels_[static_cast<std::size_t>(rank)] = std::move(channel);
  version_ = version;
  ++attached_;
}

bool Group::complete() const { return attached_ == ranks_; }

bool Group::died() {
  const std::size_t before = pids_.size();
  std::erase_if(pids_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  return pids_.size() < before || pids_.empty();
}

Status Group::ask_all(const nlohmann::json& message, std::vector<nlohmann::json>& answers) {
  for (LineChannel& channel : channels_) {
    if (Status bad = channel.send(message); !bad.ok()) return bad;
  }
  Status first;
  for (std::size_t rank = 0; rank < channels_.size(); ++rank) {
    // Once one has failed, the others may be waiting for it for ever.
    auto answer = channels_[rank].receive(first.ok() ? kAnswerLimit_s : 2);
    const auto says = [&](const char* key) {
      return answer->at(key).is_string() ? answer->at(key).get<std::string>() : answer->dump();
    };
    Status bad;
    if (!answer) {
      bad = answer.status();
    } else if (answer->contains("unsupported")) {
      bad = Status(Code::unavailable, says("unsupported"));
    } else if (answer->contains("error")) {
      bad = Status(Code::internal, says("error"));
    } else {
      answers.push_back(std::move(*answer));
    }
    if (!bad.ok() && first.ok()) first = bad;
  }
  return first;
}

Status Group::set_up(const Work& work) {
  std::vector<nlohmann::json> answers;
  return ask_all({{"op", "setup"},
                  {"collective", static_cast<int>(work.collective)},
                  {"collective_name", name_of(work.collective)},
                  {"dtype", static_cast<int>(work.dtype)},
                  {"dtype_name", name_of(work.dtype)},
                  {"elements", work.elements}},
                 answers);
}

Result<Block> Group::run_block(int iterations, int seed) {
  std::vector<nlohmann::json> answers;
  const nlohmann::json message{{"op", "block"}, {"iterations", iterations}, {"seed", seed}};
  if (Status bad = ask_all(message, answers); !bad.ok()) return bad;
  Block block;
  try {
    block.times_us = answers.front().at("times_us").get<std::vector<double>>();
    block.wall_us = answers.front().at("wall_us").get<double>();
    block.checked = std::all_of(answers.begin(), answers.end(), [](const nlohmann::json& answer) {
      return answer.at("checked").get<bool>();
    });
  } catch (const nlohmann::json::exception& error) {
    return Status(Code::corrupted, cat("a worker's answer makes no sense: ", error.what()));
  }
  return block;
}

Result<std::string> Group::explain() {
  if (!launch_.label.ours()) return std::string();
  std::vector<nlohmann::json> answers;
  if (Status bad = ask_all({{"op", "explain"}}, answers); !bad.ok()) return bad;
  std::vector<std::string> texts;
  for (const nlohmann::json& answer : answers) texts.push_back(answer.value("text", ""));
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    return Status(Code::mismatch, cat("rank ", rank, " explains itself otherwise than rank 0:\n",
                                      texts[0], "rank ", rank, ":\n", texts[rank]));
  }
  return texts.empty() ? std::string() : texts.front();
}

std::string Group::last_words() const {
  constexpr off_t kMax = 2000;
  struct stat log {};
  if (!log_.valid() || ::fstat(log_.get(), &log) != 0) return "";
  std::string text(static_cast<std::size_t>(std::min(log.st_size, kMax)), '\0');
  const off_t from = std::max(log.st_size - kMax, off_t{0});
  const ssize_t n = ::pread(log_.get(), text.data(), text.size(), from);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

}  // namespace unisono::tools

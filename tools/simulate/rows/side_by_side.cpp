// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/rows/side_by_side.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <span>

#include "base/data/status_bytes.hpp"
#include "base/data/text.hpp"
#include "base/os/cpu.hpp"
#include "base/os/fd.hpp"
#include "simulate/play.hpp"
#include "simulate/rows/row_bytes.hpp"
#include "simulate/rows/wide_heap.hpp"

namespace unisono::tools {
namespace {

// Below so many steps of ranks in all, a row is over before the bar would be shown.
constexpr double kWorthSharing = 20'000;
constexpr int kRanksOfWideHeap = 4096;

double work_of(const SimulateSettings& settings, const SimulatedRow& row) {
  sim::SimSettings one = settings.base;
  one.order = row.order;
  return static_cast<double>(row.ranks) * sim::steps_of(one) * settings.seeds;
}

Status play_here(const SimulateSettings& settings, SimulatedRow& row,
                 const sim::Progress& progress) {
  const bool events = settings.engine == SimulateEngine::events;
  if (events && row.ranks >= kRanksOfWideHeap) widen_heap();
  return play(settings, row, progress);
}

// What a row's process says: how much is done, as often as it likes, and the row or why there is
// none, once.
enum class Said : std::uint8_t { progress = 1, row = 2, error = 3 };

void say(int fd, Said what, std::span<const std::byte> bytes) {
  ByteWriter out;
  out.put(what);
  out.put(static_cast<std::uint32_t>(bytes.size()));
  out.put_raw(bytes);
  std::span<const std::byte> rest = out.bytes();
  while (!rest.empty()) {
    const ssize_t written = ::write(fd, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(1);       // nobody listens any more
    rest = rest.subspan(static_cast<std::size_t>(written));
  }
}

[[noreturn]] void play_for_another(const SimulateSettings& settings, SimulatedRow row, int fd) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Status bad = play_here(settings, row, [&](double done) {
    ByteWriter share;
    share.put(done);
    say(fd, Said::progress, share.bytes());
  });
  ByteWriter out;
  if (bad.ok()) {
    put_row(out, row);
  } else {
    put_status(out, bad);
  }
  say(fd, bad.ok() ? Said::row : Said::error, out.bytes());
  ::_exit(0);
}

// One row's process, seen from the one that started it.
class Player {
 public:
  static Result<Player> start(const SimulateSettings& settings, const SimulatedRow& row,
                              std::size_t index) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return Status(Code::internal, cat("no pipe: ", std::strerror(errno)));
    }
    Player player(index, Fd(ends[0]));
    const Fd theirs(ends[1]);
    std::fflush(nullptr);
    player.pid_ = ::fork();
    if (player.pid_ < 0) {
      return Status(Code::internal, cat("no process for a row: ", std::strerror(errno)));
    }
    if (player.pid_ == 0) {
      player.pipe_.reset();
      play_for_another(settings, row, theirs.get());
    }
    return player;
  }
  Player(Player&& other) noexcept
      : row_(other.row_), pipe_(std::move(other.pipe_)), pid_(std::exchange(other.pid_, -1)),
        heard_(std::move(other.heard_)), done_(other.done_) {}
  Player& operator=(Player&&) = delete;
  ~Player() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  std::size_t row() const { return row_; }
  int fd() const { return pipe_.get(); }
  double done() const { return done_; }

  // Reads what is there. Returns whether the row is over; then it is in `row`, or `error` says why
  // not.
  bool listen(SimulatedRow& row, Status& error) {
    std::byte buffer[4096];
    const ssize_t got = ::read(pipe_.get(), buffer, sizeof buffer);
    if (got < 0) return errno != EINTR && ended(row, error);
    if (got == 0) return ended(row, error);
    heard_.insert(heard_.end(), buffer, buffer + got);
    while (understand(row, error)) {}
    return over_;
  }

 private:
  Player(std::size_t row, Fd pipe) : row_(row), pipe_(std::move(pipe)) {}

  bool understand(SimulatedRow& row, Status& error) {
    ByteReader in(heard_);
    const auto what = in.get<Said>();
    const auto size = in.get<std::uint32_t>();
    const auto bytes = in.get_raw(size);
    if (!in.ok()) return false;         // the rest is on its way
    ByteReader inner(bytes);
    if (what == Said::progress) {
      done_ = inner.get<double>();
    } else if (what == Said::row) {
      row = get_row(inner);
      over_ = inner.finished();
    } else {
      error = get_status(inner);
      over_ = true;
    }
    heard_.erase(heard_.begin(),
                 heard_.begin() + static_cast<std::ptrdiff_t>(heard_.size() - in.remaining()));
    return true;
  }

  bool ended(const SimulatedRow& row, Status& error) {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    const std::string how = WIFSIGNALED(status)
                                ? cat("was killed by signal ", WTERMSIG(status))
                                : cat("ended with code ", WEXITSTATUS(status));
    error = Status(Code::internal,
                   cat("the process that simulated ", row.order, " with ", row.ranks, " ranks ",
                       how, ". If memory was short, --jobs 1 simulates one row at a time."));
    return true;
  }

  std::size_t row_;
  Fd pipe_;
  pid_t pid_ = -1;
  std::vector<std::byte> heard_;
  double done_ = 0;
  bool over_ = false;
};

// The rows in turn, and how far they are.
class Rows {
 public:
  Rows(const SimulateSettings& settings, std::vector<SimulatedRow>& rows,
       const RowsProgress& progress)
      : settings_(settings), rows_(rows), progress_(progress), errors_(rows.size()),
        order_(rows.size()), work_(rows.size()) {
    for (std::size_t i = 0; i < rows.size(); ++i) work_[i] = work_of(settings, rows[i]);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return work_[a] > work_[b]; });
  }

  Status play_in_turn() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto show = [&](double done) { tell(done * work_[i], rows_[i]); };
      if (Status bad = play_here(settings_, rows_[i], show); !bad.ok()) return bad;
      finished_ += work_[i];
    }
    return {};
  }

  Status play_side_by_side(int jobs) {
    std::vector<Player> players;
    for (std::size_t next = 0; next < order_.size() || !players.empty();) {
      while (next < order_.size() && static_cast<int>(players.size()) < jobs) {
        auto started = Player::start(settings_, rows_[order_[next]], order_[next]);
        if (!started.ok()) return started.status();
        players.push_back(std::move(started.value()));
        ++next;
      }
      hear(players);
    }
    const auto bad = std::find_if(errors_.begin(), errors_.end(),
                                  [](const Status& error) { return !error.ok(); });
    return bad == errors_.end() ? Status() : *bad;
  }

 private:
  void hear(std::vector<Player>& players) {
    std::vector<pollfd> fds;
    for (const Player& player : players) fds.push_back({player.fd(), POLLIN, 0});
    if (::poll(fds.data(), fds.size(), -1) < 0) return;
    std::vector<Player> still;
    double under_way = 0;
    for (std::size_t i = 0; i < players.size(); ++i) {
      Player& player = players[i];
      const std::size_t row = player.row();
      if (fds[i].revents != 0 && player.listen(rows_[row], errors_[row])) {
        finished_ += work_[row];
        continue;
      }
      under_way += player.done() * work_[row];
      still.push_back(std::move(player));
    }
    players.swap(still);
    if (!players.empty()) tell(under_way, rows_[players.front().row()]);
  }

  void tell(double under_way, const SimulatedRow& row) {
    const double all = std::accumulate(work_.begin(), work_.end(), 0.0);
    progress_((finished_ + under_way) / all, row);
  }

  const SimulateSettings& settings_;
  std::vector<SimulatedRow>& rows_;
  const RowsProgress& progress_;
  std::vector<Status> errors_;          // by row
  std::vector<std::size_t> order_;      // the longest first
  std::vector<double> work_;            // by row
  double finished_ = 0;                 // work
};

}  // namespace

int rows_at_a_time(const SimulateSettings& settings, const std::vector<SimulatedRow>& rows) {
  const auto count = static_cast<int>(rows.size());
  if (settings.engine == SimulateEngine::timeline) return 1;
  if (settings.jobs > 0) return std::min(settings.jobs, count);
  double work = 0;
  for (const SimulatedRow& row : rows) work += work_of(settings, row);
  return work < kWorthSharing ? 1 : std::min(usable_cores(), count);
}

Status play_all(const SimulateSettings& settings, std::vector<SimulatedRow>& rows,
                const RowsProgress& progress) {
  Rows all(settings, rows, progress);
  const int jobs = rows_at_a_time(settings, rows);
  return jobs > 1 ? all.play_side_by_side(jobs) : all.play_in_turn();
}

}  // namespace unisono::tools

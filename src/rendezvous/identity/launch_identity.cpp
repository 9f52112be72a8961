// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/os/retry.hpp"
#include "base/data/text.hpp"
#include "rendezvous/handshake/handshake.hpp"
#include "rendezvous/bootstrap/join.hpp"
#include "rendezvous/connect/addresses.hpp"
#include "rendezvous/connect/sockets.hpp"

namespace unisono::rendezvous {
namespace {

// How each launcher tells a process its rank. The first complete row is used.
struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  bool must_be_complete;           // rank without size (or the reverse) is a mistake
  std::array<const char*, 4> job;  // together they name the job; unset ones are left out
};

constexpr Launcher kLaunchers[] = {
    {"unisono run",
     "UNISONO_RANK",
     "UNISONO_SIZE",
     "UNISONO_LOCAL_RANK",
     "UNISONO_LOCAL_SIZE",
     true,
     {"UNISONO_JOB"}},
    {"horovodrun",
     "HOROVOD_RANK",
     "HOROVOD_SIZE",
     "HOROVOD_LOCAL_RANK",
     "HOROVOD_LOCAL_SIZE",
     true,
     {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT"}},
    {"torchrun",
     "RANK",
     "WORLD_SIZE",
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE",
     false,
     {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"}},
    {"mpirun (Open MPI)",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     false,
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri"}},
    {"mpiexec (PMI)",
     "PMI_RANK",
     "PMI_SIZE",
     "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS",
     false,
     {"PMI_JOBID", "PMI_PORT"}},
    {"PMIx",
     "PMIX_RANK",
     "PMIX_SIZE",
     "PMIX_LOCAL_RANK",
     "PMIX_LOCAL_SIZE",
     false,
     {"PMIX_NAMESPACE"}},
    {"srun (step)",
     "SLURM_PROCID",
     "SLURM_STEP_NUM_TASKS",
     "SLURM_LOCALID",
     "",
     false,
     {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
    {"srun",
     "SLURM_PROCID",
     "SLURM_NTASKS",
     "SLURM_LOCALID",
     "",
     false,
     {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
};

struct Claim {
  const Launcher* launcher = nullptr;
  int rank = 0, size = 1, local_rank = -1, local_size = 0;
};

Result<int> number_from(const char* variable, const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) {
    return Status(Code::invalid_argument,
                  cat(variable, "=", text, " is not a number from 0 upwards; correct or unset it"));
  }
  return number;
}

// Returns the claim of one launcher; nullopt when it did not start this process.
Result<std::optional<Claim>> claim_of(const Launcher& launcher, const Lookup& lookup) {
  const auto rank = lookup(launcher.rank);
  const auto size = lookup(launcher.size);
  if (!rank || !size) {
    if (launcher.must_be_complete && (rank || size)) {
      return Status(Code::invalid_argument,
                    cat(rank ? launcher.rank : launcher.size, " is set but ",
                        rank ? launcher.size : launcher.rank, " is not; set both or neither"));
    }
    return std::optional<Claim>();
  }
  Claim claim{.launcher = &launcher};
  const auto read = [&](const char* variable, const std::string& text, int& into) -> Status {
    const auto number = number_from(variable, text);
    if (number) into = number.value();
    return number.status();
  };
  if (auto bad = read(launcher.rank, *rank, claim.rank); !bad) return bad;
  if (auto bad = read(launcher.size, *size, claim.size); !bad) return bad;
  if (claim.rank >= claim.size) {
    return Status(Code::invalid_argument, cat(launcher.rank, "=", claim.rank, " must be less than ",
                                              launcher.size, "=", claim.size));
  }
  if (const auto text = lookup(launcher.local_rank)) {
    if (auto bad = read(launcher.local_rank, *text, claim.local_rank); !bad) return bad;
  }
  if (const auto text = lookup(launcher.local_size)) {
    if (auto bad = read(launcher.local_size, *text, claim.local_size); !bad) return bad;
  }
  if (claim.local_size > 0 &&
      (claim.local_rank >= claim.local_size || claim.local_size > claim.size)) {
    return Status(Code::invalid_argument,
                  cat(launcher.local_rank, "=", claim.local_rank, " and ", launcher.local_size, "=",
                      claim.local_size, " do not fit ", launcher.size, "=", claim.size));
  }
  return std::optional<Claim>(claim);
}

// One launcher may start another: one task, or one task per host, that starts the rest.
bool started_inside(const Claim& inner, const Claim& outer) {
  return outer.size == 1 ||
         static_cast<std::int64_t>(outer.size) * inner.local_size == inner.size;
}

Result<Claim> choose_claim(const Lookup& lookup) {
  std::optional<Claim> chosen;
  for (const Launcher& launcher : kLaunchers) {
    auto claim = claim_of(launcher, lookup);
    if (!claim) return claim.status();
    if (!claim->has_value()) continue;
    const Claim& other = claim->value();
    if (!chosen) {
      chosen = other;
      // unisono run sets its variables for each process it starts, so those of others are older.
      if (chosen->launcher == &kLaunchers[0]) break;
      continue;
    }
    // Two rows that read the same rank variable are one launcher.
    if (std::strcmp(chosen->launcher->rank, launcher.rank) == 0) continue;
    if ((other.rank == chosen->rank && other.size == chosen->size) ||
        started_inside(*chosen, other)) {
      continue;
    }
    const bool rank_differs = other.rank != chosen->rank;
    const Launcher& first = *chosen->launcher;
    return Status(
        Code::invalid_argument,
        cat("two launchers contradict each other: ", rank_differs ? first.rank : first.size, "=",
            rank_differs ? chosen->rank : chosen->size, " (", first.name, ") and ",
            rank_differs ? launcher.rank : launcher.size, "=",
            rank_differs ? other.rank : other.size, " (", launcher.name,
            "); unset those that did not start this job"));
  }
  return chosen.value_or(Claim{});
}

Result<std::vector<std::byte>> key_from(int fd, const std::string& where) {
  std::vector<std::byte> key(kKeyBytes + 1);
  // pread() does not move the file position, so that a second join can read the key again.
  ssize_t n = retried([&] { return ::pread(fd, key.data(), key.size(), 0); });
  if (n < 0 && errno == ESPIPE) n = retried([&] { return ::read(fd, key.data(), key.size()); });
  if (n != static_cast<ssize_t>(kKeyBytes)) {
    return Status(Code::invalid_argument, cat(where, " must hold exactly ", kKeyBytes, " bytes, ",
                                              n < 0 ? std::string(std::strerror(errno))
                                                    : cat("it holds ", n > 32 ? "more" : "fewer")));
  }
  key.resize(kKeyBytes);
  return key;
}

Result<std::vector<std::byte>> find_key(const Lookup& lookup) {
  if (const auto text = lookup("UNISONO_KEY_FD")) {
    auto fd = number_from("UNISONO_KEY_FD", *text);
    if (!fd) return fd.status();
    ::fcntl(*fd, F_SETFD, FD_CLOEXEC);
    return key_from(*fd, cat("descriptor UNISONO_KEY_FD=", *fd));
  }
  const auto path = lookup("UNISONO_KEY_FILE");
  if (!path) return std::vector<std::byte>();
  const Fd file(::open(path->c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat about {};
  if (!file.valid() || ::fstat(file.get(), &about) != 0) {
    return Status(Code::invalid_argument,
                  cat("UNISONO_KEY_FILE=", *path, ": ", std::strerror(errno)));
  }
  if (about.st_uid != ::geteuid() || (about.st_mode & 077) != 0) {
    return Status(Code::invalid_argument, cat("UNISONO_KEY_FILE=", *path,
                                              " must belong to this user and be readable by "
                                              "nobody else; chmod 600 it"));
  }
  return key_from(file.get(), *path);
}

bool spans_hosts(const Claim& claim, const Lookup& lookup) {
  if (claim.local_size > 0) return claim.local_size < claim.size;
  const auto nodes = lookup("SLURM_NNODES");
  return nodes && *nodes != "1" && std::string_view(claim.launcher->rank) == "SLURM_PROCID";
}

}  // namespace

Result<LaunchIdentity> launch_identity_from_environment(const Lookup& lookup) {
  const auto claim = choose_claim(lookup);
  if (!claim) return claim.status();
  const Claim& mine = claim.value();
  LaunchIdentity launch_identity;
  Identity& identity = launch_identity.identity;
  identity.host = lookup("UNISONO_HOST").value_or(host_name());
  if (mine.launcher == nullptr) {
    identity.source = "alone";
    return launch_identity;
  }
  identity.source =
      mine.launcher->rank == std::string_view("SLURM_PROCID") ? "srun" : mine.launcher->name;
  identity.rank = mine.rank;
  identity.size = mine.size;
  identity.local_rank = mine.local_size > 0 ? mine.local_rank : -1;
  identity.local_size = mine.local_rank >= 0 ? mine.local_size : 0;
  if (mine.size == 1) {
    identity.local_rank = 0;
    identity.local_size = 1;
    return launch_identity;
  }

  launch_identity.address = lookup("UNISONO_ADDRESS").value_or("");
  auto key = find_key(lookup);
  if (!key) return key.status();
  launch_identity.key = std::move(*key);
  if (launch_identity.address.empty() != launch_identity.key.empty()) {
    return Status(Code::invalid_argument,
                  launch_identity.key.empty()
                      ? "UNISONO_ADDRESS is set but there is no key; give UNISONO_KEY_FILE too"
                      : "there is a job key but no UNISONO_ADDRESS; set it to host:port of rank 0");
  }
  if (!launch_identity.address.empty()) {
    if (auto parsed = parse_addresses(launch_identity.address); !parsed) return parsed.status();
  }
  if (const auto text = lookup("UNISONO_LISTEN_FD"); text && mine.rank == 0) {
    auto fd = number_from("UNISONO_LISTEN_FD", *text);
    if (!fd) return fd.status();
    if (::fcntl(*fd, F_SETFD, FD_CLOEXEC) != 0) {
      return Status(Code::invalid_argument,
                    cat("UNISONO_LISTEN_FD=", *fd, ": ", std::strerror(errno)));
    }
    launch_identity.listen_fd = *fd;
  }

  std::vector<std::string> job{mine.launcher->name};
  for (const char* variable : mine.launcher->job) {
    if (variable == nullptr) continue;
    if (const auto text = lookup(variable)) job.push_back(*text);
  }
  if (const auto named = lookup("UNISONO_JOB")) job = {"named", *named};
  // When no variable names the job, its ranks are identified by their common parent process.
  launch_identity.job = job.size() > 1 ? join_text(job, "/") : "";

  // "" means every address of this host that others may reach.
  const bool far = launch_identity.address.empty()
                       ? spans_hosts(mine, lookup)
                       : !all_loopback(launch_identity.address);
  if (const auto host = lookup("UNISONO_BIND_HOST")) {
    launch_identity.bind_host = *host;
  } else if (far) {
    launch_identity.bind_host = "";
  }
  return launch_identity;
}

}  // namespace unisono::rendezvous

// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "base/data/text.hpp"
#include "rendezvous/bootstrap/join.hpp"

namespace unisono::rendezvous {
namespace {

using Variables = std::map<std::string, std::string>;

Result<LaunchIdentity> launch_identity(const Variables& variables) {
  return launch_identity_from_environment(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto it = variables.find(name);
        return it == variables.end() ? std::nullopt : std::optional(it->second);
      });
}

struct Row {
  const char* what;
  Variables variables;
  int rank, size, local_rank, local_size;
  const char* source;
};

TEST(LaunchIdentity, ReadsEachLauncher) {
  const Row rows[] = {
      {"nothing", {}, 0, 1, 0, 1, "alone"},
      {"own", {{"UNISONO_RANK", "1"}, {"UNISONO_SIZE", "2"}}, 1, 2, -1, 0, "unisono run"},
      {"horovod",
       {{"HOROVOD_RANK", "3"},
        {"HOROVOD_SIZE", "4"},
        {"HOROVOD_LOCAL_RANK", "1"},
        {"HOROVOD_LOCAL_SIZE", "2"}},
       3,
       4,
       1,
       2,
       "horovodrun"},
      {"torchrun",
       {{"RANK", "1"},
        {"WORLD_SIZE", "2"},
        {"LOCAL_RANK", "1"},
        {"LOCAL_WORLD_SIZE", "2"},
        {"MASTER_ADDR", "127.0.0.1"},
        {"MASTER_PORT", "29500"}},
       1,
       2,
       1,
       2,
       "torchrun"},
      {"Open MPI",
       {{"OMPI_COMM_WORLD_RANK", "0"},
        {"OMPI_COMM_WORLD_SIZE", "2"},
        {"PMIX_RANK", "0"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
       0,
       2,
       0,
       2,
       "mpirun (Open MPI)"},
      {"MPICH", {{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}, 1, 3, -1, 0, "mpiexec (PMI)"},
      {"Slurm",
       {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "1"}},
       1,
       4,
       -1,
       0,
       "srun"},
      {"a Slurm step smaller than its job",
       {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "2"}},
       1,
       2,
       -1,
       0,
       "srun"},
      {"own inside one Slurm task",
       {{"UNISONO_RANK", "1"}, {"UNISONO_SIZE", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}},
       1,
       2,
       -1,
       0,
       "unisono run"},
      {"torchrun, one per Slurm task",
       {{"RANK", "5"},
        {"WORLD_SIZE", "8"},
        {"LOCAL_RANK", "1"},
        {"LOCAL_WORLD_SIZE", "4"},
        {"SLURM_PROCID", "1"},
        {"SLURM_NTASKS", "2"}},
       5,
       8,
       1,
       4,
       "torchrun"},
      {"RANK alone belongs to somebody else", {{"RANK", "5"}}, 0, 1, 0, 1, "alone"},
  };
  for (const Row& row : rows) {
    const auto got = launch_identity(row.variables);
    ASSERT_TRUE(got.ok()) << row.what << ": " << got.status().message();
    const Identity& identity = got.value().identity;
    EXPECT_EQ(identity.rank, row.rank) << row.what;
    EXPECT_EQ(identity.size, row.size) << row.what;
    EXPECT_EQ(identity.local_rank, row.local_rank) << row.what;
    EXPECT_EQ(identity.local_size, row.local_size) << row.what;
    EXPECT_EQ(identity.source, row.source) << row.what;
  }
}

TEST(LaunchIdentity, SaysWhatIsWrong) {
  const std::pair<Variables, const char*> rows[] = {
      {{{"UNISONO_RANK", "1"}}, "UNISONO_RANK is set but UNISONO_SIZE is not"},
      {{{"UNISONO_RANK", "x"}, {"UNISONO_SIZE", "2"}}, "UNISONO_RANK=x is not a number"},
      {{{"UNISONO_RANK", "-1"}, {"UNISONO_SIZE", "2"}}, "UNISONO_RANK=-1 is not a number"},
      {{{"UNISONO_RANK", "2"}, {"UNISONO_SIZE", "2"}},
       "UNISONO_RANK=2 must be less than UNISONO_SIZE=2"},
      {{{"HOROVOD_RANK", "0"},
        {"HOROVOD_SIZE", "2"},
        {"OMPI_COMM_WORLD_RANK", "1"},
        {"OMPI_COMM_WORLD_SIZE", "2"}},
       "HOROVOD_RANK=0 (horovodrun) and OMPI_COMM_WORLD_RANK=1 (mpirun (Open MPI))"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "3"}},
       "WORLD_SIZE=4 (torchrun) and SLURM_NTASKS=3 (srun)"},
      // 65537 * 65537 is 131073 in 32 bits.
      {{{"HOROVOD_RANK", "0"},
        {"HOROVOD_SIZE", "131073"},
        {"HOROVOD_LOCAL_RANK", "0"},
        {"HOROVOD_LOCAL_SIZE", "65537"},
        {"RANK", "5"},
        {"WORLD_SIZE", "65537"}},
       "HOROVOD_RANK=0 (horovodrun) and RANK=5 (torchrun)"},
      {{{"UNISONO_RANK", "0"}, {"UNISONO_SIZE", "2"}, {"UNISONO_ADDRESS", "h:1"}}, "no key"},
      {{{"UNISONO_RANK", "0"}, {"UNISONO_SIZE", "2"}, {"UNISONO_KEY_FD", "999"}},
       "UNISONO_KEY_FD=999"},
  };
  for (const auto& [variables, text] : rows) {
    const auto got = launch_identity(variables);
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_EQ(got.status().code(), Code::invalid_argument);
    EXPECT_NE(got.status().message().find(text), std::string::npos) << got.status().message();
  }
}

// The second run of a requeued job must not use what the first one left on a shared file system.
TEST(LaunchIdentity, RequeuedSlurmJobHasAnotherName) {
  std::map<std::string, std::string> variables{{"SLURM_PROCID", "1"},
                                               {"SLURM_NTASKS", "4"},
                                               {"SLURM_JOB_ID", "77"},
                                               {"SLURM_STEP_ID", "0"}};
  const std::string first = launch_identity(variables).value().job;
  variables["SLURM_RESTART_COUNT"] = "1";
  const std::string second = launch_identity(variables).value().job;
  variables["SLURM_RESTART_COUNT"] = "2";
  EXPECT_NE(first, second);
  EXPECT_NE(launch_identity(variables).value().job, second);
}

TEST(LaunchIdentity, ReadsTheKeyFromADescriptorTwice) {
  const Fd memory(::memfd_create("key", MFD_CLOEXEC));
  ASSERT_EQ(::write(memory.get(), std::string(32, 'k').data(), 32), 32);
  const Variables variables{{"UNISONO_RANK", "1"},
                            {"UNISONO_SIZE", "2"},
                            {"UNISONO_ADDRESS", "127.0.0.1:4000"},
                            {"UNISONO_KEY_FD", cat(memory.get())}};
  for (int i = 0; i < 2; ++i) {
    const auto got = launch_identity(variables);
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(got.value().key, std::vector<std::byte>(32, std::byte{'k'}));
    EXPECT_EQ(got.value().bind_host, "127.0.0.1");
  }
}

TEST(LaunchIdentity, KeyFileMustBePrivate) {
  char path[] = "/tmp/unisono-identity-XXXXXX";
  const Fd file(::mkstemp(path));
  ASSERT_EQ(::write(file.get(), std::string(32, 'k').data(), 32), 32);
  const Variables variables{{"UNISONO_RANK", "1"},
                            {"UNISONO_SIZE", "2"},
                            {"UNISONO_ADDRESS", "10.0.0.1:4000"},
                            {"UNISONO_KEY_FILE", path}};
  auto good = launch_identity(variables);
  ASSERT_TRUE(good.ok()) << good.status().message();
  EXPECT_EQ(good->bind_host, "");
  ::chmod(path, 0644);
  const auto bad = launch_identity(variables);
  ::unlink(path);
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.status().message().find("chmod 600"), std::string::npos);
}

}  // namespace
}  // namespace unisono::rendezvous

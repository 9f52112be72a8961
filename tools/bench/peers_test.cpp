// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/peers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/data/text.hpp"
#include "base/os/cpu.hpp"

namespace unisono::tools {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

Peer installed(const char* name) { return {name, "/p/python", "/p/mpirun", "1.0", ""}; }

TEST(Peers, APythonThatIsNotThereIsNamed) {
  const Peer given = find_peer("gloo", {{"gloo", "/no/such/python"}});
  EXPECT_EQ(given.missing, "/no/such/python was not found");
  EXPECT_EQ(given.name, "gloo");
}

TEST(Peers, APythonGivenOnTheLineGoesBeforeTheVariable) {
  ASSERT_EQ(::setenv("UNISONO_PEER_GLOO_PYTHON", "/no/such/variable", 1), 0);
  EXPECT_EQ(find_peer("gloo", {}).missing, "/no/such/variable was not found");
  EXPECT_EQ(find_peer("gloo", {{"gloo", "/no/such/line"}}).missing,
            "/no/such/line was not found");
  ::unsetenv("UNISONO_PEER_GLOO_PYTHON");
}

TEST(Peers, GlooHasAProcessPerRankAndAStoreForAll) {
  const Launch launch = launch_of_peer(installed("gloo"), "/f", 3, "auto");
  EXPECT_EQ(launch.label.transport, "tcp") << "it has no other";
  ASSERT_EQ(launch.processes.size(), 3U);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const Launch::Process& process = launch.processes[rank];
    EXPECT_THAT(process.command, ElementsAre("/p/python", "/f/peer_gloo.py"));
    EXPECT_THAT(process.environment, Contains(Pair("RANK", cat(rank))));
    EXPECT_THAT(process.environment, Contains(Pair("WORLD_SIZE", "3")));
    EXPECT_THAT(process.environment, Contains(Pair("UNISONO_BENCH_STORE", "file:///f/gloo.store")));
  }
}

TEST(Peers, MpirunStartsAllRanksOfAnMpi) {
  for (const char* name : {"openmpi", "mpich"}) {
    const Launch launch = launch_of_peer(installed(name), "/f", 1, "auto");
    EXPECT_EQ(launch.label.transport, "default");
    ASSERT_EQ(launch.processes.size(), 1U);
    EXPECT_THAT(launch.processes[0].command,
                ElementsAre("/p/mpirun", "-np", "1", "/p/python", "/f/peer_mpi.py"));
  }
  EXPECT_THAT(launch_of_peer(installed("mpich"), "/f", 1, "auto").processes[0].environment,
              IsEmpty());
}

TEST(Peers, OpenMpiIsAllowedMoreRanksThanCoresWhereThereAreMore) {
  const auto command = [](int ranks) {
    return launch_of_peer(installed("openmpi"), "/f", ranks, "auto").processes[0].command;
  };
  EXPECT_THAT(command(usable_cores() + 1), Contains("--oversubscribe"));
  EXPECT_THAT(command(usable_cores()), Not(Contains("--oversubscribe")));
}

TEST(Peers, TcpIsAskedOfTheMpisToo) {
  const Launch openmpi = launch_of_peer(installed("openmpi"), "/f", 1, "tcp");
  EXPECT_EQ(openmpi.label.transport, "tcp");
  EXPECT_THAT(openmpi.processes[0].command, Contains("self,tcp"));
  EXPECT_EQ(openmpi.processes[0].command.back(), "/f/peer_mpi.py");
  const Launch mpich = launch_of_peer(installed("mpich"), "/f", 1, "tcp");
  EXPECT_EQ(mpich.label.transport, "tcp");
  EXPECT_THAT(mpich.processes[0].environment, Contains(Pair("MPIR_CVAR_NOLOCAL", "1")));
}

TEST(Peers, HorovodStartsItsRanksItself) {
  const Launch launch = launch_of_peer(installed("horovod"), "/f", 4, "tcp");
  EXPECT_EQ(launch.label.transport, "default") << "it chooses itself";
  ASSERT_EQ(launch.processes.size(), 1U);
  EXPECT_THAT(launch.processes[0].command,
              ElementsAre("/p/python", "-m", "horovod.runner.launch", "-np", "4", "/p/python",
                          "/f/peer_horovod.py"));
}

TEST(Peers, EveryScriptThatALaunchNamesIsCarriedAlongAndCleanedUp) {
  std::string folder;
  {
    const PeerScripts scripts;
    folder = scripts.folder();
    ASSERT_NE(folder, "");
    for (const std::string_view name : kPeerNames) {
      const Launch launch = launch_of_peer(installed(std::string(name).c_str()), folder, 1, "auto");
      const std::string& script = launch.processes[0].command.back();
      EXPECT_TRUE(std::filesystem::file_size(script) > 0) << script;
    }
    EXPECT_TRUE(std::filesystem::exists(folder + "/bench_peer.py")) << "the others import it";
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace unisono::tools

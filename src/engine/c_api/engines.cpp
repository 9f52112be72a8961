// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Engines of the C interface: joining, leaving, asking. The default engine is the one process-wide
// object of unisono, and it lives here.
#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>

#include "base/data/text.hpp"
#include "engine/c_api/handles.hpp"
#include "engine/core.hpp"

using namespace unisono;
using namespace unisono::engine::c_api;

namespace {

struct Default {
  std::mutex mutex;
  std::shared_ptr<unisono_engine> engine;
};
// Never destroyed: a rank may still be inside a call while the process ends.
Default& default_engine() {
  static auto* instance = new Default;
  return *instance;
}

Result<Options> options_from(const char* lines) {
  auto options = Options::from_environment();
  if (!options || lines == nullptr) return options;
  for (std::string_view rest = lines; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto equals = line.find('=');
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (equals == std::string::npos) {
      return Status(Code::invalid_argument, cat("'", line, "' is no key=value"));
    }
    if (auto status = options->set(line.substr(0, equals), line.substr(equals + 1)); !status) {
      return status;
    }
  }
  return options;
}

template <typename Value>
int ask(unisono_engine* engine, Value value) {
  const auto target = pick(engine);
  if (target == nullptr) {
    report(not_initialized());
    return -1;
  }
  return value(target->engine.identity());
}

}  // namespace

namespace unisono::engine::c_api {

std::shared_ptr<unisono_engine> pick(unisono_engine* engine) {
  if (engine != nullptr) return {engine, [](unisono_engine*) {}};
  std::lock_guard lock(default_engine().mutex);
  return default_engine().engine;
}

}  // namespace unisono::engine::c_api

extern "C" {

const char* unisono_version(void) { return version().data(); }
const char* unisono_last_error(void) { return last_error().message().c_str(); }
int unisono_last_culprit(void) { return last_error().culprit().rank; }

int unisono_join(const char* options, unisono_engine** engine) {
  return guarded([&]() -> Status {
    if (engine == nullptr) return null_argument("the place for the engine");
    auto parsed = options_from(options);
    if (!parsed) return parsed.status();
    auto joined = Engine::join(std::move(*parsed));
    if (!joined) return joined.status();
    *engine = new unisono_engine{std::move(*joined)};
    return {};
  });
}

void unisono_leave(unisono_engine* engine) { delete engine; }

int unisono_init(void) {
  return guarded([&]() -> Status {
    std::lock_guard lock(default_engine().mutex);
    if (const auto& present = default_engine().engine) return present->engine.core()->usable();
    auto joined = Engine::join();
    if (!joined) return joined.status();
    default_engine().engine =
        std::make_shared<unisono_engine>(unisono_engine{std::move(*joined)});
    return {};
  });
}

int unisono_shutdown(void) {
  return guarded([&]() -> Status {
    std::shared_ptr<unisono_engine> last;
    {
      std::lock_guard lock(default_engine().mutex);
      last.swap(default_engine().engine);
    }
    if (last != nullptr) last->engine.shutdown();
    return {};
  });
}

int unisono_is_initialized(void) { return pick(nullptr) != nullptr; }

unisono_world* unisono_world_create(int size) {
  unisono_world* world = nullptr;
  guarded([&]() -> Status {
    if (size < 1) return wrong(cat("a world has at least one rank, not ", size));
    world = new unisono_world{ThreadWorld(size)};
    return {};
  });
  return world;
}
void unisono_world_free(unisono_world* world) { delete world; }

int unisono_join_world(unisono_world* world, int rank, const char* options,
                       unisono_engine** engine) {
  return guarded([&]() -> Status {
    if (world == nullptr) return null_argument("the world");
    if (engine == nullptr) return null_argument("the place for the engine");
    auto parsed = options_from(options);
    if (!parsed) return parsed.status();
    auto joined = Engine::join(std::move(*parsed), world->world, rank);
    if (!joined) return joined.status();
    *engine = new unisono_engine{std::move(*joined)};
    return {};
  });
}

int unisono_rank(unisono_engine* engine) {
  return ask(engine, [](const Identity& who) { return who.rank; });
}
int unisono_size(unisono_engine* engine) {
  return ask(engine, [](const Identity& who) { return who.size; });
}
int unisono_local_rank(unisono_engine* engine) {
  return ask(engine, [](const Identity& who) { return who.local_rank; });
}
int unisono_local_size(unisono_engine* engine) {
  return ask(engine, [](const Identity& who) { return who.local_size; });
}

int unisono_switch_order(unisono_engine* engine, const char* strategy, uint32_t process_set) {
  return with_engine(engine, [&](Engine& target) -> Status {
    if (strategy == nullptr) return null_argument("the strategy");
    return target.switch_order(strategy, process_set).wait();
  });
}

int unisono_follow_graph(unisono_engine* engine, const unisono_graph_node* nodes, size_t count,
                         const uint32_t* fetches, size_t fetch_count, uint32_t process_set) {
  return with_engine(engine, [&](Engine& target) -> Status {
    if (nodes == nullptr || fetches == nullptr) return null_argument("the nodes or the fetches");
    Graph graph;
    graph.fetches.assign(fetches, fetches + fetch_count);
    for (size_t n = 0; n < count; ++n) {
      const unisono_graph_node& node = nodes[n];
      if (node.name == nullptr || (node.inputs == nullptr && node.input_count > 0)) {
        return null_argument("a node's name or inputs");
      }
      GraphNode& made = graph.nodes.emplace_back();
      made.name = node.name;
      made.inputs.assign(node.inputs, node.inputs + node.input_count);
      if (node.sum == 0) continue;
      auto operation = operation_from({Collective::allreduce, node.name, node.dtype, node.dims,
                                       node.shape, nodes, nullptr});
      if (!operation) return operation.status();
      auto settings = settings_from(node.call);
      if (!settings) return settings.status();
      made.sum = true;
      made.dtype = operation->dtype;
      made.shape = operation->shape;
      made.settings = std::move(*settings);
    }
    return target.follow_graph(graph, process_set);
  });
}

int unisono_add_process_set(unisono_engine* engine, const int* ranks, int count, uint32_t* id) {
  return guarded([&]() -> Status {
    const auto target = pick(engine);
    if (target == nullptr) return not_initialized();
    if (ranks == nullptr || id == nullptr) return null_argument("the list of ranks or the id");
    if (count < 1) return wrong("a process set needs at least one rank");
    auto set = target->engine.add_process_set({ranks, ranks + count});
    if (!set) return set.status();
    *id = *set;
    return {};
  });
}

int unisono_remove_process_set(unisono_engine* engine, uint32_t id) {
  return guarded([&]() -> Status {
    const auto target = pick(engine);
    return target == nullptr ? not_initialized() : target->engine.remove_process_set(id);
  });
}

}  // extern "C"

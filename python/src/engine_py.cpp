// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "array.hpp"
#include "bindings.hpp"
#include "member.hpp"
#include "unisono/unisono.hpp"

namespace unisono::python {
namespace {

using Variables = std::map<std::string, std::string>;

// variables, when given, stand in for the process's environment.
Member* join(const Options& options, const ThreadWorld* world, Rank rank,
             const std::optional<Variables>& variables) {
  const auto among_variables = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables->find(name);
    return found == variables->end() ? std::nullopt : std::optional(found->second);
  };
  std::optional<Result<Engine>> engine;
  {
    const nb::gil_scoped_release unlocked;
    engine = world       ? Engine::join(options, *world, rank)
             : variables ? Engine::join(options, among_variables)
                         : Engine::join(options);
  }
  return new Member(value_or_raise(std::move(*engine)));
}

Ticket submit(Member& self, Collective kind, std::string name, std::string_view dtype,
              nb::object array, bool in_place, const Settings& settings) {
  release_dropped();
  Operation operation = operation_on(kind, std::move(name), dtype, std::move(array), in_place);
  Ticket ticket;
  {
    const nb::gil_scoped_release unlocked;
    ticket = self.engine().submit(std::move(operation), settings);
  }
  raise_if_refused(ticket);
  return ticket;
}

std::vector<Ticket> submit_group(Member& self, std::string_view group, Collective kind,
                                 const std::vector<std::string>& names,
                                 const std::vector<std::string>& dtypes,
                                 const std::vector<nb::object>& arrays, bool in_place,
                                 const Settings& settings) {
  release_dropped();
  std::vector<Operation> operations;
  operations.reserve(arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    operations.push_back(operation_on(kind, names.at(i), dtypes.at(i), arrays[i], in_place));
  }
  std::vector<Ticket> tickets;
  {
    const nb::gil_scoped_release unlocked;
    tickets = self.engine().submit_group(group, std::move(operations), settings);
  }
  for (const Ticket& ticket : tickets) raise_if_refused(ticket);
  return tickets;
}

ProcessSetId add_process_set(Member& self, std::vector<Rank> ranks) {
  std::optional<Result<ProcessSetId>> id;
  {
    const nb::gil_scoped_release unlocked;
    id = self.engine().add_process_set(std::move(ranks));
  }
  return value_or_raise(std::move(*id));
}

void remove_process_set(Member& self, ProcessSetId id) {
  Status status;
  {
    const nb::gil_scoped_release unlocked;
    status = self.engine().remove_process_set(id);
  }
  raise_unless_ok(status);
}

using ByteArray = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;

// Bytes in memory that all ranks of the host map, freed with the last array that looks at them.
ByteArray arena_bytes(Member& self, std::size_t bytes) {
  auto* block = new ArenaBlock(value_or_raise(self.engine().arena().allocate(bytes)));
  const nb::capsule owner(block, [](void* held) noexcept { delete static_cast<ArenaBlock*>(held); });
  return ByteArray(block->data(), {bytes}, owner);
}

nb::dict placement(Member& self) {
  const Placement& sets = self.engine().placement();
  nb::dict all;
  all["engine"] = sets.engine;
  all["input"] = sets.input;
  all["compute"] = sets.compute;
  all["reason"] = sets.reason;
  return all;
}

int bind_compute(Member& self) { return value_or_raise(self.engine().bind_compute()); }

void bind_input(Member& self) { raise_unless_ok(self.engine().bind_input()); }

nb::dict stats(Member& self) {
  const Stats now = self.engine().stats();
  nb::dict all;
#define UNISONO_KEY(name, about) all[#name] = now.name;
#define UNISONO_KEY_S(name, about) all[#name "_s"] = now.name##_s;
  UNISONO_STATS(UNISONO_KEY, UNISONO_KEY_S, UNISONO_KEY, UNISONO_KEY)
#undef UNISONO_KEY
#undef UNISONO_KEY_S
  all["slow_rank"] = now.slow_rank;
  all["verdict"] = now.verdict;
  nb::dict order;
  order["strategy"] = now.order.strategy;
  order["planner"] = now.order.planner;
  order["planned"] = now.order.planned;
  order["plans"] = now.order.plans;
  order["plans_ended"] = now.order.plans_ended;
  order["buckets"] = now.order.buckets;
  order["reason"] = now.order.reason;
  nb::list known;
  for (const PlanReport& plan : now.order.known) {
    nb::dict each;
    each["first"] = plan.first;
    each["tensors"] = plan.tensors;
    each["buckets"] = plan.buckets;
    each["iterations"] = plan.iterations;
    nb::list methods;
    for (const PlanMethodReport& bucket : plan.methods) {
      nb::dict method;
      method["first"] = bucket.first;
      method["tensors"] = bucket.tensors;
      method["bytes"] = bucket.bytes;
      method["channel"] = bucket.channel;
      method["codec"] = bucket.codec;
      method["algorithm"] = bucket.algorithm;
      method["reason"] = bucket.reason;
      methods.append(method);
    }
    each["methods"] = methods;
    known.append(each);
  }
  order["known"] = known;
  all["order"] = order;
  nb::list codecs;
  for (const CodecReport& report : now.codecs) {
    nb::dict codec;
    codec["codec"] = report.codec;
    codec["tensors"] = report.tensors;
    codec["bytes"] = report.bytes;
    codec["packed_bytes"] = report.packed_bytes;
    codec["ratio"] = report.packed_bytes == 0 ? 0.0
                                              : static_cast<double>(report.bytes) /
                                                    static_cast<double>(report.packed_bytes);
    codec["skipped"] = report.skipped;
    codec["residual_norm"] = report.residual_norm;
    codec["exchange"] = report.exchange;
    codecs.append(codec);
  }
  all["codecs"] = codecs;
  return all;
}

nb::list timings(Member& self) {
  nb::list all;
  for (const Timing& timing : self.engine().timings()) {
    nb::dict row;
    row["name"] = timing.name;
    row["bytes"] = timing.bytes;
    row["bucket"] = timing.bucket;
    row["submitted_us"] = timing.submitted_us;
    row["negotiation_us"] = timing.negotiation_us;
    row["wait_tensors_us"] = timing.wait_tensors_us;
    row["pack_us"] = timing.pack_us;
    row["wait_data_us"] = timing.wait_data_us;
    row["move_us"] = timing.move_us;
    row["unpack_us"] = timing.unpack_us;
    all.append(row);
  }
  return all;
}

void switch_order(Member& self, const std::string& strategy, ProcessSetId set) {
  Status status;
  {
    nb::gil_scoped_release unlocked;
    status = self.engine().switch_order(strategy, set).wait();
  }
  raise_unless_ok(status);
}

// Name, inputs, whether it is an allreduce, and then its dtype, shape and settings.
using PyGraphNode = std::tuple<std::string, std::vector<std::uint32_t>, bool, std::string,
                               std::vector<std::int64_t>, Settings>;

void follow_graph(Member& self, const std::vector<PyGraphNode>& nodes,
                  const std::vector<std::uint32_t>& fetches, ProcessSetId set) {
  Graph graph;
  graph.fetches = fetches;
  for (const auto& [name, inputs, sum, dtype, shape, settings] : nodes) {
    const auto element = dtype_from(dtype);
    if (!element) throw nb::value_error(("node '" + name + "': there is no dtype " + dtype).c_str());
    graph.nodes.push_back({name, inputs, sum, *element, Shape(shape.begin(), shape.end()), settings});
  }
  Status status;
  {
    nb::gil_scoped_release unlocked;
    status = self.engine().follow_graph(graph, set);
  }
  raise_unless_ok(status);
}

using Names = std::optional<std::vector<std::string>>;  // of tensors; none: of all

nb::bytes codec_state(Member& self, const Names& names, ProcessSetId set, bool shared) {
  const auto state = value_or_raise(names ? self.engine().codec_state({*names, set, shared})
                                          : self.engine().codec_state());
  return nb::bytes(state.data(), state.size());
}

std::span<const std::byte> bytes_of(const nb::bytes& state) {
  return {reinterpret_cast<const std::byte*>(state.c_str()), state.size()};
}

void load_codec_state(Member& self, const nb::bytes& state, const Names& names, ProcessSetId set,
                      bool shared) {
  raise_unless_ok(names ? self.engine().load_codec_state(bytes_of(state), {*names, set, shared})
                        : self.engine().load_codec_state(bytes_of(state)));
}

std::vector<nb::bytes> redistribute(const std::vector<nb::bytes>& states, std::size_t size) {
  std::vector<std::vector<std::byte>> ranks;
  for (const nb::bytes& state : states) {
    const auto raw = bytes_of(state);
    ranks.emplace_back(raw.begin(), raw.end());
  }
  std::vector<nb::bytes> out;
  for (const auto& state : value_or_raise(redistribute_codec_states(ranks, size))) {
    out.emplace_back(reinterpret_cast<const char*>(state.data()), state.size());
  }
  return out;
}

std::string canonical_codec(const std::string& text) {
  return value_or_raise(parse_codec(text)).text();
}

void start_timeline(Member& self, const std::string& path, bool mark_cycles) {
  raise_unless_ok(self.engine().start_timeline(path, mark_cycles));
}

void stop_timeline(Member& self) {
  nb::gil_scoped_release unlocked;
  self.engine().stop_timeline();
}

void bind_values(nb::module_& module) {
  nb::class_<Settings>(module, "Settings")
      .def("__init__",
           [](Settings* self, ReduceOp op, double prescale, double postscale, Rank root,
              ProcessSetId set, int priority, std::vector<std::int64_t> splits, std::string codec,
              bool keep_inputs, int team) {
             new (self) Settings{.op = op, .prescale = prescale, .postscale = postscale,
                                 .root = root, .process_set = set, .priority = priority,
                                 .codec = std::move(codec), .team = team, .splits = std::move(splits),
                                 .keep_inputs = keep_inputs, .on_done = {}};
           },
           nb::arg("op") = ReduceOp::average, nb::arg("prescale") = 1.0,
           nb::arg("postscale") = 1.0, nb::arg("root") = 0, nb::arg("process_set") = kWorld,
           nb::arg("priority") = 0, nb::arg("splits") = std::vector<std::int64_t>{},
           nb::arg("codec") = "", nb::arg("keep_inputs") = false,
           nb::arg("team") = 0)
      .def_ro("process_set", &Settings::process_set);
  nb::class_<ThreadWorld>(module, "ThreadWorld", "Seats for ranks that are threads of one process.")
      .def(nb::init<int>(), nb::arg("size"))
      .def("size", &ThreadWorld::size);
  nb::class_<Identity>(module, "Identity")
      .def_ro("rank", &Identity::rank)
      .def_ro("size", &Identity::size)
      .def_ro("local_rank", &Identity::local_rank)
      .def_ro("local_size", &Identity::local_size)
      .def_ro("cross_rank", &Identity::cross_rank)
      .def_ro("cross_size", &Identity::cross_size)
      .def_ro("host", &Identity::host)
      .def_ro("source", &Identity::source);
}

}  // namespace

void raise_if_refused(const Ticket& ticket) {
  const Status status = ticket.refusal();
  switch (status.code()) {
    case Code::invalid_argument:
    case Code::duplicate_name:
    case Code::shut_down:
    case Code::forked: raise_unless_ok(status); break;
    default: break;
  }
}

void bind_engine(nb::module_& module) {
  bind_values(module);
  module.def("split_groups",
             [](const std::vector<std::uint64_t>& sizes, std::size_t groups, bool by_bytes) {
               return split_groups(sizes, groups, by_bytes ? Balance::bytes : Balance::count);
             });
  module.def("redistribute_codec_states", &redistribute, nb::arg("states"), nb::arg("size"));
  module.def("canonical_codec", &canonical_codec, nb::arg("codec"));
  module.def("published_addresses",
             [](const std::string& wanted) { return value_or_raise(published_addresses(wanted)); });
  nb::class_<Member>(module, "Engine")
      .def_static("join", &join, nb::arg("options"), nb::arg("world").none() = nb::none(),
                  nb::arg("rank") = 0, nb::arg("environment").none() = nb::none())
      .def_prop_ro("identity", [](Member& self) { return self.engine().identity(); })
      .def_prop_ro("options", [](Member& self) { return self.engine().options(); })
      .def("submit", &submit)
      .def("submit_group", &submit_group)
      .def("barrier", [](Member& self, ProcessSetId set) { return self.engine().barrier(set); },
           nb::call_guard<nb::gil_scoped_release>())
      .def("join_ranks",
           [](Member& self, ProcessSetId set) { return self.engine().join_ranks(set); },
           nb::call_guard<nb::gil_scoped_release>())
      .def("add_process_set", &add_process_set)
      .def("remove_process_set", &remove_process_set)
      .def("process_set",
           [](Member& self, ProcessSetId set) { return self.engine().process_set(set); })
      .def("arena_bytes", &arena_bytes)
      .def("placement", &placement)
      .def("bind_compute", &bind_compute)
      .def("bind_input", &bind_input)
      .def("stats", &stats)
      .def("timings", &timings)
      .def("explain", [](Member& self) { return self.engine().explain().text(); })
      .def("codec_state", &codec_state, nb::arg("names") = nb::none(), nb::arg("set") = kWorld,
           nb::arg("shared") = false)
      .def("load_codec_state", &load_codec_state, nb::arg("state"), nb::arg("names") = nb::none(),
           nb::arg("set") = kWorld, nb::arg("shared") = false)
      .def("start_timeline", &start_timeline, nb::arg("path"), nb::arg("mark_cycles"))
      .def("stop_timeline", &stop_timeline)
      .def("follow_graph", &follow_graph, nb::arg("nodes"), nb::arg("fetches"), nb::arg("set"))
      .def("switch_order", &switch_order, nb::arg("strategy"), nb::arg("set"))
      .def("shutdown", [](Member& self) { self.engine().shutdown(); },
           nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace unisono::python

# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""CPU sets apart for engine, compute and input pipeline, as the kernel reports them."""

import json
import os
import pathlib
import pickle
import sys

import pytest

import ranks
import unisono

JOB = pathlib.Path(__file__).parent / "jobs" / "affinity.py"
ALL = sorted(os.sched_getaffinity(0))


def told_by(*arguments, **environment):
    output = ranks.run_line([sys.executable, str(JOB), *arguments], environment=environment)
    return json.loads(output.splitlines()[-1])


def sets():
    """Lists for one rank: engine and compute apart, and input as well where there are CPUs enough."""
    if len(ALL) < 2:
        pytest.skip("needs two CPUs")
    engine, compute, rest = ALL[:1], ALL[1:2], ALL[2:3]
    lists = f"engine={engine[0]};input={','.join(map(str, rest))};compute={compute[0]}"
    return lists, engine, rest or compute, compute


def test_a_call_binds_all_threads_but_the_engines():
    lists, engine, input_cpus, compute = sets()
    told = told_by("call", UNISONO_CPU_SETS=lists)
    assert told["before"] == ALL, "joining alone binds no thread of the program"
    assert told["threads"].pop("unisono-engine") == [engine]
    others = [mask for masks in told["threads"].values() for mask in masks]
    assert len(others) >= 2 and all(mask == compute for mask in others), told
    assert told["bound"] == len(others)
    assert told["fork"] == told["spawn"] == told["loading"] == input_cpus


def test_an_option_binds_a_program_that_knows_nothing_of_it():
    lists, engine, _, compute = sets()
    told = told_by("option", UNISONO_CPU_SETS=lists, UNISONO_BIND_COMPUTE="1")
    assert told["threads"].pop("unisono-engine") == [engine]
    assert all(mask == compute for masks in told["threads"].values() for mask in masks), told


def test_workers_of_torch_load_on_the_input_cpus():
    pytest.importorskip("torch", reason="torch is not installed")
    lists, _, input_cpus, _ = sets()
    told = told_by("option", "torch", UNISONO_CPU_SETS=lists)
    assert told["loader"] == [input_cpus] * 4
    assert told["before"] == ALL


def test_nothing_is_bound_where_compute_would_have_no_core():
    """A fraction of one core leaves none to compute, so there is no plan and everybody stays."""
    program = f"import os, runpy; os.sched_setaffinity(0, [{ALL[0]}]); " \
              f"runpy.run_path({str(JOB)!r}, run_name='__main__')"
    output = ranks.run_line([sys.executable, "-c", program, "option"], environment={
        "UNISONO_CPU_SETS": "0.5", "UNISONO_BIND_COMPUTE": "1", "UNISONO_LOG": "error"})
    told = json.loads(output.splitlines()[-1])
    assert told["placement"]["compute"] == [] and "no CPU sets" in told["placement"]["reason"]
    assert all(mask == ALL[:1] for masks in told["threads"].values() for mask in masks)


def test_without_sets_nothing_happens(alone):
    before = os.sched_getaffinity(0)
    assert unisono.bind_compute() == 0
    unisono.bind_input()
    seen = []
    unisono.worker_init(then=seen.append)(3)
    assert seen == [3] and os.sched_getaffinity(0) == before


def test_a_worker_init_can_be_pickled(alone):
    made = pickle.loads(pickle.dumps(unisono.worker_init(then=abs)))
    made(-1)
    assert made.cpus == [] and made.then is abs

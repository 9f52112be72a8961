# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""``unisono run --trace``: one file for all ranks that viewers, summaries and the simulator read,
also when a rank was killed in the middle."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import ranks

import unisono as engines

PATIENCE_S = 300
JOB = pathlib.Path(__file__).parent / "jobs" / "traced.py"
LONG = "allreduce.encoder.layers.3.attention.self.query_key_value.dense.weight.gradient"


def unisono(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([ranks.command(), *map(str, arguments)], capture_output=True, text=True,
                          timeout=PATIENCE_S)


def record(path: pathlib.Path, *arguments: object, flag: str = "--trace") -> str:
    done = unisono("run", "-np", 2, flag, path, sys.executable, JOB, *arguments)
    assert (done.returncode == 0) == (not arguments), done.stdout + done.stderr
    return done.stderr


def buckets(path: pathlib.Path) -> list:
    return [event for event in json.loads(path.read_text()) if event.get("cat") == "bucket"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("trace") / "run.json"
    assert "events of 2 of 2 ranks" in record(path)
    return path


def test_all_ranks_are_in_one_file_with_whole_names(trace: pathlib.Path) -> None:
    found = buckets(trace)
    assert {event["pid"] for event in found} == {0, 1}
    for rank in (0, 1):
        names = [tensor["name"] for event in found if event["pid"] == rank
                 for tensor in event["args"]["tensors"]]
        assert names.count(LONG) == 30
    lanes = {event["args"]["name"] for event in json.loads(trace.read_text())
             if event["name"] == "thread_name"}
    assert {"negotiate", "move"} <= lanes
    assert [path.name for path in trace.parent.iterdir()] == ["run.json"], "parts are gone"


def test_nobody_ends_a_bucket_before_everybody_has_begun_it(trace: pathlib.Path) -> None:
    begun: dict = {}
    ended: dict = {}
    for event in buckets(trace):
        begun.setdefault(event["args"]["bucket"], []).append(event["ts"])
        ended.setdefault(event["args"]["bucket"], []).append(event["ts"] + event["dur"])
    assert all(max(begun[bucket]) <= min(ended[bucket]) for bucket in begun)


def test_slices_of_a_lane_nest(trace: pathlib.Path) -> None:
    lanes: dict = {}
    for event in json.loads(trace.read_text()):
        if event["ph"] == "X":
            lanes.setdefault((event["pid"], event["tid"]), []).append(event)
    for events in lanes.values():
        open_until: list = []
        for event in sorted(events, key=lambda one: (one["ts"], -one["dur"])):
            end = event["ts"] + event["dur"]
            while open_until and open_until[-1] <= event["ts"] + 0.0015:  # three decimals
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 0.0015
            open_until.append(end)


def test_the_summary_counts_steps_and_buckets(trace: pathlib.Path) -> None:
    done = unisono("trace", "summary", trace, "--json", "-")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["ranks"] == 2 and summary["steps"] == 30
    assert summary["step_bytes"] == 4 * 1000 * (1 + 4 + 16 + 64)
    assert sum(summary["bucket_sizes"].values()) == summary["buckets"]
    assert sum(summary["last"].values()) == summary["buckets"]
    assert "steps" in unisono("trace", "summary", trace).stdout


def test_the_simulator_reads_the_compact_form(trace: pathlib.Path, tmp_path: pathlib.Path) -> None:
    step = tmp_path / "step.json"
    done = unisono("trace", "compact", trace, "-o", step)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(step.read_text())["tensors"]) == 4
    done = unisono("simulate", "--trace", step, "--ranks", 4, "--network", "10gbe", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"][0]["ranks"] == 4


def test_a_killed_rank_leaves_a_file_that_can_be_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.json"
    assert "rank 1" in record(path, 20)
    found = buckets(path)
    assert {event["pid"] for event in found} >= {0}
    assert unisono("trace", "summary", path).returncode == 0


def test_a_timeline_has_all_ranks_in_one_file_too(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "timeline.json"
    record(path, flag="--timeline")
    events = json.loads(path.read_text())
    assert {event["pid"] for event in events} == {0, 1}
    assert {"NEGOTIATE_ALLREDUCE", "MOVE"} <= {event["name"] for event in events}


def test_a_folder_that_is_not_there_is_refused_before_anything_runs(tmp_path: pathlib.Path) -> None:
    done = unisono("run", "-np", 1, "--trace", tmp_path / "none" / "run.json", "true")
    assert done.returncode == 2 and "--trace" in done.stderr


def test_engines_without_a_launcher_write_a_part_each(tmp_path: pathlib.Path) -> None:
    def body(engine: engines.Engine) -> None:
        for _ in range(3):
            engine.allreduce(np.ones(10), name="x")

    part, whole = tmp_path / "part.json", tmp_path / "whole.json"
    ranks.as_threads(2, body, trace=part)
    second = tmp_path / "part.1.json"
    assert {event["pid"] for event in buckets(second)} == {1}
    done = unisono("trace", "merge", part, second, "-o", whole)
    assert done.returncode == 0, done.stderr
    assert len(buckets(whole)) == len(buckets(part)) + len(buckets(second)) == 6


AHEAD_S = 1000
SHELL = f"""#!/bin/sh
host=$1
shift
if [ "$host" = 127.0.0.2 ]; then exec unshare -T --monotonic {AHEAD_S} --fork sh -c "$*"; fi
exec sh -c "$*"
"""


def test_the_clock_of_another_host_is_aligned_within_what_is_said(tmp_path: pathlib.Path) -> None:
    """The second "host" has a time namespace, whose clock is ahead by a known time."""
    try:
        subprocess.run(["unshare", "-T", "--monotonic", "1", "--fork", "true"], check=True,
                       capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine makes no time namespaces")
    shell = tmp_path / "shell"
    shell.write_text(SHELL)
    shell.chmod(0o755)
    path = tmp_path / "run.json"
    done = unisono("run", "-H", "127.0.0.1:1,127.0.0.2:1", "--rsh", shell, "-x", "PYTHONPATH",
                   "--transport", "tcp", "--trace", path, sys.executable, JOB)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(unisono("trace", "summary", path, "--json", "-").stdout)
    first, second = summary["clocks"]
    assert first["by"] == "the same clock" and second["by"] == "traffic"
    assert abs(second["offset_us"] - AHEAD_S * 1e6) <= second["uncertain_us"]
    test_nobody_ends_a_bucket_before_everybody_has_begun_it(path)

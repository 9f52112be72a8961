# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""unisono bench step: exit codes, the JSON that scripts rely on, what is refused, the picture.

UNISONO_BIN names the command under test. No time is asserted.
"""
import json
import os
import shutil
import subprocess
import xml.etree.ElementTree as tree

import pytest

UNISONO = os.environ.get("UNISONO_BIN") or shutil.which("unisono")
pytestmark = pytest.mark.skipif(not UNISONO, reason="no unisono command; set UNISONO_BIN")

SHORT = ("--model", "resnet18", "--scale", "0.01", "--repeat", "2", "--steps", "2", "--warmup", "6")
ROW = {"planner", "step_ms", "p10_ms", "p90_ms", "exposed_ms", "buckets", "data_bytes", "planned",
       "order", "warmup_steps", "steps_ms", "of_best"}


def run(*words, **more):
    return subprocess.run([UNISONO, *map(str, words)], capture_output=True, text=True, timeout=300,
                          **more)


def results_of(*words):
    done = run("bench", "step", *SHORT, "--json", "-", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("transport", ["auto", "tcp"])
def test_a_profile_is_replayed_and_its_sums_are_checked(ranks, transport):
    found = results_of("--ranks", ranks, "--transport", transport, "--planner", "wfbp,threshold")
    assert found["ranks"] == ranks and found["tensors"] == 62 and found["transport"] == transport
    assert [row["planner"] for row in found["results"]] == ["wfbp", "threshold"]
    for row in found["results"]:
        assert ROW <= row.keys() and len(row["steps_ms"]) == 4
        assert row["buckets"] >= 1 and row["warmup_steps"] >= 6


def test_planners_that_the_engine_lacks_are_named_with_its_sentence():
    found = results_of("--planner", "all")
    known = [row for row in found["results"] if "step_ms" in row]
    assert {"wfbp", "single", "threshold", "groups"} <= {row["planner"] for row in known}
    for row in found["results"]:
        assert row in known or row["planner"] in row["refused"]


def test_an_emulated_network_is_told():
    found = results_of("--planner", "threshold", "--emulate", "alpha=1ms,beta=1ns")
    assert found["emulate"] == "alpha=1ms,beta=1ns"


def test_layers_may_wait_for_their_own_gradients():
    found = results_of("--planner", "wfbp", "--forward-waits")
    assert found["forward_waits"] and len(found["results"][0]["steps_ms"]) == 4


def test_the_ranks_of_a_launcher_are_used(tmp_path):
    picture = tmp_path / "step.svg"
    done = run("run", "-np", 2, "--no-prefix", UNISONO, "bench", "step", *SHORT, "--planner",
               "single,wfbp", "--plot", picture)
    assert done.returncode == 0, done.stderr
    assert "2 ranks on 1 host" in done.stdout and done.stdout.count("\nsingle") == 1
    texts = [each.text for each in tree.parse(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert "single" in texts and "wfbp" in texts
    done = run("run", "-np", 2, UNISONO, "bench", "step", *SHORT, "--ranks", 3)
    assert done.returncode != 0 and "leave --ranks out" in done.stderr + done.stdout


def test_a_recorded_step_can_be_replayed(tmp_path):
    trace = tmp_path / "step.json"
    trace.write_text(json.dumps({"tensors": [{"name": "a", "bytes": 5000, "ready_us": 900},
                                             {"name": "b", "bytes": 3, "ready_us": 400.5}]}))
    done = run("bench", "step", "--trace", trace, "--planner", "wfbp", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bytes"] == 5004


@pytest.mark.parametrize("words, reason", [
    (("--model", "resnet9000"), "resnet9000"),
    (("--model", "tiny", "--planner", "mergd"), "did you mean merged?"),
    (("--model", "tiny", "--emulate", "alpha=-1"), "option emulate"),
    (("--trace", "/dev/null"), "--trace /dev/null"),
    (("--model", "tiny", "--set", "dead_s=0"), "dead_s"),
])
def test_what_cannot_be_is_refused_before_anything_starts(words, reason):
    done = run("bench", "step", *words)
    assert done.returncode == 2 and reason in done.stderr
    assert not done.stdout

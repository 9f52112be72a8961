# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""unisono bench codec: exit codes, the JSON that scripts rely on, what is refused.

UNISONO_BIN names the command under test. No time is asserted.
"""
import json
import os
import shutil
import subprocess

import pytest

UNISONO = os.environ.get("UNISONO_BIN") or shutil.which("unisono")
pytestmark = pytest.mark.skipif(not UNISONO, reason="no unisono command; set UNISONO_BIN")

ROW = {"codec", "encode_us", "decode_us", "bytes_out", "of_memcpy", "bytes", "ratio",
       "encode_p90_us", "decode_p90_us", "relative_error", "checked"}


def run(*words):
    return subprocess.run([UNISONO, "bench", "codec", *map(str, words)], capture_output=True,
                          text=True, timeout=300, check=False)


def results_of(*words):
    done = run("--repeat", 2, "--json", "-", *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"machine", "command"} <= found.keys()
    return {row["codec"]: row for row in found["results"]}


def test_all_codecs_are_measured_and_checked():
    found = results_of("--bytes", "256K")
    assert {"none", "fp16", "bf16", "qsgd:4", "ef|topk:512:4|qsgd:4", "ef|powersgd:2"} <= found.keys()
    for row in found.values():
        assert ROW <= row.keys() and row["checked"] and row["bytes"] == 256 << 10
        assert row["encode_us"] > 0 and row["decode_us"] > 0 and row["bytes_out"] > 0
    assert found["none"]["relative_error"] == 0
    assert found["qsgd:2"]["bytes_out"] < found["qsgd:4"]["bytes_out"] < found["bf16"]["bytes_out"]


@pytest.mark.parametrize("dtype, width", [("fp32", 4), ("bf16", 2), ("fp64", 8)])
def test_floats_of_every_width_are_encoded(dtype, width):
    row = results_of("--codec", "ef|topk:512:4", "--bytes", 1000 * width, "--dtype", dtype)
    assert row["ef|topk:512:4"]["bytes"] == 1000 * width


def test_a_table_for_people():
    done = run("--bytes", "64K", "--codec", "qsgd:4", "--repeat", 1)
    assert done.returncode == 0, done.stderr
    assert "a memcpy takes" in done.stdout and "\nqsgd:4" in done.stdout


@pytest.mark.parametrize("words, reason", [
    (("--codec", "qsgd:5"), "qsgd:5"),
    (("--codec", "qsgd:4|topk:512:4"), "put it before that"),
    (("--bytes", "none"), "--bytes none"),
    (("--dtype", "int8"), "codecs are for floats"),
])
def test_what_cannot_be_is_refused(words, reason):
    done = run(*words)
    assert done.returncode == 2 and reason in done.stderr
    assert not done.stdout

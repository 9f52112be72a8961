# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""unisono bench sparse: exit codes, the JSON that scripts rely on, what is refused, the picture.

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

SHORT = ("--length", "20000", "--repeat", "2", "--iterations", "2", "--warmup", "1")
ROW = {"impl", "algorithm", "transport", "collective", "dtype", "ranks", "bytes", "density",
       "support", "nnz", "nnz_out", "fill_in", "data_bytes", "predicted_bytes", "median_us",
       "p10_us", "p90_us", "repetitions", "checked", "over_dense"}
EXACT = ["dense", "ssar_recursive_double", "ssar_split_allgather", "dsar_split_allgather",
         "sparse_ring", "sparse_allgather"]
PACKED = [f"dsar_split_allgather+qsgd:{bits}" for bits in (8, 4, 2)]


def run(*words, **more):
    return subprocess.run([UNISONO, *map(str, words)], capture_output=True, text=True, timeout=300,
                          **more)


def results_of(*words):
    done = run("bench", "sparse", *SHORT, "--json", "-", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("transport", ["auto", "tcp"])
def test_all_algorithms_are_measured_and_their_sums_checked(ranks, transport):
    found = results_of("-np", ranks, "--transport", transport)
    assert found["ranks"] == ranks and found["transport"] == transport
    assert {"machine", "command"} <= found.keys()
    rows = found["results"]
    assert [row["algorithm"] for row in rows if row["collective"] == "allreduce"] == ["ring", "auto"]
    sparse = {row["algorithm"]: row for row in rows if row["collective"] == "sparse_allreduce"}
    assert {"auto", *EXACT, *PACKED} <= sparse.keys()
    assert [sparse[name]["codec"] for name in PACKED] == ["qsgd:8", "qsgd:4", "qsgd:2"]
    for row in rows:
        assert "refused" not in row, row
        assert ROW <= row.keys() and row["checked"] and row["repetitions"] == 2
        assert row["ranks"] == ranks and row["nnz"] == 156 and row["bytes"] == 80000
        assert row["median_us"] > 0


@pytest.mark.parametrize("algorithm", ["ssar_recursive_double", "ssar_split_allgather",
                                       "dsar_split_allgather", "sparse_ring", PACKED[1]])
@pytest.mark.parametrize("support", ["uniform", "zipf", "identical", "disjoint"])
def test_what_is_sent_is_what_the_closed_form_counts(algorithm, support):
    found = results_of("-np", 3, "--transport", "tcp", "--algorithm", algorithm, "--support", support,
                       "--dense", "none")
    (row,) = found["results"]
    assert row["data_bytes"] == pytest.approx(row["counted_bytes"], abs=64)


def test_sizes_types_densities_and_supports_are_multiplied():
    found = results_of("-np", 2, "--density", "0.01,0.1", "--support", "identical,disjoint",
                       "--dtype", "fp32,bf16", "--algorithm", "auto", "--dense", "ring")
    sparse = [row for row in found["results"] if row["collective"] == "sparse_allreduce"]
    assert len(sparse) == 8
    for row in sparse:
        times = 1 if row["support"] == "identical" else 2
        assert row["nnz_out"] == times * row["nnz"]
        assert row["fill_in"] == pytest.approx(row["expected_fill_in"])


def test_the_ranks_of_a_launcher_are_used(tmp_path):
    picture = tmp_path / "sparse.svg"
    done = run("run", "-np", 2, "--no-prefix", UNISONO, "bench", "sparse", *SHORT, "--algorithm",
               "sparse_ring", "--density", "0.01,0.1", "--plot", picture)
    assert done.returncode == 0, done.stderr
    assert "2 ranks on 1 host" in done.stdout and done.stdout.count("\nsparse_ring") == 2
    texts = [each.text for each in tree.parse(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert "sparse_ring" in texts
    done = run("run", "-np", 2, UNISONO, "bench", "sparse", *SHORT, "-np", 3)
    assert done.returncode != 0 and "leave -np out" in done.stderr + done.stdout


@pytest.mark.parametrize("words, reason", [
    (("--density", "0"), "--density 0"),
    (("--support", "zip"), "did you mean zipf?"),
    (("--algorithm", "sparse_rng"), "did you mean sparse_ring?"),
    (("-np", "3", "--support", "disjoint", "--density", "0.5"), "none in common"),
    (("--bytes", "-1"), "--bytes -1"),
    (("--set", "dead_s=0"), "dead_s"),
])
def test_what_cannot_be_is_refused_before_anything_starts(words, reason):
    done = run("bench", "sparse", *words)
    assert done.returncode == 2 and reason in done.stderr
    assert not done.stdout


def test_a_file_that_cannot_be_written_is_an_error():
    done = run("bench", "sparse", *SHORT, "--algorithm", "auto", "--json", "/nowhere/x.json")
    assert done.returncode == 1 and "cannot write /nowhere/x.json" in done.stderr

# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""unisono bench: exit codes, the JSON that scripts rely on, checked results, the plot.

UNISONO_BIN names the command under test. No time is asserted and no peer is needed.
"""
import json
import os
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as tree
from pathlib import Path

import pytest

UNISONO = os.environ.get("UNISONO_BIN") or shutil.which("unisono")
pytestmark = pytest.mark.skipif(not UNISONO, reason="no unisono command; set UNISONO_BIN")

ROW = {"impl", "algorithm", "transport", "collective", "dtype", "ranks", "bytes", "median_us",
       "p10_us", "p90_us", "repetitions", "checked"}


def bench(*arguments, timeout=600, **more):
    return subprocess.run([UNISONO, "bench", *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, **more)


def rows_of(*arguments):
    done = bench(*arguments, "--repetitions", 1, "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["results"]


@pytest.mark.parametrize("collective",
                         ["allreduce", "allgather", "broadcast", "reducescatter", "alltoall"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_every_collective_is_measured_and_checked(collective, ranks):
    rows = rows_of(collective, "-np", ranks, "--bytes", "24,96K")
    assert [row["bytes"] for row in rows] == [24, 96 << 10]
    for row in rows:
        assert ROW <= row.keys()
        assert row["impl"] == "unisono" and row["collective"] == collective
        assert row["ranks"] == ranks and row["dtype"] == "fp32" and row["checked"] is True
        assert 0 < row["p10_us"] <= row["median_us"] <= row["p90_us"]


def test_every_dtype_gives_exact_sums():
    rows = rows_of("allreduce", "-np", 2, "--bytes", "9000", "--dtype", "all")
    assert len({row["dtype"] for row in rows}) == 15
    assert all(row["checked"] for row in rows)


def test_arena_persistent_and_limit_have_rows_of_their_own():
    rows = rows_of("allreduce", "-np", 2, "--bytes", "8,256K", "--arena", "--persistent", "--limit")
    names = [row["impl"] for row in rows]
    assert names == ["unisono", "unisono-arena", "unisono-persistent", "limit"] * 2
    assert all(row["checked"] for row in rows)
    assert all(row["percent_of_limit"] > 0 for row in rows if row["impl"] != "limit")
    assert all(row["gb_per_s"] > 0 for row in rows if row["impl"] == "limit")


def test_all_algorithms_over_tcp():
    rows = rows_of("allreduce", "-np", 3, "--bytes", "64K", "--transport", "tcp", "--algorithm",
                   "all")
    assert {row["algorithm"] for row in rows} == {
        "auto", "ring", "recursive_doubling", "direct", "halving_doubling", "tree", "double_tree",
        "rings", "hierarchical"}
    assert all(row["checked"] and row["transport"] == "tcp" for row in rows)


@pytest.mark.parametrize(("collective", "known"), [
    ("allgather", {"direct", "ring"}), ("broadcast", {"tree"}),
    ("reducescatter", {"direct", "halving", "ring"}), ("alltoall", {"pairwise"})])
def test_algorithms_of_other_collectives(collective, known):
    arguments = (collective, "-np", 3, "--bytes", "64K", "--transport", "tcp", "--algorithm", "all")
    rows = rows_of(*arguments)
    assert {row["algorithm"] for row in rows} == known | {"auto", "hierarchical"}
    assert all(row["checked"] for row in rows)
    # From 128 KiB on few runs decide, which a busy machine has time for, too.
    told = bench(collective, "-np", 3, "--bytes", "256K", "--transport", "tcp", "--repetitions", 1,
                 "--explain").stdout
    line = next(line for line in told.splitlines() if f"  {collective}, set 0, " in line)
    assert any(f": {name};" in line for name in known), line


def test_explain_says_what_was_tried_and_chosen():
    arguments = ("allreduce", "-np", 3, "--bytes", "64,256K", "--transport", "tcp",
                 "--repetitions", 1, "--explain")
    done = bench(*arguments)
    assert done.returncode == 0, done.stderr
    text = done.stdout.split("\n\nunisono\n")[1]
    assert "loopback: " in text and "reducing: " in text
    for size in ("64 B up to 128 B", "256 KiB up to 512 KiB"):
        line = next(line for line in text.splitlines() if size in line)
        assert line.endswith("."), line
    assert text.count(" µs predicted, ") >= 2 and "the best of 3 runs" in text
    pinned = bench(*arguments, "--algorithm", "ring", "--json", "-")
    assert "ring; pinned by algorithm=ring." in json.loads(pinned.stdout)["explanations"][
        "unisono:ring"]
    alone = bench("allreduce", "-np", 2, "--bytes", 64, "--repetitions", 1, "--explain")
    assert "ranks that share memory need none" in alone.stdout


def test_json_names_machine_command_and_versions():
    done = bench("allreduce", "-np", 1, "--bytes", 64, "--repetitions", 1, "--json", "-")
    document = json.loads(done.stdout)
    assert list(document) == ["machine", "command", "results"]
    assert {"cpu", "cores", "memory_gib", "kernel", "versions"} <= document["machine"].keys()
    assert "unisono" in document["machine"]["versions"]
    assert document["command"].startswith("unisono bench allreduce -np 1 --bytes 64")


def test_table_json_file_and_plot_together(tmp_path):
    picture, file = tmp_path / "plot.svg", tmp_path / "out.json"
    done = bench("allreduce", "-np", 2, "--bytes", "8,4K", "--repetitions", 1, "--plot", picture,
                 "--json", file)
    assert done.returncode == 0, done.stderr
    assert "unisono" in done.stdout and "4 KiB" in done.stdout
    assert len(json.loads(file.read_text())["results"]) == 2
    root = tree.parse(picture).getroot()
    assert root.tag.endswith("svg")
    assert len([node for node in root.iter() if node.tag.endswith("polyline")]) == 1


def test_missing_peer_is_named_and_is_no_error(tmp_path):
    done = bench("allreduce", "-np", 1, "--bytes", 8, "--repetitions", 1, "--peers",
                 "openmpi,gloo", "--peer-python", f"openmpi={tmp_path}/none", "--peer-python",
                 f"gloo={tmp_path}/none")
    assert done.returncode == 0
    assert "openmpi is not measured" in done.stderr and "gloo is not measured" in done.stderr


@pytest.mark.parametrize("arguments", [
    [], ["allredcue"], ["allreduce", "--bytes", "8x"], ["allreduce", "--bytes", "0"],
    ["allreduce", "--bytes", "-5"], ["allreduce", "--dtype", "fp31"], ["allreduce", "-np", "0"],
    ["allreduce", "-np", "two"], ["allreduce", "--algorithm", "magic"],
    ["broadcast", "--algorithm", "ring"], ["allreduce", "--transport", "pigeon"],
    ["allreduce", "--peers", "nobody"], ["allreduce", "--peer-python", "openmpi"],
    ["allreduce", "--plot", "x.gif"], ["alltoall", "--persistent"], ["allgather", "--limit"],
    ["allreduce", "--repetitions", "0"], ["allreduce", "--no-such-option"],
    ["allreduce", "-np", "20", "--dtype", "float8_e5m2"]])
def test_wrong_usage_exits_2_with_a_message(arguments):
    done = bench(*arguments, timeout=300)
    assert done.returncode == 2, done.stderr
    assert done.stderr.strip() and not done.stdout.strip()


def test_png_without_converter_exits_3(tmp_path):
    done = bench("allreduce", "-np", 1, "--bytes", 8, "--plot", tmp_path / "a.png",
                 env={**os.environ, "PATH": str(tmp_path)})
    assert done.returncode == 3 and "rsvg-convert" in done.stderr


def test_help_and_list():
    done = bench("--help")
    assert done.returncode == 0 and "Examples:" in done.stdout
    done = bench("--list")
    assert done.returncode == 0
    for word in ("recursive_doubling", "reducescatter", "bf16", "horovod"):
        assert word in done.stdout


def test_interrupt_ends_all_workers():
    with subprocess.Popen([UNISONO, "bench", "allreduce", "-np", "2", "--bytes", "1M",
                           "--min-time", "60"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        time.sleep(2)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=300) == 130
    assert children
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)

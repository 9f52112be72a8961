# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The torch.distributed backend: each test is one check of a job that runs once."""

import os
import secrets
import socket
import sys
import threading

import pytest

import checked
import ranks
import unisono

torch = pytest.importorskip("torch")
CALLS, MESSAGES, LIFETIMES = ("process_group_checks.py", "process_group_messages.py",
                              "process_group_lifetimes.py")
MESHES = "device_mesh_checks.py"
REDUCTIONS, SEEN, DETAIL = ("process_group_reductions.py", "process_group_seen.py",
                            "process_group_detail.py")
# Without the flight recorder nobody looks on, and sums take the short way to the engine.
RECORDERS = {"recorded": "2000", "unrecorded": "0"}
BACKENDS = {"alone": "unisono", "beside_another": "cpu:unisono,cuda:gloo"}


def store_file(tmp_path_factory):
    """A new one for each start of a job."""
    return lambda: str(tmp_path_factory.mktemp("store") / "file")


def needs_python_backends():
    from unisono.torch.backend.process_group import _HAS_PYTHON_BACKENDS
    if not _HAS_PYTHON_BACKENDS:
        pytest.skip("this torch has no Backends in Python")


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    return checked.Job(CALLS, 3, store_file(tmp_path_factory))


@pytest.fixture(scope="module")
def meshes(tmp_path_factory):
    return checked.Job(MESHES, 4, store_file(tmp_path_factory))


@pytest.mark.parametrize("name", checked.names(CALLS))
def test_call(calls, name):
    calls.confirm(name)


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    return checked.Job(MESSAGES, 3, store_file(tmp_path_factory))


@pytest.mark.parametrize("name", checked.names(MESSAGES))
def test_message(messages, name):
    messages.confirm(name)


@pytest.fixture(scope="module")
def lifetimes(tmp_path_factory):
    return checked.Job(LIFETIMES, 3, store_file(tmp_path_factory))


@pytest.mark.parametrize("name", checked.names(LIFETIMES))
def test_lifetime(lifetimes, name):
    lifetimes.confirm(name)


@pytest.mark.parametrize("job", ["calls", "messages", "lifetimes"])
def test_ends_quietly_with_groups_that_were_not_destroyed(job, request):
    output = request.getfixturevalue(job).output
    assert "leaked" not in output and "Fatal" not in output


@pytest.mark.parametrize("name", checked.names(MESHES))
def test_on_four_ranks(meshes, name):
    meshes.confirm(name)


@pytest.fixture(scope="module", params=RECORDERS)
def reductions(request, tmp_path_factory):
    return checked.Job(REDUCTIONS, 3, store_file(tmp_path_factory),
                       TORCH_FR_BUFFER_SIZE=RECORDERS[request.param])


@pytest.mark.parametrize("name", checked.names(REDUCTIONS))
def test_reduction(reductions, name):
    reductions.confirm(name)


@pytest.fixture(scope="module", params=BACKENDS)
def seen(request, tmp_path_factory):
    if request.param != "alone":
        needs_python_backends()
    return checked.Job(SEEN, 2, store_file(tmp_path_factory),
                       BACKENDS[request.param])


@pytest.mark.parametrize("name", checked.names(SEEN))
def test_torch_sees(seen, name):
    seen.confirm(name)


@pytest.fixture(scope="module", params=BACKENDS)
def detailed(request, tmp_path_factory):
    needs_python_backends()
    return checked.Job(DETAIL, 2, store_file(tmp_path_factory),
                       BACKENDS[request.param], TORCH_DISTRIBUTED_DEBUG="DETAIL",
                       TORCH_DIST_NAN_CHECK="1")


@pytest.mark.parametrize("name", checked.names(DETAIL))
def test_torch_checks(detailed, name):
    detailed.confirm(name)


def test_torch_finds_the_backend_by_itself(tmp_path):
    """The entry point of an installed unisono; torch calls it from 2.5 on."""
    if not hasattr(torch, "_import_device_backends"):
        pytest.skip("this torch has no entry points for backends")
    about = tmp_path / "pretended-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pretended\nVersion: 0\n")
    (about / "entry_points.txt").write_text(
        "[torch.backends]\nunisono = unisono_autoload:autoload\n")
    script = tmp_path / "script.py"
    script.write_text("""
import sys
import torch
import torch.distributed as dist
assert "unisono" not in sys.modules
dist.init_process_group("unisono", store=dist.HashStore(), rank=0, world_size=1)
dist.all_reduce(torch.ones(3))
import unisono
assert unisono.size() == 1
print("found")
""")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    output = ranks.run_line([sys.executable, str(script)], environment={"PYTHONPATH": path})
    assert "found" in output


def test_two_jobs_in_one_process_need_no_environment():
    """What the groups stand on: an engine that is told who it is by its caller."""
    key_fd = os.memfd_create("key")
    os.write(key_fd, secrets.token_bytes(32))
    door = socket.create_server(("127.0.0.1", 0))
    sums = [None, None]

    def rank_main(rank):
        told = {"UNISONO_RANK": str(rank), "UNISONO_SIZE": "2", "UNISONO_KEY_FD": str(key_fd),
                "UNISONO_ADDRESS": f"127.0.0.1:{door.getsockname()[1]}",
                "UNISONO_LISTEN_FD": str(door.fileno())}
        with unisono.Engine(environment=told) as engine:
            sums[rank] = float(engine.allreduce(float(rank + 1), op=unisono.Sum, name="x"))

    threads = [threading.Thread(target=rank_main, args=(rank,), daemon=True) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    door.close()
    os.close(key_fd)
    assert sums == [3.0, 3.0]

# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What type checkers see of the installed package: its own code, its users' code, the extension."""

import ast
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import unisono

pytest.importorskip("mypy", reason="mypy is not installed")
HAS_TORCH = importlib.util.find_spec("torch") is not None
HOME = pathlib.Path(unisono.__file__).parent

# What nanobind's types do and Python's do not, by the name that stubtest reports.
ALLOWED = r"""
# Every class has nanobind's metaclass and a layout of its own in memory.
unisono\._core\.(Engine|Identity|Options|Settings|SparseResult|SparseSettings|ThreadWorld|Ticket)
# Classes that are made by the engine only inherit an __init__ that takes anything and refuses it.
unisono\._core\.(Engine|Identity|SparseResult|Ticket)\.__init__
# Free and static functions are objects of nanobind's, not of Python's function type.
unisono\._core\.(canonical_codec|redistribute_codec_states)
unisono\._core\.(published_addresses|split_groups|Engine\.join|Options\.from_environment|Options\.keys)
unisono\._core\.(sparse_result|submit_sparse)
# How nanobind finds the C++ type of an enumeration.
unisono\._core\.(Collective|ReduceOp)\.__nb_enum__
"""

# What --strict asks for, for the package's own code; imported packages stay as they are. Two rules
# are left out. A call takes and returns the caller's kind of array, which only Any can say, so
# functions that declare a torch.Tensor return Any. And the optimizer's mixin stands before a class
# that is not known until it is made, for which it subclasses Any.
OWN_RULES = """
[mypy-unisono.*]
disallow_untyped_calls = True
disallow_untyped_defs = True
disallow_incomplete_defs = True
check_untyped_defs = True
disallow_untyped_decorators = True
disallow_any_generics = True
warn_unreachable = True
strict_equality = True
extra_checks = True
"""

STRICT = "# mypy: disallow-untyped-calls, disallow-untyped-decorators, disallow-any-generics"
USES_UNISONO = """
import numpy as np
import unisono
from unisono import Handle, ProcessSet

unisono.init(fusion_bytes=1 << 20)
rank: int = unisono.rank()
total = unisono.allreduce(np.ones(4), name="total", op=unisono.Sum, priority=rank)
handle: Handle = unisono.allreduce_async_(total, prescale_factor=0.5, codec="fp16")
print(unisono.poll(handle), unisono.synchronize(handle, timeout=1.0))
several: list[object] = unisono.grouped_allreduce([total, total], num_groups=2)
part: ProcessSet = unisono.add_process_set([0, 1])
unisono.broadcast_(total, root_rank=0, process_set=part)
arena: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]" = unisono.arena_empty((2, 3))
unisono.barrier()
try:
    last: int = unisono.join()
except unisono.PeerLost as error:
    print(error.rank, error.retryable)
with unisono.Engine(world=unisono.ThreadWorld(1), rank=0) as engine:
    print(engine.stats()["operations"], engine.alltoall(np.ones(1), [1]))
unisono.shutdown()
"""

USES_TORCH = """
import torch
import torch.distributed as dist
import unisono.torch as hvd

hvd.init(process_sets=[hvd.ProcessSet(0)])
model = torch.nn.Sequential(torch.nn.Linear(4, 4), hvd.SyncBatchNorm(4))
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01 * hvd.size())
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(),
                                     compression=hvd.Compression.fp16, op=hvd.Adasum)
model(torch.ones(2, 4)).sum().backward()
optimizer.step()
optimizer.zero_grad()
other = hvd.DistributedOptimizer(torch.optim.Adam(model.parameters()), lag=1)
other.synchronize()
with other.skip_synchronize():
    other.step()
print(other.gradients_in_arena.reason, other.param_groups)
mean: torch.Tensor = hvd.allreduce(torch.ones(3), average=True, name="mean")
handle: hvd.Handle = hvd.allreduce_async_(mean, op=hvd.Sum, process_set=hvd.global_process_set)
print(hvd.poll(handle), hvd.synchronize(handle), hvd.allgather_object({"rank": hvd.rank()}))
hvd.check_consistent(model)
slow = hvd.outer.OuterOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), steps=None,
                                update=hvd.outer.Averaging(), exchange=hvd.outer.TopK(k=8))
with slow.no_sync():
    slow.step()
done: bool = slow.synchronize()
slow.join()
print(slow.stats()["sent_bytes"], slow.param_groups, slow.state_dict())
state = hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0)
sampler = hvd.elastic.ElasticSampler([1, 2, 3], shuffle=False)

@hvd.elastic.run
def train(state: hvd.elastic.TorchState) -> None:
    state.commit()

train(state)
dist.init_process_group("unisono")
ddp = torch.nn.parallel.DistributedDataParallel(model)
ddp.register_comm_hook(hvd.HookState(codec="bf16"), hvd.ddp_hook)
hvd.shutdown()
"""

WRONG = {
    "unisono": [("unisono.allreduce(1.0, nmae='x')", "nmae"),
                ("unisono.allreduce(1.0, name=3)", "name"),
                ("unisono.rank(1)", "Too many arguments"),
                ("unisono.broadcast(1.0, root_rank='0')", "root_rank"),
                ("unisono.alreduce(1.0)", "alreduce"),
                ("unisono.synchronize(1.0)", "Handle")],
    "unisono.torch": [("unisono.torch.allreduce([1.0])", "Tensor"),
                      ("unisono.torch.DistributedOptimizer(3)", "Optimizer"),
                      ("unisono.torch.outer.OuterOptimizer(3)", "Optimizer"),
                      ("unisono.torch.size('x')", "Too many arguments")],
}


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A folder from which only what is installed is found; its cache serves all tests here."""
    folder = tmp_path_factory.mktemp("typing")
    # By module and not by flag, so that one cache serves all.
    (folder / "mypy.ini").write_text("[mypy]\n" + OWN_RULES)
    return folder


def run(elsewhere, module, *arguments):
    environment = {**os.environ, "MYPY_CACHE_DIR": str(elsewhere / "cache")}
    return subprocess.run([sys.executable, "-m", module, *arguments], cwd=elsewhere, text=True,
                          env=environment, capture_output=True, timeout=900)


def mypy(elsewhere, *arguments):
    # One set of flags, so that one cache serves all. Users who are strict see only what modules
    # say that they export.
    return run(elsewhere, "mypy", "--no-implicit-reexport", *arguments)


def checked(elsewhere, code):
    (elsewhere / "program.py").write_text(STRICT + code)
    return mypy(elsewhere, "program.py")


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
def test_the_package_itself(elsewhere):
    done = mypy(elsewhere, "-p", "unisono")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("code", [
    pytest.param(USES_UNISONO, id="unisono"),
    pytest.param(USES_TORCH, id="unisono.torch", marks=pytest.mark.skipif(
        not HAS_TORCH, reason="torch is not installed"))])
def test_a_program_that_is_right(elsewhere, code):
    done = checked(elsewhere, code)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", ["unisono", "unisono.torch"])
def test_a_program_that_is_wrong(elsewhere, module):
    if module == "unisono.torch" and not HAS_TORCH:
        pytest.skip("torch is not installed")
    lines = [f"import {module}", *(line for line, _ in WRONG[module])]
    said = checked(elsewhere, "\n" + "\n".join(lines)).stdout
    for number, (line, word) in enumerate(WRONG[module], 3):
        complaints = [each for each in said.splitlines()
                      if each.startswith(f"program.py:{number}: error:")]
        assert any(word in each for each in complaints), f"{line} went through:\n{said}"


def test_the_stub_tells_what_the_extension_has(elsewhere):
    allowed = elsewhere / "allowed"
    allowed.write_text(ALLOWED)
    # Which of these are reported depends on the versions of mypy and nanobind.
    done = run(elsewhere, "mypy.stubtest", "unisono._core", "--allowlist", str(allowed),
                "--ignore-unused-allowlist")
    assert done.returncode == 0, done.stdout + done.stderr


def extension_functions():
    """Each function of the stub, and the C++ function of that name in the extension."""
    tree = ast.parse((HOME / "_core.pyi").read_text())
    parts = [(unisono._core, tree)] + [(getattr(unisono._core, node.name), node)
                                       for node in tree.body if isinstance(node, ast.ClassDef)]
    for owner, part in parts:
        for stub in part.body:
            bound = vars(owner).get(stub.name) if isinstance(stub, ast.FunctionDef) else None
            if hasattr(bound, "__nb_signature__"):
                yield pytest.param(stub, bound, id=f"{owner.__name__}.{stub.name}")


@pytest.mark.parametrize("stub, bound", list(extension_functions()))
def test_the_stub_has_the_extensions_arguments(stub, bound):
    """stubtest does not look into functions made by nanobind."""
    (signature, *_), = bound.__nb_signature__
    # A default is written as a backslash and its number, and arrays in a language of their own.
    text = signature.replace("\\", "").partition(" ->")[0]
    real = ast.parse(f"{text}: ...").body[0].args
    said = stub.args
    assert len(said.posonlyargs) == len(real.posonlyargs)
    assert [each.arg for each in said.args] == [each.arg for each in real.args]
    assert len(said.defaults) == len(real.defaults)

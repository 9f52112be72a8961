# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Outer steps: rules, schedules and packets by themselves, and training on two to four ranks."""

import copy
import inspect
import itertools
import pathlib
import pickle
import re
import sys

import pytest

import checked
import ranks

torch = pytest.importorskip("torch", reason="torch is not installed")
np = pytest.importorskip("numpy", reason="numpy is not installed")

import unisono  # noqa: E402
from unisono.torch import outer  # noqa: E402
from unisono.torch.outer import packing  # noqa: E402
from unisono.torch.outer.fragments import Schedule, split_fragments  # noqa: E402

SCRIPTS = ["torch_outer.py", "torch_outer_control.py"]
NAMES = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def jobs():
    return {(script, size): checked.Job(script, size) for script in SCRIPTS for size in (2, 3, 4)}


@pytest.mark.parametrize("script, size, name", [
    (script, size, name) for script in SCRIPTS for size in (2, 3, 4)
    for name in checked.names(script)])
def test_on_ranks(jobs, script, size, name):
    jobs[script, size].confirm(name)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_job_ends_well(jobs, script):
    for size in (2, 3, 4):
        jobs[script, size].confirm_good_end()


def net():
    return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))


def made(**arguments):
    trained = net()
    return outer.OuterOptimizer(torch.optim.SGD(trained.parameters(), lr=0.1),
                                trained.named_parameters(), **arguments)


@pytest.mark.parametrize("arguments, text", [
    (dict(steps=0), "steps is 0; give a whole number, 1 or more"),
    (dict(steps=2.5), "steps is 2.5"),
    (dict(delay=-1), "delay is -1"),
    (dict(steps=4, delay=4), "delay is 4.*exchanged again after 4"),
    (dict(steps=None, delay=1), "with steps=None"),
    (dict(fragments=0), "fragments is 0"),
    (dict(fragments=5), "fragments is 5, and there are 4 parameters"),
    (dict(fragments=4, steps=3), "4 fragments and only 3 steps"),
    (dict(fragments=["0.weight"]), "lists of names"),
    (dict(fragments=[["0.weight", "x"]]), "'x', which is no parameter"),
    (dict(fragments=[["0.weight"], ["0.weight"]]), "in a fragment already"),
    (dict(fragments=[["0.weight", "0.bias"]]), "leave out 1.weight, 1.bias"),
    (dict(fragments=[["0.weight", "0.bias", "1.weight", "1.bias"], []]), "is empty"),
    (dict(mix=1.0), "mix is 1.0"),
    (dict(compression="fp16", exchange=outer.TopK()), "compression or exchange, not both"),
    (dict(compression=object()), "compress"),
    (dict(compression="fp17"), "fp17"),
    (dict(compression="ef|topk:512:4"), "ef|topk:512:4.*outer.TopK"),
    (dict(compression="qsgd:8"), "qsgd:8.*no cast"),
    (dict(compression={"*.bias": "none", "*": "ef|powersgd:2"}), "powersgd:2.*outer.TopK"),
    (dict(compression="*=fp17"), "fp17"),
])
def test_arguments_are_checked_before_init(arguments, text):
    assert not unisono.is_initialized()
    with pytest.raises(ValueError, match=text):
        made(**arguments)


@pytest.mark.parametrize("call, text", [
    (lambda: outer.TopK(chunk=1), "chunk is 1"),
    (lambda: outer.TopK(chunk=1 << 17), "chunk is 131072"),
    (lambda: outer.TopK(chunk=8, k=9), "k is 9; give 1 to 8"),
    (lambda: outer.TopK(bits=3), "bits is 3"),
    (lambda: outer.TopK(decay=1.5), "decay is 1.5"),
    (lambda: outer.Nesterov(lr=0), "lr is 0"),
    (lambda: outer.Nesterov(momentum=1.0), "momentum is 1.0"),
    (lambda: outer.Averaging(lr=float("nan")), "lr is nan"),
    (lambda: outer.BlockMomentum(momentum=-0.1), "momentum is -0.1"),
])
def test_settings_are_checked(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_making_one_needs_init():
    with pytest.raises(unisono.NotInitialized):
        made()


def test_what_it_refuses(alone):
    optimizer = made()
    with pytest.raises(ValueError, match="takes the local steps"):
        outer.OuterOptimizer(optimizer)
    with pytest.raises(ValueError, match="takes the local steps"):
        outer.OuterOptimizer(net().parameters())
    with pytest.raises(ValueError, match="add the group to the inner"):
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(1))]})
    with pytest.raises(TypeError, match="state_dict"):
        pickle.dumps(optimizer)
    with pytest.raises(TypeError, match="state_dict"):
        copy.deepcopy(optimizer)
    whole = torch.nn.Parameter(torch.zeros(2, dtype=torch.complex64))
    with pytest.raises(ValueError, match="floating-point"):
        outer.OuterOptimizer(torch.optim.SGD([whole], lr=0.1))


def test_a_parameter_that_is_unfrozen_later_is_named(alone):
    trained = net()
    trained[1].bias.requires_grad_(False)
    optimizer = outer.OuterOptimizer(torch.optim.SGD(trained.parameters(), lr=0.1),
                                     trained.named_parameters(), steps=1)
    assert "1.bias" not in optimizer.state_dict()["outer"]["parameters"]
    optimizer.step()
    trained[1].bias.requires_grad_(True)
    with pytest.raises(ValueError, match="1.bias was frozen"):
        optimizer.step()


def test_alone_it_steps_as_the_inner_one(alone):
    optimizer = made(steps=2, update=outer.Averaging())
    p = optimizer.param_groups[0]["params"][0]
    before = p.detach().clone()
    for _ in range(4):
        optimizer.zero_grad()
        p.sum().backward()
        optimizer.step()
    torch.testing.assert_close(p.detach(), before - 0.4)
    assert optimizer.stats()["outer_steps"] == 2
    assert optimizer.step(lambda: torch.tensor(3.0)).item() == 3.0
    assert "steps=2" in repr(optimizer) and "Averaging" in repr(optimizer)


def test_fragments_of_about_equal_size():
    assert split_fragments(NAMES, [8, 1, 1, 8], 2) == [[0, 1], [2, 3]]
    assert split_fragments(NAMES, [1, 1, 1, 1], 4) == [[0], [1], [2], [3]]
    assert split_fragments(NAMES, [1, 1, 1, 1], [["d", "a"], ["c", "b"]]) == [[3, 0], [2, 1]]


@pytest.mark.parametrize("steps, fragments", [(1, 1), (5, 1), (5, 2), (5, 5), (30, 7)])
def test_every_fragment_is_due_once_in_a_round(steps, fragments):
    schedule = Schedule(steps, fragments, 0)
    for start in range(0, 3 * steps):
        seen = [number for step in range(start + 1, start + 1 + steps)
                for number in schedule.due_at(step)]
        assert sorted(seen) == list(range(fragments))
    assert max(len(schedule.due_at(step)) for step in range(1, steps + 1)) == 1
    assert fragments - 1 in schedule.due_at(steps)


def test_nesterov_is_that_of_torch():
    torch.manual_seed(0)
    anchor, state = torch.randn(7), {"velocity": torch.zeros(7)}
    parameter = torch.nn.Parameter(anchor.clone())
    sgd = torch.optim.SGD([parameter], lr=0.7, momentum=0.9, nesterov=True)
    for _ in range(5):
        parameter.grad = torch.randn(7)
        sgd.step()
        outer.Nesterov(0.7, 0.9).apply(anchor, parameter.grad, state, 4)
        torch.testing.assert_close(anchor, parameter.detach(), rtol=1e-6, atol=1e-7)


def test_block_momentum_by_its_definition():
    """A round starts at W, or at W + momentum * change; G is the average end minus that start."""
    for nesterov in (False, True):
        rule = outer.BlockMomentum(lr=0.9, nesterov=nesterov)
        torch.manual_seed(0)
        start, state = torch.randn(5).double(), {"change": torch.zeros(5).double()}
        model, change, momentum = start.clone(), torch.zeros(5).double(), 1 - 1 / 4
        for _ in range(5):
            moved = torch.randn(5).double()
            change = momentum * change + 0.9 * moved
            model = model + change
            rule.apply(start, -moved, state, 4)
            torch.testing.assert_close(start, model + momentum * change if nesterov else model)


@pytest.mark.parametrize("bits", [1, 2, 7, 12, 16])
@pytest.mark.parametrize("count", [0, 1, 3, 64, 129])
def test_packed_numbers_come_back(bits, count):
    numbers = np.random.default_rng(0).integers(0, 1 << bits, count)
    data = packing.pack(numbers, bits)
    assert data.dtype == np.uint8 and data.nbytes == packing.packed_bytes(count, bits)
    assert np.array_equal(packing.unpack(data, count, bits), numbers)


def test_two_bits_keep_signs_and_two_magnitudes():
    values = torch.tensor([[4.0, -6.0, 1.0, -1.0], [2.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    codes, magnitudes = packing.quantised(values)
    assert codes.max() <= 3
    assert packing.restored(codes, magnitudes).tolist() == [
        [5.0, -5.0, 1.0, -1.0], [2.0] * 4, [0.0] * 4]


DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "OUTER.md").read_text()
ROWS = re.findall(r"^\| `([\w.]+)(?:\((.*?)\))?` \|", PAGE, re.MULTILINE)


def test_page_and_package_name_the_same():
    named = {name for name, _ in ROWS if not name.startswith("optimizer.")}
    assert named == set(outer.__all__)
    methods = {name for name in vars(outer.OuterOptimizer) if name[0] != "_"}
    assert {name[len("optimizer."):] for name, _ in ROWS if name not in named} == methods


@pytest.mark.parametrize("name, text", [(name, text) for name, text in ROWS if text])
def test_arguments_are_as_documented(name, text):
    owner = outer.OuterOptimizer if name.startswith("optimizer.") else outer
    parameters = inspect.signature(getattr(owner, name.split(".")[-1])).parameters.values()
    real = [f"{each.name}={'' if each.default is each.empty else each.default}"
            for each in parameters if each.name != "self" and each.kind is not each.VAR_POSITIONAL]
    plain = [each.strip() for each in text.split(",") if not each.strip().startswith("*a")]
    said = [each.lstrip("*").replace("'", "") for each in plain if each.strip("* ")]
    for one, other in itertools.zip_longest(said, real, fillvalue=""):
        assert one.partition("=")[0] == other.partition("=")[0]
        if "global" not in one and "Compression" not in one:
            assert one.partition("=")[2] == other.partition("=")[2], (one, other)


def test_examples_of_the_page_run(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks))
    ranks.run_line([sys.executable, str(script)], environment={"OMP_NUM_THREADS": "1"})

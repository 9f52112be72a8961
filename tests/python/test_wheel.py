# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The installed package stands alone: it needs nothing that a bare machine lacks."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import ranks
import unisono

SYSTEM = re.compile(r"linux-vdso|ld-linux|libc\.|libm\.|libstdc\+\+|libgcc_s|libpthread|libdl|librt")
HOME = pathlib.Path(unisono.__file__).parent
ROOT = pathlib.Path(__file__).resolve().parents[2]


def outside(path):
    """Shared libraries that path needs and that are neither the system's nor the wheel's."""
    if shutil.which("ldd") is None:
        pytest.skip("ldd was not found")
    lines = subprocess.run(["ldd", str(path)], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return [line.strip() for line in lines if not SYSTEM.search(line) and str(HOME) not in line]


def test_extension_and_its_libraries_find_each_other():
    libraries = [*HOME.glob("*.so"), *HOME.glob("*.so.*")]
    assert any(path.name.startswith("_core") for path in libraries)
    if not any(path.name.startswith("libunisono") for path in libraries):
        pytest.skip("unisono is not installed from a wheel here")
    for path in libraries:
        assert outside(path) == []


def test_command_finds_its_libraries():
    command = pathlib.Path(ranks.command()).resolve()
    if not (HOME / "libunisono.so").exists() or HOME.parents[3] not in command.parents:
        pytest.skip("the unisono command does not come from the wheel here")
    lines = [line for line in outside(command) if "site-packages/unisono" not in line]
    assert lines == []


def wheel() -> pathlib.Path:
    """The wheel that scripts/build made."""
    found = sorted((ROOT / "dist").glob("unisono-*.whl"))
    if not found:
        pytest.skip("no wheel in dist: run make build")
    return found[-1]


def test_auditwheel_finds_nothing_from_outside():
    pytest.importorskip("auditwheel")
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", str(wheel())],
                           capture_output=True, text=True, check=True).stdout
    shown = " ".join(shown.split())
    assert re.search(r"is consistent with the following platform tag: \"manylinux_2_\d+_", shown), shown


def test_imports_without_any_framework():
    """An import that fails is remembered as None, so nothing can bring torch in by the back door."""
    code = ("import sys; sys.modules['torch'] = None; import unisono, numpy; unisono.init(); "
            "assert unisono.allreduce(numpy.ones(3)).sum() == 3")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


@pytest.mark.long
@pytest.mark.parametrize("version", ["2.0.1", "2.15.0"])
def test_imports_and_trains_with(version, tmp_path):
    """The oldest and the newest PyTorch, each in an environment of its own."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    numpy = "numpy<2" if version.startswith("2.0") else "numpy"
    install = subprocess.run([str(python), "-m", "pip", "install", "-q", str(wheel()), numpy,
                              f"torch=={version}"], capture_output=True, text=True)
    if install.returncode != 0:
        pytest.skip(f"PyTorch {version} cannot be installed here: {install.stderr[-200:]}")
    code = """
import torch, unisono.torch as hvd
hvd.init()
model = torch.nn.Linear(4, 2)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                     named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
model(torch.full((3, 4), float(hvd.rank()))).sum().backward()
optimizer.step()
hvd.check_consistent(model.named_parameters())
torch.distributed.init_process_group("unisono", init_method="file://%s", rank=hvd.rank(),
                                     world_size=hvd.size())
x = torch.ones(5)
torch.distributed.all_reduce(x)
assert x.tolist() == [2.0] * 5
ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
ddp(torch.ones(1, 4)).sum().backward()
torch.distributed.destroy_process_group()
""" % (tmp_path / "store")
    script = tmp_path / "script.py"
    script.write_text(code)
    subprocess.run([str(python.parent / "unisono"), "run", "-np", "2", str(python), str(script)],
                   check=True, timeout=600)

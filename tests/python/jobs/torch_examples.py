# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The examples for PyTorch with few steps, one after the other on every rank.
MASTER_PORT says where those meet that use torch.distributed."""

import contextlib
import io
import os
import pathlib
import re
import runpy
import sys

import unisono.torch as hvd
from checks import check, run_all

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "torch"
hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()


def printed(script: str, *arguments: str) -> str:
    output, line = io.StringIO(), sys.argv
    sys.argv = [script, *arguments]
    try:
        with contextlib.redirect_stdout(output):
            runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    finally:
        sys.argv = line
    return output.getvalue()


def runs(script: str, *arguments: str) -> None:
    """Rank 0 tells the loss and the throughput in the last line; the others say nothing."""
    output = printed(script, *arguments)
    if RANK != 0:
        assert output == "", output
        return
    last = output.splitlines()[-1]
    assert re.match(rf"ranks: {SIZE}, .*loss \d+\.\d+, .*/s\b.*parameters are equal", last), output


def helps(script: str) -> None:
    try:
        printed(script, "--help")
    except SystemExit as end:
        assert end.code == 0
        return
    raise AssertionError(f"{script} --help went on")


def as_launched_for_torch() -> None:
    os.environ.update(RANK=str(RANK), WORLD_SIZE=str(SIZE), LOCAL_RANK=str(RANK),
                      MASTER_ADDR="127.0.0.1")


@check
def mnist() -> None:
    runs("mnist.py", "--epochs", "1", "--images", "128", "--fp16")


@check
def gpt() -> None:
    for compression in ("none", "bf16"):
        runs("gpt.py", "--steps", "3", "--warmup", "1", "--batch-size", "2", "--context", "16",
             "--width", "16", "--compression", compression)


@check
def sparse_embeddings() -> None:
    for more in ((), ("--sparse-as-dense",)):
        runs("sparse_embeddings.py", "--steps", "4", "--words", "1000", "--batch-size", "8", *more)


@check
def slow_links() -> None:
    few = ("slow_links.py", "--steps", "8", "--every", "4", "--width", "16")
    runs(*few, "--compression", "bf16", "--update", "block")
    runs(*few, "--how", "topk", "--fragments", "3", "--delay", "1")
    runs(*few, "--how", "plain")


@check
def help_texts() -> None:
    for script in ("mnist.py", "gpt.py", "sparse_embeddings.py", "slow_links.py",
                   "ddp_unmodified.py"):
        helps(script)


@check
def ddp_unmodified() -> None:
    as_launched_for_torch()
    runs("ddp_unmodified.py", "--steps", "3", "--width", "32")


@check
def lightning_unmodified() -> None:
    try:
        import lightning  # noqa: F401
    except ImportError:
        return  # the test itself is skipped then
    as_launched_for_torch()
    runs("lightning_unmodified.py", "--epochs", "1", "--rows", "128")


run_all()

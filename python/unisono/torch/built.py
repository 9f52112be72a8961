# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Horovod's questions about what it was compiled with. They work before init().

unisono brings transports of its own and is compiled against none of these, so the answers keep
scripts on the path that needs nothing special.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..exports import defined_names


def mpi_built(verbose: bool = False) -> bool:
    """False: MPI is not needed; ranks started by mpirun are recognised without it."""
    return False


def mpi_enabled() -> bool:
    """False: the ranks talk to each other directly."""
    return False


def mpi_threads_supported() -> bool:
    """False: there is no MPI whose threads could be used."""
    return False


def gloo_built(verbose: bool = False) -> bool:
    """False: unisono's own transports do what Gloo does for Horovod."""
    return False


def gloo_enabled() -> bool:
    """False; see gloo_built()."""
    return False


def nccl_built(verbose: bool = False) -> int:
    """NCCL's version number, or 0: this engine moves CPU memory."""
    return 0


def ddl_built(verbose: bool = False) -> bool:
    """False."""
    return False


def ccl_built(verbose: bool = False) -> bool:
    """False."""
    return False


def cuda_built(verbose: bool = False) -> bool:
    """False: this engine moves CPU memory."""
    return False


def rocm_built(verbose: bool = False) -> bool:
    """False: this engine moves CPU memory."""
    return False


if not TYPE_CHECKING:
    __all__ = defined_names(globals())

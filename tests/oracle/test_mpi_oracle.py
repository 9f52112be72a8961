# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Collectives against MPI's, started by mpirun, whose environment unisono reads."""

import os
import pathlib
import shutil
import sys

import pytest

import ranks

pytest.importorskip("mpi4py", reason="mpi4py is not installed: nothing to compare with")
SUITE = pathlib.Path(__file__).parent / "mpi_suite.py"


def mpirun() -> str:
    beside = pathlib.Path(sys.executable).parent
    for name in ("mpirun", "mpiexec"):
        if (beside / name).exists():
            return str(beside / name)
        if found := shutil.which(name):
            return found
    pytest.skip("mpirun was not found")


@pytest.mark.parametrize("size", [2, 3, 4])
def test_same_as_mpi(size: int) -> None:
    # Open MPI refuses root and more ranks than cores unless told; others ignore these variables.
    allow = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
             "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1",
             "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
             "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    line = [mpirun(), "-n", str(size), sys.executable, str(SUITE)]
    output = ranks.run_line(line, environment=allow)
    assert output.count("all as MPI says") == size, os.linesep + output

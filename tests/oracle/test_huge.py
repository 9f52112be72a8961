# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""More elements than 31 bits can count."""

import pathlib
import textwrap

import pytest
import ranks

NEEDED_GIB = 14
BODY = """
    import numpy as np, unisono
    unisono.init()
    count = 2**31 + 12345
    data = np.ones(count, np.int8)
    data[-1] = unisono.rank() + 3
    unisono.allreduce_(data, name="huge", op=unisono.Sum)
    assert data[0] == 2 and data[2**31] == 2 and data[-1] == 7, data[[0, 2**31, -1]]
    assert int(data[:: 2**20].sum(dtype=np.int64)) == 2 * len(data[:: 2**20])
    print("right")
"""


def available_gib():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) / 2**20
    return 0


@pytest.mark.long
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_allreduce_of_more_than_two_to_the_31_elements(transport, tmp_path):
    if available_gib() < NEEDED_GIB:
        pytest.skip(f"needs {NEEDED_GIB} GiB of free memory, there are {available_gib():.0f}")
    script = tmp_path / "huge.py"
    script.write_text(textwrap.dedent(BODY))
    output = ranks.as_processes(2, script, timeout_s=900,
                                environment={"UNISONO_TRANSPORT": transport})
    assert output.count("right") == 2

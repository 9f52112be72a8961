# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""bench/studies: the closed forms, that every script says what it does, and pictures that show what
was measured."""

import math
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUDIES = ROOT / "bench" / "studies"
PICTURES = ROOT / "docs" / "pictures"


@pytest.fixture
def forms(monkeypatch):
    monkeypatch.syspath_prepend(str(STUDIES))
    import sparse_forms
    return sparse_forms


def test_distinct_columns_are_those_of_the_sum_over_all_columns(forms):
    shape = forms.Shape(5_000, 40)
    whole = math.log(5_001)
    exact = sum(1 - math.exp(-200 * 40 * math.log(1 + 1 / k) / whole) for k in range(1, 5_001))
    assert forms.distinct(shape, 200) == pytest.approx(exact, rel=2e-3)
    halves = forms.distinct(shape, 200, 0, 2_500) + forms.distinct(shape, 200, 2_500, 5_000)
    assert halves == pytest.approx(exact, rel=2e-3)


def test_streams_take_the_shortest_form(forms):
    assert forms.stream(1 << 20, 4) == 48 + 32                    # pairs
    assert forms.stream(1 << 20, 10_000) == 48 + 64 + 60_000      # blocks
    assert forms.stream(1 << 20, 1 << 19) == 48 + (1 << 17) + (1 << 21)  # bitmap
    assert forms.stream(1 << 20, 1 << 20) == 48 + (1 << 22)       # dense


def test_slices_of_equally_many_elements_send_no_more(forms):
    url, network = forms.SHAPES["url"], forms.NETWORKS[0]
    even, balanced = (forms.split(url, 1000, 8, network, one) for one in (False, True))
    assert balanced[0] < even[0] and balanced[1] < even[1]


@pytest.mark.parametrize("script", ["convergence", "fill_in", "opt", "outer", "parse"])
def test_scripts_say_what_they_do(script):
    done = subprocess.run([sys.executable, str(STUDIES / f"{script}.py"), "--help"],
                          capture_output=True, text=True, check=True, timeout=60)
    assert "xamples:" in done.stdout


@pytest.mark.parametrize("name", ["convergence", "fill_in", "crossover", "outer"])
def test_pictures_show_the_stored_results(name, monkeypatch):
    monkeypatch.syspath_prepend(str(PICTURES))
    import studies
    assert studies.PICTURES[name]() == (PICTURES / f"{name}.svg").read_text(), \
        f"draw it again: python docs/pictures/studies.py {name}"

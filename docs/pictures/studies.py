# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Draws what the studies of sparse and low-precision exchange measured, from bench/results.

    python docs/pictures/studies.py [NAME...]     convergence, fill_in, crossover, outer
"""

from __future__ import annotations

import json
import pathlib
import sys

from chart import WIDE, LEFT, Axis, Series, panel, picture

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "bench" / "results"
NEXT = WIDE + LEFT + 30  # where the panel beside begins


RATES = {"1gbit": "1 Gbit/s, between hosts", "100mbit": "100 Mbit/s, between hosts",
         "loopback": "TCP within one host"}


def results(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())


def percents(values: list[float]) -> list[tuple[float, str]]:
    return [(value, f"{100 * value:.3g} %") for value in values]


def convergence() -> str:
    table = results("convergence_2_ranks")["table"]
    axis = Axis("elements of 512 that travel", [(k, str(k)) for k in (2, 4, 8, 16)], log=True)
    panels = []
    for task, title in (("digits", "digits, a convolutional network"),
                        ("text", "the next character, an LSTM")):
        rows = {row["codec"]: row for row in table if row["task"] == task}
        low = min(row["accuracy_from_dense"] - row["accuracy_sd"] for row in rows.values())
        ticks = [(t / 2, f"{t / 2:+g}") for t in range(int(2 * low) - 1, 4)]
        series = []
        for colour, (tail, name) in enumerate((("", "values as they are: ef|topk:512:K"),
                                               ("|qsgd:4", "in 4 bits: ef|topk:512:K|qsgd:4"))):
            some = [(k, rows[f"ef|topk:512:{k}{tail}"]) for k in (2, 4, 8, 16)]
            series.append(Series(name, [(k, row["accuracy_from_dense"]) for k, row in some],
                                 [row["accuracy_sd"] for _, row in some], colour=colour))
        dense = rows["dense"]
        series.append(Series(f"dense gradients: {dense['accuracy']:.2f} % right",
                             [(2, 0), (16, 0)], [dense["accuracy_sd"]] * 2, dots=False, colour=2))
        panels.append(panel(f"{title}", axis, Axis("points of accuracy from dense", ticks), series,
                            NEXT * len(panels)))
    return picture(panels, 3)


def fill_in() -> str:
    rows = results("fill_in")["results"]
    densities = sorted({row["density"] for row in rows})
    x_axis = Axis("of the vector, on each rank", percents(densities), log=True)
    y_axis = Axis("of the vector, in the sum", [(t / 4, f"{25 * t} %") for t in range(5)])
    panels = []
    for support in ("uniform", "zipf"):
        named, lines = [], []
        for colour, ranks in enumerate(sorted({row["ranks"] for row in rows})):
            some = [row for row in rows if (row["ranks"], row["support"]) == (ranks, support)]
            named.append(Series(f"{ranks} ranks, counted; line: expected",
                                [(r["density"], r["fill_in"]) for r in some], colour=colour,
                                line=False))
            lines.append(Series("", [(r["density"], r["expected"]) for r in some], colour=colour,
                                dots=False))
        panels.append(panel(f"indices: {support}", x_axis, y_axis, named + lines,
                            NEXT * len(panels)))
    return picture(panels, 3)


def crossover() -> str:
    rows = [row for row in results("crossover_4_hosts")["results"] if "median_us" in row]
    rates = list(dict.fromkeys(row["rate"] for row in rows))
    densities = sorted({row["density"] for row in rows if "density" in row})
    x_axis = Axis("of the vector, on each host", percents(densities), log=True)
    ticks = [(t, f"{t:g}x") for t in (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128)]
    panels = []
    for algorithm in ("ssar_split_allgather", "dsar_split_allgather"):
        series = [Series(RATES.get(rate, rate),
                         [(row["density"], row["over_dense"]) for row in rows
                          if (row["rate"], row.get("algorithm")) == (rate, algorithm)],
                         colour=colour)
                  for colour, rate in enumerate(rates)]
        panels.append(panel(algorithm, x_axis, Axis("dense ring's time over it", ticks, log=True),
                            series, NEXT * len(panels)))
    return picture(panels, len(rates))


def outer() -> str:
    found = {row["case"]: row for row in results("outer_4_hosts")["results"]}
    steps = found["outer"]["steps"]
    x_axis = Axis("steps of each rank", [(t * steps / 4, f"{t * steps / 4:g}") for t in range(5)])
    low = int(10 * found["outer"]["entropy"]) / 10
    top = 3.6
    levels = [low + t * (top - low) / 4 for t in range(5)]
    y_axis = Axis("training loss of rank 0, means of 10 steps",
                  [(level, f"{level:.2f}") for level in levels])
    series = []
    for colour, (case, name) in enumerate((("every", "gradients of every step"),
                                           ("outer", "outer steps, 512 of 4,096 in 2 bits"))):
        curve = found[case]["training_loss"]
        means = [(at + 5, sum(curve[at:at + 10]) / 10) for at in range(0, len(curve) - 9, 10)]
        series.append(Series(name, [(x, min(top, y)) for x, y in means], dots=False, colour=colour))
    least = found["outer"]["entropy"]
    series.append(Series("the least possible", [(0, least), (steps, least)], dots=False, colour=2))
    return picture([panel("four hosts, 100 Mbit/s", x_axis, y_axis, series, 0)], 3)


PICTURES = {"convergence": convergence, "fill_in": fill_in, "crossover": crossover, "outer": outer}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        (HERE / f"{name}.svg").write_text(PICTURES[name]())

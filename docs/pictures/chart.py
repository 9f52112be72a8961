# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Panels with lines and dots, as SVG, for the pictures that show measurements."""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
WIDE, HIGH, LEFT, TOP = 400, 250, 70, 46


class Series(NamedTuple):
    name: str                         # "": not in the legend, and then after the others
    points: Sequence[tuple[float, float]]
    spread: Sequence[float] = ()      # of each point, drawn up and down
    line: bool = True
    dots: bool = True
    colour: int = 0


class Axis(NamedTuple):
    name: str
    ticks: Sequence[tuple[float, str]]
    log: bool = False

    def place(self, value: float) -> float:
        """From 0 to 1 between the first tick and the last."""
        low, high, at = self.ticks[0][0], self.ticks[-1][0], value
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(value)
        return (at - low) / (high - low)


def text(x: float, y: float, words: str, more: str = "") -> str:
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>\n'


def panel(title: str, x_axis: Axis, y_axis: Axis, series: Sequence[Series], left: float) -> str:
    left += LEFT
    out = text(left, TOP - 24, title, 'font-size="15"')
    for value, name in x_axis.ticks:
        x = left + WIDE * x_axis.place(value)
        out += f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{TOP + HIGH}" stroke="#eeeeee"/>\n'
        out += text(x, TOP + HIGH + 18, name, 'text-anchor="middle"')
    for value, name in y_axis.ticks:
        y = TOP + HIGH * (1 - y_axis.place(value))
        out += (f'<line x1="{left}" y1="{y:.1f}" x2="{left + WIDE}" y2="{y:.1f}" '
                'stroke="#dddddd"/>\n')
        out += text(left - 6, y + 4, name, 'text-anchor="end"')
    out += text(left + WIDE / 2, TOP + HIGH + 38, x_axis.name,
                'text-anchor="middle" fill="#555555"')
    out += text(left, TOP - 8, y_axis.name, 'fill="#555555"')
    for place, one in enumerate(series):
        colour = COLOURS[one.colour % len(COLOURS)]
        at = [(left + WIDE * x_axis.place(x), TOP + HIGH * (1 - y_axis.place(y)))
              for x, y in one.points]
        if one.line:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
            out += f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>\n'
        for (x, y), spread in zip(at, one.spread):
            half = HIGH * abs(y_axis.place(y_axis.ticks[0][0] + spread))
            out += (f'<line x1="{x:.1f}" y1="{y - half:.1f}" x2="{x:.1f}" y2="{y + half:.1f}" '
                    f'stroke="{colour}" stroke-width="1.2"/>\n')
        if one.dots:
            out += "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" fill="{colour}"/>\n'
                           for x, y in at)
        if not one.name:
            continue
        y = TOP + HIGH + 60 + 18 * place
        out += f'<rect x="{left}" y="{y - 9}" width="14" height="10" fill="{colour}"/>\n'
        out += text(left + 20, y, one.name)
    return out


def picture(panels: Sequence[str], lines: int) -> str:
    """Panels side by side; lines: the most series in one of them."""
    wide, high = len(panels) * (WIDE + LEFT + 30), TOP + HIGH + 62 + 18 * lines
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" '
            f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
            'font-family="Helvetica, Arial, DejaVu Sans, sans-serif" fill="#222222" '
            'font-size="12">\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
            + "".join(panels) + "</svg>\n")

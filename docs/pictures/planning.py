# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Draws planning.svg: one iteration arranged by wfbp, single and merged.

    python docs/pictures/planning.py > docs/pictures/planning.svg

The tensors are those of the unit test Merged.ThePictureOfTheDocsShowsWhatThePlannersGive, which
checks the ends that are drawn here.
"""

READY_MS = [3, 5, 6, 8, 9, 11, 12, 14]
MEGABYTES = [4, 0.1, 0.2, 1, 0.1, 0.5, 0.1, 0.1]
LATENCY_MS, MS_PER_MEGABYTE = 2, 1

WIDTH, LEFT, SCALE = 960, 110, 31
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"]


def transfer_ms(begin: int, end: int) -> float:
    return LATENCY_MS + MS_PER_MEGABYTE * sum(MEGABYTES[begin:end])


def merged() -> list[int]:
    """Where the buckets end that arrive soonest."""
    best: list[tuple[float, list[int]]] = [(0, [])]
    for end in range(1, len(READY_MS) + 1):
        best.append(min((max(best[i][0], READY_MS[end - 1]) + transfer_ms(i, end),
                         [*best[i][1], end]) for i in range(end)))
    return best[-1][1]


def row(title: str, about: str, ends: list[int], top: int) -> tuple[str, float]:
    out = f'<text x="14" y="{top + 18}" font-size="16">{title}</text>'
    out += f'<text x="{LEFT}" y="{top - 8}" fill="#555555">{about}</text>\n'
    before = 1.0
    for i, ready in enumerate(READY_MS):
        x, wide = LEFT + before * SCALE, (ready - before) * SCALE
        out += (f'<rect x="{x:.1f}" y="{top}" width="{wide:.1f}" height="26" fill="{COLOURS[i]}" '
                f'fill-opacity="0.35" stroke="#ffffff"/><text x="{x + wide / 2:.1f}" '
                f'y="{top + 18}" text-anchor="middle">{len(READY_MS) - i}</text>\n')
        before = ready
    free, begin = 0.0, 0
    for end in ends:
        start = max(free, READY_MS[end - 1])
        free = start + transfer_ms(begin, end)
        x, y = LEFT + start * SCALE, top + 34
        out += (f'<rect x="{x:.1f}" y="{y}" width="{LATENCY_MS * SCALE:.1f}" height="26" '
                f'fill="#bbbbbb" stroke="#ffffff"/>\n')
        x += LATENCY_MS * SCALE
        for i in range(begin, end):
            wide = MEGABYTES[i] * MS_PER_MEGABYTE * SCALE
            out += (f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="26" '
                    f'fill="{COLOURS[i]}"/>\n')
            x += wide
        begin = end
    x = LEFT + free * SCALE
    out += f'<text x="{x + 6:.1f}" y="{top + 52}" font-weight="bold">{free:.1f} ms</text>\n'
    return out, free


def picture() -> str:
    count = len(READY_MS)
    rows = [("wfbp", "one bucket per tensor: eight start-ups", list(range(1, count + 1))),
            ("single", "one bucket: nothing is hidden", [count]),
            ("merged", "as many buckets as pay for their start-up", merged())]
    out = (f'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" '
           f'width="{WIDTH}" height="400" viewBox="0 0 {WIDTH} 400" '
           'font-family="Helvetica, Arial, DejaVu Sans, sans-serif" fill="#222222" '
           'font-size="13">\n<rect width="100%" height="100%" fill="#ffffff"/>\n')
    for index, (title, about, ends) in enumerate(rows):
        drawn, _ = row(title, about, ends, 34 + 110 * index)
        out += drawn
    for ms in range(0, 27, 5):
        x = LEFT + ms * SCALE
        out += (f'<line x1="{x}" y1="350" x2="{x}" y2="356" stroke="#555555"/>'
                f'<text x="{x}" y="370" text-anchor="middle">{ms} ms</text>\n')
    out += (f'<line x1="{LEFT}" y1="350" x2="{LEFT + 26 * SCALE}" y2="350" stroke="#555555"/>\n'
            f'<text x="{LEFT}" y="390" fill="#555555">above: the backward pass, layers 8 to 1; '
            'below: the channel, start-up in grey</text>\n')
    return out + "</svg>\n"


if __name__ == "__main__":
    print(picture(), end="")
